//! From the decoded events of a kernel trace to what happened: which thread or interrupt handler ran
//! when, for how long, woken by whom, and what it waited for.
//!
//! ```text
//! Input (tables, index, losses, names)
//!   └ bindings   columns of ftrace or LTTng, by name, once
//!       └ walk   one pass in order of time; the events are read ahead on a thread of their own
//!           ├ tasks, handlers, causes, losses ─→ actors, instances, fragments, waits
//!           ├ syscalls                        ─→ syscalls
//!           └ block, timers                   ─→ block, timers, ticks
//! ```
//!
//! What the trace does not hold is not made up: a table whose events are missing is empty, a time
//! that is not known is null, and what crosses a loss of events carries [`flags::CROSSES_LOSS`].

#![warn(missing_docs)]

mod actors;
mod ahead;
mod bindings;
mod block;
mod causes;
mod columns;
mod cpu;
mod devices;
mod growing;
mod handlers;
mod input;
mod losses;
mod model;
mod output;
mod prelude;
mod scheduling;
mod states;
mod syscalls;
mod tasks;
mod timers;
mod walk;

pub use input::{EventTable, Input, Labels, Loss};
pub use output::{Tables, flags, schemas, wait, why};

use bindings::Bindings;
use devices::Devices;
use scheduling::Scheduling;

/// All analyses of a trace, on a few threads.
///
/// Event types and columns that are missing or of unexpected types are as if they were not in the
/// trace: what needs them is empty.
pub fn analyse(input: &Input) -> Tables {
    let (span, cpus) = walk::extent(&input.index);
    let span = match (input.span, span) {
        (Some((first, last)), Some((begin, end))) => (first.min(begin), last.max(end)),
        (told, seen) => told.or(seen).unwrap_or_default(),
    };
    let bindings = Bindings::new(input);
    std::thread::scope(|scope| {
        let devices = scope.spawn(|| {
            let Devices { block, timers, ticks } = Devices::run(input);
            (block.into_batch(), timers.into_batch(), ticks.into_batch())
        });
        let scheduling = Scheduling::run(input, &bindings, cpus, span);
        let calls = scheduling.syscalls;
        let syscalls = scope.spawn(|| calls.into_batch(&bindings.syscalls));
        let instances = scheduling.instances.into_batch();
        let (block, timers, ticks) = devices.join().expect("it does not panic");
        Tables {
            actors: scheduling.actors.into_batch(&input.tasks),
            instances,
            fragments: scheduling.fragments.into_batch(),
            waits: scheduling.waits.into_batch(),
            syscalls: syscalls.join().expect("it does not panic"),
            block,
            timers,
            ticks,
        }
    })
}
