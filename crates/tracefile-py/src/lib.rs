//! The trace decoder for Python: `benchvise.trace.native`.
//!
//! Glue only. Arrow columns go over without a copy, through the Arrow C stream interface, and the
//! interpreter is free for other threads while a trace is opened, decoded or hashed.

mod analysis;
mod arrays;
#[cfg(target_os = "linux")]
mod bounded;
#[cfg(not(target_os = "linux"))]
#[path = "unbounded.rs"]
mod bounded;
mod column;
mod counted;
mod decoded;
mod errors;
mod export;
mod given;
mod groups;
mod ipc;
mod kept;
mod levels;
mod listing;
mod rows;
mod source_names;
mod table;
mod values;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use traceanalysis::Pass;
use tracefile::{Options, ProgramFile, Selection};

use crate::counted::Counted;
use crate::decoded::Decoded;
use crate::errors::to_python;
use crate::table::Table;

#[global_allocator]
static HEAP: bounded::Heap = bounded::Heap;

/// Which events to decode, each with all its fields (`None`) or with those named.
type Events = HashMap<String, Option<Vec<String>>>;

/// A trace that has been opened; its events are not decoded yet.
#[pyclass(frozen, module = "benchvise.trace.native")]
struct Trace(Arc<tracefile::Trace>);

#[pymethods]
impl Trace {
    fn info(&self) -> String {
        self.0.info().to_json().to_string()
    }

    fn outline(&self) -> String {
        self.0.info().outline().to_string()
    }

    fn span(&self, py: Python<'_>) -> PyResult<Option<(i64, i64)>> {
        py.detach(|| self.0.span()).map_err(to_python)
    }

    fn symbol(&self, py: Python<'_>, address: u64) -> Option<String> {
        py.detach(|| self.0.symbol(address))
    }

    #[pyo3(signature = (events=None, index=true))]
    fn decode(&self, py: Python<'_>, events: Option<Events>, index: bool) -> PyResult<Decoded> {
        let chosen = selection(events);
        let decoded = py.detach(|| self.0.decode(&chosen, &Options { index, times: None }));
        Decoded::new(py, self, decoded.map_err(to_python)?)
    }

    fn decode_for(&self, py: Python<'_>, pass: &str) -> PyResult<Decoded> {
        let pass = match pass {
            "scheduling" => Pass::Scheduling,
            "usage" => Pass::Usage,
            "syscalls" => Pass::Syscalls,
            "devices" => Pass::Devices,
            _ => return Err(PyValueError::new_err(format!("there is no pass {pass}"))),
        };
        let decoded = py.detach(|| decode_for(&self.0, pass)).map_err(to_python)?;
        match pass == Pass::Usage && traceanalysis::leaves_out(self.0.info()) {
            true => Decoded::without_others(py, self, decoded),
            false => Decoded::new(py, self, decoded),
        }
    }

    fn count(&self, py: Python<'_>) -> PyResult<Counted> {
        let counted = py.detach(|| self.0.count()).map_err(to_python)?;
        Counted::new(py, self.0.info(), counted)
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
                Python::attach(|py| sink.call1(py, (&event.name, Table::of(batch)))).map_err(
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
            None => Decoded::new(py, self, decoded.map_err(to_python)?),
        }
    }
}

/// Decodes what a pass reads, with the index.
fn decode_for(trace: &tracefile::Trace, pass: Pass) -> tracefile::Result<tracefile::Decoded> {
    let options = Options { index: true, times: None };
    trace.decode(&traceanalysis::needed(trace.info(), pass), &options)
}

fn selection(events: Option<Events>) -> Selection {
    let Some(events) = events else { return Selection::everything() };
    events.iter().fold(Selection::nothing(), |chosen, (name, fields)| {
        let fields: Option<Vec<&str>> =
            fields.as_ref().map(|names| names.iter().map(String::as_str).collect());
        chosen.event(name, fields.as_deref())
    })
}

/// A list of Python's own objects.
fn objects(py: Python<'_>, values: impl Iterator<Item = Value>) -> PyResult<Py<PyAny>> {
    let text = Value::Array(values.collect()).to_string();
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

#[pyfunction]
fn open(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
    py.detach(|| tracefile::open(&path)).map(Arc::new).map(Trace).map_err(to_python)
}

/// Programs are given as path, build-id and files that may be the same.
#[pyfunction]
fn open_unwinding(
    py: Python<'_>,
    path: PathBuf,
    programs: Vec<(String, Vec<u8>, Vec<PathBuf>)>,
) -> PyResult<Trace> {
    let programs = programs.into_iter();
    let programs = programs
        .map(|(path, build_id, candidates)| ProgramFile { path, build_id, candidates })
        .collect();
    let opened = py.detach(|| tracefile::open_unwinding(&path, programs));
    opened.map(Arc::new).map(Trace).map_err(to_python)
}

/// The name of a function as its source has it, where it is one of C++ or Rust; else as it is.
#[pyfunction]
fn demangle(py: Python<'_>, name: String) -> String {
    py.detach(|| source_names::source_name(&name)).unwrap_or(name)
}

/// From now on, what is large is put out of memory where the process takes more than `limit` bytes;
/// NumPy's arrays, too.
#[pyfunction]
fn bound_memory(py: Python<'_>, directory: PathBuf, limit: usize) -> PyResult<()> {
    py.detach(|| bounded::bound(&directory, limit))?;
    arrays::take_over(py)
}

#[pyfunction]
fn content_hash(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<String> {
    py.detach(|| tracefile::content_hash(&paths)).map_err(to_python)
}

#[pymodule]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("BENCHVISE_DECODER_VERSION"))?;
    module.add("ANALYSED_COLUMNS", traceanalysis::ANALYSED_COLUMNS)?;
    module.add("SCHEDULING", traceanalysis::SchedulingTables::NAMES)?;
    module.add("SYSCALLS", [traceanalysis::SYSCALLS])?;
    module.add("DEVICES", traceanalysis::DeviceTables::NAMES)?;
    module.add("LEVEL_STATES", tracelevels::state::NAMES)?;
    module.add_class::<Table>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<kept::KeptTable>()?;
    module.add_class::<Trace>()?;
    module.add_class::<Decoded>()?;
    module.add_class::<Counted>()?;
    module.add_class::<levels::Levels>()?;
    module.add_class::<levels::LevelEvents>()?;
    module.add_class::<listing::Listing>()?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    module.add_function(wrap_pyfunction!(open_unwinding, module)?)?;
    module.add_function(wrap_pyfunction!(rows::read_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(rows::chrome_spans, module)?)?;
    module.add_function(wrap_pyfunction!(groups::sort_groups, module)?)?;
    module.add_function(wrap_pyfunction!(demangle, module)?)?;
    module.add_function(wrap_pyfunction!(content_hash, module)?)?;
    module.add_function(wrap_pyfunction!(bound_memory, module)?)?;
    errors::add(module)
}
