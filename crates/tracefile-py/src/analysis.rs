//! From Python's tables, which may come from a cache, to the analyses and back.

use arrow_array::RecordBatch;
use arrow_pyarrow::{FromPyArrow, Table};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traceanalysis::{Input, Loss, SYSCALLS};

use crate::{Trace, pyarrow_table};

#[pyfunction]
pub(crate) fn analyse_scheduling<'py>(
    py: Python<'py>,
    trace: &Bound<'py, Trace>,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
    losses: &Bound<'py, PyAny>,
    span: Option<(i64, i64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut input = input(trace.get(), tables, index)?;
    input.losses = self::losses(trace.get(), losses)?;
    input.span = span;
    named(py, py.detach(|| traceanalysis::scheduling(&input)).into_named())
}

#[pyfunction]
pub(crate) fn analyse_syscalls<'py>(
    py: Python<'py>,
    trace: &Bound<'py, Trace>,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
    actors: &Bound<'py, PyAny>,
    fragments: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = input(trace.get(), tables, index)?;
    let (actors, fragments) = (batches(actors)?, batches(fragments)?);
    let found = py.detach(|| traceanalysis::syscalls(&input, &actors, &fragments));
    let found =
        found.ok_or_else(|| PyValueError::new_err("no actors or fragments are in these"))?;
    named(py, [(SYSCALLS, found)])
}

#[pyfunction]
pub(crate) fn analyse_devices<'py>(
    py: Python<'py>,
    trace: &Bound<'py, Trace>,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut input = input(trace.get(), tables, index)?;
    input.name_functions(&trace.get().0);
    named(py, py.detach(|| traceanalysis::devices(&input)).into_named())
}

/// The events of a trace that are in tables by their names.
pub(crate) fn input(
    trace: &Trace,
    tables: &Bound<'_, PyDict>,
    index: &Bound<'_, PyAny>,
) -> PyResult<Input> {
    let mut broken = None;
    let of_event = |name: &str| -> PyResult<Vec<RecordBatch>> {
        tables
            .get_item(name)?
            .map(|table| batches(&table))
            .transpose()
            .map(Option::unwrap_or_default)
    };
    let of_event = |_, name: &str| {
        of_event(name).unwrap_or_else(|error| {
            broken = Some(error);
            Vec::new()
        })
    };
    let input = Input::described(trace.0.info(), of_event, batches(index)?, Vec::new(), None);
    broken.map_or(Ok(input), Err)
}

/// What is missing, of a list as [`crate::Decoded`] has it.
pub(crate) fn losses(trace: &Trace, losses: &Bound<'_, PyAny>) -> PyResult<Vec<Loss>> {
    let streams = &trace.0.info().streams;
    let loss = |loss: Bound<'_, PyAny>| {
        let stream: usize = loss.get_item("stream")?.extract()?;
        Ok(Loss {
            cpu: streams.get(stream).and_then(|stream| stream.cpu),
            begin: loss.get_item("begin")?.extract()?,
            end: loss.get_item("end")?.extract()?,
        })
    };
    losses.try_iter()?.map(|one| loss(one?)).collect()
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
