//! Numbers that go over to NumPy without a copy, and back.

use std::ffi::{CStr, c_int};

use arrow_buffer::{ArrowNativeType, Buffer};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// A type of numbers that Arrow and NumPy have.
pub(crate) trait Number: ArrowNativeType {
    /// What the buffer protocol calls it.
    const FORMAT: &'static CStr;
}

macro_rules! numbers {
    ($($native:ty: $format:literal),*) => {
        $(impl Number for $native {
            const FORMAT: &'static CStr = $format;
        })*
    };
}

numbers!(i8: c"b", u8: c"B", i16: c"h", u16: c"H", i32: c"i", u32: c"I", i64: c"q", u64: c"Q",
    f32: c"f", f64: c"d");

/// Numbers as the buffer protocol gives them. They stay as long as anybody has them.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Values {
    bytes: Buffer,
    format: &'static CStr,
    count: [ffi::Py_ssize_t; 1],
    step: [ffi::Py_ssize_t; 1],
    /// Whether nobody else has them, so that they may be written to.
    own: bool,
}

impl Values {
    /// Those of a column, which nobody may write to.
    pub(crate) fn shared<T: Number>(bytes: Buffer) -> Self {
        Self::new(bytes, T::FORMAT, size_of::<T>(), false)
    }

    /// Those that were made for the caller.
    pub(crate) fn own<T: Number>(values: Vec<T>) -> Self {
        Self::new(Buffer::from_vec(values), T::FORMAT, size_of::<T>(), true)
    }

    /// Truths, a byte each.
    pub(crate) fn truths(values: Vec<u8>) -> Self {
        Self::new(Buffer::from_vec(values), c"?", 1, true)
    }

    fn new(bytes: Buffer, format: &'static CStr, step: usize, own: bool) -> Self {
        let count = bytes.len() / step;
        Self { bytes, format, count: [count.cast_signed()], step: [step.cast_signed()], own }
    }

    /// As an array of NumPy.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("numpy")?.call_method1("asarray", (self,))
    }
}

#[pymethods]
impl Values {
    #[expect(unsafe_code, reason = "it is how the buffer protocol asks")]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let values = slf.get();
        if !values.own && flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("columns cannot be written to"));
        }
        // SAFETY: Python gives a view to be filled. What it points to lives in this object, which
        // the view keeps, and never moves.
        unsafe {
            (*view).buf = values.bytes.as_ptr().cast_mut().cast();
            (*view).len = values.bytes.len().cast_signed();
            (*view).readonly = c_int::from(!values.own);
            (*view).itemsize = values.step[0];
            (*view).format = values.format.as_ptr().cast_mut();
            (*view).ndim = 1;
            (*view).shape = values.count.as_ptr().cast_mut();
            (*view).strides = values.step.as_ptr().cast_mut();
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}

/// The numbers of an array of NumPy, of that type exactly.
pub(crate) fn numbers<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}

/// The truths of an array of NumPy.
pub(crate) fn truths(array: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    let bytes: Vec<u8> = numbers(&array.call_method1("view", ("uint8",))?)?;
    Ok(bytes.into_iter().map(|byte| byte != 0).collect())
}
