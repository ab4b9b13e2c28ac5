//! What is drawn of rows in a span of time.

use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type};
use arrow_buffer::ScalarBuffer;

use crate::columns::{batch, column};
use crate::forest::{Forest, Place};
use crate::lane::Span;
use crate::level::{Entry, coarser};

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
    /// Of each row at most one span a bucket, and those that reach into the first bucket and out of
    /// the last. `count` is for how many spans one stands, `ran` for how long (ns) these use a CPU.
    /// Rows that do not exist have nothing to draw.
    pub fn query(&self, rows: &[u32], begin: i64, end: i64, shift: u32) -> Drawn {
        let mut drawn = Drawn::default();
        let Some(view) = View::new(begin, end, shift) else { return drawn };
        for &row in rows {
            if let Some(place) = self.places.get(row as usize) {
                self.draw(row, place, view, &mut drawn);
            }
        }
        drawn
    }

    fn draw(&self, row: u32, place: &Place, view: View, drawn: &mut Drawn) {
        let first = self.first_from(place, view.begin);
        let second_bucket = view.begin.saturating_add(1 << view.shift);
        if first > place.from && self.items.end[first - 1] >= second_bucket {
            drawn.push(row, &Entry::of(self.items.get(first - 1)));
        }
        match place.levels.iter().rev().find(|level| level.shift <= view.shift) {
            Some(level) => {
                let (from, to) = within(&self.entries.begin, (level.from, level.to), view);
                if level.shift == view.shift {
                    (from..to).for_each(|at| drawn.push(row, &self.entry(at)));
                } else {
                    let entries = (from..to).map(|at| self.entry(at));
                    coarser(entries, view.shift, |entry| drawn.push(row, entry));
                }
            }
            None => {
                let (from, to) = within(&self.items.begin, (first, place.to), view);
                let entries = (from..to).map(|at| Entry::of(self.items.get(at)));
                coarser(entries, view.shift, |entry| drawn.push(row, entry));
            }
        }
    }

    /// The first span of a row that begins at `time` or later.
    fn first_from(&self, place: &Place, time: i64) -> usize {
        let begins = &self.items.begin[place.from..place.to];
        place.from + begins.partition_point(|&begin| begin < time)
    }

    /// What a row shows at a time: begin, end, actor, state.
    pub fn at(&self, row: u32, time: i64) -> Option<(i64, i64, u32, u8)> {
        let place = self.places.get(row as usize)?;
        let behind = self.first_from(place, time.saturating_add(1));
        let span = (behind > place.from).then(|| self.items.get(behind - 1))?;
        let holds = time < span.end || span.begin == span.end && time == span.begin;
        holds.then_some((span.begin, span.end, span.actor, span.state))
    }
}

/// The part of begins in ascending order that lies in the view.
fn within(begins: &ScalarBuffer<i64>, (from, to): (usize, usize), view: View) -> (usize, usize) {
    let begins = &begins[from..to];
    let first = begins.partition_point(|&begin| begin < view.begin);
    let last = first + begins[first..].partition_point(|&begin| begin < view.end);
    (from + first, from + last)
}
