//! The timeline at every zoom.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_pyarrow::FromPyArrow;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracelevels::{Forest, Missing};

use crate::analysis::batches;
use crate::pyarrow_table;

/// The timeline of a trace.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Levels(Forest);

/// The events of a trace in order of time.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct LevelEvents(tracelevels::Events);

fn refused(error: Missing) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn table(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    let schema = batch.schema();
    pyarrow_table(py, vec![batch], schema)
}

#[pymethods]
impl Levels {
    #[new]
    fn new(tables: HashMap<String, Bound<'_, PyAny>>) -> PyResult<Self> {
        let named = |name: &str| {
            let table = tables.get(name).ok_or_else(|| {
                PyValueError::new_err(format!("there is no table {name} among those of levels"))
            })?;
            single_batch(table)
        };
        let kept: Vec<RecordBatch> =
            Forest::TABLES.into_iter().map(named).collect::<PyResult<_>>()?;
        let kept: [&RecordBatch; 5] = std::array::from_fn(|at| &kept[at]);
        Forest::from_tables(kept).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn build(
        py: Python<'_>,
        actors: &Bound<'_, PyAny>,
        fragments: &Bound<'_, PyAny>,
        waits: &Bound<'_, PyAny>,
        index: &Bound<'_, PyAny>,
        span: (i64, i64),
    ) -> PyResult<Self> {
        let [actors, fragments, waits, index] = [actors, fragments, waits, index].map(batches);
        let (actors, fragments, waits, index) = (actors?, fragments?, waits?, index?);
        let built = py.detach(|| Forest::build(&actors, &fragments, &waits, &index, span));
        built.map(Self).map_err(refused)
    }

    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        let tables = py.detach(|| self.0.tables());
        for (name, batch) in Forest::TABLES.into_iter().zip(tables) {
            named.set_item(name, table(py, batch)?)?;
        }
        Ok(named)
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        table(py, self.0.row_table())
    }

    fn items<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<u32>,
        begin: i64,
        end: i64,
        shift: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        table(py, py.detach(|| self.0.query(&rows, begin, end, shift).into_batch()))
    }

    fn overview<'py>(&self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyAny>> {
        table(py, self.0.overview().drawn(width))
    }

    fn at(&self, row: u32, time: i64) -> Option<(i64, i64, u32, u8)> {
        self.0.at(row, time)
    }
}

#[pymethods]
impl LevelEvents {
    #[new]
    fn new(index: &Bound<'_, PyAny>, origin: i64) -> PyResult<Self> {
        tracelevels::Events::new(&batches(index)?, origin).map(Self).map_err(refused)
    }

    fn marks<'py>(
        &self,
        py: Python<'py>,
        levels: &Levels,
        rows: Vec<u32>,
        begin: i64,
        end: i64,
        shift: u32,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        let marks = py.detach(|| levels.0.marks(&self.0, &rows, begin, end, shift));
        let only_rare = marks.only_rare;
        Ok((table(py, marks.into_batch())?, only_rare))
    }
}

/// A table as one batch: that of its only chunk, without a copy.
fn single_batch(table: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let combined = table.call_method0("combine_chunks")?;
    let mut all = combined.call_method0("to_batches")?.try_iter()?;
    match (all.next(), all.next()) {
        (Some(batch), None) => RecordBatch::from_pyarrow_bound(&batch?),
        (None, _) => {
            let schema = arrow_schema::Schema::from_pyarrow_bound(&combined.getattr("schema")?)?;
            Ok(RecordBatch::new_empty(schema.into()))
        }
        _ => Err(PyValueError::new_err("a table of several batches")),
    }
}
