//! How long each actor had each CPU, and how often it was woken and switched away from: added up
//! while the events pass, for whom no table of every span is needed.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array, UInt32Array};

use crate::growing::{Begin, Fragment, NONE};
use crate::output::{flags, schemas, why};

/// What adds up of one actor on one CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    execution: i64,
    fragments: i64,
    /// Fragments that took time.
    ran: i64,
    switched: i64,
    begun: i64,
    woken: i64,
    lossy: i64,
}

/// A fragment whose end is a switch only if its instance crosses no loss, which is known later.
struct Doubtful {
    actor: u32,
    cpu: u16,
    instance: u32,
}

/// The sums of all actors.
pub(crate) struct Usage {
    /// From the first to the last event of the trace.
    span: (i64, i64),
    /// Whether anything was outside of it, as losses may tell of times before the first event.
    is_outside: bool,
    /// By actor, in order of CPUs.
    sums: Vec<Vec<(u16, Sum)>>,
    /// Of every instance: its actor, CPU and flags.
    instances: Vec<(u32, u16, u8)>,
    doubtful: Vec<Doubtful>,
}

impl Usage {
    pub(crate) fn new(span: (i64, i64)) -> Self {
        Self {
            span,
            is_outside: false,
            sums: Vec::new(),
            instances: Vec::new(),
            doubtful: Vec::new(),
        }
    }

    #[inline]
    fn sum(&mut self, actor: u32, cpu: u16) -> &mut Sum {
        let at = actor as usize;
        if self.sums.len() <= at {
            self.sums.resize_with(at + 1, Vec::new);
        }
        let cpus = &mut self.sums[at];
        let place = match cpus.binary_search_by_key(&cpu, |&(cpu, _)| cpu) {
            Ok(place) => place,
            Err(place) => {
                cpus.insert(place, (cpu, Sum::default()));
                place
            }
        };
        &mut cpus[place].1
    }

    /// A span on a CPU has ended.
    #[inline]
    pub(crate) fn fragment(&mut self, fragment: &Fragment) {
        let &Fragment { actor, cpu, execution, instance, why, .. } = fragment;
        self.is_outside |= fragment.begin < self.span.0 || self.span.1 < fragment.end;
        if why == why::OTHER {
            self.doubtful.push(Doubtful { actor, cpu, instance });
        }
        let is_switch = why != why::OTHER && why != why::END_OF_TRACE;
        let sum = self.sum(actor, cpu);
        sum.execution += execution;
        sum.fragments += 1;
        sum.ran += i64::from(execution > 0);
        sum.switched += i64::from(is_switch);
    }

    /// A new instance; its number.
    #[inline]
    pub(crate) fn begin(&mut self, begin: &Begin) -> u32 {
        let sum = self.sum(begin.actor, begin.cpu);
        sum.begun += 1;
        sum.woken += i64::from(begin.ready != NONE);
        self.instances.push((begin.actor, begin.cpu, 0));
        (self.instances.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn end(&mut self, instance: u32, flags: u8) {
        self.instances[instance as usize].2 = flags;
    }

    /// All instances of some actors are incomplete.
    pub(crate) fn mark(&mut self, is_partial: &[bool]) {
        for (actor, _, marks) in &mut self.instances {
            if is_partial.get(*actor as usize).is_some_and(|&partial| partial) {
                *marks |= flags::CROSSES_LOSS;
            }
        }
    }

    /// None where anything was outside of the trace's span: what of it counts, its rows alone tell.
    pub(crate) fn into_batch(mut self) -> Option<RecordBatch> {
        if self.is_outside {
            return None;
        }
        for Doubtful { actor, cpu, instance } in std::mem::take(&mut self.doubtful) {
            let (.., marks) = self.instances[instance as usize];
            self.sum(actor, cpu).switched += i64::from(marks & flags::CROSSES_LOSS == 0);
        }
        for (actor, cpu, marks) in std::mem::take(&mut self.instances) {
            if marks & flags::CROSSES_LOSS != 0 {
                self.sum(actor, cpu).lossy += 1;
            }
        }
        let rows = self.sums.iter().enumerate();
        let rows: Vec<(u32, u16, &Sum)> = rows
            .flat_map(|(actor, cpus)| cpus.iter().map(move |(cpu, s)| (actor as u32, *cpu, s)))
            .collect();
        let column = |value: fn(&Sum) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|(.., sum)| value(sum))))
        };
        let batch = RecordBatch::try_new(
            schemas::usage(),
            vec![
                Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.0))),
                Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.1))),
                column(|sum| sum.execution),
                column(|sum| sum.fragments),
                column(|sum| sum.ran),
                column(|sum| sum.switched),
                column(|sum| sum.begun),
                column(|sum| sum.woken),
                column(|sum| sum.lossy),
            ],
        );
        Some(batch.expect("the columns of the schema"))
    }
}
