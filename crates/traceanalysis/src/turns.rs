//! Who had each CPU when, as the fragments of threads tell.

use arrow_array::RecordBatch;

use crate::columns::{Ints, Rows, Texts};

#[derive(Debug, Clone, Copy)]
struct Turn {
    begin: i64,
    end: i64,
    actor: u32,
}

/// The turns of the threads on each CPU; asked in order of time.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    cpus: Vec<Vec<Turn>>,
    /// By CPU: the turn that goes on, or the next.
    now: Vec<usize>,
}

impl Turns {
    /// From tables of an analysis; `None` when they are not such.
    pub(crate) fn new(actors: &[RecordBatch], fragments: &[RecordBatch]) -> Option<Self> {
        let mut this = Self::default();
        let Some(kinds) = Texts::of(actors, "kind") else {
            return actors.iter().all(|batch| batch.num_rows() == 0).then_some(this);
        };
        let is_thread = |place| matches!(kinds.get(place), b"task" | b"idle");
        let threads: Vec<bool> = Rows::new(actors).all().map(is_thread).collect();
        let rows = Rows::new(fragments);
        if rows.is_empty() {
            return Some(this);
        }
        let column = |name| Ints::of(fragments, name);
        let (actor, cpu) = (column("actor")?, column("cpu")?);
        let (begin, end) = (column("begin")?, column("end")?);
        for place in rows.all() {
            let actor = actor.get(place) as u32;
            if threads.get(actor as usize) == Some(&true) {
                let cpu = usize::from(cpu.get(place) as u16);
                if this.cpus.len() <= cpu {
                    this.cpus.resize_with(cpu + 1, Vec::new);
                }
                let (begin, end) = (begin.get(place), end.get(place));
                this.cpus[cpu].push(Turn { begin, end, actor });
            }
        }
        this.now = vec![0; this.cpus.len()];
        Some(this)
    }

    /// The actor that has a CPU at a time that is not before what was asked last, and since when.
    #[inline]
    pub(crate) fn at(&mut self, cpu: u16, time: i64) -> Option<(u32, i64)> {
        let turn = self.settle(cpu, time)?;
        (turn.begin <= time).then_some((turn.actor, turn.begin))
    }

    /// The CPU was given to another: of turns that end at the same time, one is over.
    #[inline]
    pub(crate) fn switch(&mut self, cpu: u16, time: i64) {
        if self.settle(cpu, time).is_some_and(|turn| turn.end == time) {
            self.now[usize::from(cpu)] += 1;
        }
    }

    /// The first turn that does not end before a time.
    #[inline]
    fn settle(&mut self, cpu: u16, time: i64) -> Option<Turn> {
        let turns = self.cpus.get(usize::from(cpu))?;
        let now = &mut self.now[usize::from(cpu)];
        while turns.get(*now).is_some_and(|turn| turn.end < time) {
            *now += 1;
        }
        turns.get(*now).copied()
    }
}
