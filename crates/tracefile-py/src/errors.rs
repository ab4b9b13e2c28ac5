//! One exception for each kind of error.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use tracefile::Error;

create_exception!(benchvise.trace.native, TraceError, PyException);
create_exception!(benchvise.trace.native, Unreadable, TraceError);
create_exception!(benchvise.trace.native, NotATrace, TraceError);
create_exception!(benchvise.trace.native, Unsupported, TraceError);
create_exception!(benchvise.trace.native, Damaged, TraceError);
create_exception!(benchvise.trace.native, UnknownName, TraceError);
create_exception!(benchvise.trace.native, TooMuch, TraceError);

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

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("Unreadable", py.get_type::<Unreadable>())?;
    module.add("NotATrace", py.get_type::<NotATrace>())?;
    module.add("Unsupported", py.get_type::<Unsupported>())?;
    module.add("Damaged", py.get_type::<Damaged>())?;
    module.add("UnknownName", py.get_type::<UnknownName>())?;
    module.add("TooMuch", py.get_type::<TooMuch>())
}
