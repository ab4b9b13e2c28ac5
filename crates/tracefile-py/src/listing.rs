//! The events of a trace as texts, for Python.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use tracetext::{Chunk, Filter, Made, Moment, StackNames, StackPlace, Texts};

use crate::errors::to_python;
use crate::{Trace, objects};

/// A listing that goes on through a trace.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Listing(Mutex<tracetext::Listing>, Arc<tracefile::Trace>);

/// Lines as the buffer protocol gives them, without a copy. Their memory goes back to the listing.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Text(tracetext::Lines, Arc<Mutex<Vec<tracetext::Lines>>>);

/// Lines in parts, each with those in it that are not plain; and how many lines there are.
type Lines = (Vec<(Text, Vec<(usize, usize)>)>, usize);
/// Time, CPU, thread, its name, event and text.
type Event = (i64, Option<u16>, Option<i32>, Option<String>, String, String);

#[pymethods]
impl Text {
    #[expect(unsafe_code, reason = "it is how the buffer protocol asks")]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let text = &slf.get().0;
        let (begin, length) = (text.as_ptr().cast_mut().cast(), text.len().cast_signed());
        // SAFETY: Python gives a view to be filled. What it points to lives in this object, which
        // the view keeps, and never moves.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), begin, length, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.1.lock() {
            spare.push(std::mem::take(&mut self.0));
        }
    }
}

#[pymethods]
impl Listing {
    #[new]
    #[pyo3(signature = (trace, begin, end, *, lines=false, events=None, threads=None, named=None,
                        cpus=None, text=None, few=false, stack_names=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        trace: &Bound<'_, Trace>,
        begin: i64,
        end: i64,
        lines: bool,
        events: Option<HashSet<String>>,
        threads: Option<HashSet<i32>>,
        named: Option<Py<PyAny>>,
        cpus: Option<HashSet<u16>>,
        text: Option<String>,
        few: bool,
        stack_names: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let trace = Arc::clone(&trace.get().0);
        let types = trace.info().events.iter().enumerate();
        let events = events.map(|names| {
            types.filter(|(_, event)| names.contains(&event.name)).map(|(at, _)| at).collect()
        });
        let filter = Filter { events, threads, cpus, text };
        let texts = Texts::new(Arc::clone(&trace)).with_names(stack_names.map(calling));
        let texts = Arc::new(texts);
        let raised = Mutex::new(None);
        let of = Arc::clone(&trace);
        let listing = py.detach(|| {
            let choose = |threads: &tracetext::Threads| {
                let names: HashMap<i32, &str> = threads.all().collect();
                let chosen = Python::attach(|py| {
                    let named = named.as_ref().expect("only called when there is one");
                    named.call1(py, (names,))?.extract::<HashSet<i32>>(py)
                });
                chosen.unwrap_or_else(|error| {
                    *raised.lock().expect("nothing panics while it is held") = Some(error);
                    HashSet::new()
                })
            };
            let choose: Option<tracetext::Choose<'_>> =
                if named.is_some() { Some(&choose) } else { None };
            let span = of.span()?.unwrap_or((0, 0));
            let how = (if lines { Made::Line } else { Made::Text }, few);
            tracetext::Listing::new(Arc::clone(&of), texts, filter, span, begin..end, how, choose)
        });
        match raised.into_inner().expect("nothing panics while it is held") {
            Some(error) => Err(error),
            None => Ok(Self(Mutex::new(listing.map_err(to_python)?), trace)),
        }
    }

    fn lines(&self, py: Python<'_>, most: Option<usize>) -> PyResult<Option<Lines>> {
        let Some(chunks) = self.advance(py, most)? else { return Ok(None) };
        let count = chunks.iter().map(|chunk| chunk.ends.len()).sum();
        let spare = self.0.lock().expect("nothing panics while it is held").spare();
        let part = |chunk: Chunk| (Text(chunk.text, Arc::clone(&spare)), chunk.doubtful);
        Ok(Some((chunks.into_iter().map(part).collect(), count)))
    }

    fn events(&self, py: Python<'_>, most: Option<usize>) -> PyResult<Option<Vec<Event>>> {
        let Some(chunks) = self.advance(py, most)? else { return Ok(None) };
        let listing = self.0.lock().expect("nothing panics while it is held");
        Ok(Some(chunks.iter().flat_map(|chunk| self.rows(&listing, chunk)).collect()))
    }

    #[getter]
    fn losses(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let listing = self.0.lock().expect("nothing panics while it is held");
        objects(py, listing.losses.iter().map(tracefile::Loss::to_json))
    }

    #[getter]
    fn damage(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let listing = self.0.lock().expect("nothing panics while it is held");
        objects(py, listing.damage.iter().map(tracefile::Damage::to_json))
    }
}

impl Listing {
    /// The next chunks, with at most so many events together.
    fn advance(&self, py: Python<'_>, most: Option<usize>) -> PyResult<Option<Vec<Chunk>>> {
        let mut left = most.unwrap_or(usize::MAX);
        let chunks =
            py.detach(|| self.0.lock().expect("nothing panics while it is held").advance());
        let chunks = chunks.map_err(to_python)?;
        Ok(chunks.map(|mut chunks| {
            for chunk in &mut chunks {
                chunk.cut(left);
                left -= chunk.ends.len();
            }
            chunks
        }))
    }

    fn rows(&self, listing: &tracetext::Listing, chunk: &Chunk) -> Vec<Event> {
        let events = &self.1.info().events;
        let mut begin = 0;
        let row = |at: usize| {
            let text = &chunk.text[begin..chunk.ends[at]];
            begin = chunk.ends[at];
            let (cpu, thread) = (chunk.cpu[at], chunk.thread[at]);
            (
                chunk.time[at],
                (cpu != tracefile::Index::NO_CPU).then_some(cpu),
                (thread >= 0).then_some(thread),
                listing.threads().name(thread).map(str::to_owned),
                events[usize::from(chunk.event[at])].name.clone(),
                String::from_utf8_lossy(text).into_owned(),
            )
        };
        (0..chunk.time.len()).map(row).collect()
    }
}

/// Names that a function of Python gives: of a column, a process, a thread, a time and addresses.
/// One that fails is reported, and the addresses stand there.
fn calling(names: Py<PyAny>) -> StackNames {
    Box::new(move |place: &StackPlace<'_>| {
        Python::attach(|py| {
            let Moment { time, thread } = place.moment;
            let words = (place.column, place.process, thread, time, place.addresses.to_vec());
            let named = names.call1(py, words).and_then(|named| named.extract(py));
            named.map_err(|error: PyErr| error.write_unraisable(py, None)).ok()
        })
    })
}

/// The texts of some rows of tables, given as (type, row), of events that were decoded or kept.
pub(crate) fn texts<'a>(
    trace: &Arc<tracefile::Trace>,
    rows: &[(usize, usize)],
    batches: impl Fn(&str) -> Option<&'a [arrow_array::RecordBatch]>,
) -> PyResult<Vec<String>> {
    let texts = Texts::new(Arc::clone(trace));
    let mut ready = HashMap::new();
    let mut written = Vec::with_capacity(rows.len());
    for &(event, row) in rows {
        let name = trace.info().events.get(event).map(|event| event.name.as_str());
        let of = name
            .and_then(&batches)
            .filter(|of| row < of.iter().map(arrow_array::RecordBatch::num_rows).sum());
        let of = of.ok_or_else(|| PyValueError::new_err("no such event"))?;
        let batches = ready.entry(event).or_insert_with(|| texts.batches(event, of));
        let mut text = Vec::new();
        // Without names for stacks: when and where it was does not matter.
        texts.write(&mut text, event, batches, row, Moment { time: 0, thread: -1 });
        written.push(String::from_utf8_lossy(&text).into_owned());
    }
    Ok(written)
}
