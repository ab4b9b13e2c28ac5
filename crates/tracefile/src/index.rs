//! The order of all events in time, over all streams and tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use rayon::prelude::*;

use crate::{Error, Result};

/// Events of one unit in the order of the file: time and type. The row is the count of the type so far.
#[derive(Default)]
pub(crate) struct Order {
    times: Vec<i64>,
    events: Vec<u16>,
}

impl Order {
    #[inline]
    pub(crate) fn push(&mut self, time: i64, event: u16) {
        self.times.push(time);
        self.events.push(event);
    }

    pub(crate) fn pop(&mut self) {
        self.times.pop();
        self.events.pop();
    }
}

/// All chosen events in order of time. Events of equal time are in the order of their streams.
#[derive(Debug, Default)]
pub struct Index {
    /// Nanoseconds of the trace's clock, ascending.
    pub time: Vec<i64>,
    /// The CPU; [`Index::NO_CPU`] when it is not known.
    pub cpu: Vec<u16>,
    /// The type, an index into [`crate::Info::events`].
    pub event: Vec<u16>,
    /// The row of that type's table, counted over its batches.
    pub row: Vec<u32>,
}

impl Index {
    /// Stands in [`Index::cpu`] for a CPU that is not known.
    pub const NO_CPU: u16 = u16::MAX;

    /// Number of events.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// As Arrow columns `time`, `cpu`, `event`, `row`, without a copy.
    pub fn into_batch(self) -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("time", DataType::Int64, false),
            Field::new("cpu", DataType::UInt16, false),
            Field::new("event", DataType::UInt16, false),
            Field::new("row", DataType::UInt32, false),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.time)),
            Arc::new(UInt16Array::from(self.cpu)),
            Arc::new(UInt16Array::from(self.event)),
            Arc::new(UInt32Array::from(self.row)),
        ];
        RecordBatch::try_new(Arc::new(schema), columns).expect("four columns of one length")
    }
}

/// A unit with its rows: units lie one behind the other in every table.
struct Lane {
    /// Units whose times follow each other are of one chain.
    chain: usize,
    cpu: u16,
    times: Vec<i64>,
    events: Vec<u16>,
    /// Explicit rows, when time goes back within the unit and it had to be sorted.
    rows: Option<Vec<u32>>,
    /// The next row of each type.
    next: Vec<u32>,
}

/// Events of a part of the index; parts are merged in parallel. Fewer are not worth a thread.
const LEAST_PART: usize = 1 << 16;

/// Merges the orders of units, given as (stream, CPU, order) in the order of their batches.
///
/// Time is cut into parts that hold about as many events each; where a lane is cut, the rows of its
/// types so far are counted, and each part is merged into its own stretch of the result.
pub(crate) fn merge(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Index> {
    let lanes = lanes(orders, types)?;
    let count: usize = lanes.iter().map(|lane| lane.times.len()).sum();
    let parts = (count / LEAST_PART).clamp(1, rayon::current_num_threads() * 4);
    let cuts = cuts(&lanes, count, parts);
    let mut segments: Vec<Vec<Segment>> = Vec::new();
    segments.resize_with(cuts.len() + 1, Vec::new);
    let cut: Vec<Vec<(usize, Segment)>> = lanes.par_iter().map(|lane| lane.cut_at(&cuts)).collect();
    cut.into_iter().flatten().for_each(|(part, segment)| segments[part].push(segment));

    // Zeroed pages come from the system when a part first writes to them.
    let mut index = Index {
        time: vec![0; count],
        cpu: vec![0; count],
        event: vec![0; count],
        row: vec![0; count],
    };
    let mut stretches = Vec::with_capacity(segments.len());
    let mut rest = Stretch {
        time: &mut index.time,
        cpu: &mut index.cpu,
        event: &mut index.event,
        row: &mut index.row,
    };
    for part in segments {
        let length = part.iter().map(|segment| segment.times.len()).sum();
        let (own, after) = rest.split_at(length);
        stretches.push((part, own));
        rest = after;
    }
    stretches.into_par_iter().for_each(|(part, into)| merge_part(part, into));
    Ok(index)
}

/// Where a part of the result is written to.
struct Stretch<'a> {
    time: &'a mut [i64],
    cpu: &'a mut [u16],
    event: &'a mut [u16],
    row: &'a mut [u32],
}

impl<'a> Stretch<'a> {
    fn split_at(self, at: usize) -> (Self, Self) {
        let (time, times) = self.time.split_at_mut(at);
        let (cpu, cpus) = self.cpu.split_at_mut(at);
        let (event, events) = self.event.split_at_mut(at);
        let (row, rows) = self.row.split_at_mut(at);
        (Self { time, cpu, event, row }, Self { time: times, cpu: cpus, event: events, row: rows })
    }
}

/// A stretch of a lane.
struct Segment<'a> {
    chain: usize,
    cpu: u16,
    times: &'a [i64],
    events: &'a [u16],
    rows: Option<&'a [u32]>,
    next: Vec<u32>,
}

impl Lane {
    /// The stretches between times, with the number of the part that each is of.
    fn cut_at(&self, cuts: &[i64]) -> Vec<(usize, Segment<'_>)> {
        let mut segments = Vec::new();
        let mut next = self.next.clone();
        let mut begin = 0;
        let ends = cuts.iter().map(|&cut| self.times.partition_point(|&time| time < cut));
        for (part, end) in ends.chain([self.times.len()]).enumerate() {
            if end > begin {
                let events = &self.events[begin..end];
                let segment = Segment {
                    chain: self.chain,
                    cpu: self.cpu,
                    times: &self.times[begin..end],
                    events,
                    rows: self.rows.as_ref().map(|rows| &rows[begin..end]),
                    next: next.clone(),
                };
                segments.push((part, segment));
                if end < self.times.len() {
                    events.iter().for_each(|&event| next[usize::from(event)] += 1);
                }
                begin = end;
            }
        }
        segments
    }
}

/// Times that cut the events into about as many in each of `parts`.
fn cuts(lanes: &[Lane], count: usize, parts: usize) -> Vec<i64> {
    let step = (count / parts / 64).max(1);
    let sampled = lanes.iter().flat_map(|lane| lane.times.iter().step_by(step));
    let mut samples: Vec<i64> = sampled.copied().collect();
    samples.sort_unstable();
    let mut cuts: Vec<i64> = (1..parts).map(|n| samples[n * samples.len() / parts]).collect();
    cuts.dedup();
    cuts
}

/// Segments of a chain, of which the last one is read.
struct Chain<'a> {
    segments: Vec<Segment<'a>>,
    at: usize,
}

impl Chain<'_> {
    fn head(&self) -> Option<i64> {
        self.segments.last().map(|segment| segment.times[self.at])
    }
}

/// Merges segments that are in the order of their lanes.
fn merge_part(segments: Vec<Segment<'_>>, into: Stretch<'_>) {
    let mut chains: Vec<Chain<'_>> = Vec::new();
    let mut last = None;
    for segment in segments {
        match chains.last_mut() {
            Some(chain) if last == Some(segment.chain) => chain.segments.push(segment),
            _ => {
                last = Some(segment.chain);
                chains.push(Chain { segments: vec![segment], at: 0 });
            }
        }
    }
    chains.iter_mut().for_each(|chain| chain.segments.reverse());
    let mut done = 0;
    loop {
        // Few streams: looking at every head is as fast as a heap, and the run that follows is long.
        let mut best: Option<(i64, usize)> = None;
        let mut second = i64::MAX;
        for (at, chain) in chains.iter().enumerate() {
            let Some(head) = chain.head() else { continue };
            match best {
                Some((least, _)) if head >= least => second = second.min(head),
                Some((least, _)) => {
                    second = second.min(least);
                    best = Some((head, at));
                }
                None => best = Some((head, at)),
            }
        }
        let Some((head, at)) = best else { return };
        // Of equal times the earlier stream goes first: up to, not including, another's head.
        let until = second.saturating_sub(1).max(head);
        let chain = &mut chains[at];
        let Some(segment) = chain.segments.last_mut() else { return };
        while let Some(&time) = segment.times.get(chain.at).filter(|&&time| time <= until) {
            let event = segment.events[chain.at];
            let row = match segment.rows {
                Some(rows) => rows[chain.at],
                None => {
                    let next = &mut segment.next[usize::from(event)];
                    *next += 1;
                    *next - 1
                }
            };
            into.time[done] = time;
            into.cpu[done] = segment.cpu;
            into.event[done] = event;
            into.row[done] = row;
            done += 1;
            chain.at += 1;
        }
        if chain.at == segment.times.len() {
            chain.segments.pop();
            chain.at = 0;
            if chain.segments.is_empty() {
                chains.remove(at);
            }
        }
    }
}

fn lanes(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Vec<Lane>> {
    let counted: Vec<(usize, Option<u16>, Order, Vec<u32>)> = orders
        .into_par_iter()
        .map(|(stream, cpu, order)| {
            let mut counts = vec![0u32; types];
            order.events.iter().for_each(|&event| counts[usize::from(event)] += 1);
            (stream, cpu, order, counts)
        })
        .collect();
    let mut lanes: Vec<Lane> = Vec::with_capacity(counted.len());
    let mut next = vec![0u32; types];
    for (stream, cpu, Order { times, events }, counts) in counted {
        if times.is_empty() {
            continue;
        }
        let begin = next.clone();
        for (row, count) in next.iter_mut().zip(counts) {
            let sum = row.checked_add(count);
            *row = sum.ok_or_else(|| Error::TooMuch("a table of 2^32 rows".into()))?;
        }
        let cpu = cpu.unwrap_or(Index::NO_CPU);
        lanes.push(Lane { chain: stream, cpu, times, events, rows: None, next: begin });
    }
    lanes.par_iter_mut().filter(|lane| !lane.times.is_sorted()).for_each(sort);
    let (mut chain, mut last) = (0, None);
    for lane in &mut lanes {
        let (stream, first) = (lane.chain, lane.times[0]);
        let follows = last.is_some_and(|(of, time)| of == stream && time <= first);
        last = lane.times.last().map(|&time| (stream, time));
        chain += usize::from(!follows);
        lane.chain = chain;
    }
    Ok(lanes)
}

/// Time went back within a unit, which the tracer should not do: order it, and keep the rows.
fn sort(lane: &mut Lane) {
    let mut next = lane.next.clone();
    let mut all: Vec<(i64, u16, u32)> = Vec::with_capacity(lane.times.len());
    for (&time, &event) in lane.times.iter().zip(&lane.events) {
        let row = &mut next[usize::from(event)];
        all.push((time, event, *row));
        *row += 1;
    }
    all.sort_by_key(|&(time, ..)| time);
    lane.times = all.iter().map(|&(time, ..)| time).collect();
    lane.events = all.iter().map(|&(_, event, _)| event).collect();
    lane.rows = Some(all.iter().map(|&(.., row)| row).collect());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(entries: &[(i64, u16)]) -> Order {
        let mut order = Order::default();
        entries.iter().for_each(|&(time, event)| order.push(time, event));
        order
    }

    #[test]
    fn streams_interleave_and_rows_count_on_over_units() {
        let orders = vec![
            (0, Some(0), order(&[(1, 0), (4, 1)])),
            (0, Some(0), order(&[(5, 0), (9, 0)])),
            (1, Some(1), order(&[(2, 0), (5, 1), (7, 0)])),
        ];
        let index = merge(orders, 2).unwrap();
        assert_eq!(index.time, [1, 2, 4, 5, 5, 7, 9]);
        assert_eq!(index.cpu, [0, 1, 0, 0, 1, 1, 0]);
        assert_eq!(index.event, [0, 0, 1, 0, 1, 0, 0]);
        assert_eq!(index.row, [0, 3, 0, 1, 1, 4, 2]);
    }

    #[test]
    fn time_that_goes_back_within_a_unit_is_sorted_with_its_rows() {
        let orders = vec![(0, None, order(&[(1, 0), (9, 0), (3, 0)]))];
        let index = merge(orders, 1).unwrap();
        assert_eq!(index.time, [1, 3, 9]);
        assert_eq!(index.row, [0, 2, 1]);
        assert_eq!(index.cpu, [Index::NO_CPU; 3]);
    }

    #[test]
    fn parts_of_a_large_index_join_without_a_seam() {
        let count = LEAST_PART as i64;
        // Three streams in two units each, many equal times, one unit that goes back once.
        let unit = |stream: i64, half: i64| {
            let mut order = Order::default();
            for at in 0..count {
                let time = half * count + at / 3 * 3 + if at % 7 == 0 { stream } else { 0 };
                order.push(if at == 5 { half * count } else { time }, ((at + stream) % 5) as u16);
            }
            (stream as usize, Some(stream as u16), order)
        };
        let all = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        let mut expected: Vec<(i64, usize, u16, u32)> = Vec::new();
        let mut next = [0u32; 5];
        for (stream, half) in all {
            let order = unit(stream, half).2;
            for (&time, &event) in order.times.iter().zip(&order.events) {
                expected.push((time, stream as usize, event, next[usize::from(event)]));
                next[usize::from(event)] += 1;
            }
        }
        expected.sort_by_key(|&(time, stream, ..)| (time, stream));
        let index = merge(all.map(|(stream, half)| unit(stream, half)).into(), 5).unwrap();
        let merged = (0..index.len())
            .map(|at| (index.time[at], usize::from(index.cpu[at]), index.event[at], index.row[at]));
        assert!(merged.eq(expected));
    }

    #[test]
    fn units_that_overlap_are_merged_like_streams() {
        let orders = vec![(0, None, order(&[(1, 0), (9, 0)])), (0, None, order(&[(3, 0)]))];
        let index = merge(orders, 1).unwrap();
        assert_eq!(index.time, [1, 3, 9]);
        assert_eq!(index.row, [0, 2, 1]);
    }
}
