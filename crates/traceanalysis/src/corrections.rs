//! What is believed about a CPU is given up where events are missing, corrected where events say
//! otherwise, and begun anew where they are complete again.

use crate::cpu::NOBODY;
use crate::growing::Fragment;
use crate::model::Named;
use crate::output::{flags, why};
use crate::scheduling::Scheduling;
use crate::threads::State;

impl Scheduling {
    /// Events of a CPU are missing after `at`: nothing is believed about it any more.
    pub(crate) fn begin_loss(&mut self, cpu: u16, at: i64) {
        self.give_up(cpu, at);
        self.cpus[usize::from(cpu)].loss = Some(self.losses.len() as u32);
        self.losses.push(at);
        self.count_losses();
    }

    fn give_up(&mut self, cpu: u16, at: i64) {
        self.forget(cpu, at);
        let place = &mut self.cpus[usize::from(cpu)];
        place.raised.fill(None);
        place.in_loss = true;
        place.returned = None;
    }

    /// A thread that is seen now may have run where events are missing since the first loss that
    /// goes on, be it that it began before.
    fn count_losses(&mut self) {
        let ongoing = self.cpus.iter().filter_map(|place| place.loss).min();
        self.losses_over = ongoing.unwrap_or(self.losses.len() as u32);
    }

    /// Who runs on a CPU is not known any more: what was believed is cut at `at`, and marked.
    #[cold]
    pub(crate) fn forget(&mut self, cpu: u16, at: i64) {
        let at = at.max(self.cpus[usize::from(cpu)].since);
        while !self.cpus[usize::from(cpu)].frames.is_empty() {
            self.pop(cpu, at, why::OTHER, flags::CROSSES_LOSS);
        }
        let place = &mut self.cpus[usize::from(cpu)];
        place.open_gap(at);
        let gap = place.gaps.len() as u32 - 1;
        let current = std::mem::replace(&mut place.current, NOBODY);
        if current == NOBODY {
            return;
        }
        let thread = &mut self.threads.all[current as usize];
        let execution = at - place.since - place.taken;
        thread.totals.execution += execution;
        thread.totals.end = at;
        thread.totals.flags |= flags::CROSSES_LOSS;
        thread.since = at;
        thread.gaps_there = gap;
        thread.losses_over = self.losses_over;
        thread.state = State::Lost;
        self.gathered.fragment(&Fragment {
            actor: thread.actor,
            cpu,
            begin: place.since,
            end: at,
            execution,
            instance: thread.instance,
            why: why::OTHER,
        });
        self.actors.seen(thread.actor, at);
        if thread.tid == 0 {
            thread.state = State::Fresh;
            self.close(current, 0);
        }
    }

    /// Another runs than was believed, and no loss tells why: a switch from the one is missing.
    #[cold]
    pub(crate) fn mistaken(&mut self, cpu: u16) {
        let Self { cpus, threads, .. } = self;
        let place = &cpus[usize::from(cpu)];
        let last = place.last;
        self.asked_for_last = true;
        if let Some(thread) = threads.all.get_mut(place.current as usize) {
            thread.unswitched += 1;
            self.mistakes += u32::from(thread.tid != 0);
        }
        self.forget(cpu, last);
    }

    /// Whether an event of a thread says that the CPU runs another than is believed. Without
    /// switches nothing is believed.
    #[inline]
    pub(crate) fn is_other(&self, cpu: u16, tid: i32) -> bool {
        let current = self.cpus[usize::from(cpu)].current;
        match self.threads.all.get(current as usize) {
            Some(thread) => thread.tid != tid,
            None => self.traces_switches,
        }
    }

    /// A thread runs that was not seen to be switched to: switches can be missing without any loss
    /// being told (some kernels leave out some of those that end idling). It runs since `now`, the
    /// first event in which it is seen.
    #[cold]
    pub(crate) fn correct(&mut self, now: i64, cpu: u16, tid: i32) {
        self.mistaken(cpu);
        let at = self.thread(&Named { tid, name: &[], priority: None }, cpu, now);
        self.elsewhere(at);
        // Not before what is known of it from other CPUs.
        let now = now.max(self.threads.all[at as usize].since);
        self.start(cpu, at, now, flags::CROSSES_LOSS);
    }

    /// A thread that runs on one CPU and is seen on another: the switch there is missing.
    pub(crate) fn elsewhere(&mut self, at: u32) {
        if self.threads.all[at as usize].state == State::Running {
            let there = self.threads.all[at as usize].cpu;
            self.mistaken(there);
        }
    }

    /// From here on the events of a CPU are complete. `current`: who ran when they begin.
    pub(crate) fn begin_whole(
        &mut self,
        cpu: u16,
        at: i64,
        current: Option<&Named<'_>>,
        after_loss: bool,
    ) {
        if after_loss {
            self.give_up(cpu, at);
            self.cpus[usize::from(cpu)].loss = None;
            self.count_losses();
        }
        let place = &mut self.cpus[usize::from(cpu)];
        place.in_loss = self.anywhere[usize::from(cpu)];
        place.whole_since = at;
        place.since = at;
        place.taken = 0;
        place.entered = 0;
        place.after_loss = after_loss;
        if let Some(current) = current {
            let thread = self.thread(current, cpu, at);
            if self.threads.all[thread as usize].state != State::Running {
                let before = if after_loss { flags::CROSSES_LOSS } else { flags::BEGAN_BEFORE };
                self.start(cpu, thread, at, before);
            }
        }
    }
}
