//! The analyses of the events of a trace.

use arrow_array::RecordBatch;
use arrow_pyarrow::{FromPyArrow, Table};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traceanalysis::{Input, NoUsage, SYSCALLS};

use crate::errors::to_python;
use crate::pyarrow_table;

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
    actors: &Bound<'py, PyAny>,
    fragments: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (actors, fragments) = (batches(actors)?, batches(fragments)?);
    let calls = py.detach(|| traceanalysis::syscalls(&input(), &actors, &fragments));
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

pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    Ok(Table::from_pyarrow_bound(table)?.into_inner().0)
}

fn named<'py>(
    py: Python<'py>,
    found: impl IntoIterator<Item = (&'static str, RecordBatch)>,
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, batch) in found {
        let schema = batch.schema();
        named.set_item(name, pyarrow_table(py, vec![batch], schema)?)?;
    }
    Ok(named)
}
