//! The trace decoder for Python: `benchvise.trace.native`.
//!
//! Glue only. Arrow columns go over without a copy, through the Arrow C stream interface, and the
//! interpreter is free for other threads while a trace is opened, decoded or hashed.

mod analysis;
mod errors;
mod export;
mod levels;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::{IntoPyArrow, ToPyArrow};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use tracefile::{Options, Selection};

use crate::errors::to_python;

/// Which events to decode, each with all its fields (`None`) or with those named.
type Events = HashMap<String, Option<Vec<String>>>;

/// A trace that has been opened; its events are not decoded yet.
#[pyclass(frozen, module = "benchvise.trace.native")]
struct Trace(tracefile::Trace);

/// What decoding gives.
#[pyclass(frozen, get_all, module = "benchvise.trace.native")]
struct Decoded {
    tables: Py<PyDict>,
    index: Option<Py<PyAny>>,
    losses: Py<PyAny>,
    damage: Py<PyAny>,
    notes: Vec<String>,
    events: u64,
    span: Option<(i64, i64)>,
}

#[pymethods]
impl Trace {
    fn info(&self) -> String {
        self.0.info().to_json().to_string()
    }

    fn outline(&self) -> String {
        self.0.info().outline().to_string()
    }

    #[pyo3(signature = (events=None, index=true))]
    fn decode(&self, py: Python<'_>, events: Option<Events>, index: bool) -> PyResult<Decoded> {
        let chosen = selection(events);
        let decoded = py.detach(|| self.0.decode(&chosen, &Options { index }));
        self.python(py, decoded.map_err(to_python)?)
    }

    fn stream(
        &self,
        py: Python<'_>,
        events: Option<Events>,
        wave_bytes: u64,
        sink: Py<PyAny>,
    ) -> PyResult<Decoded> {
        let chosen = selection(events);
        let raised = Mutex::new(None);
        let decoded = py.detach(|| {
            self.0.stream(&chosen, wave_bytes, &mut |event, batch| {
                Python::attach(|py| sink.call1(py, (&event.name, batch.to_pyarrow(py)?))).map_err(
                    |error| {
                        *raised.lock().expect("nothing panics while it is held") = Some(error);
                        tracefile::Error::Sink("the receiver raised an exception".into())
                    },
                )?;
                Ok(())
            })
        });
        match raised.into_inner().expect("nothing panics while it is held") {
            Some(error) => Err(error),
            None => self.python(py, decoded.map_err(to_python)?),
        }
    }
}

impl Trace {
    fn python(&self, py: Python<'_>, decoded: tracefile::Decoded) -> PyResult<Decoded> {
        let tables = PyDict::new(py);
        for table in decoded.tables {
            let name = &self.0.info().events[table.event].name;
            tables.set_item(name, pyarrow_table(py, table.batches, table.schema)?)?;
        }
        let index = decoded.index.map(tracefile::Index::into_batch);
        let index = index.map(|batch| {
            let schema = batch.schema();
            pyarrow_table(py, vec![batch], schema).map(Bound::unbind)
        });
        Ok(Decoded {
            tables: tables.unbind(),
            index: index.transpose()?,
            losses: objects(py, decoded.losses.iter().map(tracefile::Loss::to_json))?,
            damage: objects(py, decoded.damage.iter().map(tracefile::Damage::to_json))?,
            notes: decoded.notes,
            events: decoded.events,
            span: decoded.span,
        })
    }
}

fn selection(events: Option<Events>) -> Selection {
    let Some(events) = events else { return Selection::everything() };
    events.iter().fold(Selection::nothing(), |chosen, (name, fields)| {
        let fields: Option<Vec<&str>> =
            fields.as_ref().map(|names| names.iter().map(String::as_str).collect());
        chosen.event(name, fields.as_deref())
    })
}

/// A `pyarrow.Table` of the same memory.
fn pyarrow_table(
    py: Python<'_>,
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
) -> PyResult<Bound<'_, PyAny>> {
    let batches = batches.into_iter().map(Ok);
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new(batches, schema));
    reader.into_pyarrow(py)?.call_method0("read_all")
}

/// A list of Python's own objects.
fn objects(py: Python<'_>, values: impl Iterator<Item = Value>) -> PyResult<Py<PyAny>> {
    let text = Value::Array(values.collect()).to_string();
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

#[pyfunction]
fn open(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
    py.detach(|| tracefile::open(&path)).map(Trace).map_err(to_python)
}

#[pyfunction]
fn content_hash(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<String> {
    py.detach(|| tracefile::content_hash(&paths)).map_err(to_python)
}

#[pymodule]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("BENCHVISE_DECODER_VERSION"))?;
    module.add("SCHEDULING", traceanalysis::SchedulingTables::NAMES)?;
    module.add("SYSCALLS", [traceanalysis::SYSCALLS])?;
    module.add("DEVICES", traceanalysis::DeviceTables::NAMES)?;
    module.add("LEVEL_STATES", tracelevels::state::NAMES)?;
    module.add_class::<Trace>()?;
    module.add_class::<Decoded>()?;
    module.add_class::<levels::Levels>()?;
    module.add_class::<levels::LevelEvents>()?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    module.add_function(wrap_pyfunction!(content_hash, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyse_scheduling, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyse_syscalls, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyse_devices, module)?)?;
    module.add_function(wrap_pyfunction!(export::export_perfetto, module)?)?;
    errors::add(module)
}
