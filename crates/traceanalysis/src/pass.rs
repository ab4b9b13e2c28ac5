//! The pass over all events in order of time: who runs, who waits and who interrupts.

use crate::ahead::{Read, read_ahead};
use crate::bindings::Bindings;
use crate::gathered::Gathered;
use crate::input::Input;
use crate::losses::{Edge, Edges, Losses};
use crate::model::Event;
use crate::prelude::First;
use crate::scheduling::Scheduling;
use crate::walk::Columns;
use crate::witnesses::Witnesses;

/// Passes all events through the state machines.
pub(crate) fn run(
    input: &Input,
    bindings: &Bindings<'_>,
    cpus: usize,
    span: (i64, i64),
    gathered: Gathered,
) -> Scheduling {
    let losses = Losses::new(&input.losses, cpus, span);
    let first = First::new(input, bindings, &losses.whole_from(span.0));
    let mut this = Scheduling::new(input, bindings, &losses, span, gathered);
    for cpu in 0..cpus {
        match losses.at_first[cpu] {
            true => this.begin_loss(cpu as u16, span.0),
            false => this.begin_whole(cpu as u16, span.0, first.at(cpu, span.0), false),
        }
    }
    let mut edges = losses.edges();
    let receive = |index: Columns<'_>, read: &Read<'_>| {
        if this.asked_for_last && input.left_out {
            return; // In vain: all events will be asked for.
        }
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

impl Scheduling {
    /// The losses that begin or end until an event.
    #[inline]
    fn edges_until(&mut self, time: i64, edges: &mut Edges<'_>, first: &First<'_>) {
        while let Some((at, edge, cpu)) = edges.next_until(time) {
            match edge {
                Edge::Begin => {
                    self.actors.interruptions.begin(cpu);
                    self.begin_loss(cpu, at);
                }
                Edge::End => {
                    self.actors.interruptions.end(cpu);
                    self.begin_whole(cpu, at, first.at(usize::from(cpu), at), true);
                }
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
