//! What an analysis gives. All times are nanoseconds of the trace's clock.

use std::sync::Arc;

use arrow_array::RecordBatch;

/// Bits of `flags` of instances and waits.
pub mod flags {
    /// Began before the trace, or was runnable before it: `begin` is the first that was seen of it.
    pub const BEGAN_BEFORE: u8 = 1;
    /// Was not over when the trace ended: `end` is the last that was seen of it.
    pub const CUT_BY_END: u8 = 2;
    /// Events were lost on a CPU that it used while it used it: nothing about it is sure.
    pub const CROSSES_LOSS: u8 = 4;
}

/// Values of `fragments.why`: why the span on the CPU ended.
pub mod why {
    /// The thread blocked or exited; the handler returned.
    pub const BLOCKED: u8 = 0;
    /// It was still runnable, and another ran.
    pub const PREEMPTED: u8 = 1;
    /// It gave the CPU up by `sched_yield`, or the reason is not known because events were lost.
    pub const OTHER: u8 = 2;
    /// The trace ended.
    pub const END_OF_TRACE: u8 = 3;
}

/// Values of `waits.state`: what a thread that did not run waited for.
pub mod wait {
    /// For a CPU, after it was woken.
    pub const WOKEN: u8 = 0;
    /// For a CPU, after it was preempted.
    pub const PREEMPTED: u8 = 1;
    /// For a wake-up, interruptible.
    pub const INTERRUPTIBLE: u8 = 2;
    /// For a wake-up, uninterruptible (most often for storage or a lock).
    pub const UNINTERRUPTIBLE: u8 = 3;
    /// In another state: stopped, traced, parked, idle kernel thread.
    pub const OTHER: u8 = 4;
}

/// What [`crate::scheduling`] gives.
#[derive(Debug, Clone)]
pub struct SchedulingTables {
    /// Threads and handlers, see [`schemas::actors`].
    pub actors: RecordBatch,
    /// Their activations, see [`schemas::instances`].
    pub instances: RecordBatch,
    /// Spans on a CPU, see [`schemas::fragments`].
    pub fragments: RecordBatch,
    /// Spans in which threads did not run, see [`schemas::waits`].
    pub waits: RecordBatch,
}

impl SchedulingTables {
    /// Their names, in the order of [`SchedulingTables::into_named`].
    pub const NAMES: [&'static str; 4] = ["actors", "instances", "fragments", "waits"];

    /// The tables with their names.
    pub fn into_named(self) -> impl Iterator<Item = (&'static str, RecordBatch)> {
        Self::NAMES.into_iter().zip([self.actors, self.instances, self.fragments, self.waits])
    }
}

/// What [`crate::usage`] gives.
#[derive(Debug, Clone)]
pub struct UsageTables {
    /// Threads and handlers, see [`schemas::actors`].
    pub actors: RecordBatch,
    /// What each had of each CPU, see [`schemas::usage`].
    pub usage: RecordBatch,
}

impl UsageTables {
    /// The tables with their names.
    pub fn into_named(self) -> impl Iterator<Item = (&'static str, RecordBatch)> {
        [("actors", self.actors), ("usage", self.usage)].into_iter()
    }
}

/// The name of what [`crate::syscalls`] gives.
pub const SYSCALLS: &str = "syscalls";

/// What [`crate::devices`] gives.
#[derive(Debug, Clone)]
pub struct DeviceTables {
    /// Requests to block devices, see [`schemas::block`].
    pub block: RecordBatch,
    /// Timers that ran, see [`schemas::timers`].
    pub timers: RecordBatch,
    /// Spans without the periodic tick, see [`schemas::ticks`].
    pub ticks: RecordBatch,
}

impl DeviceTables {
    /// Their names, in the order of [`DeviceTables::into_named`].
    pub const NAMES: [&'static str; 3] = ["block", "timers", "ticks"];

    /// The tables with their names.
    pub fn into_named(self) -> impl Iterator<Item = (&'static str, RecordBatch)> {
        Self::NAMES.into_iter().zip([self.block, self.timers, self.ticks])
    }
}

/// All tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Who ran when.
    pub scheduling: SchedulingTables,
    /// System calls, see [`schemas::syscalls`].
    pub syscalls: RecordBatch,
    /// Block devices and timers.
    pub devices: DeviceTables,
}

impl Tables {
    /// The tables with their names.
    pub fn into_named(self) -> impl Iterator<Item = (&'static str, RecordBatch)> {
        let syscalls = std::iter::once((SYSCALLS, self.syscalls));
        self.scheduling.into_named().chain(syscalls).chain(self.devices.into_named())
    }
}

/// The columns of every table.
pub mod schemas {
    use arrow_schema::DataType::{Int32, Int64, UInt8, UInt16, UInt32, UInt64, Utf8};
    use arrow_schema::{DataType, Field, Schema, SchemaRef};

    use super::Arc;

    const NULL: bool = true;
    const VALUE: bool = false;

    fn schema(columns: &[(&str, DataType, bool)]) -> SchemaRef {
        let fields = columns.iter().map(|(name, of, null)| Field::new(*name, of.clone(), *null));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// One row an actor; `actor` is the row's number.
    ///
    /// `kind`: `task`, `idle` (one a CPU), `irq` or `softirq`. Threaded interrupt handlers
    /// (`irq/N-name`) and `ksoftirqd` are tasks. `number`: the IRQ's number or the softirq's vector.
    /// A task is one life of a thread id: when the id is used again, that is another actor. Its name
    /// is the last it had. `first`, `last`: when it was first and last seen.
    pub fn actors() -> SchemaRef {
        schema(&[
            ("actor", UInt32, VALUE),
            ("kind", Utf8, VALUE),
            ("name", Utf8, VALUE),
            ("tid", Int32, NULL),
            ("process", Int32, NULL),
            ("number", Int32, NULL),
            ("cpu", UInt16, NULL),
            ("priority", Int32, NULL),
            ("first", Int64, VALUE),
            ("last", Int64, VALUE),
        ])
    }

    /// One row an activation of an actor; `instance` is the row's number.
    ///
    /// A task's instance runs from when it is woken (or first runs) until it blocks or exits; a
    /// handler's from entry to exit. `begin`: the first moment it ran; `end`: the last. `ready`: when
    /// it was woken or raised. `execution`: time on a CPU without the interrupts nested in it.
    /// `cause`: the instance in whose context it was woken or raised, at `cause_time`. `period`:
    /// `begin` minus that of the same actor's instance before, of a handler that on the same CPU; null
    /// where another may have begun between them.
    /// `flags`: see [`super::flags`].
    ///
    /// Response time is `end - coalesce(ready, begin)`, start latency `begin - ready`.
    pub fn instances() -> SchemaRef {
        schema(&[
            ("instance", UInt32, VALUE),
            ("actor", UInt32, VALUE),
            ("cpu", UInt16, VALUE),
            ("begin", Int64, VALUE),
            ("end", Int64, VALUE),
            ("ready", Int64, NULL),
            ("execution", Int64, VALUE),
            ("fragments", UInt32, VALUE),
            ("preemptions", UInt32, VALUE),
            ("migrations", UInt32, VALUE),
            ("cause", Int64, NULL),
            ("cause_time", Int64, NULL),
            ("period", Int64, NULL),
            ("flags", UInt8, VALUE),
        ])
    }

    /// One row a span on a CPU: of tasks and idle from switch to switch, of handlers from entry to
    /// exit, in order of their ends. Spans of tasks and idle on one CPU do not overlap; spans of
    /// handlers lie within them. `execution`: the span without the interrupts nested in it.
    pub fn fragments() -> SchemaRef {
        schema(&[
            ("actor", UInt32, VALUE),
            ("cpu", UInt16, VALUE),
            ("begin", Int64, VALUE),
            ("end", Int64, VALUE),
            ("execution", Int64, VALUE),
            ("instance", UInt32, VALUE),
            ("why", UInt8, VALUE),
        ])
    }

    /// One row a span in which a thread did not run, in order of their ends. `cpu`: where it last
    /// ran, or where it was put when it was woken. What it is at the end of the trace counts until
    /// there. `flags`: see [`super::flags`]; where events were lost a thread may have run, so that
    /// a wait is cut in pieces there, each of them marked, and the time between is not in the table.
    pub fn waits() -> SchemaRef {
        schema(&[
            ("actor", UInt32, VALUE),
            ("begin", Int64, VALUE),
            ("end", Int64, VALUE),
            ("state", UInt8, VALUE),
            ("cpu", UInt16, VALUE),
            ("flags", UInt8, VALUE),
        ])
    }

    /// One row an actor and a CPU, by actor and CPU, of the whole trace.
    ///
    /// `execution`: ns on the CPU without nested interrupts, in so many `fragments`, of which `ran`
    /// took time, and `switched` ended by a switch that is in the trace. Instances that began there: `begun`; of these `woken`, it being known when that or
    /// their raising was; and `lossy`, which cross a loss.
    pub fn usage() -> SchemaRef {
        schema(&[
            ("actor", UInt32, VALUE),
            ("cpu", UInt16, VALUE),
            ("execution", Int64, VALUE),
            ("fragments", Int64, VALUE),
            ("ran", Int64, VALUE),
            ("switched", Int64, VALUE),
            ("begun", Int64, VALUE),
            ("woken", Int64, VALUE),
            ("lossy", Int64, VALUE),
        ])
    }

    /// One row a system call that was seen to begin. `end` is null when it was not seen to return.
    pub fn syscalls() -> SchemaRef {
        schema(&[
            ("actor", UInt32, VALUE),
            ("cpu", UInt16, VALUE),
            ("name", Utf8, VALUE),
            ("begin", Int64, VALUE),
            ("end", Int64, NULL),
            ("result", Int64, NULL),
        ])
    }

    /// One row a request. `device` as the kernel numbers it (major << 20 | minor), `kind` in the
    /// letters of blktrace (`R`, `WS`, ...).
    pub fn block() -> SchemaRef {
        schema(&[
            ("device", UInt32, VALUE),
            ("sector", UInt64, VALUE),
            ("bytes", UInt64, VALUE),
            ("kind", Utf8, VALUE),
            ("queued", Int64, NULL),
            ("issued", Int64, NULL),
            ("completed", Int64, NULL),
        ])
    }

    /// One row a timer that ran. `kind`: `hrtimer`, `tick` (an hrtimer whose function is known to be
    /// the periodic tick) or `timer` (of the timer wheel). `function`: its address, `name` when known.
    ///
    /// `expires`, `softexpires`: of hrtimers, nanoseconds of the *timer's* clock. `lateness`: the
    /// time of that clock when the interrupt began, minus `expires`; less than 0 when it ran within
    /// its slack. `late_jiffies`: the same of the timer wheel, which counts jiffies only.
    pub fn timers() -> SchemaRef {
        schema(&[
            ("kind", Utf8, VALUE),
            ("address", UInt64, VALUE),
            ("function", UInt64, NULL),
            ("name", Utf8, NULL),
            ("cpu", UInt16, VALUE),
            ("expires", Int64, NULL),
            ("softexpires", Int64, NULL),
            ("ran", Int64, VALUE),
            ("ended", Int64, NULL),
            ("lateness", Int64, NULL),
            ("late_jiffies", Int64, NULL),
        ])
    }

    /// One row a span from `tick_stop` until the CPU left idle; `end` is null when that was not seen.
    pub fn ticks() -> SchemaRef {
        schema(&[("cpu", UInt16, VALUE), ("begin", Int64, VALUE), ("end", Int64, NULL)])
    }
}
