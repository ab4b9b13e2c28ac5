//! What is drawn of rows in a span of time.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type};
use rayon::prelude::*;

use crate::columns::{batch, column};
use crate::forest::{Content, Forest};
use crate::level::{Entry, Level, coarser};
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

    /// One behind another.
    fn joined(parts: &[Self]) -> Self {
        fn all<'a, T: Copy + 'a>(columns: impl Iterator<Item = &'a Vec<T>>) -> Vec<T> {
            columns.map(Vec::as_slice).collect::<Vec<_>>().concat()
        }
        Self {
            row: all(parts.iter().map(|part| &part.row)),
            begin: all(parts.iter().map(|part| &part.begin)),
            end: all(parts.iter().map(|part| &part.end)),
            actor: all(parts.iter().map(|part| &part.actor)),
            state: all(parts.iter().map(|part| &part.state)),
            count: all(parts.iter().map(|part| &part.count)),
            ran: all(parts.iter().map(|part| &part.ran)),
        }
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
        let Some(view) = View::new(begin, end, shift) else { return Drawn::default() };
        self.prepare(rows.iter().filter_map(|&row| self.contents.get(row as usize)));
        let seen: Vec<Seen<'_>> = rows
            .iter()
            .filter_map(|&row| Some(self.contents.get(row as usize)?.seen(row, view)))
            .collect();
        if seen.iter().map(|row| row.entries.len()).sum::<usize>() < MANY {
            let mut drawn = Drawn::default();
            seen.iter().for_each(|row| row.draw(view, &mut drawn));
            return drawn;
        }
        let alone = |row: &Seen<'_>| {
            let mut drawn = Drawn::default();
            row.draw(view, &mut drawn);
            drawn
        };
        Drawn::joined(&seen.par_iter().with_max_len(1).map(alone).collect::<Vec<_>>())
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

/// Entries of a row that are looked through for one question.
struct Seen<'a> {
    row: u32,
    content: &'a Content,
    /// `None`: the spans themselves.
    level: Option<&'a Level>,
    entries: Range<usize>,
}

/// Looking through fewer entries takes less time than waking other threads.
const MANY: usize = 1 << 15;

impl Content {
    fn seen(&self, row: u32, view: View) -> Seen<'_> {
        let level = self.levels().iter().rev().find(|level| level.shift <= view.shift);
        let begins = level.map_or(&self.spans.begin, |level| &level.entries.spans.begin);
        Seen { row, content: self, level, entries: within(begins, view) }
    }
}

impl Seen<'_> {
    fn draw(&self, view: View, drawn: &mut Drawn) {
        let (row, spans, seen) = (self.row, &self.content.spans, self.entries.clone());
        let first = first_from(spans, view.begin);
        if first > 0 && spans.end[first - 1] > view.begin {
            drawn.push(row, &Entry::of(spans.get(first - 1)));
        }
        match self.level {
            Some(Level { shift, entries }) if *shift == view.shift => {
                seen.for_each(|at| drawn.push(row, &entries.get(at)));
            }
            Some(Level { entries, .. }) => {
                let entries = seen.map(|at| entries.get(at));
                coarser(entries, view.shift, |entry| drawn.push(row, entry));
            }
            None => {
                let entries = seen.map(|at| Entry::of(spans.get(at)));
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
