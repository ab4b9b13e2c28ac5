//! The events of a trace in files of other programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::analysis::batches;
use crate::decoded::Decoded;

/// Returns how many events were written, how many of them as generic ones, and how many left out.
pub(crate) fn perfetto(
    py: Python<'_>,
    events: &Decoded,
    actors: &Bound<'_, PyAny>,
    path: PathBuf,
) -> PyResult<(u64, u64, u64)> {
    let epoch_offset = events.trace.info().clock.epoch_offset_ns;
    let actors = batches(actors)?;
    let written = py.detach(|| {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let written = traceexport::perfetto(&events.input(), &actors, epoch_offset, &mut out)?;
        out.flush()?;
        std::io::Result::Ok(written)
    })?;
    Ok((written.events, written.generic, written.left_out))
}
