//! Waits: spans in which a thread did not run, as far as that is known.

use crate::cpu::OPEN;
use crate::output::{flags, wait};
use crate::scheduling::Scheduling;
use crate::threads::{NO_ROW, State};

/// Of one wait: pieces between gaps of its CPU. Traces that were made up could have any number.
const MOST_PIECES: usize = 64;

/// Of one in so many of its switches.
const MISSING: u32 = 8;
/// Of all switches: one in so many does not follow from the one before it.
const OTHERS_MISSING: u32 = 20;

impl Scheduling {
    /// Whether a thread may have run since it was last seen, as events are missing: on any CPU, or
    /// its own switches, or after a loss a switch on the CPU where it waits. In a recording without
    /// losses, switches that are missing between others say nothing of it.
    #[inline]
    pub(crate) fn may_have_run(&self, at: u32) -> bool {
        let thread = &self.threads.all[at as usize];
        self.losses.len() as u32 != thread.losses_over
            || self.is_partial(at)
            || (!self.losses.is_empty()
                && !matches!(thread.state, State::Blocked(_))
                && thread.instance != NO_ROW
                && self.gaps_since(thread.cpu, thread.gaps_there))
    }

    /// Whether so many of a thread's switches are missing that it may have run at any time: in a
    /// recording of some processes, where switches between all others are not there. Some kernels
    /// leave out one now and then that ends idling, which is no reason to doubt anything.
    #[inline]
    pub(crate) fn is_partial(&self, at: u32) -> bool {
        self.mistakes * OTHERS_MISSING > self.switches && {
            let thread = &self.threads.all[at as usize];
            thread.unswitched > 0 && thread.unswitched * MISSING >= thread.switched
        }
    }

    fn gaps_since(&self, cpu: u16, before: u32) -> bool {
        self.cpus.get(usize::from(cpu)).is_some_and(|place| place.gaps.len() as u32 > before)
    }

    /// A thread does not wait any more, as it runs, was woken, or the trace ends. It waited in
    /// `state`; what it did after events were missing is seen by how that ended: `after`.
    ///
    /// Where events are missing it may have run. That time is left out, what is known before and
    /// after is marked.
    #[inline]
    pub(crate) fn waited(&mut self, at: u32, now: i64, state: u8, after: u8, marks: u8) {
        let thread = &self.threads.all[at as usize];
        let (actor, since, cpu) = (thread.actor, thread.since, thread.cpu);
        if now <= since {
            return;
        }
        if self.may_have_run(at) || thread.state == State::Lost {
            self.waited_beside_gaps(at, now, state, after, marks | flags::CROSSES_LOSS);
        } else {
            self.add_wait(actor, (since, now), state, cpu, marks);
        }
    }

    #[cold]
    fn waited_beside_gaps(&mut self, at: u32, now: i64, state: u8, after: u8, marks: u8) {
        let thread = &self.threads.all[at as usize];
        let (actor, since, cpu) = (thread.actor, thread.since, thread.cpu);
        if self.is_partial(at) {
            return;
        }
        let lost = thread.losses_over as usize;
        if let Some(&missing) = self.losses.get(lost) {
            // It may have run on any CPU: known is what was before all of that, and is after it.
            let (mut begin, mut end) = (missing.max(since), now);
            for gap in self.cpus.iter().flat_map(|place| place.gaps.iter().rev().take(2)) {
                if gap.end == OPEN {
                    end = end.min(gap.begin);
                } else {
                    begin = begin.max(gap.end);
                }
            }
            self.add_wait(actor, (since, missing.min(now)), state, cpu, marks);
            self.add_wait(actor, (begin, end), after, cpu, marks);
            return;
        }
        let mut pieces = [(0, 0); MOST_PIECES];
        let (mut count, mut begin) = (0, since);
        if let Some(place) = self.cpus.get(usize::from(cpu)) {
            for gap in place.gaps.iter().skip(thread.gaps_there as usize) {
                if count + 1 < MOST_PIECES && gap.begin > begin {
                    pieces[count] = (begin, gap.begin.min(now));
                    count += 1;
                }
                begin = begin.max(gap.end);
            }
        }
        pieces[count] = (begin, now);
        let was_seen = thread.state != State::Lost;
        for (number, &piece) in pieces[..=count].iter().enumerate() {
            let state = if number == 0 && was_seen { state } else { after };
            self.add_wait(actor, piece, state, cpu, marks);
        }
    }

    #[inline]
    fn add_wait(&mut self, actor: u32, (begin, end): (i64, i64), state: u8, cpu: u16, marks: u8) {
        if begin < end {
            let before = if begin <= self.begin { flags::BEGAN_BEFORE } else { 0 };
            let anywhere = if self.lost_anywhere { flags::CROSSES_LOSS } else { 0 };
            self.gathered.wait(actor, (begin, end), state, cpu, marks | before | anywhere);
        }
    }

    /// The trace ends, and with it all waits.
    pub(crate) fn finish_waits(&mut self, end: i64) {
        for at in 0..self.threads.all.len() as u32 {
            let state = match self.threads.all[at as usize].state {
                State::Ready => wait::WOKEN,
                State::Preempted => wait::PREEMPTED,
                State::Blocked(kind) => kind,
                State::Unseen | State::Fresh | State::Running | State::Lost => continue,
            };
            self.waited(at, end, state, state, flags::CUT_BY_END);
        }
    }
}
