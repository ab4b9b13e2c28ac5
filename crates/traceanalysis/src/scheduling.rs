//! Who runs, who waits and who interrupts: everything about threads and CPUs.

use crate::actors::Actors;
use crate::ahead::{Read, read_ahead};
use crate::bindings::{Bindings, Counts};
use crate::cpu::Cpu;
use crate::growing::{Fragments, Instances, Waits};
use crate::input::{EventTable, Input};
use crate::losses::{Edge, Edges, Losses};
use crate::model::Event;
use crate::prelude::First;
use crate::states::States;
use crate::tasks::Threads;
use crate::walk::Columns;
use crate::witnesses::Witnesses;

/// The state of all CPUs and threads while the events pass, and the tables that grow.
pub(crate) struct Scheduling {
    pub(crate) states: States,
    /// Whether it can be told who is the cause of something.
    pub(crate) contexts: bool,
    /// Whether wake-ups are told where they are decided.
    pub(crate) traces_waking: bool,
    pub(crate) traces_switches: bool,
    pub(crate) cpus: Vec<Cpu>,
    /// By CPU: events may be missing anywhere.
    pub(crate) anywhere: Vec<bool>,
    /// How often events were missing on any CPU.
    pub(crate) losses: u32,
    pub(crate) threads: Threads,
    pub(crate) actors: Actors,
    pub(crate) instances: Instances,
    pub(crate) fragments: Fragments,
    pub(crate) waits: Waits,
}

impl Scheduling {
    fn new(input: &Input, bindings: &Bindings<'_>, losses: &Losses, span: (i64, i64)) -> Self {
        let Counts { switches, wakes, handlers } = bindings.counts();
        let named = |name: &str| input.events.iter().find(|event| event.name == name);
        Self {
            states: States::new(named("sched_switch"), &input.environment),
            contexts: bindings.contexts,
            traces_waking: named("sched_waking").is_some_and(EventTable::has_rows),
            traces_switches: named("sched_switch").is_some_and(EventTable::has_rows),
            cpus: losses.at_first.iter().map(|&missing| Cpu::new(span.0, missing)).collect(),
            anywhere: losses.anywhere.clone(),
            losses: 0,
            threads: Threads::default(),
            actors: Actors::new(&input.events),
            instances: Instances::with_capacity(switches + handlers),
            fragments: Fragments::with_capacity(switches + handlers),
            waits: Waits::with_capacity(switches + wakes),
        }
    }

    /// Passes all events through the state machines.
    pub(crate) fn run(
        input: &Input,
        bindings: &Bindings<'_>,
        cpus: usize,
        span: (i64, i64),
    ) -> Self {
        let losses = Losses::new(&input.losses, cpus, span);
        let first = First::new(input, bindings, &losses.whole_from(span.0));
        let mut this = Self::new(input, bindings, &losses, span);
        for cpu in (0..cpus).filter(|&cpu| !losses.at_first[cpu]) {
            this.begin_whole(cpu as u16, span.0, first.at(cpu, span.0), false);
        }
        let mut edges = losses.edges();
        let receive = |index: Columns<'_>, read: &Read<'_>| {
            let (time, cpu) = (index.times[read.at], index.cpus[read.at]);
            if let Event::Passed { cpu, time } = read.event {
                this.cpus[usize::from(cpu)].last = time;
                return;
            }
            this.edges_until(time, &mut edges, &first);
            let last = &mut this.cpus[usize::from(cpu)].last;
            *last = read.passed.max(*last);
            if let Some(tid) = read.thread
                && this.is_other(cpu, tid)
            {
                let since = this.cpus[usize::from(cpu)].last;
                this.correct(bindings.first_of(index, read.at, since, tid), cpu, tid);
            }
            this.event(time, cpu, &read.event);
            this.cpus[usize::from(cpu)].last = time;
        };
        let witnesses = Witnesses::new(cpus, losses.edges());
        std::thread::scope(|scope| read_ahead(scope, &input.index, bindings, witnesses, receive));
        this.edges_until(span.1, &mut edges, &first);
        this.finish_handlers(span.1);
        this.finish_threads(span.1);
        this.name_threads(bindings);
        this
    }

    /// The losses that begin or end until an event.
    #[inline]
    fn edges_until(&mut self, time: i64, edges: &mut Edges<'_>, first: &First<'_>) {
        while let Some((at, edge, cpu)) = edges.next_until(time) {
            match edge {
                Edge::Begin => self.begin_loss(cpu, at),
                Edge::End => self.begin_whole(cpu, at, first.at(usize::from(cpu), at), true),
            }
        }
    }

    #[inline]
    fn event(&mut self, now: i64, cpu: u16, event: &Event<'_>) {
        match event {
            Event::Switch { prev, state, next, at } => {
                self.switch(now, cpu, prev, *state, (next, *at));
            }
            Event::Wake { wake, task, target, flags } => {
                self.wake(now, cpu, *wake, task, *target, *flags);
            }
            Event::Enter { handler, name, flags } => self.enter(now, cpu, *handler, name, *flags),
            Event::Leave { handler } => self.exit_handler(now, cpu, *handler),
            Event::SoftirqRaise { vector, flags } => self.raise(now, cpu, *vector, *flags),
            Event::Yield { begins } => self.yields(cpu, *begins),
            Event::Fork { child, process } => self.fork(now, cpu, child, *process),
            Event::Exec { tid, old, file } => self.exec(now, cpu, *tid, *old, file),
            Event::Rename { task } => self.known(now, cpu, task, None),
            Event::Known { task, process } => self.known(now, cpu, task, *process),
            Event::Exit { tid } => self.exit(now, cpu, *tid),
            Event::Seen | Event::Passed { .. } => {}
        }
    }
}
