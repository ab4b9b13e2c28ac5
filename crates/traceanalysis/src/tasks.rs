//! Threads: when they run, wait and are woken.

use crate::bindings::Bindings;
use crate::cpu::NOBODY;
use crate::growing::{Begin, Fragment, NONE, Totals};
use crate::model::{EventRow, Flags, Named, Wake};
use crate::output::{flags, wait, why};
use crate::scheduling::Scheduling;
use crate::states::Left;
use crate::threads::{NO_ROW, NOT_WOKEN, Name, State, Thread, Woken};

impl Scheduling {
    /// The thread that an event names, made when it is new.
    #[inline]
    pub(crate) fn thread(&mut self, named: &Named<'_>, cpu: u16, now: i64) -> u32 {
        let at = match named.tid {
            0 => self.idle(cpu, now),
            tid => self.by_tid(tid, cpu, now),
        };
        self.name(at, named);
        at
    }

    #[inline]
    fn by_tid(&mut self, tid: i32, cpu: u16, now: i64) -> u32 {
        match self.threads.find(tid) {
            NOBODY => self.new_thread(tid, State::Unseen, cpu, now),
            at => at,
        }
    }

    fn idle(&mut self, cpu: u16, now: i64) -> u32 {
        match self.cpus[usize::from(cpu)].idle {
            NOBODY => {
                let actor = self.actors.idle(cpu, now);
                let at = self.threads.push(0, actor, State::Fresh, cpu, now);
                self.cpus[usize::from(cpu)].idle = at;
                at
            }
            at => at,
        }
    }

    /// A CPU's count of gaps; a thread may be told to be on one whose stream is not there.
    fn gaps_of(&self, cpu: u16) -> u32 {
        self.cpus.get(usize::from(cpu)).map_or(0, |place| place.gaps.len() as u32)
    }

    #[cold]
    fn new_thread(&mut self, tid: i32, state: State, cpu: u16, now: i64) -> u32 {
        let actor = self.actors.task(tid, now);
        let at = self.threads.push(tid, actor, state, cpu, now);
        let gaps_there = self.gaps_of(cpu);
        let thread = &mut self.threads.all[at as usize];
        thread.gaps_there = gaps_there;
        // What was there before it was seen may have run in any loss until then.
        thread.losses_over = if state == State::Unseen { 0 } else { self.losses_over };
        self.threads.set(tid, at);
        at
    }

    #[inline]
    fn name(&mut self, at: u32, named: &Named<'_>) {
        let thread = &mut self.threads.all[at as usize];
        thread.priority = named.priority.or(thread.priority);
        if named.name.is_empty() || thread.tid == 0 {
            return;
        }
        thread.named_at = None;
        if named.name != thread.name.get() {
            thread.name = Name::of(named.name);
            let actor = thread.actor;
            self.actors.get_mut(actor).name = String::from_utf8_lossy(named.name).into_owned();
        }
    }

    /// A context switch.
    #[inline]
    pub(crate) fn switch(
        &mut self,
        now: i64,
        cpu: u16,
        prev: &Named<'_>,
        state: i64,
        (next, at): (&Named<'_>, EventRow),
    ) {
        self.cpus[usize::from(cpu)].returned = None;
        let from = self.thread(prev, cpu, now);
        let to = self.thread(next, cpu, now);
        self.threads.all[to as usize].named_at = Some(at);
        let mut left = self.states.left(state);
        let leaving = &self.threads.all[from as usize];
        if leaving.exiting && left == Left::Blocked(wait::OTHER) {
            left = Left::Dead;
        }
        let current = self.cpus[usize::from(cpu)].current;
        if current != from {
            // Who ran is not who was believed to run: a switch is missing, though no loss is known.
            if current != NOBODY {
                self.mistaken(cpu);
                self.threads.all[from as usize].unswitched += 1;
            }
            self.elsewhere(from);
        }
        if !self.cpus[usize::from(cpu)].frames.is_empty() {
            self.suspend(cpu, from, now, left);
        }
        if current == from {
            self.stop(cpu, from, now, left);
        }
        self.leave(cpu, from, now, left);
        self.elsewhere(to);
        self.threads.all[to as usize].switched += 1;
        self.switches += 1;
        self.start(cpu, to, now, 0);
    }

    /// The current thread's span on the CPU ends.
    #[inline]
    fn stop(&mut self, cpu: u16, at: u32, now: i64, left: Left) {
        let place = &mut self.cpus[usize::from(cpu)];
        let thread = &mut self.threads.all[at as usize];
        let execution = now - place.since - place.taken;
        let why = match left {
            Left::Runnable if thread.tid == 0 => why::BLOCKED,
            Left::Runnable if thread.yielding => why::OTHER,
            Left::Runnable => {
                thread.totals.preemptions += 1;
                why::PREEMPTED
            }
            Left::Blocked(_) | Left::Dead => why::BLOCKED,
        };
        thread.totals.execution += execution;
        thread.totals.end = now;
        self.gathered.fragment(&Fragment {
            actor: thread.actor,
            cpu,
            begin: place.since,
            end: now,
            execution,
            instance: thread.instance,
            why,
        });
        self.actors.seen(thread.actor, now);
    }

    /// What becomes of a thread that left the CPU.
    #[inline]
    fn leave(&mut self, cpu: u16, at: u32, now: i64, left: Left) {
        let thread = &mut self.threads.all[at as usize];
        thread.since = now;
        thread.cpu = cpu;
        thread.gaps_there = self.cpus[usize::from(cpu)].gaps.len() as u32;
        thread.losses_over = self.losses_over;
        match left {
            _ if thread.tid == 0 => {
                thread.state = State::Fresh;
                self.close(at, 0);
            }
            Left::Runnable => thread.state = State::Preempted,
            Left::Blocked(kind) => {
                thread.state = State::Blocked(kind);
                self.close(at, 0);
            }
            Left::Dead => self.retire(at, 0),
        }
    }

    /// A thread gets the CPU. `before`: flags of an instance that was running before now.
    #[inline]
    pub(crate) fn start(&mut self, cpu: u16, at: u32, now: i64, before: u8) {
        let mut marks = before;
        let lost = self.may_have_run(at);
        let thread = &self.threads.all[at as usize];
        let since = thread.since;
        let mut ready = NONE;
        match thread.state {
            State::Unseen => marks |= flags::BEGAN_BEFORE,
            State::Running => {}
            State::Fresh if thread.tid == 0 => {}
            _ if lost => marks |= flags::CROSSES_LOSS,
            _ => {}
        }
        match thread.state {
            State::Ready => {
                ready = since;
                self.waited(at, now, wait::WOKEN, wait::WOKEN, 0);
            }
            State::Preempted => {
                if thread.instance == NO_ROW {
                    // It ran where events are missing.
                    marks |= flags::CROSSES_LOSS;
                }
                self.waited(at, now, wait::PREEMPTED, wait::PREEMPTED, 0);
            }
            State::Blocked(_) if thread.pending.time != NONE => {
                // No wake-up was seen since it blocked: the one that came just before was for this.
                ready = since;
                self.waited(at, now, wait::WOKEN, wait::WOKEN, 0);
                let thread = &mut self.threads.all[at as usize];
                thread.wake = std::mem::replace(&mut thread.pending, NOT_WOKEN);
            }
            State::Blocked(kind) => self.waited(at, now, kind, kind, 0),
            // It was not woken since: it could have run.
            State::Lost => self.waited(at, now, wait::PREEMPTED, wait::PREEMPTED, 0),
            State::Unseen | State::Fresh | State::Running => {}
        }
        let thread = &mut self.threads.all[at as usize];
        let is_seen = marks == 0 && !self.cpus[usize::from(cpu)].in_loss;
        if thread.instance == NO_ROW {
            let woken = std::mem::replace(&mut thread.wake, NOT_WOKEN);
            thread.instance = self.gathered.begin(&Begin {
                actor: thread.actor,
                cpu,
                begin: now,
                ready,
                cause: woken.cause,
                cause_time: woken.time,
                period: self.actors.period(thread.actor, cpu, now, is_seen).unwrap_or(NONE),
            });
            thread.totals = Totals::default();
        } else if thread.cpu != cpu {
            thread.totals.migrations += 1;
        }
        let place = &mut self.cpus[usize::from(cpu)];
        if place.in_loss {
            marks |= flags::CROSSES_LOSS;
        }
        thread.totals.fragments += 1;
        thread.totals.flags |= marks;
        thread.state = State::Running;
        thread.since = now;
        thread.cpu = cpu;
        if !place.in_loss || self.anywhere[usize::from(cpu)] {
            place.close_gap(now);
        }
        place.current = at;
        place.since = now;
        place.taken = 0;
        if !thread.suspended.is_empty() {
            self.resume(cpu, at, now);
        }
    }

    /// A thread is woken.
    #[inline]
    pub(crate) fn wake(
        &mut self,
        now: i64,
        cpu: u16,
        wake: Wake,
        task: &Named<'_>,
        target: Option<u16>,
        flags: Flags,
    ) {
        if task.tid == 0 {
            return;
        }
        let at = self.by_tid(task.tid, target.unwrap_or(cpu), now);
        let known = &self.threads.all[at as usize];
        if known.name.is_empty() && known.named_at.is_none() {
            // Later names are seen when it runs.
            self.name(at, task);
        }
        let mut woken = Woken { time: now, cause: self.waker(cpu, at, task, flags) };
        let thread = &mut self.threads.all[at as usize];
        let target = target.filter(|&cpu| usize::from(cpu) < self.cpus.len()).unwrap_or(thread.cpu);
        match (wake, thread.state) {
            (Wake::Waking, State::Running) => thread.pending = woken,
            (Wake::Wakeup, State::Running) => thread.pending = NOT_WOKEN,
            (Wake::Wakeup, State::Ready) | (_, State::Preempted) => {
                thread.pending = NOT_WOKEN;
                if thread.state == State::Ready {
                    thread.cpu = target;
                }
            }
            (_, State::Running | State::Ready) => {}
            (_, State::Unseen | State::Fresh | State::Blocked(_) | State::Lost) => {
                let mut is_told = true;
                if wake == Wake::Wakeup {
                    if thread.pending.time != NONE {
                        woken = thread.pending;
                    } else if self.traces_waking {
                        // Who woke it was told by an event that is missing.
                        woken.cause = NONE;
                        is_told = false;
                    }
                }
                thread.pending = NOT_WOKEN;
                // One that overtook the blocking counts from there.
                let mut ready = now;
                let lost = thread.state == State::Lost;
                match thread.state {
                    State::Blocked(kind) => {
                        ready = woken.time.max(thread.since);
                        self.waited(at, ready, kind, kind, 0);
                    }
                    State::Lost => self.waited(at, now, wait::OTHER, wait::OTHER, 0),
                    _ => {}
                }
                let gaps_there = self.gaps_of(target);
                let losses_over = self.losses_over;
                let thread = &mut self.threads.all[at as usize];
                thread.gaps_there = gaps_there;
                // Where the event is missing that decided it, it came earlier, in a loss.
                if is_told {
                    thread.losses_over = losses_over;
                }
                thread.state = State::Ready;
                thread.since = ready;
                thread.cpu = target;
                thread.wake = woken;
                if lost {
                    self.close(at, flags::CROSSES_LOSS);
                }
            }
        }
    }

    /// Ends the instance of a thread, if it has one, with what it has added up.
    #[inline]
    pub(crate) fn close(&mut self, at: u32, marks: u8) {
        let thread = &mut self.threads.all[at as usize];
        if thread.instance != NO_ROW {
            thread.totals.flags |= marks;
            self.gathered.end(thread.instance, &thread.totals);
            thread.instance = NO_ROW;
        }
    }

    /// A thread is gone: its id may be used again.
    fn retire(&mut self, at: u32, marks: u8) {
        self.close(at, marks);
        self.drop_suspended(at, flags::CROSSES_LOSS);
        let Thread { tid, actor, priority, .. } = self.threads.all[at as usize];
        self.actors.get_mut(actor).priority = priority;
        if self.threads.find(tid) == at {
            self.threads.set(tid, NOBODY);
        }
        self.threads.all[at as usize].state = State::Fresh;
    }

    pub(crate) fn fork(&mut self, now: i64, cpu: u16, child: &Named<'_>, process: Option<i32>) {
        if child.tid == 0 {
            return;
        }
        let before = self.threads.find(child.tid);
        if before != NOBODY {
            self.lose(before);
        }
        let at = self.new_thread(child.tid, State::Fresh, cpu, now);
        self.name(at, child);
        let actor = self.threads.all[at as usize].actor;
        self.actors.get_mut(actor).process = process;
    }

    /// A thread whose id is another's now: it must have exited unseen.
    fn lose(&mut self, at: u32) {
        let Thread { state, cpu, .. } = self.threads.all[at as usize];
        if state == State::Running {
            let last = self.cpus[usize::from(cpu)].last;
            self.asked_for_last = true;
            self.forget(cpu, last);
        }
        self.retire(at, flags::CROSSES_LOSS);
    }

    /// A thread runs another program. When it is not its process's first, it takes over the id of
    /// that one, which ends.
    pub(crate) fn exec(&mut self, now: i64, cpu: u16, tid: i32, old: i32, file: &[u8]) {
        const COMM: usize = 15;
        let start = file.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        let name = &file[start..];
        let named = Named { tid: old, name: &name[..name.len().min(COMM)], priority: None };
        let at = self.thread(&named, cpu, now);
        if tid != old && tid != 0 && old != 0 {
            let leader = self.threads.find(tid);
            if leader != NOBODY {
                self.lose(leader);
            }
            self.threads.set(old, NOBODY);
            self.threads.set(tid, at);
            self.threads.all[at as usize].tid = tid;
            let actor = self.threads.all[at as usize].actor;
            self.actors.get_mut(actor).tid = Some(tid);
        }
    }

    pub(crate) fn known(&mut self, now: i64, cpu: u16, task: &Named<'_>, process: Option<i32>) {
        if task.tid != 0 {
            let at = self.thread(task, cpu, now);
            let actor = self.threads.all[at as usize].actor;
            let process = process.or(self.actors.get_mut(actor).process);
            self.actors.get_mut(actor).process = process;
        }
    }

    /// The thread that runs calls `sched_yield`, or returns from it.
    pub(crate) fn yields(&mut self, cpu: u16, begins: bool) {
        let current = self.cpus[usize::from(cpu)].current;
        if current != NOBODY {
            self.threads.all[current as usize].yielding = begins;
        }
    }

    pub(crate) fn exit(&mut self, now: i64, cpu: u16, tid: i32) {
        if tid != 0 {
            let at = self.thread(&Named { tid, name: &[], priority: None }, cpu, now);
            self.threads.all[at as usize].exiting = true;
        }
    }

    /// Threads get the names that they had when they were switched to for the last time.
    pub(crate) fn name_threads(&mut self, bindings: &Bindings<'_>) {
        for at in 0..self.threads.all.len() as u32 {
            let Thread { tid, named_at, priority, .. } = self.threads.all[at as usize];
            if let Some(switch) = named_at {
                self.name(at, &Named { tid, name: bindings.next_name(switch), priority });
            }
        }
    }

    /// The trace ends: what goes on is cut there.
    pub(crate) fn finish_threads(&mut self, end: i64) {
        for cpu in 0..self.cpus.len() {
            let place = &self.cpus[cpu];
            let current = place.current;
            if current != NOBODY {
                let thread = &mut self.threads.all[current as usize];
                let execution = end - place.since - place.taken;
                thread.totals.execution += execution;
                thread.totals.end = end;
                self.gathered.fragment(&Fragment {
                    actor: thread.actor,
                    cpu: cpu as u16,
                    begin: place.since,
                    end,
                    execution,
                    instance: thread.instance,
                    why: why::END_OF_TRACE,
                });
                self.actors.seen(thread.actor, end);
            }
        }
        self.finish_waits(end);
        for at in 0..self.threads.all.len() as u32 {
            let thread = &self.threads.all[at as usize];
            let lost = self.may_have_run(at);
            let (actor, priority) = (thread.actor, thread.priority);
            let known = &mut self.actors.get_mut(actor).priority;
            *known = priority.or(*known);
            let lost = lost && thread.state != State::Running;
            let marks = if lost { flags::CROSSES_LOSS } else { 0 };
            self.close(at, flags::CUT_BY_END | marks);
        }
        self.mark_partial();
    }

    /// Of threads whose switches are missing nothing is known for sure, nor was before that showed.
    fn mark_partial(&mut self) {
        let partial = (0..self.threads.all.len()).filter(|&at| self.is_partial(at as u32));
        let actors: Vec<u32> = partial.map(|at| self.threads.all[at].actor).collect();
        let Some(&last) = actors.iter().max() else { return };
        let mut is_partial = vec![false; last as usize + 1];
        for actor in actors {
            is_partial[actor as usize] = true;
        }
        self.gathered.mark(&is_partial);
    }
}
