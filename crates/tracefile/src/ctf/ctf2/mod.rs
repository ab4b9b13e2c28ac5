//! The metadata of CTF 2: a sequence of JSON texts.
//!
//! Two dialects are read: the final one (CTF2-SPEC-2.0), and the one of tools before it, with other
//! names for some properties. Where both have a name, the final one counts.

mod fields;
mod fragments;

use super::classes::TraceClass;
use super::metadata::Problem;

/// The classes that a metadata text describes; references are not resolved yet. Offsets of damage
/// are those of the fragment in the text.
pub(super) fn classes(text: &[u8]) -> Result<TraceClass, Problem> {
    fragments::Builder::default().build(text)
}

/// What is wrong within a fragment.
enum Wrong {
    Damaged(String),
    Unsupported(String),
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Damaged(what.into()))
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Unsupported(what.into()))
}
