//! Spans of time in columns, which may lie in mapped files.

use arrow_array::types::{Int64Type, UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::ScalarBuffer;

use crate::columns::{Missing, column, numbers};

/// What a row shows from `begin` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) actor: u32,
    pub(crate) state: u8,
}

/// Spans in order of time.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    pub(crate) begin: ScalarBuffer<i64>,
    pub(crate) end: ScalarBuffer<i64>,
    pub(crate) actor: ScalarBuffer<u32>,
    pub(crate) state: ScalarBuffer<u8>,
}

impl Spans {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Span {
        Span {
            begin: self.begin[at],
            end: self.end[at],
            actor: self.actor[at],
            state: self.state[at],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.begin.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> {
        let times = self.begin.iter().zip(&self.end);
        times
            .zip(self.actor.iter().zip(&self.state))
            .map(|((&begin, &end), (&actor, &state))| Span { begin, end, actor, state })
    }

    /// Some of them, without a copy.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        Self {
            begin: self.begin.slice(from, to - from),
            end: self.end.slice(from, to - from),
            actor: self.actor.slice(from, to - from),
            state: self.state.slice(from, to - from),
        }
    }

    pub(crate) fn of(batch: &RecordBatch) -> Result<Self, Missing> {
        Ok(Self {
            begin: numbers::<Int64Type>(batch, "begin")?,
            end: numbers::<Int64Type>(batch, "end")?,
            actor: numbers::<UInt32Type>(batch, "actor")?,
            state: numbers::<UInt8Type>(batch, "state")?,
        })
    }
}

/// Spans while they grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growing {
    begin: Vec<i64>,
    end: Vec<i64>,
    actor: Vec<u32>,
    state: Vec<u8>,
}

impl Growing {
    pub(crate) fn with_capacity(spans: usize) -> Self {
        Self {
            begin: Vec::with_capacity(spans),
            end: Vec::with_capacity(spans),
            actor: Vec::with_capacity(spans),
            state: Vec::with_capacity(spans),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, span: Span) {
        self.begin.push(span.begin);
        self.end.push(span.end);
        self.actor.push(span.actor);
        self.state.push(span.state);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }

    /// Takes in others that follow.
    pub(crate) fn append(&mut self, others: &Spans) {
        self.begin.extend_from_slice(&others.begin);
        self.end.extend_from_slice(&others.end);
        self.actor.extend_from_slice(&others.actor);
        self.state.extend_from_slice(&others.state);
    }

    pub(crate) fn into_columns(self) -> Vec<(&'static str, ArrayRef, bool)> {
        vec![
            ("begin", column::<Int64Type>(self.begin), false),
            ("end", column::<Int64Type>(self.end), false),
            ("actor", column::<UInt32Type>(self.actor), false),
            ("state", column::<UInt8Type>(self.state), false),
        ]
    }
}

impl From<Growing> for Spans {
    /// Without a copy.
    fn from(spans: Growing) -> Self {
        Self {
            begin: spans.begin.into(),
            end: spans.end.into(),
            actor: spans.actor.into(),
            state: spans.state.into(),
        }
    }
}

impl FromIterator<Span> for Growing {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let spans = spans.into_iter();
        let mut collected = Self::with_capacity(spans.size_hint().0);
        spans.for_each(|span| collected.push(span));
        collected
    }
}
