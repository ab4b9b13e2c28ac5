//! Tables of an analysis, as random as they may come.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
};

/// Numbers that look random and are the same in every run (xorshift64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 1) as i64 % most
    }
}

/// Actor, CPU, begin, end.
pub type Fragment = (u32, u16, i64, i64);
/// Actor, begin, end, state.
pub type Wait = (u32, i64, i64, u8);
/// Time, CPU, type.
pub type Event = (i64, u16, u16);

/// What an analysis says, by rows.
pub struct Said {
    pub kinds: Vec<&'static str>,
    pub fragments: Vec<Fragment>,
    pub waits: Vec<Wait>,
    pub events: Vec<Event>,
    pub span: (i64, i64),
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn u16s(values: impl Iterator<Item = u16>) -> ArrayRef {
    Arc::new(UInt16Array::from_iter_values(values))
}

fn u32s(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn i64s(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

impl Said {
    pub fn actors(&self) -> RecordBatch {
        let kinds = StringArray::from_iter_values(&self.kinds);
        table(vec![("kind", Arc::new(kinds))])
    }

    /// In two batches, as tables may come.
    pub fn fragments(&self) -> [RecordBatch; 2] {
        let (one, two) = self.fragments.split_at(self.fragments.len() / 2);
        [one, two].map(|rows| {
            table(vec![
                ("actor", u32s(rows.iter().map(|row| row.0))),
                ("cpu", u16s(rows.iter().map(|row| row.1))),
                ("begin", i64s(rows.iter().map(|row| row.2))),
                ("end", i64s(rows.iter().map(|row| row.3))),
            ])
        })
    }

    /// One for each fragment, and one that has none.
    pub fn instances(&self) -> RecordBatch {
        let alone = self.fragments.first().map(|first| (first.0, 7, first.2, first.2));
        let rows = || self.fragments.iter().chain(&alone);
        table(vec![
            ("actor", u32s(rows().map(|row| row.0))),
            ("cpu", u16s(rows().map(|row| row.1))),
        ])
    }

    pub fn waits(&self) -> RecordBatch {
        table(vec![
            ("actor", u32s(self.waits.iter().map(|row| row.0))),
            ("begin", i64s(self.waits.iter().map(|row| row.1))),
            ("end", i64s(self.waits.iter().map(|row| row.2))),
            ("state", Arc::new(UInt8Array::from_iter_values(self.waits.iter().map(|row| row.3)))),
        ])
    }

    pub fn index(&self) -> [RecordBatch; 2] {
        let (one, two) = self.events.split_at(self.events.len() / 3);
        [one, two].map(|rows| {
            table(vec![
                ("time", i64s(rows.iter().map(|row| row.0))),
                ("cpu", u16s(rows.iter().map(|row| row.1))),
                ("event", u16s(rows.iter().map(|row| row.2))),
            ])
        })
    }

    pub fn forest(&self) -> tracelevels::Forest {
        tracelevels::Forest::build(
            &[self.actors()],
            &[self.instances()],
            &self.fragments(),
            &[self.waits()],
            &self.index(),
            self.span,
        )
        .unwrap()
    }
}

/// Spans that may overlap in any way, in bursts: what no analysis says, but nothing may fail on.
pub fn anything(seed: u64, most: i64) -> Said {
    let mut random = Random::new(seed);
    let kinds = vec!["idle", "task", "task", "irq", "softirq", "task"];
    let origin = 1_000_000_000_000 + random.below(1000);
    let pace = [3, 40, 3000][random.below(3) as usize];
    let mut time = origin;
    let (mut fragments, mut waits, mut events) = (vec![], vec![], vec![]);
    for _ in 0..random.below(most) {
        time += if random.below(50) == 0 { random.below(100 * pace) } else { random.below(pace) };
        let actor = random.below(kinds.len() as i64) as u32;
        let length =
            if random.below(9) == 0 { random.below(50 * pace) } else { random.below(pace) };
        let begin = (time - length).max(origin);
        if random.below(3) == 0 {
            waits.push((actor, begin, time, random.below(6) as u8));
        } else {
            fragments.push((actor, random.below(2) as u16, begin, time));
        }
        let (cpu, event) = (random.below(4) as u16, random.below(5) * random.below(5));
        events.push((time, cpu, event as u16));
    }
    if let Some(first) = events.first_mut() {
        first.0 = origin;
    }
    Said { kinds, fragments, waits, events, span: (origin, time) }
}
