//! The events of a trace: as they were decoded, or from tables that were kept.
//!
//! Their columns stay here and go over to Python table by table when they are asked for: each goes
//! through some hundred calls, and there are thousands.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traceanalysis::{Input, Loss, Pass};

use crate::table::Table;
use crate::{Trace, analysis, decode_for, export, listing, objects};

/// All rows of an event type, or of the index.
struct Rows {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

impl Rows {
    fn of(table: &Table) -> Self {
        Self { batches: table.batches.clone(), schema: Arc::clone(&table.schema) }
    }

    fn count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn table(&self) -> Table {
        Table::new(self.batches.clone(), Arc::clone(&self.schema))
    }
}

/// What is known of events that were left out.
struct LeftOut {
    /// How many there are of each type.
    counts: Vec<u64>,
    /// One more than the highest CPU of all events.
    cpus: usize,
}

/// What decoding gives.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Decoded {
    pub(crate) trace: Arc<tracefile::Trace>,
    rows: HashMap<String, Rows>,
    /// Of a trace that was decoded without the events that change nothing about who runs.
    left_out: Option<LeftOut>,
    index: Option<Rows>,
    lost: Vec<Loss>,
    #[pyo3(get)]
    losses: Py<PyAny>,
    #[pyo3(get)]
    damage: Py<PyAny>,
    #[pyo3(get)]
    notes: Vec<String>,
    #[pyo3(get)]
    events: u64,
    #[pyo3(get)]
    span: Option<(i64, i64)>,
}

#[pymethods]
impl Decoded {
    /// Of tables that were kept.
    #[staticmethod]
    fn kept(
        py: Python<'_>,
        trace: &Bound<'_, Trace>,
        tables: HashMap<String, Bound<'_, Table>>,
        index: &Bound<'_, Table>,
        losses: &Bound<'_, PyAny>,
        span: Option<(i64, i64)>,
    ) -> PyResult<Self> {
        let trace = Arc::clone(&trace.get().0);
        let mut rows = HashMap::new();
        for (name, table) in tables {
            rows.insert(name, Rows::of(table.get()));
        }
        let index = Rows::of(index.get());
        let mut lost = Vec::new();
        for loss in losses.try_iter()? {
            let loss = loss?;
            let stream: usize = loss.get_item("stream")?.extract()?;
            lost.push(Loss {
                cpu: trace.info().streams.get(stream).and_then(|stream| stream.cpu),
                begin: loss.get_item("begin")?.extract()?,
                end: loss.get_item("end")?.extract()?,
            });
        }
        Ok(Self {
            rows,
            left_out: None,
            events: index.count() as u64,
            index: Some(index),
            lost,
            losses: losses.clone().unbind(),
            damage: objects(py, std::iter::empty())?,
            notes: Vec::new(),
            span,
            trace,
        })
    }

    /// By event type, how many there are; also of those that never occurred.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (at, event) in self.trace.info().events.iter().enumerate() {
            if let Some(rows) = self.rows.get(&event.name) {
                counts.set_item(&event.name, rows.count())?;
            } else if let Some(LeftOut { counts: left_out, .. }) = &self.left_out {
                counts.set_item(&event.name, left_out[at])?;
            }
        }
        Ok(counts)
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        let rows = self.rows.get(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(rows.table())
    }

    #[getter]
    fn index(&self) -> Option<Table> {
        self.index.as_ref().map(Rows::table)
    }

    fn texts(&self, rows: Vec<(usize, usize)>) -> PyResult<Vec<String>> {
        let batches = |name: &str| self.rows.get(name).map(|rows| rows.batches.as_slice());
        listing::texts(&self.trace, &rows, batches)
    }

    fn scheduling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        analysis::scheduling(py, || self.input())
    }

    fn usage<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let every = || Ok(Input::of(&self.trace, decode_for(&self.trace, Pass::Scheduling)?));
        analysis::usage(py, || self.input(), every)
    }

    fn syscalls<'py>(
        &self,
        py: Python<'py>,
        actors: &Bound<'py, Table>,
        fragments: &Bound<'py, Table>,
    ) -> PyResult<Bound<'py, PyDict>> {
        analysis::syscalls(py, || self.input(), actors.get(), fragments.get())
    }

    fn devices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        analysis::devices(py, || {
            let mut input = self.input();
            input.name_functions(&self.trace);
            input
        })
    }

    fn export_perfetto(
        &self,
        py: Python<'_>,
        actors: &Bound<'_, Table>,
        path: PathBuf,
    ) -> PyResult<(u64, u64, u64)> {
        let epoch_offset_ns = self.trace.info().clock.epoch_offset_ns;
        export::perfetto(py, || self.input(), epoch_offset_ns, actors.get(), path)
    }
}

impl Decoded {
    pub(crate) fn new(
        py: Python<'_>,
        trace: &Trace,
        decoded: tracefile::Decoded,
    ) -> PyResult<Self> {
        let info = trace.0.info();
        let named = |table: &tracefile::Table| info.events[table.event].name.clone();
        let lost = decoded.losses.iter().map(|loss| Loss::of(info, loss)).collect();
        let losses = objects(py, decoded.losses.iter().map(tracefile::Loss::to_json))?;
        let damage = objects(py, decoded.damage.iter().map(tracefile::Damage::to_json))?;
        let rows = decoded
            .tables
            .into_iter()
            .map(|table| (named(&table), Rows { batches: table.batches, schema: table.schema }));
        Ok(Self {
            rows: rows.collect(),
            left_out: None,
            index: decoded
                .index
                .map(tracefile::Index::into_batch)
                .map(|batch| Rows { schema: batch.schema(), batches: vec![batch] }),
            lost,
            losses,
            damage,
            notes: decoded.notes,
            events: decoded.events,
            span: decoded.span,
            trace: Arc::clone(&trace.0),
        })
    }

    /// The same without the events that change nothing about who runs.
    pub(crate) fn without_others(
        py: Python<'_>,
        trace: &Trace,
        mut decoded: tracefile::Decoded,
    ) -> PyResult<Self> {
        let counts = std::mem::take(&mut decoded.passed);
        let left_out = Some(LeftOut { counts, cpus: decoded.cpus });
        Ok(Self { left_out, ..Self::new(py, trace, decoded)? })
    }

    /// The events for an analysis.
    pub(crate) fn input(&self) -> Input {
        let batches =
            |_, name: &str| self.rows.get(name).map(|of| of.batches.clone()).unwrap_or_default();
        let index = self.index.as_ref().map(|index| index.batches.clone()).unwrap_or_default();
        let input =
            Input::described(self.trace.info(), batches, index, self.lost.clone(), self.span);
        match &self.left_out {
            Some(LeftOut { cpus, .. }) => Input { cpus: *cpus, left_out: true, ..input },
            None => input,
        }
    }
}
