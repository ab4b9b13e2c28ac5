//! From Python's tables to files of other programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{batches, input, parsed};

/// Returns how many events were written, how many of them as generic ones, and how many left out.
#[pyfunction]
pub(crate) fn export_perfetto<'py>(
    py: Python<'py>,
    info: &str,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
    losses: &Bound<'py, PyAny>,
    actors: &Bound<'py, PyAny>,
    path: PathBuf,
) -> PyResult<(u64, u64, u64)> {
    let losses = py.import("json")?.call_method1("dumps", (losses,))?.extract::<String>()?;
    let info = parsed(info)?;
    let epoch_offset = info["clock"]["epoch_offset_ns"].as_i64();
    let input = input(&info, tables, index, &parsed(&losses)?, None)?;
    let actors = batches(actors)?;
    let written = py.detach(|| {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let written = traceexport::perfetto(&input, &actors, epoch_offset, &mut out)?;
        out.flush()?;
        std::io::Result::Ok(written)
    })?;
    Ok((written.events, written.generic, written.left_out))
}
