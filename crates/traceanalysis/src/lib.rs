//! From the decoded events of a kernel trace to what happened: which thread or interrupt handler ran
//! when, for how long, woken by whom, and what it waited for.
//!
//! ```text
//! Input (tables, index, losses, names)
//!   └ bindings   columns of ftrace or LTTng, by name, once
//!       └ walk   one pass in order of time
//!           ├ tasks, handlers, causes, losses ─→ actors, instances, fragments, waits
//!           ├ syscalls                        ─→ syscalls
//!           └ block, timers                   ─→ block, timers, ticks
//! ```
//!
//! What the trace does not hold is not made up: a table whose events are missing is empty, a time
//! that is not known is null, and what crosses a loss of events carries [`flags::CROSSES_LOSS`].

#![warn(missing_docs)]

mod input;
mod output;

pub use input::{EventTable, Input, Labels, Loss};
pub use output::{Tables, flags, schemas, wait, why};
