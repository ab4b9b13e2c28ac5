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
    /// Ascending.
    end: Vec<i64>,
    state: Vec<u8>,
    cpu: Vec<u16>,
    flags: Vec<u8>,
    /// Those that end long before others that came earlier, as those before a loss do. They are put
    /// among the others at the end.
    late: Vec<Wait>,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    actor: u32,
    begin: i64,
    end: i64,
    state: u8,
    cpu: u16,
    flags: u8,
}

/// A wait that ends before the last ones, as it was told by the event behind, is put this far back
/// at once: farther, it is late.
const NEAR: usize = 64;

impl Waits {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            actor: Vec::with_capacity(rows),
            begin: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            state: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            late: Vec::new(),
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
        if self.end.last().is_some_and(|&last| end < last) {
            self.put_back(Wait { actor, begin, end, state, cpu, flags });
            return;
        }
        self.actor.push(actor);
        self.begin.push(begin);
        self.end.push(end);
        self.state.push(state);
        self.cpu.push(cpu);
        self.flags.push(flags);
    }

    /// Puts one behind those that end as early as it, where these are near.
    fn put_back(&mut self, wait: Wait) {
        let near = self.end.len().saturating_sub(NEAR);
        let later = self.end[near..].iter().rev().take_while(|&&other| other > wait.end).count();
        if later == NEAR {
            self.late.push(wait);
            return;
        }
        let place = self.end.len() - later;
        self.actor.insert(place, wait.actor);
        self.begin.insert(place, wait.begin);
        self.end.insert(place, wait.end);
        self.state.insert(place, wait.state);
        self.cpu.insert(place, wait.cpu);
        self.flags.insert(place, wait.flags);
    }

    /// All waits of some actors are incomplete.
    pub(crate) fn mark(&mut self, is_partial: &[bool]) {
        mark(&self.actor, &mut self.flags, is_partial);
        for wait in &mut self.late {
            mark(&[wait.actor], std::slice::from_mut(&mut wait.flags), is_partial);
        }
    }

    /// Puts those that are late among the others, equal ones as they came. A late one came behind
    /// all that end as early: whatever came later and ends as early is late too.
    fn merge_late(&mut self) {
        fn merge<T: Copy>(values: &mut Vec<T>, late: &[(usize, T)]) {
            let mut behind = values.len();
            values.extend(late.iter().map(|&(_, value)| value));
            for (before, &(place, value)) in late.iter().enumerate().rev() {
                values.copy_within(place..behind, place + before + 1);
                values[place + before] = value;
                behind = place;
            }
        }
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|wait| wait.end);
        let place = |wait: &Wait| self.end.partition_point(|&end| end <= wait.end);
        let places: Vec<usize> = late.iter().map(place).collect();
        fn of<T>(places: &[usize], late: &[Wait], value: fn(&Wait) -> T) -> Vec<(usize, T)> {
            places.iter().copied().zip(late.iter().map(value)).collect()
        }
        merge(&mut self.actor, &of(&places, &late, |wait| wait.actor));
        merge(&mut self.begin, &of(&places, &late, |wait| wait.begin));
        merge(&mut self.end, &of(&places, &late, |wait| wait.end));
        merge(&mut self.state, &of(&places, &late, |wait| wait.state));
        merge(&mut self.cpu, &of(&places, &late, |wait| wait.cpu));
        merge(&mut self.flags, &of(&places, &late, |wait| wait.flags));
    }

    /// In order of their ends, equal ones as they came.
    pub(crate) fn into_batch(mut self) -> RecordBatch {
        if !self.late.is_empty() {
            self.merge_late();
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

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, UInt32Type};

    use super::{NEAR, Waits};

    /// The table of waits that end at these times; the actor is the place at which each came. Also
    /// how many of them were late.
    fn ordered(ends: &[i64]) -> (usize, Vec<(i64, u32)>) {
        let mut waits = Waits::with_capacity(ends.len());
        for (at, &end) in ends.iter().enumerate() {
            waits.push(at as u32, (end - 1, end), 0, 0, 0);
        }
        let late = waits.late.len();
        let batch = waits.into_batch();
        let actors = batch["actor"].as_primitive::<UInt32Type>().values().iter();
        let ends = batch["end"].as_primitive::<Int64Type>().values().iter();
        let begins = batch["begin"].as_primitive::<Int64Type>().values().iter();
        assert!(begins.zip(ends.clone()).all(|(begin, end)| begin + 1 == *end));
        (late, ends.copied().zip(actors.copied()).collect())
    }

    fn sorted(ends: &[i64]) -> Vec<(i64, u32)> {
        let mut sorted: Vec<(i64, u32)> = ends.iter().copied().zip(0..).collect();
        sorted.sort_by_key(|&(end, _)| end);
        sorted
    }

    #[test]
    fn waits_come_in_order_of_their_ends_and_equal_ones_as_they_came() {
        let mut chance = 88_172_645_463_325_252_u64;
        for far in [2, 10, 40, 1_000] {
            let mut ends = Vec::new();
            for at in 0..2_000 {
                chance ^= chance << 13;
                chance ^= chance >> 7;
                chance ^= chance << 17;
                ends.push(1_000 + at / 3 - (chance % far) as i64);
            }
            let (late, found) = ordered(&ends);
            assert_eq!(found, sorted(&ends), "up to {far} back");
            assert_eq!(late > 0, far > 20, "{late} up to {far} back");
        }
    }

    #[test]
    fn those_that_go_far_back_are_put_among_the_others_at_the_end() {
        let mut ends: Vec<i64> = (0..NEAR as i64 * 2).collect();
        ends.push(NEAR as i64 + 1);
        assert_eq!(ordered(&ends), (0, sorted(&ends)));
        ends.extend([3, 200, 150, 3, -1, 150, 3]);
        assert_eq!(ordered(&ends), (4, sorted(&ends)));
    }

    #[test]
    fn those_that_are_late_are_marked_too() {
        let mut waits = Waits::with_capacity(0);
        (0..200).for_each(|end| waits.push(1, (end - 1, end), 0, 0, 0));
        waits.push(2, (4, 5), 0, 0, 0);
        waits.mark(&[false, false, true]);
        assert_eq!(waits.late[0].flags, crate::flags::CROSSES_LOSS);
        assert!(waits.flags.iter().all(|&flags| flags == 0));
    }
}
