//! TSDL, the metadata language of CTF 1.8: text ─→ tokens ─→ declarations ─→ classes.

mod lexer;
mod parser;
mod resolve;
mod types;

use super::Fault;
use super::classes::TraceClass;

/// The classes that a metadata text describes; references are not resolved yet.
pub(super) fn classes(text: &[u8]) -> Result<TraceClass, Fault> {
    let tokens = lexer::tokens(text)?;
    let items = parser::parse(&tokens)?;
    resolve::trace(&items)
}
