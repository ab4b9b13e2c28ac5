//! Columns of what Python gives.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, PrimitiveArray, StringArray};
use arrow_array::{ArrowPrimitiveType, types};
use pyo3::buffer::Element;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::column::Column;
use crate::values::numbers;

/// A column of an array of NumPy, of another table, or of a list of texts; None is a null.
pub(crate) fn array(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(column) = values.cast::<Column>() {
        return Ok(column.get().joined());
    }
    if values.hasattr("dtype")? {
        return numeric(values);
    }
    Ok(Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)))
}

fn numeric(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    fn of<T>(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef>
    where
        T: ArrowPrimitiveType,
        T::Native: Element,
        PrimitiveArray<T>: From<Vec<T::Native>>,
    {
        Ok(Arc::new(PrimitiveArray::<T>::from(numbers::<T::Native>(values)?)))
    }
    let kind: String = values.getattr("dtype")?.getattr("name")?.extract()?;
    match kind.as_str() {
        "int8" => of::<types::Int8Type>(values),
        "uint8" => of::<types::UInt8Type>(values),
        "int16" => of::<types::Int16Type>(values),
        "uint16" => of::<types::UInt16Type>(values),
        "int32" => of::<types::Int32Type>(values),
        "uint32" => of::<types::UInt32Type>(values),
        "int64" => of::<types::Int64Type>(values),
        "uint64" => of::<types::UInt64Type>(values),
        "float32" => Ok(Arc::new(Float32Array::from(numbers::<f32>(values)?))),
        "float64" => Ok(Arc::new(Float64Array::from(numbers::<f64>(values)?))),
        other => Err(PyTypeError::new_err(format!("no column can be made of {other}"))),
    }
}
