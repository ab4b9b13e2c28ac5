//! What a loss of events does to what is believed.

use std::iter::Peekable;
use std::slice::Iter;

use crate::growing::Fragment;
use crate::input::Loss;
use crate::model::Named;
use crate::output::{flags, why};
use crate::scheduling::Scheduling;
use crate::tasks::{NOBODY, State};

/// What happens to a CPU at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    /// Nothing is missing from here on.
    End,
    /// Events are missing after this time.
    Begin,
}

/// What happens to CPUs, taken as time goes on.
pub(crate) struct Edges<'a>(Peekable<Iter<'a, (i64, Edge, u16)>>);

impl Edges<'_> {
    /// The next that comes before an event of that time: time, what, CPU.
    #[inline]
    pub(crate) fn next_until(&mut self, time: i64) -> Option<(i64, Edge, u16)> {
        self.0.next_if(|&&(at, edge, _)| at < time || at == time && edge == Edge::End).copied()
    }
}

/// The losses of each CPU, put in order.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By CPU: events are missing when the trace begins.
    pub(crate) at_first: Vec<bool>,
    /// By CPU: events may be missing anywhere.
    pub(crate) anywhere: Vec<bool>,
    edges: Vec<(i64, Edge, u16)>,
}

impl Losses {
    pub(crate) fn new(losses: &[Loss], cpus: usize, span: (i64, i64)) -> Self {
        let mut result =
            Self { at_first: vec![false; cpus], anywhere: vec![false; cpus], edges: vec![] };
        let mut by_cpu: Vec<Vec<(i64, i64)>> = vec![Vec::new(); cpus];
        for loss in losses {
            let concerned = match loss.cpu {
                Some(cpu) => usize::from(cpu).min(cpus)..(usize::from(cpu) + 1).min(cpus),
                None => 0..cpus,
            };
            for cpu in concerned {
                match (loss.begin, loss.end) {
                    (None, None) => result.anywhere[cpu] = true,
                    (begin, end) => {
                        by_cpu[cpu].push((begin.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX)))
                    }
                }
            }
        }
        for (cpu, mut spans) in by_cpu.into_iter().enumerate() {
            spans.sort_unstable();
            let mut merged: Vec<(i64, i64)> = Vec::new();
            for (begin, end) in spans {
                match merged.last_mut() {
                    Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                    _ => merged.push((begin, end.max(begin))),
                }
            }
            for (begin, end) in merged {
                if begin < span.0 {
                    result.at_first[cpu] = true;
                } else {
                    result.edges.push((begin, Edge::Begin, cpu as u16));
                }
                result.edges.push((end, Edge::End, cpu as u16));
            }
        }
        result.edges.sort_unstable();
        result
    }

    /// All that happens, from the beginning.
    pub(crate) fn edges(&self) -> Edges<'_> {
        Edges(self.edges.iter().peekable())
    }

    /// By CPU, ascending: the times from which on its events are complete.
    pub(crate) fn whole_from(&self, begin: i64) -> Vec<Vec<i64>> {
        let whole = |&missing: &bool| if missing { vec![] } else { vec![begin] };
        let mut times: Vec<Vec<i64>> = self.at_first.iter().map(whole).collect();
        for &(time, edge, cpu) in &self.edges {
            if edge == Edge::End {
                times[usize::from(cpu)].push(time);
            }
        }
        times
    }
}

impl Scheduling {
    /// Events of a CPU are missing after `at`: nothing is believed about it any more.
    pub(crate) fn begin_loss(&mut self, cpu: u16, at: i64) {
        self.forget(cpu, at);
        let place = &mut self.cpus[usize::from(cpu)];
        place.raised.fill(None);
        place.in_loss = true;
    }

    /// Who runs on a CPU is not known any more: what was believed is cut at `at`, and marked.
    #[cold]
    pub(crate) fn forget(&mut self, cpu: u16, at: i64) {
        let at = at.max(self.cpus[usize::from(cpu)].since);
        while !self.cpus[usize::from(cpu)].frames.is_empty() {
            self.pop(cpu, at, why::OTHER, flags::CROSSES_LOSS);
        }
        let place = &mut self.cpus[usize::from(cpu)];
        place.losses += 1;
        self.losses += 1;
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
        thread.state = State::Lost;
        self.fragments.push(&Fragment {
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
        let last = self.cpus[usize::from(cpu)].last;
        self.forget(cpu, last);
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
            self.forget(there, self.cpus[usize::from(there)].last);
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
            self.begin_loss(cpu, at);
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
