//! The events of a trace in files of other programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::prelude::*;
use traceanalysis::Input;

use crate::table::Table;

/// Returns how many events were written, how many of them as generic ones, and how many left out.
pub(crate) fn perfetto(
    py: Python<'_>,
    input: impl FnOnce() -> Input + Send,
    epoch_offset_ns: Option<i64>,
    actors: &Table,
    path: PathBuf,
) -> PyResult<(u64, u64, u64)> {
    let written = py.detach(|| {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let written = traceexport::perfetto(&input(), &actors.batches, epoch_offset_ns, &mut out)?;
        out.flush()?;
        std::io::Result::Ok(written)
    })?;
    Ok((written.events, written.generic, written.left_out))
}
