//! Values of Arrow columns, one at a time.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, BinaryArray, BooleanArray, ListArray, StringArray, StructArray};
use arrow_schema::DataType;

use crate::lines::Lines;

/// A value of a field, or of an expression of fields.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// The event has no such field.
    None,
    Int(i128),
    Float(f64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    /// Items `begin..end` of a column.
    List(&'a Column<'a>, usize, usize),
    /// A row of a structure.
    Struct(&'a [(String, Column<'a>)], usize),
}

impl<'a> Value<'a> {
    /// The integer; what is missing counts as 0, as the kernel writes it; `None` for others.
    #[inline]
    pub(crate) fn int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::None => Some(0),
            Self::Float(value) => Some(*value as i128),
            _ => None,
        }
    }

    /// The items of a list or array of bytes as integers.
    pub(crate) fn items(&self) -> Option<Vec<i128>> {
        match self {
            Self::List(of, begin, end) => (*begin..*end).map(|at| of.get(at).int()).collect(),
            Self::Bytes(bytes) => Some(bytes.iter().map(|&byte| i128::from(byte)).collect()),
            Self::Text(text) => Some(text.bytes().map(i128::from).collect()),
            _ => None,
        }
    }

    /// Item `at` of a list; 0 beyond its end.
    pub(crate) fn item(&self, at: i128) -> Option<i128> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match self {
            Self::List(of, begin, end) if at < end - begin => of.get(begin + at).int(),
            Self::Bytes(bytes) => Some(i128::from(bytes.get(at).copied().unwrap_or(0))),
            Self::List(..) | Self::None => Some(0),
            _ => None,
        }
    }

    /// Bytes of a list, as the kernel has it in memory.
    pub(crate) fn byte_length(&self) -> Option<i128> {
        match self {
            Self::List(of, begin, end) => Some(((end - begin) * of.width()) as i128),
            Self::Bytes(bytes) => Some(bytes.len() as i128),
            // With the NUL that ends it.
            Self::Text(text) => Some(text.len() as i128 + 1),
            Self::None => Some(0),
            _ => None,
        }
    }
}

#[derive(Debug)]
enum Cells<'a> {
    Bool(&'a BooleanArray),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a StringArray),
    Binary(&'a BinaryArray),
    List(&'a ListArray, Box<Column<'a>>),
    Struct(Vec<(String, Column<'a>)>),
    Unknown,
}

/// A column of one batch.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    cells: Cells<'a>,
    /// The column, when it has nulls.
    nulls: Option<&'a dyn Array>,
}

impl<'a> Column<'a> {
    pub(crate) fn new(array: &'a dyn Array) -> Self {
        macro_rules! numbers {
            ($kind:ident, $type:ty) => {
                Cells::$kind(array.as_primitive::<$type>().values())
            };
        }
        let cells = match array.data_type() {
            DataType::Boolean => Cells::Bool(array.as_boolean()),
            DataType::UInt8 => numbers!(U8, UInt8Type),
            DataType::UInt16 => numbers!(U16, UInt16Type),
            DataType::UInt32 => numbers!(U32, UInt32Type),
            DataType::UInt64 => numbers!(U64, UInt64Type),
            DataType::Int8 => numbers!(I8, Int8Type),
            DataType::Int16 => numbers!(I16, Int16Type),
            DataType::Int32 => numbers!(I32, Int32Type),
            DataType::Int64 => numbers!(I64, Int64Type),
            DataType::Float32 => numbers!(F32, Float32Type),
            DataType::Float64 => numbers!(F64, Float64Type),
            DataType::Utf8 => Cells::Text(array.as_string()),
            DataType::Binary => Cells::Binary(array.as_binary()),
            DataType::List(_) => {
                let list: &ListArray = array.as_list();
                Cells::List(list, Box::new(Self::new(list.values().as_ref())))
            }
            DataType::Struct(fields) => {
                let of: &StructArray = array.as_struct();
                let members = fields.iter().zip(of.columns());
                let member =
                    |(field, column): (&arrow_schema::FieldRef, &'a arrow_array::ArrayRef)| {
                        (field.name().clone(), Self::new(column.as_ref()))
                    };
                Cells::Struct(members.map(member).collect())
            }
            _ => Cells::Unknown,
        };
        Self { cells, nulls: (array.null_count() > 0).then_some(array) }
    }

    #[inline]
    pub(crate) fn get(&'a self, row: usize) -> Value<'a> {
        if self.nulls.is_some_and(|array| array.is_null(row)) {
            return Value::None;
        }
        match &self.cells {
            Cells::Bool(values) => Value::Int(i128::from(values.value(row))),
            Cells::U8(values) => Value::Int(i128::from(values[row])),
            Cells::U16(values) => Value::Int(i128::from(values[row])),
            Cells::U32(values) => Value::Int(i128::from(values[row])),
            Cells::U64(values) => Value::Int(i128::from(values[row])),
            Cells::I8(values) => Value::Int(i128::from(values[row])),
            Cells::I16(values) => Value::Int(i128::from(values[row])),
            Cells::I32(values) => Value::Int(i128::from(values[row])),
            Cells::I64(values) => Value::Int(i128::from(values[row])),
            Cells::F32(values) => Value::Float(f64::from(values[row])),
            Cells::F64(values) => Value::Float(values[row]),
            Cells::Text(values) => Value::Text(Cow::Borrowed(values.value(row))),
            Cells::Binary(values) => Value::Bytes(values.value(row)),
            Cells::List(values, of) => {
                let ends = values.value_offsets();
                Value::List(of, ends[row] as usize, ends[row + 1] as usize)
            }
            Cells::Struct(members) => Value::Struct(members, row),
            Cells::Unknown => Value::None,
        }
    }

    /// What [`Value::int`] gives of a value, without making that.
    #[inline]
    pub(crate) fn int(&self, row: usize) -> Option<i128> {
        if self.nulls.is_some_and(|array| array.is_null(row)) {
            return Some(0);
        }
        Some(match &self.cells {
            Cells::U8(values) => i128::from(values[row]),
            Cells::U16(values) => i128::from(values[row]),
            Cells::U32(values) => i128::from(values[row]),
            Cells::U64(values) => i128::from(values[row]),
            Cells::I8(values) => i128::from(values[row]),
            Cells::I16(values) => i128::from(values[row]),
            Cells::I32(values) => i128::from(values[row]),
            Cells::I64(values) => i128::from(values[row]),
            _ => return self.get(row).int(),
        })
    }

    /// Writes a number in base 10, for which there must be room; whether it is one.
    #[inline]
    pub(crate) fn write_decimal(&self, row: usize, lines: &mut Lines) -> bool {
        if self.nulls.is_some() {
            return false;
        }
        let mut signed = |value: i64| {
            if value < 0 {
                lines.byte(b'-');
            }
            lines.decimal(value.unsigned_abs());
        };
        match &self.cells {
            Cells::I8(values) => signed(values[row].into()),
            Cells::I16(values) => signed(values[row].into()),
            Cells::I32(values) => signed(values[row].into()),
            Cells::I64(values) => signed(values[row]),
            _ => match self.unsigned(row) {
                Some(value) => lines.decimal(value),
                None => return false,
            },
        }
        true
    }

    /// A number without a sign, of a column without nulls.
    #[inline]
    pub(crate) fn unsigned(&self, row: usize) -> Option<u64> {
        Some(match &self.cells {
            _ if self.nulls.is_some() => return None,
            Cells::U8(values) => values[row].into(),
            Cells::U16(values) => values[row].into(),
            Cells::U32(values) => values[row].into(),
            Cells::U64(values) => values[row],
            _ => return None,
        })
    }

    /// A text that is there.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        match &self.cells {
            Cells::Text(_) if self.nulls.is_some_and(|array| array.is_null(row)) => None,
            Cells::Text(values) => Some(values.value(row)),
            _ => None,
        }
    }

    /// Whether its values are truth values.
    pub(crate) fn is_bool(&self) -> bool {
        matches!(self.cells, Cells::Bool(_))
    }

    /// Bytes of a number.
    pub(crate) fn width(&self) -> usize {
        match &self.cells {
            Cells::U16(_) | Cells::I16(_) => 2,
            Cells::U32(_) | Cells::I32(_) | Cells::F32(_) => 4,
            Cells::U64(_) | Cells::I64(_) | Cells::F64(_) => 8,
            _ => 1,
        }
    }
}
