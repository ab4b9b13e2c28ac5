//! The tables with many rows, while they grow. Their columns become Arrow's without a copy.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};

use crate::output::{flags, schemas};

/// Stands for null in columns of times.
pub(crate) const NONE: i64 = i64::MIN;

/// A column of times in which [`NONE`] is null.
pub(crate) fn nullable(values: Vec<i64>) -> ArrayRef {
    let nulls = BooleanBuffer::collect_bool(values.len(), |at| values[at] != NONE);
    let nulls = Some(NullBuffer::new(nulls)).filter(|nulls| nulls.null_count() > 0);
    Arc::new(Int64Array::new(kept(values), nulls))
}

/// The values as a buffer; room that was not needed is given back, which moves nothing.
fn kept<T: ArrowNativeType>(mut values: Vec<T>) -> ScalarBuffer<T> {
    values.shrink_to_fit();
    values.into()
}

/// A column without nulls.
fn column<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(kept(values), None))
}

/// What is known of an instance when it begins.
pub(crate) struct Begin {
    pub(crate) actor: u32,
    pub(crate) cpu: u16,
    pub(crate) begin: i64,
    pub(crate) ready: i64,
    pub(crate) cause: i64,
    pub(crate) cause_time: i64,
    pub(crate) period: i64,
}

/// What adds up while an instance runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) end: i64,
    pub(crate) execution: i64,
    pub(crate) fragments: u32,
    pub(crate) preemptions: u32,
    pub(crate) migrations: u32,
    pub(crate) flags: u8,
}

pub(crate) struct Instances {
    actor: Vec<u32>,
    cpu: Vec<u16>,
    begin: Vec<i64>,
    end: Vec<i64>,
    ready: Vec<i64>,
    execution: Vec<i64>,
    fragments: Vec<u32>,
    preemptions: Vec<u32>,
    migrations: Vec<u32>,
    cause: Vec<i64>,
    cause_time: Vec<i64>,
    period: Vec<i64>,
    flags: Vec<u8>,
}

fn mark(actors: &[u32], marks: &mut [u8], is_partial: &[bool]) {
    for (&actor, marks) in actors.iter().zip(marks) {
        if is_partial.get(actor as usize).is_some_and(|&partial| partial) {
            *marks |= flags::CROSSES_LOSS;
        }
    }
}

impl Instances {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            actor: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            begin: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            ready: Vec::with_capacity(rows),
            execution: Vec::with_capacity(rows),
            fragments: Vec::with_capacity(rows),
            preemptions: Vec::with_capacity(rows),
            migrations: Vec::with_capacity(rows),
            cause: Vec::with_capacity(rows),
            cause_time: Vec::with_capacity(rows),
            period: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
        }
    }

    /// All instances of some actors are incomplete.
    pub(crate) fn mark(&mut self, is_partial: &[bool]) {
        mark(&self.actor, &mut self.flags, is_partial);
    }

    /// A new instance; its number.
    #[inline]
    pub(crate) fn begin(&mut self, begin: &Begin) -> u32 {
        self.actor.push(begin.actor);
        self.cpu.push(begin.cpu);
        self.begin.push(begin.begin);
        self.end.push(begin.begin);
        self.ready.push(begin.ready);
        self.execution.push(0);
        self.fragments.push(0);
        self.preemptions.push(0);
        self.migrations.push(0);
        self.cause.push(begin.cause);
        self.cause_time.push(begin.cause_time);
        self.period.push(begin.period);
        self.flags.push(0);
        (self.actor.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn end(&mut self, instance: u32, totals: &Totals) {
        let at = instance as usize;
        self.end[at] = totals.end;
        self.execution[at] = totals.execution;
        self.fragments[at] = totals.fragments;
        self.preemptions[at] = totals.preemptions;
        self.migrations[at] = totals.migrations;
        self.flags[at] = totals.flags;
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        let count = self.actor.len() as u32;
        RecordBatch::try_new(
            schemas::instances(),
            vec![
                Arc::new(UInt32Array::from_iter_values(0..count)),
                column::<UInt32Type>(self.actor),
                column::<UInt16Type>(self.cpu),
                column::<Int64Type>(self.begin),
                column::<Int64Type>(self.end),
                nullable(self.ready),
                column::<Int64Type>(self.execution),
                column::<UInt32Type>(self.fragments),
                column::<UInt32Type>(self.preemptions),
                column::<UInt32Type>(self.migrations),
                nullable(self.cause),
                nullable(self.cause_time),
                nullable(self.period),
                column::<UInt8Type>(self.flags),
            ],
        )
        .expect("the columns of the schema")
    }
}

pub(crate) struct Fragment {
    pub(crate) actor: u32,
    pub(crate) cpu: u16,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) execution: i64,
    pub(crate) instance: u32,
    pub(crate) why: u8,
}

pub(crate) struct Fragments {
    actor: Vec<u32>,
    cpu: Vec<u16>,
    begin: Vec<i64>,
    end: Vec<i64>,
    execution: Vec<i64>,
    instance: Vec<u32>,
    why: Vec<u8>,
}

impl Fragments {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            actor: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            begin: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            execution: Vec::with_capacity(rows),
            instance: Vec::with_capacity(rows),
            why: Vec::with_capacity(rows),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, fragment: &Fragment) {
        self.actor.push(fragment.actor);
        self.cpu.push(fragment.cpu);
        self.begin.push(fragment.begin);
        self.end.push(fragment.end);
        self.execution.push(fragment.execution);
        self.instance.push(fragment.instance);
        self.why.push(fragment.why);
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        RecordBatch::try_new(
            schemas::fragments(),
            vec![
                column::<UInt32Type>(self.actor),
                column::<UInt16Type>(self.cpu),
                column::<Int64Type>(self.begin),
                column::<Int64Type>(self.end),
                column::<Int64Type>(self.execution),
                column::<UInt32Type>(self.instance),
                column::<UInt8Type>(self.why),
            ],
        )
        .expect("the columns of the schema")
    }
}

pub(crate) struct Waits {
    actor: Vec<u32>,
    begin: Vec<i64>,
    end: Vec<i64>,
    state: Vec<u8>,
    cpu: Vec<u16>,
    flags: Vec<u8>,
    /// Whether any came after one that ends later, as those before a loss do.
    mixed: bool,
}

impl Waits {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            actor: Vec::with_capacity(rows),
            begin: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            state: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            mixed: false,
        }
    }

    #[inline]
    pub(crate) fn push(
        &mut self,
        actor: u32,
        (begin, end): (i64, i64),
        state: u8,
        cpu: u16,
        flags: u8,
    ) {
        self.mixed |= self.end.last().is_some_and(|&last| end < last);
        self.actor.push(actor);
        self.begin.push(begin);
        self.end.push(end);
        self.state.push(state);
        self.cpu.push(cpu);
        self.flags.push(flags);
    }

    /// All waits of some actors are incomplete.
    pub(crate) fn mark(&mut self, is_partial: &[bool]) {
        mark(&self.actor, &mut self.flags, is_partial);
    }

    /// In order of their ends.
    fn ordered(self) -> Self {
        fn taken<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|&at| values[at as usize]).collect()
        }
        let mut order: Vec<u32> = (0..self.end.len() as u32).collect();
        order.sort_by_key(|&at| self.end[at as usize]);
        Self {
            actor: taken(&self.actor, &order),
            begin: taken(&self.begin, &order),
            end: taken(&self.end, &order),
            state: taken(&self.state, &order),
            cpu: taken(&self.cpu, &order),
            flags: taken(&self.flags, &order),
            mixed: false,
        }
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        if self.mixed {
            return self.ordered().into_batch();
        }
        RecordBatch::try_new(
            schemas::waits(),
            vec![
                column::<UInt32Type>(self.actor),
                column::<Int64Type>(self.begin),
                column::<Int64Type>(self.end),
                column::<UInt8Type>(self.state),
                column::<UInt16Type>(self.cpu),
                column::<UInt8Type>(self.flags),
            ],
        )
        .expect("the columns of the schema")
    }
}

pub(crate) struct Syscalls {
    pub(crate) actor: Vec<u32>,
    pub(crate) cpu: Vec<u16>,
    pub(crate) name: Vec<u16>,
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) result: Vec<i64>,
}

impl Syscalls {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            actor: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            name: Vec::with_capacity(rows),
            begin: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            result: Vec::with_capacity(rows),
        }
    }

    pub(crate) fn into_batch(self, names: &[String]) -> RecordBatch {
        let names = self.name.iter().map(|&name| names[usize::from(name)].as_str());
        RecordBatch::try_new(
            schemas::syscalls(),
            vec![
                column::<UInt32Type>(self.actor),
                column::<UInt16Type>(self.cpu),
                Arc::new(StringArray::from_iter_values(names)),
                column::<Int64Type>(self.begin),
                nullable(self.end),
                nullable(self.result),
            ],
        )
        .expect("the columns of the schema")
    }
}
