//! From Python's tables to files of other programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::Trace;
use crate::analysis::{batches, input, losses};

/// Returns how many events were written, how many of them as generic ones, and how many left out.
#[pyfunction]
pub(crate) fn export_perfetto<'py>(
    py: Python<'py>,
    trace: &Bound<'py, Trace>,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
    losses: &Bound<'py, PyAny>,
    actors: &Bound<'py, PyAny>,
    path: PathBuf,
) -> PyResult<(u64, u64, u64)> {
    let epoch_offset = trace.get().0.info().clock.epoch_offset_ns;
    let mut input = input(trace.get(), tables, index)?;
    input.losses = self::losses(trace.get(), losses)?;
    let actors = batches(actors)?;
    let written = py.detach(|| {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let written = traceexport::perfetto(&input, &actors, epoch_offset, &mut out)?;
        out.flush()?;
        std::io::Result::Ok(written)
    })?;
    Ok((written.events, written.generic, written.left_out))
}
