//! The analyses of the events of a trace.

use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traceanalysis::{Input, NoUsage, SYSCALLS};

use crate::errors::to_python;
use crate::table::Table;

pub(crate) fn scheduling<'py>(
    py: Python<'py>,
    input: impl FnOnce() -> Input + Send,
) -> PyResult<Bound<'py, PyDict>> {
    named(py, py.detach(|| traceanalysis::scheduling(&input())).into_named())
}

pub(crate) fn usage<'py>(
    py: Python<'py>,
    input: impl FnOnce() -> Input + Send,
    every: impl FnOnce() -> tracefile::Result<Input> + Send,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let usage = py.detach(|| match traceanalysis::usage(&input()) {
        Err(NoUsage::LeftOut) => Ok(traceanalysis::usage(&every()?)),
        usage => Ok(usage),
    });
    let usage = usage.map_err(to_python)?.ok();
    usage.map(|usage| named(py, usage.into_named())).transpose()
}

pub(crate) fn syscalls<'py>(
    py: Python<'py>,
    input: impl FnOnce() -> Input + Send,
    actors: &Table,
    fragments: &Table,
) -> PyResult<Bound<'py, PyDict>> {
    let (actors, fragments) = (&actors.batches, &fragments.batches);
    let calls = py.detach(|| traceanalysis::syscalls(&input(), actors, fragments));
    let refused = || PyValueError::new_err("no actors or fragments are in these");
    named(py, [(SYSCALLS, calls.ok_or_else(refused)?)])
}

/// Of an input that knows the names of functions.
pub(crate) fn devices<'py>(
    py: Python<'py>,
    input: impl FnOnce() -> Input + Send,
) -> PyResult<Bound<'py, PyDict>> {
    named(py, py.detach(|| traceanalysis::devices(&input())).into_named())
}

fn named<'py>(
    py: Python<'py>,
    found: impl IntoIterator<Item = (&'static str, RecordBatch)>,
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, batch) in found {
        named.set_item(name, Table::of(batch))?;
    }
    Ok(named)
}
