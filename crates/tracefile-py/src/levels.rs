//! The timeline at every zoom.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracelevels::{Forest, Missing};

use crate::table::{self, Table};

/// The timeline of a trace.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Levels(Forest);

/// The events of a trace in order of time.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct LevelEvents(tracelevels::Events);

fn refused(error: Missing) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Levels {
    #[new]
    fn new(tables: HashMap<String, Bound<'_, Table>>) -> PyResult<Self> {
        let named = |name: &str| {
            let table = tables.get(name).ok_or_else(|| {
                PyValueError::new_err(format!("there is no table {name} among those of levels"))
            })?;
            table.get().joined().map_err(table::refused)
        };
        let kept: Vec<RecordBatch> =
            Forest::TABLES.into_iter().map(named).collect::<PyResult<_>>()?;
        let kept: [&RecordBatch; 5] = std::array::from_fn(|at| &kept[at]);
        Forest::from_tables(kept).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn build(
        py: Python<'_>,
        actors: &Bound<'_, Table>,
        instances: &Bound<'_, Table>,
        fragments: &Bound<'_, Table>,
        waits: &Bound<'_, Table>,
        index: &Bound<'_, Table>,
        span: (i64, i64),
    ) -> PyResult<Self> {
        let tables = [actors, instances, fragments, waits, index];
        let [actors, instances, fragments, waits, index] = tables.map(|table| &table.get().batches);
        let built = py.detach(|| Forest::build(actors, instances, fragments, waits, index, span));
        built.map(Self).map_err(refused)
    }

    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        let tables = py.detach(|| self.0.tables());
        for (name, batch) in Forest::TABLES.into_iter().zip(tables) {
            named.set_item(name, Table::of(batch))?;
        }
        Ok(named)
    }

    fn rows(&self) -> Table {
        Table::of(self.0.row_table())
    }

    fn items(&self, py: Python<'_>, rows: Vec<u32>, begin: i64, end: i64, shift: u32) -> Table {
        Table::of(py.detach(|| self.0.query(&rows, begin, end, shift).into_batch()))
    }

    fn overview(&self, width: usize) -> Table {
        Table::of(self.0.overview().drawn(width))
    }

    fn at(&self, row: u32, time: i64) -> Option<(i64, i64, u32, u8)> {
        self.0.at(row, time)
    }
}

#[pymethods]
impl LevelEvents {
    #[new]
    fn new(index: &Bound<'_, Table>, origin: i64) -> PyResult<Self> {
        tracelevels::Events::new(&index.get().batches, origin).map(Self).map_err(refused)
    }

    fn marks(
        &self,
        py: Python<'_>,
        levels: &Levels,
        rows: Vec<u32>,
        begin: i64,
        end: i64,
        shift: u32,
    ) -> (Table, bool) {
        let marks = py.detach(|| levels.0.marks(&self.0, &rows, begin, end, shift));
        let only_rare = marks.only_rare;
        (Table::of(marks.into_batch()), only_rare)
    }
}
