//! What a row shows at a time.

use traceanalysis::wait;

/// A thread runs; on the row of a CPU: a thread does.
pub const RUNNING: u8 = 0;
/// A thread was woken and waits for a CPU.
pub const RUNNABLE: u8 = 1;
/// A thread was preempted and waits for a CPU.
pub const PREEMPTED: u8 = 2;
/// A thread waits for a wake-up, interruptible: it sleeps.
pub const SLEEPING: u8 = 3;
/// A thread waits for a wake-up, uninterruptible: most often for storage or a lock.
pub const UNINTERRUPTIBLE: u8 = 4;
/// A thread is stopped, traced, parked, or idle as kernel threads are.
pub const STOPPED: u8 = 5;
/// An interrupt's handler runs.
pub const IRQ: u8 = 6;
/// A softirq runs.
pub const SOFTIRQ: u8 = 7;
/// A CPU idles.
pub const IDLE: u8 = 8;

/// Their names, by value.
pub const NAMES: [&str; 9] = [
    "running",
    "runnable",
    "preempted",
    "sleeping",
    "uninterruptible",
    "stopped",
    "irq",
    "softirq",
    "idle",
];

/// Whether nothing happens in a state: it is shown only where nothing else is.
#[inline]
pub fn is_background(state: u8) -> bool {
    matches!(state, SLEEPING | STOPPED | IDLE)
}

/// Whether a CPU is used in a state.
#[inline]
pub fn runs(state: u8) -> bool {
    matches!(state, RUNNING | IRQ | SOFTIRQ)
}

/// The state of a row of `waits`.
#[inline]
pub(crate) fn of_wait(waited: u8) -> u8 {
    match waited {
        wait::WOKEN => RUNNABLE,
        wait::PREEMPTED => PREEMPTED,
        wait::INTERRUPTIBLE => SLEEPING,
        wait::UNINTERRUPTIBLE => UNINTERRUPTIBLE,
        _ => STOPPED,
    }
}
