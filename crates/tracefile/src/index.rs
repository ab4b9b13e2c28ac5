//! The order of all events in time, over all streams and tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema};

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

    fn with_capacity(count: usize) -> Self {
        Self {
            time: Vec::with_capacity(count),
            cpu: Vec::with_capacity(count),
            event: Vec::with_capacity(count),
            row: Vec::with_capacity(count),
        }
    }

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
    cpu: u16,
    times: Vec<i64>,
    events: Vec<u16>,
    /// Explicit rows, when time goes back within the unit and it had to be sorted.
    rows: Option<Vec<u32>>,
    /// The next row of each type.
    next: Vec<u32>,
}

/// Units whose times follow each other.
struct Chain {
    lanes: Vec<Lane>,
    lane: usize,
    at: usize,
}

impl Chain {
    fn head(&self) -> Option<i64> {
        self.lanes.get(self.lane).map(|lane| lane.times[self.at])
    }

    /// Moves everything up to and including `until` into the index.
    fn advance(&mut self, until: i64, index: &mut Index) {
        while let Some(lane) = self.lanes.get_mut(self.lane) {
            let from = self.at;
            let end = from + lane.times[from..].iter().take_while(|&&time| time <= until).count();
            index.time.extend_from_slice(&lane.times[from..end]);
            index.event.extend_from_slice(&lane.events[from..end]);
            index.cpu.resize(index.time.len(), lane.cpu);
            match &lane.rows {
                Some(rows) => index.row.extend_from_slice(&rows[from..end]),
                None => index.row.extend(lane.events[from..end].iter().map(|&event| {
                    let row = lane.next[usize::from(event)];
                    lane.next[usize::from(event)] += 1;
                    row
                })),
            }
            if end < lane.times.len() {
                self.at = end;
                return;
            }
            *lane = Lane { cpu: 0, times: vec![], events: vec![], rows: None, next: vec![] };
            self.lane += 1;
            self.at = 0;
        }
    }
}

/// Merges the orders of units, given as (stream, CPU, order) in the order of their batches.
pub(crate) fn merge(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Index> {
    let count = orders.iter().map(|(_, _, order)| order.times.len()).sum();
    let mut chains = chains(orders, types)?;
    let mut index = Index::with_capacity(count);
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
        let Some((head, at)) = best else { return Ok(index) };
        // Of equal times the earlier stream goes first: up to, not including, another's head.
        chains[at].advance((second - 1).max(head), &mut index);
        chains.retain(|chain| chain.head().is_some());
    }
}

fn chains(orders: Vec<(usize, Option<u16>, Order)>, types: usize) -> Result<Vec<Chain>> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut last: Option<(usize, i64)> = None;
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
        let mut lane = Lane { cpu, times, events, rows: None, next: begin };
        if lane.times.is_empty() {
            continue;
        }
        if !lane.times.is_sorted() {
            sort(&mut lane);
        }
        let follows = last.is_some_and(|(of, time)| of == stream && time <= lane.times[0]);
        last = lane.times.last().map(|&time| (stream, time));
        match chains.last_mut() {
            Some(chain) if follows => chain.lanes.push(lane),
            _ => chains.push(Chain { lanes: vec![lane], lane: 0, at: 0 }),
        }
    }
    Ok(chains)
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
    fn units_that_overlap_are_merged_like_streams() {
        let orders = vec![(0, None, order(&[(1, 0), (9, 0)])), (0, None, order(&[(3, 0)]))];
        let index = merge(orders, 1).unwrap();
        assert_eq!(index.time, [1, 3, 9]);
        assert_eq!(index.row, [0, 2, 1]);
    }
}
