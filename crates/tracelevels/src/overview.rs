//! The whole trace at a glance: the mini-map.

use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_buffer::ScalarBuffer;

use crate::columns::{Missing, batch, column, numbers};
use crate::spans::Spans;
use crate::state::runs;

/// Buckets of all CPUs together: of some CPUs each has [`MOST_BUCKETS`], of thousands each fewer.
const MOST_CELLS: usize = 1 << 20;
/// More than a screen has pixels.
const MOST_BUCKETS: usize = 4096;

/// How busy each CPU was, and how many events it has, in buckets over the whole trace.
#[derive(Debug, Clone)]
pub struct Overview {
    shift: u32,
    buckets: usize,
    /// `u16::MAX`: events whose CPU is not known.
    cpus: Vec<u16>,
    /// Nanoseconds, CPU by CPU.
    ran: ScalarBuffer<i64>,
    events: ScalarBuffer<u32>,
}

impl Overview {
    /// The counts of events alone. `ran`: how many spans each CPU has: these have buckets too.
    pub(crate) fn of_events(
        index: &[RecordBatch],
        ran: &[usize],
        span: (i64, i64),
    ) -> Result<Self, Missing> {
        let mut columns = Vec::with_capacity(index.len());
        let mut seen = vec![false; 1 << 16];
        for batch in index {
            let times = numbers::<Int64Type>(batch, "time")?;
            let cpus = numbers::<UInt16Type>(batch, "cpu")?;
            cpus.iter().for_each(|&cpu| seen[usize::from(cpu)] = true);
            columns.push((times, cpus));
        }
        seen.iter_mut().zip(ran).for_each(|(seen, &spans)| *seen |= spans > 0);
        let cpus: Vec<u16> = (0..=u16::MAX).filter(|&cpu| seen[usize::from(cpu)]).collect();
        let mut place = vec![0; 1 << 16];
        cpus.iter().enumerate().for_each(|(at, &cpu)| place[usize::from(cpu)] = at);

        let duration = span.1.saturating_sub(span.0).max(0) as u64;
        let most = (MOST_CELLS / cpus.len().max(1)).clamp(16, MOST_BUCKETS) as u64;
        let shift = (0..63).find(|&shift| (duration >> shift) < most).unwrap_or(63);
        let buckets = (duration >> shift) as usize + 1;
        let mut events = vec![0; buckets * cpus.len()];
        // The events of a bucket follow each other: the time is looked at where one begins.
        let mut counts = vec![0u32; cpus.len()];
        for (times, of) in &columns {
            let mut from = 0;
            while let Some(&time) = times.get(from) {
                let bucket = (time.saturating_sub(span.0) >> shift).clamp(0, buckets as i64 - 1);
                let behind = |time: &i64| {
                    (time.saturating_sub(span.0) >> shift).clamp(0, buckets as i64 - 1) <= bucket
                };
                let to = from + times[from..].partition_point(behind).max(1);
                of[from..to].iter().for_each(|&cpu| counts[place[usize::from(cpu)]] += 1);
                for (at, count) in counts.iter_mut().enumerate() {
                    events[at * buckets + bucket as usize] += std::mem::take(count);
                }
                from = to;
            }
        }
        Ok(Self { shift, buckets, cpus, ran: Vec::new().into(), events: events.into() })
    }

    /// The CPUs that have events or spans, in ascending order; `u16::MAX` where events have none.
    pub(crate) fn cpus(&self) -> &[u16] {
        &self.cpus
    }

    /// Takes in how busy the CPUs were: their spans, which do not overlap.
    pub(crate) fn take<'a>(&mut self, lanes: impl Iterator<Item = (u16, &'a Spans)>) {
        let mut ran = vec![0; self.buckets * self.cpus.len()];
        for (cpu, spans) in lanes {
            if let Ok(at) = self.cpus.binary_search(&cpu) {
                add(spans, self.shift, &mut ran[at * self.buckets..(at + 1) * self.buckets]);
            }
        }
        self.ran = ran.into();
    }

    /// In at most `width` buckets a CPU, as columns `cpu`, `begin`, `end` (ns), `busy` (share of the
    /// bucket), `events`.
    pub fn drawn(&self, width: usize) -> RecordBatch {
        let wanted = width.max(1);
        let wider = (0..).find(|&by| ((self.buckets - 1) >> by) < wanted).unwrap_or_default();
        let parts = 1 << wider;
        let (mut cpu, mut begin, mut end) = (Vec::new(), Vec::new(), Vec::new());
        let (mut busy, mut events) = (Vec::new(), Vec::new());
        let length = (parts as f64) * (1u64 << self.shift) as f64;
        for (at, &of) in self.cpus.iter().enumerate() {
            let cells = at * self.buckets..(at + 1) * self.buckets;
            let ran = self.ran[cells.clone()].chunks(parts);
            for (bucket, (ran, seen)) in ran.zip(self.events[cells].chunks(parts)).enumerate() {
                cpu.push(of);
                begin.push(bucket as f64 * length);
                end.push((bucket + 1) as f64 * length);
                busy.push((ran.iter().sum::<i64>() as f64 / length).min(1.0));
                events.push(seen.iter().sum::<u32>());
            }
        }
        batch(vec![
            ("cpu", column::<UInt16Type>(cpu), false),
            ("begin", column::<Float64Type>(begin), false),
            ("end", column::<Float64Type>(end), false),
            ("busy", column::<Float64Type>(busy), false),
            ("events", column::<UInt32Type>(events), false),
        ])
    }

    pub(crate) fn table(&self) -> RecordBatch {
        let cpus = self.cpus.iter().flat_map(|&cpu| std::iter::repeat_n(cpu, self.buckets));
        let shifts = vec![self.shift as u8; self.ran.len()];
        batch(vec![
            ("cpu", column::<UInt16Type>(cpus.collect::<Vec<_>>()), false),
            ("shift", column::<UInt8Type>(shifts), false),
            ("ran", column::<Int64Type>(self.ran.clone()), false),
            ("events", column::<UInt32Type>(self.events.clone()), false),
        ])
    }

    pub(crate) fn from_table(table: &RecordBatch) -> Result<Self, Missing> {
        let of = numbers::<UInt16Type>(table, "cpu")?;
        let shift = numbers::<UInt8Type>(table, "shift")?.first().copied().unwrap_or_default();
        let mut cpus = of.to_vec();
        cpus.dedup();
        let buckets = of.len() / cpus.len().max(1);
        if buckets * cpus.len() != of.len() || shift > 63 {
            return Err(Missing("CPUs of different lengths".into()));
        }
        Ok(Self {
            shift: u32::from(shift),
            buckets: buckets.max(1),
            cpus,
            ran: numbers::<Int64Type>(table, "ran")?,
            events: numbers::<UInt32Type>(table, "events")?,
        })
    }
}

/// Adds the time of spans, which do not overlap, to the buckets that they lie in.
fn add(spans: &Spans, shift: u32, ran: &mut [i64]) {
    let last = ran.len() as i64 - 1;
    for span in spans.iter().filter(|span| runs(span.state) && span.begin < span.end) {
        let mut from = span.begin;
        for bucket in (from >> shift).clamp(0, last)..=((span.end - 1) >> shift).clamp(0, last) {
            let to = if bucket == last { span.end } else { span.end.min((bucket + 1) << shift) };
            ran[bucket as usize] += to - from;
            from = to;
        }
    }
}
