//! Common Trace Format 1.8 and 2.
//!
//! ```text
//! metadata ─→ tsdl, ctf2 ─→ classes ─→ references ─→ layout: steps of each event class
//!                                                       │
//! files ─→ streams: packets in order of time ─→ units ─→ source: header, time, steps ─→ rows
//!                                                       session: several sources of one clock
//! ```
//!
//! What comes from the metadata is checked when the trace is opened; what comes from packets is
//! checked where it is read.

mod classes;
mod clock;
mod ctf2;
mod cursor;
mod events;
mod find;
mod index_file;
mod layout;
mod metadata;
mod packet;
mod program;
mod references;
mod session;
mod source;
mod streams;
mod tsdl;
mod uuid;
mod walk;

use std::path::{Path, PathBuf};

use classes::TraceClass;
use metadata::{Language, Problem, Text};

use crate::map::Mapped;
use crate::{Error, Result, Trace};

/// What is wrong with a metadata text, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    offset: usize,
    what: String,
}

/// Opens the trace in a directory, or those of one session below it, or that beside a metadata file.
pub(crate) fn open(path: &Path) -> Result<Trace> {
    let mut parts = Vec::new();
    for directory in find::directories(path)? {
        let (class, size) = read_metadata(&directory.join("metadata"))?;
        parts.push((directory, class.uuid, (class, size)));
    }
    let mut traces = Vec::new();
    for parts in find::traces(parts) {
        traces.push((parts[0].0.clone(), open_parts(parts)?));
    }
    Ok(Trace::of(session::joined(path, traces)?))
}

/// The trace that lies in these directories, with what the metadata of each describes.
fn open_parts(parts: Vec<(PathBuf, (TraceClass, u64))>) -> Result<source::Ctf> {
    let mut files = Vec::new();
    let mut best: Option<(PathBuf, TraceClass, u64)> = None;
    for (directory, (class, size)) in parts {
        for file in find::stream_files(&directory)? {
            let mapped = Mapped::open_unlinked(&file)?;
            if !mapped.is_empty() {
                files.push(mapped);
            }
        }
        // Metadata only ever grows: of the parts of a rotated session, the longest knows most.
        if best.as_ref().is_none_or(|(.., known)| size > *known) {
            best = Some((directory.join("metadata"), class, size));
        }
    }
    let (metadata, class, _) = best.expect("one directory at least");
    source::Ctf::new(&metadata, class, files)
}

/// Opens a trace of one stream file whose bytes are given: for fuzzing, and tests that damage them.
#[doc(hidden)]
pub fn open_bytes(metadata: &[u8], stream: &[u8]) -> Result<Trace> {
    let (class, _) = classes_of(Path::new("metadata"), metadata)?;
    let file = Mapped::of_bytes(stream.to_vec());
    let files = if file.is_empty() { vec![] } else { vec![file] };
    Ok(Trace::of(Box::new(source::Ctf::new(Path::new("metadata"), class, files)?)))
}

/// The classes that a metadata file describes, and the length of its text.
fn read_metadata(path: &Path) -> Result<(TraceClass, u64)> {
    classes_of(path, &Mapped::open_unlinked(path)?)
}

fn classes_of(path: &Path, file: &[u8]) -> Result<(TraceClass, u64)> {
    let refused = |problem| match problem {
        Problem::Damaged(offset, what) => Error::damaged(path, offset, what),
        Problem::Unsupported(what) => Error::unsupported(path, what),
    };
    let text = Text::new(file).map_err(refused)?;
    let mut class = parse(&text).map_err(refused)?;
    class.notes.extend(text.notes);
    Ok((class, text.text.len() as u64))
}

/// The classes that a metadata text describes, with all references resolved.
fn parse(text: &Text) -> std::result::Result<TraceClass, Problem> {
    let mut class = match text.language() {
        Language::Tsdl => tsdl::classes(&text.text)
            .map_err(|fault| Problem::Damaged(text.in_file(fault.offset), fault.what))?,
        Language::Json => ctf2::classes(&text.text)?,
    };
    references::resolve(&mut class).map_err(|what| Problem::Damaged(0, what))?;
    Ok(class)
}
