//! From the decoded events of a kernel trace to what happened: which thread or interrupt handler ran
//! when, for how long, woken by whom, and what it waited for.
//!
//! ```text
//! Input (tables, index, losses, names)
//!   ├ bindings         columns of ftrace or LTTng, by name, once
//!   │   └ ahead        one pass in order of time; events are read ahead on a thread of their own,
//!   │       │          and those of system calls passed over: witnesses
//!   │       └ pass     each event to the state of all CPUs and threads (scheduling): tasks,
//!   │                  handlers, causes, corrections ─→ actors, instances, fragments, waits
//!   ├ syscall_bindings                          │
//!   │   └ syscalls, by the turns that threads had on the CPUs ─→ syscalls
//!   └ device_bindings
//!       └ block, timers                  ─→ block, timers, ticks
//! ```
//!
//! Each of the three is a pass of its own: a timeline needs no system calls, which are most of the
//! events of many traces.
//!
//! What the trace does not hold is not made up: a table whose events are missing is empty, a time
//! that is not known is null, and what crosses a loss of events carries [`flags::CROSSES_LOSS`].

#![warn(missing_docs)]

mod actors;
mod ahead;
mod bindings;
mod block;
mod bound;
mod causes;
mod columns;
mod corrections;
mod cpu;
mod device_bindings;
mod devices;
mod gathered;
mod growing;
mod handlers;
mod input;
mod losses;
mod model;
mod needed;
mod output;
mod pass;
mod periods;
mod prelude;
mod scheduling;
mod states;
mod syscall_bindings;
mod syscalls;
mod tasks;
mod threads;
mod timers;
mod turns;
mod usage;
mod waiting;
mod walk;
mod witnesses;

pub use columns::ANALYSED_COLUMNS;
pub use input::{EventTable, Input, Labels, Loss};
pub use needed::{Pass, leaves_out, needed};
pub use output::{
    DeviceTables, SYSCALLS, SchedulingTables, Tables, UsageTables, flags, schemas, wait, why,
};

use arrow_array::RecordBatch;

use crate::gathered::Gathered;
use crate::scheduling::Scheduling;

/// All analyses of a trace, on a few threads.
///
/// Event types and columns that are missing or of unexpected types are as if they were not in the
/// trace: what needs them is empty.
pub fn analyse(input: &Input) -> Tables {
    std::thread::scope(|scope| {
        let devices = scope.spawn(|| devices(input));
        let scheduling = scheduling(input);
        let [actors, fragments] =
            [&scheduling.actors, &scheduling.fragments].map(std::slice::from_ref);
        let syscalls = syscalls(input, actors, fragments).expect("its own tables");
        Tables { scheduling, syscalls, devices: devices.join().expect("it does not panic") }
    })
}

/// Who ran when, for how long, and what it waited for.
pub fn scheduling(input: &Input) -> SchedulingTables {
    let (span, cpus) = walk::extent(input);
    let bindings = bindings::Bindings::new(input);
    let room = Gathered::tables(&bindings.counts());
    let Scheduling { actors, gathered, .. } = pass::run(input, &bindings, cpus, span, room);
    let Gathered::Tables { instances, fragments, waits } = gathered else {
        unreachable!("what is given is what grows")
    };
    SchedulingTables {
        actors: actors.into_batch(&input.tasks),
        instances: instances.into_batch(),
        fragments: fragments.into_batch(),
        waits: waits.into_batch(),
    }
}

/// Why [`usage`] gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoUsage {
    /// Losses tell of times outside of the trace: what of it counts, only the tables tell.
    Outside,
    /// A switch is missing, and what ran until then ended at the latest event of the CPU, which may
    /// be one that was left out: every event is needed, as for [`Pass::Scheduling`].
    LeftOut,
}

/// The same added up by actor and CPU over the whole trace, which takes a fraction of the memory
/// and half the time of the tables.
pub fn usage(input: &Input) -> Result<UsageTables, NoUsage> {
    let (span, cpus) = walk::extent(input);
    let bindings = bindings::Bindings::new(input);
    let sums = Gathered::Usage(usage::Usage::new(span));
    let passed = pass::run(input, &bindings, cpus, span, sums);
    let Scheduling { actors, gathered, asked_for_last, .. } = passed;
    if asked_for_last && input.left_out {
        return Err(NoUsage::LeftOut);
    }
    let Gathered::Usage(usage) = gathered else { unreachable!("what is given is what grows") };
    let usage = usage.into_batch().ok_or(NoUsage::Outside)?;
    Ok(UsageTables { actors: actors.into_batch(&input.tasks), usage })
}

/// The system calls of the threads that ran by `actors` and `fragments`, which [`scheduling`] gave
/// for the same trace; `None` when they are not such tables.
pub fn syscalls(
    input: &Input,
    actors: &[RecordBatch],
    fragments: &[RecordBatch],
) -> Option<RecordBatch> {
    syscalls::run(input, actors, fragments)
}

/// What block devices and timers did.
pub fn devices(input: &Input) -> DeviceTables {
    let devices::Devices { block, timers, ticks } = devices::Devices::run(input);
    DeviceTables {
        block: block.into_batch(),
        timers: timers.into_batch(),
        ticks: ticks.into_batch(),
    }
}
