//! The tables with many rows, while they grow. Their columns become Arrow's without a copy.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
};
use arrow_buffer::NullBuffer;

use crate::output::schemas;

/// Stands for null in columns of times.
pub(crate) const NONE: i64 = i64::MIN;

/// A column of times in which [`NONE`] is null.
pub(crate) fn nullable(values: Vec<i64>) -> ArrayRef {
    let nulls = NullBuffer::from_iter(values.iter().map(|&value| value != NONE));
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    Arc::new(Int64Array::new(values.into(), nulls))
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

#[derive(Default)]
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

impl Instances {
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
                Arc::new(UInt32Array::from(self.actor)),
                Arc::new(UInt16Array::from(self.cpu)),
                Arc::new(Int64Array::from(self.begin)),
                Arc::new(Int64Array::from(self.end)),
                nullable(self.ready),
                Arc::new(Int64Array::from(self.execution)),
                Arc::new(UInt32Array::from(self.fragments)),
                Arc::new(UInt32Array::from(self.preemptions)),
                Arc::new(UInt32Array::from(self.migrations)),
                nullable(self.cause),
                nullable(self.cause_time),
                nullable(self.period),
                Arc::new(UInt8Array::from(self.flags)),
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

#[derive(Default)]
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
                Arc::new(UInt32Array::from(self.actor)),
                Arc::new(UInt16Array::from(self.cpu)),
                Arc::new(Int64Array::from(self.begin)),
                Arc::new(Int64Array::from(self.end)),
                Arc::new(Int64Array::from(self.execution)),
                Arc::new(UInt32Array::from(self.instance)),
                Arc::new(UInt8Array::from(self.why)),
            ],
        )
        .expect("the columns of the schema")
    }
}

#[derive(Default)]
pub(crate) struct Waits {
    actor: Vec<u32>,
    begin: Vec<i64>,
    end: Vec<i64>,
    state: Vec<u8>,
    cpu: Vec<u16>,
}

impl Waits {
    #[inline]
    pub(crate) fn push(&mut self, actor: u32, begin: i64, end: i64, state: u8, cpu: u16) {
        self.actor.push(actor);
        self.begin.push(begin);
        self.end.push(end);
        self.state.push(state);
        self.cpu.push(cpu);
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        RecordBatch::try_new(
            schemas::waits(),
            vec![
                Arc::new(UInt32Array::from(self.actor)),
                Arc::new(Int64Array::from(self.begin)),
                Arc::new(Int64Array::from(self.end)),
                Arc::new(UInt8Array::from(self.state)),
                Arc::new(UInt16Array::from(self.cpu)),
            ],
        )
        .expect("the columns of the schema")
    }
}

#[derive(Default)]
pub(crate) struct Syscalls {
    pub(crate) actor: Vec<u32>,
    pub(crate) cpu: Vec<u16>,
    pub(crate) name: Vec<u16>,
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) result: Vec<i64>,
}

impl Syscalls {
    pub(crate) fn into_batch(self, names: &[String]) -> RecordBatch {
        let names = self.name.iter().map(|&name| names[usize::from(name)].as_str());
        RecordBatch::try_new(
            schemas::syscalls(),
            vec![
                Arc::new(UInt32Array::from(self.actor)),
                Arc::new(UInt16Array::from(self.cpu)),
                Arc::new(StringArray::from_iter_values(names)),
                Arc::new(Int64Array::from(self.begin)),
                nullable(self.end),
                nullable(self.result),
            ],
        )
        .expect("the columns of the schema")
    }
}
