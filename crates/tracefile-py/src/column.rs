//! A column of a table, in as many pieces as its table.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::AHashMap;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int64Array, new_empty_array, types};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::values::{Number, Values};

/// Stands for a null in whole numbers.
const NONE: i64 = i64::MIN;

/// A column of a table.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Column {
    pieces: Vec<ArrayRef>,
    kind: DataType,
}

impl Column {
    pub(crate) fn new(pieces: Vec<ArrayRef>, kind: DataType) -> Self {
        Self { pieces, kind }
    }

    fn count(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    fn nulls(&self) -> usize {
        self.pieces.iter().map(|piece| piece.logical_null_count()).sum()
    }

    /// The only piece, where it may be given away as it is.
    fn whole(&self) -> Option<&ArrayRef> {
        match self.pieces.as_slice() {
            [piece] if piece.null_count() == 0 => Some(piece),
            _ => None,
        }
    }

    fn refused(&self, wanted: &str) -> PyErr {
        PyTypeError::new_err(format!("a column of {} has no {wanted}", self.kind))
    }

    fn whole_numbers(&self) -> Option<Values> {
        if let Some(piece) = self.whole() {
            match &self.kind {
                DataType::Int64 => return Some(shared::<types::Int64Type, i64>(piece)),
                DataType::UInt64 => return Some(shared::<types::UInt64Type, i64>(piece)),
                _ => {}
            }
        }
        let mut values = Vec::with_capacity(self.count());
        self.pieces
            .iter()
            .all(|piece| append_integers(piece, &mut values))
            .then(|| Values::own(values))
    }
}

#[pymethods]
impl Column {
    #[staticmethod]
    fn of_integers(values: Vec<Option<i64>>) -> Self {
        Self::new(vec![Arc::new(Int64Array::from(values))], DataType::Int64)
    }

    fn __len__(&self) -> usize {
        self.count()
    }

    /// Of what it is: `integer`, `fraction`, `boolean`, `text`, `bytes`, `list`, `record`.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.kind {
            DataType::Boolean => "boolean",
            DataType::Utf8 | DataType::LargeUtf8 => "text",
            DataType::Binary | DataType::LargeBinary => "bytes",
            DataType::List(_) | DataType::LargeList(_) => "list",
            DataType::Struct(_) => "record",
            kind if kind.is_integer() => "integer",
            kind if kind.is_floating() => "fraction",
            _ => "other",
        }
    }

    #[getter]
    fn null_count(&self) -> usize {
        self.nulls()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut at = row;
        for piece in &self.pieces {
            if at < piece.len() {
                return object(py, piece, at);
            }
            at -= piece.len();
        }
        Err(PyIndexError::new_err(row))
    }

    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for piece in &self.pieces {
            for row in 0..piece.len() {
                list.append(object(py, piece, row)?)?;
            }
        }
        Ok(list)
    }

    fn integers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = py.detach(|| self.whole_numbers());
        values.ok_or_else(|| self.refused("whole numbers"))?.into_array(py)
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        macro_rules! of {
            ($($kind:ident: $type:ident, $null:expr;)*) => {
                match &self.kind {
                    $(DataType::$kind => match self.whole() {
                        Some(piece) => Some(shared::<types::$type, <types::$type as ArrowPrimitiveType>::Native>(piece)),
                        None => Some(filled::<types::$type>(&self.pieces, $null)),
                    },)*
                    _ => None,
                }
            };
        }
        let values = py.detach(|| {
            of! {
                Int8: Int8Type, 0;
                Int16: Int16Type, 0;
                Int32: Int32Type, 0;
                Int64: Int64Type, 0;
                UInt8: UInt8Type, 0;
                UInt16: UInt16Type, 0;
                UInt32: UInt32Type, 0;
                UInt64: UInt64Type, 0;
                Float32: Float32Type, f32::NAN;
                Float64: Float64Type, f64::NAN;
            }
        });
        values.ok_or_else(|| self.refused("numbers"))?.into_array(py)
    }

    fn is_valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = py.detach(|| {
            let mut valid = Vec::with_capacity(self.count());
            for piece in &self.pieces {
                match piece.nulls() {
                    Some(nulls) => valid.extend(nulls.iter().map(u8::from)),
                    None => valid.resize(valid.len() + piece.len(), 1),
                }
            }
            valid
        });
        Values::truths(values).into_array(py)
    }

    fn texts<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
        if self.kind() != "text" {
            return Err(self.refused("texts"));
        }
        let (codes, texts) = py.detach(|| self.encoded());
        Ok((Values::own(codes).into_array(py)?, texts))
    }

    fn lists<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if !matches!(self.kind, DataType::List(_)) {
            return Err(self.refused("lists"));
        }
        let (sizes, values) =
            py.detach(|| self.flattened()).ok_or_else(|| self.refused("lists of whole numbers"))?;
        Ok((Values::own(sizes).into_array(py)?, Values::own(values).into_array(py)?))
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = py.detach(|| {
            let mut values = Vec::with_capacity(self.count());
            let whole = self.pieces.iter().all(|piece| append_integers(piece, &mut values));
            let mut counts: HashMap<i64, u64> = HashMap::new();
            for equal in values.chunk_by(|one, other| one == other) {
                *counts.entry(equal[0]).or_default() += equal.len() as u64;
            }
            whole.then_some(counts)
        });
        let found = PyDict::new(py);
        for (value, count) in counts.ok_or_else(|| self.refused("whole numbers"))? {
            found.set_item((value != NONE).then_some(value), count)?;
        }
        Ok(found)
    }
}

impl Column {
    /// All of it in one piece.
    pub(crate) fn joined(&self) -> ArrayRef {
        match self.pieces.as_slice() {
            [piece] => Arc::clone(piece),
            [] => new_empty_array(&self.kind),
            several => {
                let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
                concat(&several).expect("pieces of a column are of one type")
            }
        }
    }

    /// A number for each text, in order of their first occurrence, and the texts; a null is "".
    fn encoded(&self) -> (Vec<i64>, Vec<String>) {
        let mut seen: AHashMap<&str, i64> = AHashMap::new();
        let mut codes = Vec::with_capacity(self.count());
        let mut texts: Vec<String> = Vec::new();
        for piece in &self.pieces {
            match piece.data_type() {
                DataType::Utf8 => {
                    encode(piece.as_string::<i32>().iter(), &mut seen, &mut codes, &mut texts)
                }
                _ => encode(piece.as_string::<i64>().iter(), &mut seen, &mut codes, &mut texts),
            }
        }
        (codes, texts)
    }

    /// How many values each list has, none for a null, and all values.
    fn flattened(&self) -> Option<(Vec<i64>, Vec<i64>)> {
        let mut sizes = Vec::with_capacity(self.count());
        let mut values = Vec::new();
        for piece in &self.pieces {
            let lists = piece.as_list::<i32>();
            let offsets = lists.value_offsets();
            let first = sizes.len();
            sizes.extend(offsets.windows(2).map(|ends| i64::from(ends[1] - ends[0])));
            if lists.null_count() == 0 {
                let (begin, end) = (offsets[0].as_usize(), offsets[lists.len()].as_usize());
                if !append_integers(&lists.values().slice(begin, end - begin), &mut values) {
                    return None;
                }
                continue;
            }
            for row in 0..lists.len() {
                if lists.is_null(row) {
                    sizes[first + row] = 0;
                } else if !append_integers(&lists.value(row), &mut values) {
                    return None;
                }
            }
        }
        Some((sizes, values))
    }
}

fn encode<'a>(
    column: impl Iterator<Item = Option<&'a str>>,
    seen: &mut AHashMap<&'a str, i64>,
    codes: &mut Vec<i64>,
    texts: &mut Vec<String>,
) {
    let mut last: Option<(&str, i64)> = None;
    for text in column {
        let text = text.unwrap_or("");
        let code = match last {
            Some((same, code)) if same == text => code,
            _ => *seen.entry(text).or_insert_with(|| {
                texts.push(text.to_owned());
                texts.len() as i64 - 1
            }),
        };
        last = Some((text, code));
        codes.push(code);
    }
}

/// The values of a piece without nulls, as they lie there.
fn shared<T: ArrowPrimitiveType, As: Number>(piece: &ArrayRef) -> Values {
    Values::shared::<As>(piece.as_primitive::<T>().values().inner().clone())
}

fn filled<T: ArrowPrimitiveType>(pieces: &[ArrayRef], null: T::Native) -> Values
where
    T::Native: Number,
{
    let mut values = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        let piece = piece.as_primitive::<T>();
        match piece.null_count() {
            0 => values.extend_from_slice(piece.values()),
            _ => values.extend(piece.iter().map(|value| value.unwrap_or(null))),
        }
    }
    Values::own(values)
}

/// Whole numbers or truths as int64, unsigned ones of 64 bits by their bits; a null is `NONE`, but
/// 0 where all bits are used. False for other columns.
fn append_integers(piece: &ArrayRef, values: &mut Vec<i64>) -> bool {
    macro_rules! of {
        ($type:ident, $null:expr) => {{
            let piece = piece.as_primitive::<types::$type>();
            match piece.null_count() {
                0 => values.extend(piece.values().iter().map(|&value| value as i64)),
                _ => values.extend(piece.iter().map(|v| v.map_or($null, |value| value as i64))),
            }
        }};
    }
    #[expect(clippy::cast_possible_wrap, reason = "addresses keep their bits")]
    match piece.data_type() {
        DataType::Int8 => of!(Int8Type, NONE),
        DataType::Int16 => of!(Int16Type, NONE),
        DataType::Int32 => of!(Int32Type, NONE),
        DataType::Int64 => of!(Int64Type, NONE),
        DataType::UInt8 => of!(UInt8Type, NONE),
        DataType::UInt16 => of!(UInt16Type, NONE),
        DataType::UInt32 => of!(UInt32Type, NONE),
        DataType::UInt64 => of!(UInt64Type, 0),
        DataType::Boolean => {
            values.extend(piece.as_boolean().iter().map(|value| value.map_or(NONE, i64::from)));
        }
        DataType::Null => values.resize(values.len() + piece.len(), NONE),
        _ => return false,
    }
    true
}

/// A value as Python has it.
pub(crate) fn object<'py>(
    py: Python<'py>,
    piece: &ArrayRef,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if piece.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! number {
        ($type:ident) => {
            piece.as_primitive::<types::$type>().value(row).into_pyobject(py)?.into_any()
        };
    }
    Ok(match piece.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => piece.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::Utf8 => piece.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::LargeUtf8 => piece.as_string::<i64>().value(row).into_pyobject(py)?.into_any(),
        DataType::Binary => PyBytes::new(py, piece.as_binary::<i32>().value(row)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, piece.as_binary::<i64>().value(row)).into_any(),
        DataType::List(_) => list(py, &piece.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => list(py, &piece.as_list::<i64>().value(row))?,
        DataType::Struct(fields) => {
            let record = PyDict::new(py);
            for (field, values) in fields.iter().zip(piece.as_struct().columns()) {
                record.set_item(field.name(), object(py, values, row)?)?;
            }
            record.into_any()
        }
        other => return Err(PyTypeError::new_err(format!("values of {other} are not known here"))),
    })
}

fn list<'py>(py: Python<'py>, values: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let rows = (0..values.len()).map(|row| object(py, values, row));
    Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any())
}
