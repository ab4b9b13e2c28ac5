//! The timeline of a trace at every zoom: a few items a row and pixel, whatever the number of events.
//!
//! ```text
//! Tables of traceanalysis (actors, fragments, waits)
//!   └ lanes     one a row: spans that do not overlap, what was innermost on top
//!       └ levels   the same in buckets of 2^k ns: a few spans stand for all of a bucket
//!           └ Forest   all rows, each in columns that may lie in mapped files: kept
//!               ├ query     rows, a span of time, a width of buckets ─→ Drawn
//!               ├ marks     the same of events: labels
//!               └ overview  the whole trace, a CPU in a line: the mini-map
//! ```
//!
//! **Buckets.** Bucket *k* of shift *s* is the time `[k << s, (k + 1) << s)`. All times are
//! nanoseconds since the trace's first event. A span belongs to the bucket in which it begins; one
//! that covers the next bucket whole belongs to that one instead, as nothing else can begin there,
//! and it would hide what lies before it otherwise. Of the spans of a bucket these are drawn, each
//! from its own begin to its own end:
//!
//! - the one that ranks highest: what happens goes before what does not ([`state::is_background`]), a
//!   longer span before a shorter one, an earlier one before a later one. It stands for all that are
//!   not drawn: they are in its count, and in its time on a CPU;
//! - the first and the last of all, except of idle time, which leaves nothing on the screen;
//! - the first and the last of what happens.
//!
//! **Why that is exact.** A pixel is at least as long as a bucket, so at most one border of two pixels
//! lies inside a bucket. What happens before that border begins with the first span, and what happens
//! behind it ends with the last. So a pixel in which anything happened is never blank; and as each
//! span is drawn where it was, no pixel shows what did not happen there.

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
