//! Events of a trace as texts, in order of time.
//!
//! ```text
//! print format of a type ─ parse ─→ conversions and expressions ┐
//! printk_formats ─→ conversions over packed arguments ──────────┼─→ Texts: one row to one text
//! kallsyms ─→ names of addresses ───────────────────────────────┘        │
//! Filter ─→ Listing: the trace a slice of time at a time ─→ decode what is chosen ─→ Chunk
//!                    records with fields at fixed places ─→ a Program for each type ─→ Chunk
//! ```
//!
//! Formats come from the trace: nothing in them is run as a program, and what is not understood in
//! one makes the event's fields be listed by their names.

#![warn(missing_docs)]

mod cells;
mod chunk;
mod conversion;
mod direct;
mod expression;
mod head;
mod lines;
mod listing;
mod named;
mod packed;
mod parse;
mod placed;
mod pointer;
mod printer;
mod program;
mod texts;
mod threads;

pub use chunk::{Chunk, Filter, Made};
pub use lines::Lines;
pub use listing::{Choose, Listing};
pub use texts::{Batches, Moment, StackNames, StackPlace, Texts};
pub use threads::Threads;
