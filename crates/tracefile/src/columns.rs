//! Columns that grow by one value at a time and become Arrow arrays without a copy.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray, types,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, Field as ArrowField, Fields};

use crate::ColumnType;

/// The Arrow type of a column.
pub(crate) fn arrow_type(column: &ColumnType) -> DataType {
    match column {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Unsigned(bits) => match bits {
            0..=8 => DataType::UInt8,
            9..=16 => DataType::UInt16,
            17..=32 => DataType::UInt32,
            _ => DataType::UInt64,
        },
        ColumnType::Signed(bits) => match bits {
            0..=8 => DataType::Int8,
            9..=16 => DataType::Int16,
            17..=32 => DataType::Int32,
            _ => DataType::Int64,
        },
        ColumnType::Float(bits) if *bits <= 32 => DataType::Float32,
        ColumnType::Float(_) => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::List(of) => DataType::List(Arc::new(item(of))),
        ColumnType::Struct(members) => DataType::Struct(members_of(members)),
    }
}

fn item(of: &ColumnType) -> ArrowField {
    ArrowField::new("item", arrow_type(of), true)
}

fn members_of(members: &[crate::model::Member]) -> Fields {
    members.iter().map(|m| ArrowField::new(&m.name, arrow_type(&m.column), true)).collect()
}

/// The values of a column; the variant follows from its [`ColumnType`].
pub(crate) enum Values {
    Bool(BooleanBufferBuilder),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text { ends: Vec<i32>, bytes: Vec<u8> },
    Binary { ends: Vec<i32>, bytes: Vec<u8> },
    List { ends: Vec<i32>, of: Box<Column> },
    Struct { length: usize, members: Vec<Column> },
}

/// A growing column. Whoever pushes must push the variant that its type asks for; pushing integers
/// goes through [`Column::unsigned`] and [`Column::signed`], which cut to the column's width.
pub(crate) struct Column {
    pub(crate) values: Values,
    /// Made by the first null: most columns never have one.
    validity: Option<BooleanBufferBuilder>,
    column: ColumnType,
}

impl Column {
    pub(crate) fn new(column: &ColumnType, capacity: usize) -> Self {
        let offsets = || {
            let mut ends = Vec::with_capacity(capacity + 1);
            ends.push(0);
            ends
        };
        let values = match column {
            ColumnType::Bool => Values::Bool(BooleanBufferBuilder::new(capacity)),
            ColumnType::Unsigned(bits) => match bits {
                0..=8 => Values::U8(Vec::with_capacity(capacity)),
                9..=16 => Values::U16(Vec::with_capacity(capacity)),
                17..=32 => Values::U32(Vec::with_capacity(capacity)),
                _ => Values::U64(Vec::with_capacity(capacity)),
            },
            ColumnType::Signed(bits) => match bits {
                0..=8 => Values::I8(Vec::with_capacity(capacity)),
                9..=16 => Values::I16(Vec::with_capacity(capacity)),
                17..=32 => Values::I32(Vec::with_capacity(capacity)),
                _ => Values::I64(Vec::with_capacity(capacity)),
            },
            ColumnType::Float(bits) if *bits <= 32 => Values::F32(Vec::with_capacity(capacity)),
            ColumnType::Float(_) => Values::F64(Vec::with_capacity(capacity)),
            ColumnType::Text => Values::Text { ends: offsets(), bytes: Vec::new() },
            ColumnType::Binary => Values::Binary { ends: offsets(), bytes: Vec::new() },
            ColumnType::List(of) => {
                Values::List { ends: offsets(), of: Box::new(Self::new(of, 0)) }
            }
            ColumnType::Struct(members) => Values::Struct {
                length: 0,
                members: members.iter().map(|m| Self::new(&m.column, capacity)).collect(),
            },
        };
        Self { values, validity: None, column: column.clone() }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Bool(v) => v.len(),
            Values::U8(v) => v.len(),
            Values::U16(v) => v.len(),
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::I8(v) => v.len(),
            Values::I16(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Text { ends, .. } | Values::Binary { ends, .. } | Values::List { ends, .. } => {
                ends.len() - 1
            }
            Values::Struct { length, .. } => *length,
        }
    }

    /// Makes room for `more` values, and for their bytes as far as the values so far tell.
    pub(crate) fn reserve(&mut self, more: usize) {
        match &mut self.values {
            Values::Bool(v) => v.reserve(more),
            Values::U8(v) => v.reserve(more),
            Values::U16(v) => v.reserve(more),
            Values::U32(v) => v.reserve(more),
            Values::U64(v) => v.reserve(more),
            Values::I8(v) => v.reserve(more),
            Values::I16(v) => v.reserve(more),
            Values::I32(v) => v.reserve(more),
            Values::I64(v) => v.reserve(more),
            Values::F32(v) => v.reserve(more),
            Values::F64(v) => v.reserve(more),
            Values::Text { ends, bytes } | Values::Binary { ends, bytes } => {
                bytes.reserve(bytes.len() / ends.len() * more);
                ends.reserve(more);
            }
            Values::List { ends, of } => {
                of.reserve(of.len() / ends.len() * more);
                ends.reserve(more);
            }
            Values::Struct { members, .. } => {
                members.iter_mut().for_each(|member| member.reserve(more));
            }
        }
    }

    /// Pushes an integer, cut to the column's width; 0 or not 0 for a truth value.
    #[inline]
    pub(crate) fn unsigned(&mut self, value: u64) {
        match &mut self.values {
            Values::U8(v) => v.push(value as u8),
            Values::U16(v) => v.push(value as u16),
            Values::U32(v) => v.push(value as u32),
            Values::U64(v) => v.push(value),
            Values::I8(v) => v.push(value as i8),
            Values::I16(v) => v.push(value as i16),
            Values::I32(v) => v.push(value as i32),
            Values::I64(v) => v.push(value as i64),
            Values::Bool(v) => v.append(value != 0),
            _ => unreachable!("an integer for a column of {:?}", self.column),
        }
        self.valid();
    }

    /// Pushes an integer of 8 bits; of a column as wide this is [`Column::unsigned`], but faster.
    #[inline]
    pub(crate) fn word8(&mut self, value: u8) {
        match &mut self.values {
            Values::U8(v) => v.push(value),
            Values::I8(v) => v.push(value as i8),
            _ => return self.unsigned(u64::from(value)),
        }
        self.valid();
    }

    /// Pushes an integer of 16 bits, see [`Column::word8`].
    #[inline]
    pub(crate) fn word16(&mut self, value: u16) {
        match &mut self.values {
            Values::U16(v) => v.push(value),
            Values::I16(v) => v.push(value as i16),
            _ => return self.unsigned(u64::from(value)),
        }
        self.valid();
    }

    /// Pushes an integer of 32 bits, see [`Column::word8`].
    #[inline]
    pub(crate) fn word32(&mut self, value: u32) {
        match &mut self.values {
            Values::I32(v) => v.push(value as i32),
            Values::U32(v) => v.push(value),
            _ => return self.unsigned(u64::from(value)),
        }
        self.valid();
    }

    /// Pushes an integer of 64 bits, see [`Column::word8`].
    #[inline]
    pub(crate) fn word64(&mut self, value: u64) {
        match &mut self.values {
            Values::U64(v) => v.push(value),
            Values::I64(v) => v.push(value as i64),
            _ => return self.unsigned(value),
        }
        self.valid();
    }

    /// Pushes a signed integer, cut to the column's width.
    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        self.unsigned(value as u64);
    }

    pub(crate) fn float(&mut self, value: f64) {
        match &mut self.values {
            Values::F32(v) => v.push(value as f32),
            Values::F64(v) => v.push(value),
            _ => unreachable!("a float for a column of {:?}", self.column),
        }
        self.valid();
    }

    /// Pushes bytes as text (what is no UTF-8 is replaced) or as they are, as the column has it.
    #[inline]
    pub(crate) fn bytes(&mut self, value: &[u8]) {
        match &mut self.values {
            Values::Text { ends, bytes } => {
                if value.is_ascii() || std::str::from_utf8(value).is_ok() {
                    bytes.extend_from_slice(value);
                } else {
                    bytes.extend_from_slice(String::from_utf8_lossy(value).as_bytes());
                }
                ends.push(bytes.len() as i32);
            }
            Values::Binary { ends, bytes } => {
                bytes.extend_from_slice(value);
                ends.push(bytes.len() as i32);
            }
            _ => unreachable!("bytes for a column of {:?}", self.column),
        }
        self.valid();
    }

    /// Pushes many integers of 8 bits.
    #[inline]
    pub(crate) fn octets(&mut self, values: &[u8]) {
        match &mut self.values {
            Values::U8(v) => v.extend_from_slice(values),
            _ => unreachable!("octets for a column of {:?}", self.column),
        }
        if let Some(validity) = &mut self.validity {
            validity.append_n(values.len(), true);
        }
    }

    /// The column of the items of a list: push them, then call [`Column::end_list`].
    pub(crate) fn items(&mut self) -> &mut Column {
        match &mut self.values {
            Values::List { of, .. } => of,
            _ => unreachable!("items for a column of {:?}", self.column),
        }
    }

    /// Ends the list that began after the last one ended.
    pub(crate) fn end_list(&mut self) {
        match &mut self.values {
            Values::List { ends, of } => ends.push(of.len() as i32),
            _ => unreachable!("a list for a column of {:?}", self.column),
        }
        self.valid();
    }

    /// The columns of a structure's members: push one value to each, then [`Column::end_struct`].
    pub(crate) fn members(&mut self) -> &mut [Column] {
        match &mut self.values {
            Values::Struct { members, .. } => members,
            _ => unreachable!("members for a column of {:?}", self.column),
        }
    }

    /// Ends a structure whose members all have their value.
    pub(crate) fn end_struct(&mut self) {
        match &mut self.values {
            Values::Struct { length, .. } => *length += 1,
            _ => unreachable!("a structure for a column of {:?}", self.column),
        }
        self.valid();
    }

    /// Pushes a null.
    pub(crate) fn null(&mut self) {
        let length = self.len();
        self.validity.get_or_insert_with(|| {
            let mut validity = BooleanBufferBuilder::new(length + 1);
            validity.append_n(length, true);
            validity
        });
        match &mut self.values {
            Values::Bool(v) => v.append(false),
            Values::F32(v) => v.push(0.0),
            Values::F64(v) => v.push(0.0),
            Values::Text { ends, .. } | Values::Binary { ends, .. } | Values::List { ends, .. } => {
                ends.push(*ends.last().expect("begins with 0"));
            }
            Values::Struct { length, members } => {
                members.iter_mut().for_each(Column::null);
                *length += 1;
            }
            Values::U8(v) => v.push(0),
            Values::U16(v) => v.push(0),
            Values::U32(v) => v.push(0),
            Values::U64(v) => v.push(0),
            Values::I8(v) => v.push(0),
            Values::I16(v) => v.push(0),
            Values::I32(v) => v.push(0),
            Values::I64(v) => v.push(0),
        }
        if let Some(validity) = &mut self.validity {
            validity.append(false);
        }
    }

    #[inline]
    fn valid(&mut self) {
        if let Some(validity) = &mut self.validity {
            validity.append(true);
        }
    }

    /// Takes back what was pushed beyond `length` values: the rest of an event that was cut short.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.values {
            Values::Bool(v) if v.len() > length => v.truncate(length),
            Values::Bool(_) => {}
            Values::U8(v) => v.truncate(length),
            Values::U16(v) => v.truncate(length),
            Values::U32(v) => v.truncate(length),
            Values::U64(v) => v.truncate(length),
            Values::I8(v) => v.truncate(length),
            Values::I16(v) => v.truncate(length),
            Values::I32(v) => v.truncate(length),
            Values::I64(v) => v.truncate(length),
            Values::F32(v) => v.truncate(length),
            Values::F64(v) => v.truncate(length),
            Values::Text { ends, bytes } | Values::Binary { ends, bytes } => {
                ends.truncate(length + 1);
                bytes.truncate(*ends.last().expect("begins with 0") as usize);
            }
            Values::List { ends, of } => {
                ends.truncate(length + 1);
                of.truncate(*ends.last().expect("begins with 0") as usize);
            }
            Values::Struct { length: own, members } => {
                *own = (*own).min(length);
                members.iter_mut().for_each(|member| member.truncate(length));
            }
        }
        if let Some(validity) = &mut self.validity
            && validity.len() > length
        {
            validity.truncate(length);
        }
    }

    /// The Arrow array of all that was pushed.
    pub(crate) fn finish(self) -> ArrayRef {
        let length = self.len();
        let nulls = self.validity.map(|mut validity| NullBuffer::new(validity.finish()));
        match self.values {
            Values::Bool(mut v) => Arc::new(BooleanArray::new(v.finish(), nulls)),
            Values::U8(v) => Arc::new(PrimitiveArray::<types::UInt8Type>::new(scalars(v), nulls)),
            Values::U16(v) => Arc::new(PrimitiveArray::<types::UInt16Type>::new(scalars(v), nulls)),
            Values::U32(v) => Arc::new(PrimitiveArray::<types::UInt32Type>::new(scalars(v), nulls)),
            Values::U64(v) => Arc::new(PrimitiveArray::<types::UInt64Type>::new(scalars(v), nulls)),
            Values::I8(v) => Arc::new(PrimitiveArray::<types::Int8Type>::new(scalars(v), nulls)),
            Values::I16(v) => Arc::new(PrimitiveArray::<types::Int16Type>::new(scalars(v), nulls)),
            Values::I32(v) => Arc::new(PrimitiveArray::<types::Int32Type>::new(scalars(v), nulls)),
            Values::I64(v) => Arc::new(PrimitiveArray::<types::Int64Type>::new(scalars(v), nulls)),
            Values::F32(v) => {
                Arc::new(PrimitiveArray::<types::Float32Type>::new(scalars(v), nulls))
            }
            Values::F64(v) => {
                Arc::new(PrimitiveArray::<types::Float64Type>::new(scalars(v), nulls))
            }
            Values::Text { ends, mut bytes } => {
                bytes.shrink_to_fit();
                // SAFETY: the offsets begin with 0, grow by the lengths of whole values that
                // `bytes` checked or made to be UTF-8, and are cut only between values.
                let text = unsafe {
                    StringArray::new_unchecked(offsets(ends), Buffer::from_vec(bytes), nulls)
                };
                Arc::new(text)
            }
            Values::Binary { ends, bytes } => {
                Arc::new(BinaryArray::new(offsets(ends), Buffer::from_vec(bytes), nulls))
            }
            Values::List { ends, of } => {
                let field = Arc::new(item(&of.column));
                Arc::new(ListArray::new(field, offsets(ends), of.finish(), nulls))
            }
            Values::Struct { members, .. } if members.is_empty() => {
                Arc::new(StructArray::new_empty_fields(length, nulls))
            }
            Values::Struct { members, .. } => {
                let ColumnType::Struct(fields) = &self.column else { unreachable!() };
                let arrays = members.into_iter().map(Column::finish).collect();
                Arc::new(StructArray::new(members_of(fields), arrays, nulls))
            }
        }
    }
}

fn scalars<T: ArrowNativeType>(mut values: Vec<T>) -> ScalarBuffer<T> {
    // Growth by doubling leaves up to half unused; giving it back moves no pages for large ones.
    values.shrink_to_fit();
    values.into()
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    // SAFETY: they begin with 0 and never go back, see `bytes` and `end_list`.
    unsafe { OffsetBuffer::new_unchecked(scalars(ends)) }
}
