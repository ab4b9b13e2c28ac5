//! One exception for each kind of error.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use tracefile::Error;

macro_rules! kinds {
    ($($kind:ident: $base:ty),*) => {
        $(create_exception!(benchvise.trace.native, $kind, $base);)*

        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($kind), module.py().get_type::<$kind>())?;)*
            Ok(())
        }
    };
}

kinds!(TraceError: PyException, Unreadable: TraceError, NotATrace: TraceError,
    Unsupported: TraceError, Damaged: TraceError, UnknownName: TraceError, TooMuch: TraceError);

pub(crate) fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { .. } => Unreadable::new_err(text),
        Error::NotATrace { .. } => NotATrace::new_err(text),
        Error::Unsupported { .. } => Unsupported::new_err(text),
        Error::Damaged { .. } => Damaged::new_err(text),
        Error::Unknown(_) => UnknownName::new_err(text),
        Error::TooMuch(_) => TooMuch::new_err(text),
        _ => TraceError::new_err(text),
    }
}
