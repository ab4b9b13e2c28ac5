//! The order of all events in time, over all streams and tables.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
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

    /// Gives back what was set aside for more.
    pub(crate) fn shrink(&mut self) {
        self.times.shrink_to_fit();
        self.events.shrink_to_fit();
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
    stream: usize,
    cpu: u16,
    times: Vec<i64>,
    events: Vec<u16>,
    /// Explicit rows, when time goes back within the unit and it had to be sorted.
    rows: Option<Vec<u32>>,
    /// The first row of each type.
    next: Vec<u32>,
}

/// The part of a lane that falls into a span of time.
struct Piece<'a> {
    cpu: u16,
    times: &'a [i64],
    events: &'a [u16],
    rows: Option<&'a [u32]>,
    next: Vec<u32>,
}

/// Pieces whose times follow each other.
struct Chain<'a> {
    pieces: std::vec::IntoIter<Piece<'a>>,
    piece: Piece<'a>,
    at: usize,
}

/// A part of the index that is being filled.
struct Span<'a> {
    time: &'a mut [i64],
    cpu: &'a mut [u16],
    event: &'a mut [u16],
    row: &'a mut [u32],
    at: usize,
}

impl Chain<'_> {
    /// Moves everything up to and including `until`, at least one event; gives the time of the next.
    fn advance(&mut self, until: i64, span: &mut Span) -> Option<i64> {
        loop {
            let piece = &mut self.piece;
            let from = self.at;
            while self.at < piece.times.len() && (piece.times[self.at] <= until || self.at == from)
            {
                let (at, event) = (span.at, piece.events[self.at]);
                span.time[at] = piece.times[self.at];
                span.event[at] = event;
                span.cpu[at] = piece.cpu;
                span.row[at] = match piece.rows {
                    Some(rows) => rows[self.at],
                    None => {
                        let row = &mut piece.next[usize::from(event)];
                        *row += 1;
                        *row - 1
                    }
                };
                span.at += 1;
                self.at += 1;
            }
            if let Some(&time) = piece.times.get(self.at) {
                return Some(time);
            }
            self.piece = self.pieces.next()?;
            self.at = 0;
            let time = self.piece.times[0];
            if time > until {
                return Some(time);
            }
        }
    }
}

/// Spans of time that are merged on their own, in parallel.
const SPAN_EVENTS: usize = 1 << 18;

/// Merges the orders of units, given as (stream, CPU, order) in the order of their batches.
pub(crate) fn merge(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Index> {
    let lanes = lanes(orders, types)?;
    let count = lanes.iter().map(|lane| lane.times.len()).sum();
    let mut index = Index {
        time: vec![0; count],
        cpu: vec![0; count],
        event: vec![0; count],
        row: vec![0; count],
    };
    let mut spans = Vec::new();
    let mut rest = Span {
        time: &mut index.time,
        cpu: &mut index.cpu,
        event: &mut index.event,
        row: &mut index.row,
        at: 0,
    };
    for pieces in cut(&lanes, &splits(&lanes, count), types) {
        let length = pieces.iter().map(|(_, piece)| piece.times.len()).sum();
        let (span, behind) = rest.split(length);
        spans.push((pieces, span));
        rest = behind;
    }
    spans.into_par_iter().for_each(|(pieces, mut span)| merge_span(pieces, &mut span));
    Ok(index)
}

impl<'a> Span<'a> {
    fn split(self, at: usize) -> (Span<'a>, Span<'a>) {
        let (time, time_behind) = self.time.split_at_mut(at);
        let (cpu, cpu_behind) = self.cpu.split_at_mut(at);
        let (event, event_behind) = self.event.split_at_mut(at);
        let (row, row_behind) = self.row.split_at_mut(at);
        let behind = Span {
            time: time_behind,
            cpu: cpu_behind,
            event: event_behind,
            row: row_behind,
            at: 0,
        };
        (Span { time, cpu, event, row, at: 0 }, behind)
    }
}

/// Times that cut all events into spans of about [`SPAN_EVENTS`], from samples of every lane.
fn splits(lanes: &[Lane], count: usize) -> Vec<i64> {
    let spans = count.div_ceil(SPAN_EVENTS).max(1);
    if spans == 1 {
        return Vec::new();
    }
    let every = SPAN_EVENTS / 64;
    let mut samples: Vec<i64> =
        lanes.iter().flat_map(|lane| lane.times.iter().step_by(every).copied()).collect();
    samples.sort_unstable();
    let mut splits: Vec<i64> = (1..spans).map(|at| samples[at * samples.len() / spans]).collect();
    splits.dedup();
    splits
}

/// The pieces of all lanes within each span of time, with their streams.
fn cut<'a>(lanes: &'a [Lane], splits: &[i64], types: usize) -> Vec<Vec<(usize, Piece<'a>)>> {
    let mut spans: Vec<Vec<(usize, Piece)>> = Vec::new();
    spans.resize_with(splits.len() + 1, Vec::new);
    let pieces: Vec<Vec<(usize, Piece)>> =
        lanes.par_iter().map(|lane| lane_pieces(lane, splits, types)).collect();
    for (lane, pieces) in lanes.iter().zip(pieces) {
        for (span, piece) in pieces {
            spans[span].push((lane.stream, piece));
        }
    }
    spans
}

/// The pieces of one lane, with the spans that they fall into.
fn lane_pieces<'a>(lane: &'a Lane, splits: &[i64], types: usize) -> Vec<(usize, Piece<'a>)> {
    let mut pieces = Vec::new();
    let mut next = lane.next.clone();
    let mut from = 0;
    for span in 0..=splits.len() {
        let rest = &lane.times[from..];
        let end =
            from + splits.get(span).map_or(rest.len(), |&at| rest.partition_point(|&t| t < at));
        if end > from {
            pieces.push((
                span,
                Piece {
                    cpu: lane.cpu,
                    times: &lane.times[from..end],
                    events: &lane.events[from..end],
                    rows: lane.rows.as_ref().map(|rows| &rows[from..end]),
                    next: if lane.rows.is_some() { Vec::new() } else { next.clone() },
                },
            ));
        }
        if end == lane.times.len() {
            break;
        }
        let mut counts = vec![0u32; types];
        lane.events[from..end].iter().for_each(|&event| counts[usize::from(event)] += 1);
        next.iter_mut().zip(counts).for_each(|(next, count)| *next += count);
        from = end;
    }
    pieces
}

/// Merges the pieces of one span of time, which are in the order of their batches.
fn merge_span(pieces: Vec<(usize, Piece)>, span: &mut Span) {
    let mut groups: Vec<Vec<Piece>> = Vec::new();
    let mut last: Option<(usize, i64)> = None;
    for (stream, piece) in pieces {
        let follows = last.is_some_and(|(of, time)| of == stream && time <= piece.times[0]);
        last = piece.times.last().map(|&time| (stream, time));
        match groups.last_mut() {
            Some(group) if follows => group.push(piece),
            _ => groups.push(vec![piece]),
        }
    }
    let mut chains: Vec<Chain> = Vec::new();
    for group in groups {
        let mut pieces = group.into_iter();
        if let Some(piece) = pieces.next() {
            chains.push(Chain { pieces, piece, at: 0 });
        }
    }
    // The least time first; of equal times the earlier stream.
    let mut heads: BinaryHeap<Reverse<(i64, usize)>> =
        chains.iter().enumerate().map(|(at, chain)| Reverse((chain.piece.times[0], at))).collect();
    while let Some(Reverse((_, at))) = heads.pop() {
        let until = match heads.peek() {
            None => i64::MAX,
            Some(&Reverse((time, other))) if at < other => time,
            Some(&Reverse((time, _))) => time.saturating_sub(1),
        };
        if let Some(time) = chains[at].advance(until, span) {
            heads.push(Reverse((time, at)));
        }
    }
}

fn lanes(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Vec<Lane>> {
    let mut lanes: Vec<Lane> = Vec::with_capacity(orders.len());
    let mut next = vec![0u32; types];
    for (stream, cpu, order) in orders {
        let begin = next.clone();
        for &event in &order.events {
            let row = &mut next[usize::from(event)];
            *row =
                row.checked_add(1).ok_or_else(|| Error::TooMuch("a table of 2^32 rows".into()))?;
        }
        let Order { times, events } = order;
        let cpu = cpu.unwrap_or(Index::NO_CPU);
        let mut lane = Lane { stream, cpu, times, events, rows: None, next: begin };
        if lane.times.is_empty() {
            continue;
        }
        if !lane.times.is_sorted() {
            sort(&mut lane);
        }
        lanes.push(lane);
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
    fn many_spans_make_the_order_that_sorting_makes() {
        let mut chance = 88_172_645_463_325_252u64;
        let mut below = |limit: u64| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            chance % limit
        };
        let mut orders = Vec::new();
        let mut all: Vec<(i64, usize, u16, u32)> = Vec::new();
        let mut rows = [0u32; 5];
        for stream in 0..3 {
            let mut time = 0;
            for _ in 0..4 {
                let mut entries = Vec::new();
                for _ in 0..SPAN_EVENTS / 7 {
                    // Many events of equal time, also across the borders of units and spans.
                    time += (below(4) / 3 * below(5)) as i64;
                    let event = below(5) as u16;
                    entries.push((time, event));
                    all.push((time, stream, event, rows[usize::from(event)]));
                    rows[usize::from(event)] += 1;
                }
                orders.push((stream, Some(stream as u16), order(&entries)));
            }
        }
        all.sort_by_key(|&(time, stream, ..)| (time, stream));
        let index = merge(orders, 5).unwrap();
        assert!(all.len() > SPAN_EVENTS);
        let found = index.time.iter().zip(&index.cpu).zip(&index.event).zip(&index.row);
        let found =
            found.map(|(((&time, &cpu), &event), &row)| (time, usize::from(cpu), event, row));
        assert!(found.eq(all));
    }

    #[test]
    fn units_that_overlap_are_merged_like_streams() {
        let orders = vec![(0, None, order(&[(1, 0), (9, 0)])), (0, None, order(&[(3, 0)]))];
        let index = merge(orders, 1).unwrap();
        assert_eq!(index.time, [1, 3, 9]);
        assert_eq!(index.row, [0, 2, 1]);
    }
}
