//! What is believed about a CPU: the thread that runs on it, and the handlers that interrupt it.
//!
//! A thread or the idle loop is at the bottom, above it softirqs, then interrupts, each interrupting
//! the one below. Time goes to the top.

use crate::growing::Totals;
use crate::model::Handler;

/// Stands for no thread.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A handler that has been entered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) handler: Handler,
    pub(crate) actor: u32,
    pub(crate) instance: u32,
    /// When this span of it on the CPU began.
    pub(crate) since: i64,
    /// What handlers nested in it took of that span.
    pub(crate) taken: i64,
    pub(crate) totals: Totals,
}

/// A softirq that was raised and has not run since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raise {
    pub(crate) time: i64,
    /// The instance that raised it, or [`crate::growing::NONE`].
    pub(crate) cause: i64,
}

/// A span in which it is not known who ran on a CPU: events are missing, or a switch that no loss
/// tells of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) begin: i64,
    /// [`OPEN`] while it goes on.
    pub(crate) end: i64,
}

/// The end of a gap that goes on.
pub(crate) const OPEN: i64 = i64::MAX;

/// More than the kernel has vectors.
pub(crate) const SOFTIRQS: usize = 16;

pub(crate) struct Cpu {
    /// The thread that runs, or [`NOBODY`] when it is not known.
    pub(crate) current: u32,
    /// When its span on the CPU began.
    pub(crate) since: i64,
    /// What handlers took of that span.
    pub(crate) taken: i64,
    /// Handlers, the innermost last.
    pub(crate) frames: Vec<Frame>,
    pub(crate) raised: [Option<Raise>; SOFTIRQS],
    /// The interrupt whose handler returned last, by number and instance, while nothing else was
    /// entered or switched to: what it wakes now is its thread.
    pub(crate) returned: Option<(i32, u32)>,
    /// Since when no event of this CPU is missing.
    pub(crate) whole_since: i64,
    /// Kinds of handlers (bits) that were entered since then: what leaves without having been
    /// entered was running then only if it is the first of its kind.
    pub(crate) entered: u8,
    /// Whether `whole_since` is after a loss, not the beginning of the trace.
    pub(crate) after_loss: bool,
    /// Whether events may be missing just now.
    pub(crate) in_loss: bool,
    /// The loss that goes on, by its place in the losses of all CPUs.
    pub(crate) loss: Option<u32>,
    /// When it was not known who ran, in order of time.
    pub(crate) gaps: Vec<Gap>,
    /// The time of the latest event.
    pub(crate) last: i64,
    /// The idle thread, once seen.
    pub(crate) idle: u32,
}

impl Cpu {
    /// `missing`: events are missing when the trace begins.
    pub(crate) fn new(begin: i64, missing: bool) -> Self {
        Self {
            current: NOBODY,
            since: begin,
            taken: 0,
            frames: Vec::new(),
            raised: [None; SOFTIRQS],
            returned: None,
            whole_since: begin,
            entered: 0,
            after_loss: false,
            in_loss: missing,
            loss: None,
            gaps: Vec::new(),
            last: begin,
            idle: NOBODY,
        }
    }

    /// It is not known who runs from `at` on.
    pub(crate) fn open_gap(&mut self, at: i64) {
        if self.gaps.last().is_none_or(|gap| gap.end != OPEN) {
            self.gaps.push(Gap { begin: at, end: OPEN });
        }
    }

    /// It is known again who runs.
    #[inline]
    pub(crate) fn close_gap(&mut self, now: i64) {
        if let Some(gap) = self.gaps.last_mut()
            && gap.end == OPEN
        {
            gap.end = now.max(gap.begin);
        }
    }

    /// Books what a handler took to what it interrupted: the frame below, or the thread.
    #[inline]
    pub(crate) fn take(&mut self, span: i64) {
        match self.frames.last_mut() {
            Some(frame) => frame.taken += span,
            None => self.taken += span,
        }
    }
}
