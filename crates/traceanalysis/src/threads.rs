//! Threads as they are believed to be at one time of the pass.

use std::collections::HashMap;

use crate::cpu::{Frame, NOBODY};
use crate::growing::{NONE, Totals};
use crate::model::EventRow;

/// Stands for no row.
pub(crate) const NO_ROW: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing is known: it was there before the trace.
    Unseen,
    /// It has not run yet since it was made; of idle threads: another runs.
    Fresh,
    Running,
    /// Woken, does not run yet.
    Ready,
    /// Switched away from while runnable.
    Preempted,
    /// With one of [`wait`]'s states.
    Blocked(u8),
    /// It ran on a CPU of which events were then lost.
    Lost,
}

pub(crate) struct Thread {
    pub(crate) tid: i32,
    pub(crate) actor: u32,
    pub(crate) state: State,
    /// When the state began.
    pub(crate) since: i64,
    /// Where it runs, last ran, or is queued.
    pub(crate) cpu: u16,
    /// That CPU's count of gaps when the thread was last known to be there.
    pub(crate) gaps_there: u32,
    /// The count of losses that were over when the thread was woken, or left its CPU.
    pub(crate) losses_over: u32,
    /// How often it was switched to.
    pub(crate) switched: u32,
    /// How often it was switched from without having been seen to run, or ran no more without a
    /// switch, and no loss tells why: in a recording of some processes, switches between others are
    /// not there.
    pub(crate) unswitched: u32,
    pub(crate) name: Name,
    /// The switch to it that told its name last; it is read at the end, as names hardly change.
    pub(crate) named_at: Option<EventRow>,
    pub(crate) priority: Option<i32>,
    pub(crate) exiting: bool,
    pub(crate) yielding: bool,
    /// The instance that is going on, or [`NO_ROW`].
    pub(crate) instance: u32,
    pub(crate) totals: Totals,
    /// When and by whom it was woken, for the instance that begins next.
    pub(crate) wake: Woken,
    /// A wake-up that came while it ran: it may have been about to block.
    pub(crate) pending: Woken,
    /// Softirqs that it ran when it was switched away from, on kernels where that can be.
    pub(crate) suspended: Vec<Frame>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Woken {
    pub(crate) time: i64,
    pub(crate) cause: i64,
}

/// Stands for no wake-up.
pub(crate) const NOT_WOKEN: Woken = Woken { time: NONE, cause: NONE };

/// A thread's name, short enough to be compared at every switch.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    length: u8,
    bytes: [u8; 31],
}

impl Name {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut bytes = [0; 31];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
        Self { length: length as u8, bytes }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    pub(crate) fn get(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// All threads. One that exits stays; its id may then be given to another.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) all: Vec<Thread>,
    by_tid: Vec<u32>,
    /// Ids beyond what kernels give out: user space may write what it likes into its traces.
    far: HashMap<i32, u32>,
}

/// The kernel's PID_MAX_LIMIT.
const MOST_TIDS: usize = 1 << 22;

impl Threads {
    #[inline]
    pub(crate) fn find(&self, tid: i32) -> u32 {
        match usize::try_from(tid) {
            Ok(tid) if tid < MOST_TIDS => self.by_tid.get(tid).copied().unwrap_or(NOBODY),
            _ => self.far.get(&tid).copied().unwrap_or(NOBODY),
        }
    }

    pub(crate) fn set(&mut self, tid: i32, thread: u32) {
        match usize::try_from(tid) {
            Ok(tid) if tid < MOST_TIDS => {
                if self.by_tid.len() <= tid {
                    self.by_tid.resize((tid + 1).next_power_of_two(), NOBODY);
                }
                self.by_tid[tid] = thread;
            }
            _ => {
                self.far.insert(tid, thread);
            }
        }
    }

    pub(crate) fn push(&mut self, tid: i32, actor: u32, state: State, cpu: u16, now: i64) -> u32 {
        self.all.push(Thread {
            tid,
            actor,
            state,
            since: now,
            cpu,
            gaps_there: 0,
            losses_over: 0,
            switched: 0,
            unswitched: 0,
            name: Name::of(&[]),
            named_at: None,
            priority: None,
            exiting: false,
            yielding: false,
            instance: NO_ROW,
            totals: Totals::default(),
            wake: NOT_WOKEN,
            pending: NOT_WOKEN,
            suspended: Vec::new(),
        });
        (self.all.len() - 1) as u32
    }
}
