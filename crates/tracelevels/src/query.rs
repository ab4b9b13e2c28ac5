//! What is drawn of rows in a span of time.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type};

use crate::columns::{batch, column};
use crate::forest::{Content, Forest};
use crate::level::{Entry, coarser};
use crate::spans::{Span, Spans};

/// The buckets of a span of time: whole ones, from the one that holds `begin` to the one that holds
/// the last moment before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) shift: u32,
}

impl View {
    /// `None` when there is no time in it.
    pub(crate) fn new(begin: i64, end: i64, shift: u32) -> Option<Self> {
        let shift = shift.min(62);
        let last = end.checked_sub(1).filter(|&last| last >= begin)?;
        let end = ((last >> shift) + 1).saturating_mul(1 << shift);
        Some(Self { begin: begin >> shift << shift, end, shift })
    }
}

/// Spans of rows in columns, row by row and in order of time within each.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    row: Vec<u32>,
    begin: Vec<f64>,
    end: Vec<f64>,
    actor: Vec<i32>,
    state: Vec<u8>,
    count: Vec<u32>,
    ran: Vec<f64>,
}

impl Drawn {
    #[inline]
    fn push(&mut self, row: u32, entry: &Entry) {
        let Span { begin, end, actor, state } = entry.span;
        self.row.push(row);
        self.begin.push(begin as f64);
        self.end.push(end as f64);
        self.actor.push(actor as i32);
        self.state.push(state);
        self.count.push(entry.count);
        self.ran.push(entry.ran as f64);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// As columns `row`, `begin`, `end`, `actor`, `state`, `count`, `ran`.
    pub fn into_batch(self) -> RecordBatch {
        batch(vec![
            ("row", column::<UInt32Type>(self.row), false),
            ("begin", column::<Float64Type>(self.begin), false),
            ("end", column::<Float64Type>(self.end), false),
            ("actor", column::<Int32Type>(self.actor), false),
            ("state", column::<UInt8Type>(self.state), false),
            ("count", column::<UInt32Type>(self.count), false),
            ("ran", column::<Float64Type>(self.ran), false),
        ])
    }
}

impl Forest {
    /// What is drawn of the rows from `begin` until `end` in buckets of `1 << shift` ns.
    ///
    /// Of each row at most five spans a bucket, and the one that reaches into the first bucket. `count` is for how many spans one stands, `ran` for how long (ns) these use a CPU.
    /// Rows that do not exist have nothing to draw.
    pub fn query(&self, rows: &[u32], begin: i64, end: i64, shift: u32) -> Drawn {
        let mut drawn = Drawn::default();
        let Some(view) = View::new(begin, end, shift) else { return drawn };
        self.prepare(rows.iter().filter_map(|&row| self.contents.get(row as usize)));
        for &row in rows {
            if let Some(content) = self.contents.get(row as usize) {
                content.draw(row, view, &mut drawn);
            }
        }
        drawn
    }

    /// What a row shows at a time: begin, end, actor, state.
    pub fn at(&self, row: u32, time: i64) -> Option<(i64, i64, u32, u8)> {
        let spans = &self.contents.get(row as usize)?.spans;
        let behind = first_from(spans, time.saturating_add(1));
        let span = spans.get(behind.checked_sub(1)?);
        let holds = time < span.end || span.begin == span.end && time == span.begin;
        holds.then_some((span.begin, span.end, span.actor, span.state))
    }
}

impl Content {
    fn draw(&self, row: u32, view: View, drawn: &mut Drawn) {
        let first = first_from(&self.spans, view.begin);
        if first > 0 && self.spans.end[first - 1] > view.begin {
            drawn.push(row, &Entry::of(self.spans.get(first - 1)));
        }
        match self.levels().iter().rev().find(|level| level.shift <= view.shift) {
            Some(level) => {
                let seen = within(&level.entries.spans.begin, view);
                let entries = seen.map(|at| level.entries.get(at));
                if level.shift == view.shift {
                    entries.for_each(|entry| drawn.push(row, &entry));
                } else {
                    coarser(entries, view.shift, |entry| drawn.push(row, entry));
                }
            }
            None => {
                let entries =
                    within(&self.spans.begin, view).map(|at| Entry::of(self.spans.get(at)));
                coarser(entries, view.shift, |entry| drawn.push(row, entry));
            }
        }
    }
}

/// The first span that begins at `time` or later.
fn first_from(spans: &Spans, time: i64) -> usize {
    spans.begin.partition_point(|&begin| begin < time)
}

/// The part of begins in ascending order that lies in the view.
fn within(begins: &[i64], view: View) -> Range<usize> {
    let first = begins.partition_point(|&begin| begin < view.begin);
    first..first + begins[first..].partition_point(|&begin| begin < view.end)
}
