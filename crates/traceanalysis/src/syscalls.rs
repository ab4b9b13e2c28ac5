//! System calls: from entry to return, of the thread that runs.

use arrow_array::RecordBatch;

use crate::growing::{NONE, Syscalls};
use crate::input::Input;
use crate::model::CallEvent;
use crate::syscall_bindings::SyscallBindings;
use crate::turns::Turns;
use crate::walk::{Columns, walk};

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
    let mut calls =
        Calls { table: Syscalls::with_capacity(bindings.count()), open: vec![NO_ROW; threads] };
    let known = bindings.known();
    for index in input.index.iter().filter_map(Columns::of) {
        walk(index, &known, &mut |at| {
            let (now, cpu) = (index.times[at], index.cpus[at]);
            match bindings.read(index.events[at], index.rows[at]) {
                Some(CallEvent::Switch) => turns.switch(cpu, now),
                Some(CallEvent::Entry { name }) => {
                    if let Some(actor) = turns.at(cpu, now) {
                        calls.enter(now, cpu, actor, name);
                    }
                }
                Some(CallEvent::Exit { name, result }) => {
                    if let Some(actor) = turns.at(cpu, now) {
                        calls.exit(now, actor, name, result);
                    }
                }
                None => {}
            }
            true
        });
    }
    Some(calls.table.into_batch(&bindings.names))
}

struct Calls {
    table: Syscalls,
    /// By actor: the row of the call that it is in, or [`NO_ROW`].
    open: Vec<u32>,
}

impl Calls {
    #[inline]
    fn enter(&mut self, now: i64, cpu: u16, actor: u32, name: u16) {
        let table = &mut self.table;
        self.open[actor as usize] = table.actor.len() as u32;
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
    fn exit(&mut self, now: i64, actor: u32, name: u16, result: Option<i64>) {
        let row = std::mem::replace(&mut self.open[actor as usize], NO_ROW) as usize;
        if self.table.name.get(row) == Some(&name) {
            self.table.end[row] = now;
            self.table.result[row] = result.unwrap_or(NONE);
        }
    }
}
