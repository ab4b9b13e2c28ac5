//! The timeline of a trace at every zoom: at most one item a row and pixel, whatever the number of
//! events.
//!
//! ```text
//! Tables of traceanalysis (actors, fragments, waits)
//!   └ lanes     one a row: spans that do not overlap, what was innermost on top
//!       └ levels   the same in buckets of 2^k ns: one span stands for all of a bucket
//!           └ Forest   all rows, each in columns that may lie in mapped files: kept
//!               ├ query     rows, a span of time, a width of buckets ─→ Drawn
//!               ├ marks     the same of events: labels
//!               └ overview  the whole trace, a CPU in a line: the mini-map
//! ```
//!
//! **Buckets.** Bucket *k* of shift *s* is the time `[k << s, (k + 1) << s)`. All times are
//! nanoseconds since the trace's first event. A span belongs to the bucket in which it begins; one
//! that covers the next bucket whole belongs to that one instead, as nothing else can begin there,
//! and it would hide what lies before it otherwise. Of the spans of a bucket the one that ranks
//! highest stands for all: what happens goes before what does not ([`state::is_background`]), a
//! longer span before a shorter one, an earlier one before a later one.
//!
//! So a thread that sleeps for most of a pixel and runs for a moment is seen to run, and how much of
//! the pixel it ran is told beside it.

#![warn(missing_docs)]

mod build;
mod columns;
mod forest;
mod kept;
mod lane;
mod level;
mod marks;
mod overview;
mod query;
mod spans;
pub mod state;

pub use columns::Missing;
pub use forest::{Forest, Kind, Row};
pub use marks::{Events, Marks};
pub use overview::Overview;
pub use query::Drawn;
