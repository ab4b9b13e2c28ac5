//! Trace files to Arrow columns: CTF 1.8 and 2, trace.dat (versions 6 and 7), perf.data, ftrace's text,
//! Chrome's JSON, Perfetto.
//!
//! ```text
//! open(path) ─→ Trace ─→ Selection ─→ decode ─→ one table per event type, one time index
//!   detect        │                      │
//!   the format    info(): clock,         ├ units (packets, pages) decode in parallel
//!                 streams, event types   └ losses and damage are part of the result
//! ```
//!
//! A file is mapped, not read. What it says is never believed: sizes and offsets are checked against
//! the file, and nothing is allocated by a number read from it. A file that is cut short or damaged
//! gives everything that precedes the damage, and [`Damage`] says where and what.

#![warn(missing_docs)]

mod bytes;
mod chrome;
mod columns;
mod ctf;
mod dat;
mod decode;
mod describe;
mod error;
mod hash;
mod index;
mod map;
mod model;
mod perf;
mod perfetto;
mod places;
mod select;
mod slices;
mod text;

#[doc(hidden)]
pub use ctf::open_bytes as open_ctf_bytes;
pub use dat::records::{FieldPlace, Record, Records, Seen, Slice, Slices};
pub use decode::{Counted, Decoded, Options, Table};
pub use error::{Error, Result};
pub use hash::content_hash;
pub use index::Index;
pub use map::release_pages;
pub use model::{
    ByteOrder, Clock, ColumnType, Damage, EventType, Field, Format, Info, Label, Loss, LossKind,
    Member, Scope, Stream,
};
pub use perf::ProgramFile;
pub use select::Selection;

use std::path::Path;
use std::sync::Arc;

/// Compiles the example of the page that others see first.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// A trace that has been opened: its description is known, its events are not decoded yet.
pub struct Trace {
    source: Arc<dyn decode::Source>,
    /// The same where it is a trace.dat.
    dat: Option<Arc<dat::TraceDat>>,
}

impl Trace {
    fn of(source: Box<dyn decode::Source>) -> Self {
        Self { source: source.into(), dat: None }
    }

    /// What the trace says about itself, and what was seen while it was opened.
    pub fn info(&self) -> &Info {
        self.source.info()
    }

    /// The name of a kernel function or variable at an address, with `+0x..` when it begins before;
    /// `None` when the trace has no table of symbols. The first call reads the table.
    pub fn symbol(&self, address: u64) -> Option<String> {
        self.source.symbol(address).map(|(name, distance)| match distance {
            0 => name.to_owned(),
            distance => format!("{name}+0x{distance:x}"),
        })
    }

    /// The same as the name, and how far before the address it begins.
    pub fn symbol_at(&self, address: u64) -> Option<(&str, u64)> {
        self.source.symbol(address)
    }

    /// The format strings of `trace_printk` by their addresses, which events of `bprint` and
    /// `bputs` name.
    pub fn printk_formats(&self) -> Vec<(u64, String)> {
        self.source.printk_formats()
    }

    /// Times of the first and last event, without decoding what lies between.
    ///
    /// # Errors
    /// [`Error::TooMuch`] when it describes more event types than can be told apart.
    pub fn span(&self) -> Result<Option<(i64, i64)>> {
        decode::span(self.source.as_ref())
    }

    /// Whether times of its parts are known, so that [`Options::times`] leaves most of it alone.
    pub fn sliceable(&self) -> bool {
        let units = self.source.units().len();
        units > 0 && (0..units).all(|unit| self.source.span(unit).0.is_some())
    }

    /// Bytes of event data.
    pub fn bytes(&self) -> u64 {
        self.source.units().iter().map(|unit| unit.bytes).sum()
    }

    /// The records of its events as they lie in the file, for whoever reads each once; `None` of
    /// formats whose events have no fields at fixed places, and where they are compressed.
    pub fn records(&self) -> Option<Records<'_>> {
        self.dat.as_ref().and_then(|trace| Records::new(trace))
    }

    /// Decodes what is selected, all of it in memory, on as many threads as rayon's pool has.
    pub fn decode(&self, selection: &Selection, options: &Options) -> Result<Decoded> {
        decode::all(self.source.as_ref(), selection, options)
    }

    /// Counts all events; memory does not grow with the trace.
    ///
    /// # Errors
    /// [`Error::TooMuch`] when it describes more event types than can be told apart.
    pub fn count(&self) -> Result<Counted> {
        decode::counted(self.source.as_ref())
    }

    /// Decodes with bounded memory: `sink` gets the record batches of about `wave_bytes` of the
    /// file at a time, in the order of streams and of time within each. No index is made.
    ///
    /// Returns what [`Trace::decode`] would, with empty tables.
    pub fn stream(
        &self,
        selection: &Selection,
        wave_bytes: u64,
        sink: &mut dyn FnMut(&EventType, arrow_array::RecordBatch) -> Result<()>,
    ) -> Result<Decoded> {
        decode::in_waves(self.source.as_ref(), selection, wave_bytes, sink)
    }
}

/// Opens a trace: a directory of CTF streams, a trace.dat or a perf.data file, ftrace's text.
///
/// # Errors
/// [`Error::NotATrace`] when it is none of these, [`Error::Unsupported`] when it is one that cannot
/// be read, [`Error::Damaged`] when its description is beyond use, [`Error::Io`].
pub fn open(path: &Path) -> Result<Trace> {
    if path.is_dir() || path.file_name() == Some("metadata".as_ref()) {
        return ctf::open(path);
    }
    opened(map::Mapped::open(path)?, None)
}

/// The same of a perf.data whose stacks of programs are unwound where it has copies of them (`perf
/// record --call-graph dwarf`), by the rules in the files of the programs. `user_stack_end` says how
/// each chain ends. Other traces are opened as by [`open`].
///
/// # Errors
/// As [`open`].
pub fn open_unwinding(path: &Path, files: Vec<ProgramFile>) -> Result<Trace> {
    if path.is_dir() {
        return open(path);
    }
    opened(map::Mapped::open(path)?, Some(files))
}

/// Opens the bytes of a trace that is one file: for fuzzing, which has no files.
#[doc(hidden)]
pub fn open_bytes(bytes: &[u8]) -> Result<Trace> {
    opened(map::Mapped::of_bytes(bytes.to_vec()), None)
}

/// The same as by [`open_unwinding`].
#[doc(hidden)]
pub fn open_bytes_unwinding(bytes: &[u8], files: Vec<ProgramFile>) -> Result<Trace> {
    opened(map::Mapped::of_bytes(bytes.to_vec()), Some(files))
}

/// Unwinds stacks by the rules in the bytes of an ELF file, for fuzzing. Returns the number of
/// functions.
#[doc(hidden)]
pub fn unwind_in(bytes: &[u8]) -> usize {
    perf::unwind_in(bytes)
}

fn opened(file: map::Mapped, programs: Option<Vec<ProgramFile>>) -> Result<Trace> {
    let file = file.unpacked()?;
    if file.starts_with(dat::MAGIC) {
        let trace = Arc::new(dat::open(file)?);
        let dat = Some(Arc::clone(&trace));
        return Ok(Trace { source: trace, dat });
    }
    let source: Box<dyn decode::Source> = match &*file {
        head if perf::MAGICS.iter().any(|magic| head.starts_with(magic)) => {
            Box::new(perf::open(file, programs)?)
        }
        head if chrome::looks_like(head) => Box::new(chrome::open(file)?),
        head if perfetto::looks_like(head) => Box::new(perfetto::open(file)?),
        head if text::looks_like(head) => Box::new(text::open(file)?),
        head => {
            let path = file.path().to_owned();
            let reason = if head.is_empty() {
                "it is empty"
            } else {
                "it begins like no format that can be read"
            };
            return Err(Error::NotATrace { path, reason: reason.into() });
        }
    };
    Ok(Trace::of(source))
}

/// Walks a page of a ring buffer, for fuzzing: the first byte chooses byte order and size of long.
/// Returns the number of records.
#[doc(hidden)]
pub fn walk_page(bytes: &[u8]) -> usize {
    dat::walk_page(bytes)
}
