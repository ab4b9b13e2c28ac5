//! System calls: from entry to return, of the thread that runs.

use arrow_array::RecordBatch;

use crate::growing::{NONE, Syscalls};
use crate::input::Input;
use crate::losses::{Edge, Losses};
use crate::model::CallEvent;
use crate::syscall_bindings::SyscallBindings;
use crate::turns::Turns;
use crate::walk::{Columns, extent, walk};

const NO_ROW: u32 = u32::MAX;

/// The system calls of the threads that had the CPUs by `actors` and `fragments`.
pub(crate) fn run(
    input: &Input,
    actors: &[RecordBatch],
    fragments: &[RecordBatch],
) -> Option<RecordBatch> {
    let bindings = SyscallBindings::new(input);
    let mut turns = Turns::new(actors, fragments)?;
    let threads = actors.iter().map(RecordBatch::num_rows).sum();
    let (span, cpus) = extent(input);
    // A call may have gone on where all events are missing, or none is of a call.
    let lossy = input.losses.iter().filter_map(|loss| loss.cpu).map(|cpu| usize::from(cpu) + 1);
    let cpus = lossy.fold(cpus, usize::max);
    let losses = Losses::new(&input.losses, cpus, span);
    let mut edges = losses.edges();
    let mut lost = Lost::new(cpus, &losses);
    let mut calls = Calls {
        table: Syscalls::with_capacity(bindings.count()),
        open: vec![Open { row: NO_ROW, losses: 0 }; threads],
    };
    let known = bindings.known();
    for index in input.index.iter().filter_map(Columns::of) {
        walk(index, &known, &mut |at| {
            let (now, cpu) = (index.times[at], index.cpus[at]);
            while let Some((_, edge, cpu)) = edges.next_until(now) {
                lost.pass(edge, cpu);
            }
            match bindings.read(index.events[at], index.rows[at]) {
                Some(CallEvent::Switch) => turns.switch(cpu, now),
                Some(CallEvent::Entry { name }) => {
                    if let Some((actor, _)) = turns.at(cpu, now) {
                        calls.enter(now, cpu, actor, name, lost.over);
                    }
                }
                Some(CallEvent::Exit { name, result }) => {
                    if let Some((actor, since)) = turns.at(cpu, now) {
                        let call = calls.exit(actor, name);
                        // Where events are missing, a call may have returned and another begun: not
                        // while the thread had a CPU of its own, of which all events are there.
                        if let Some(Open { row, losses }) = call
                            && (losses == lost.begun || since <= calls.table.begin[row as usize])
                        {
                            calls.table.end[row as usize] = now;
                            calls.table.result[row as usize] = result.unwrap_or(NONE);
                        }
                    }
                }
                None => {}
            }
            true
        });
    }
    Some(calls.table.into_batch(&bindings.names))
}

/// Losses of all CPUs, counted as time goes on.
struct Lost {
    begun: u32,
    /// How many of these, from the first, are over.
    over: u32,
    /// By CPU: the loss that goes on.
    ongoing: Vec<Option<u32>>,
}

impl Lost {
    fn new(cpus: usize, losses: &Losses) -> Self {
        let mut this = Self { begun: 0, over: 0, ongoing: vec![None; cpus] };
        for cpu in (0..cpus).filter(|&cpu| losses.at_first[cpu]) {
            this.pass(Edge::Begin, cpu as u16);
        }
        this
    }

    #[cold]
    fn pass(&mut self, edge: Edge, cpu: u16) {
        self.ongoing[usize::from(cpu)] = match edge {
            Edge::Begin => Some(self.begun),
            Edge::End => None,
        };
        self.begun += u32::from(edge == Edge::Begin);
        self.over = self.ongoing.iter().flatten().copied().min().unwrap_or(self.begun);
    }
}

/// A call that has not returned: its row or [`NO_ROW`], and the losses that were over when it began.
#[derive(Debug, Clone, Copy)]
struct Open {
    row: u32,
    losses: u32,
}

struct Calls {
    table: Syscalls,
    /// By actor: the call that it is in.
    open: Vec<Open>,
}

impl Calls {
    #[inline]
    fn enter(&mut self, now: i64, cpu: u16, actor: u32, name: u16, losses: u32) {
        let table = &mut self.table;
        self.open[actor as usize] = Open { row: table.actor.len() as u32, losses };
        table.actor.push(actor);
        table.cpu.push(cpu);
        table.name.push(name);
        table.begin.push(now);
        table.end.push(NONE);
        table.result.push(NONE);
    }

    /// A return without its entry (of a new thread, or of a call that began before the trace) says
    /// nothing; one of another call than the thread is in means that events are missing.
    #[inline]
    fn exit(&mut self, actor: u32, name: Option<u16>) -> Option<Open> {
        let none = Open { row: NO_ROW, losses: 0 };
        let open = std::mem::replace(&mut self.open[actor as usize], none);
        let entered = *self.table.name.get(open.row as usize)?;
        name.is_none_or(|name| name == entered).then_some(open)
    }
}
