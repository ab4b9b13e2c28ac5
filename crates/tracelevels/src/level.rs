//! One span for all of a bucket.

use arrow_buffer::ScalarBuffer;

use crate::spans::{Growing, Span, Spans};
use crate::state::{is_background, runs};

/// A span, and for how many of its bucket it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) span: Span,
    pub(crate) count: u32,
    /// For how long (ns) those for which it stands used a CPU.
    pub(crate) ran: i64,
}

impl Entry {
    #[inline]
    pub(crate) fn of(span: Span) -> Self {
        let ran = if runs(span.state) { span.end - span.begin } else { 0 };
        Self { span, count: 1, ran }
    }

    /// Takes in one that follows.
    #[inline]
    fn add(&mut self, other: &Self) {
        if rank(&other.span) > rank(&self.span) {
            self.span = other.span;
        }
        self.count = self.count.saturating_add(other.count);
        self.ran = self.ran.saturating_add(other.ran);
    }
}

#[inline]
fn rank(span: &Span) -> (bool, i64) {
    (!is_background(span.state), span.end - span.begin)
}

/// The entries in buckets of `1 << shift` ns, from those of narrower buckets in order of time.
#[inline]
pub(crate) fn coarser(
    entries: impl Iterator<Item = Entry>,
    shift: u32,
    mut receive: impl FnMut(&Entry),
) {
    let mut gathered: Option<(i64, Entry)> = None;
    for entry in entries {
        let bucket = entry.span.begin >> shift;
        // It covers the next bucket whole: it is what that one shows.
        let long = entry.span.end >> shift >= bucket.saturating_add(2);
        match &mut gathered {
            Some((of, first)) if *of == bucket && !long => first.add(&entry),
            _ => {
                if let Some((_, done)) = gathered.replace((bucket, entry)) {
                    receive(&done);
                }
            }
        }
    }
    if let Some((_, done)) = gathered {
        receive(&done);
    }
}

/// Entries in order of time, in columns.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    pub(crate) spans: Spans,
    pub(crate) count: ScalarBuffer<u32>,
    pub(crate) ran: ScalarBuffer<i64>,
}

impl Entries {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Entry {
        Entry { span: self.spans.get(at), count: self.count[at], ran: self.ran[at] }
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    fn iter(&self) -> impl Iterator<Item = Entry> {
        let counts = self.count.iter().zip(&self.ran);
        self.spans.iter().zip(counts).map(|(span, (&count, &ran))| Entry { span, count, ran })
    }

    /// Some of them, without a copy.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        Self {
            spans: self.spans.slice(from, to),
            count: self.count.slice(from, to - from),
            ran: self.ran.slice(from, to - from),
        }
    }

    /// Those of `finer` in wider buckets; about `size`.
    fn of(finer: impl Iterator<Item = Entry>, shift: u32, size: usize) -> Self {
        let mut spans = Growing::with_capacity(size);
        let (mut count, mut ran) = (Vec::with_capacity(size), Vec::with_capacity(size));
        coarser(finer, shift, |entry| {
            spans.push(entry.span);
            count.push(entry.count);
            ran.push(entry.ran);
        });
        Self { spans: spans.into(), count: count.into(), ran: ran.into() }
    }
}

/// The entries of a row in buckets of `1 << shift` ns.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub(crate) shift: u32,
    pub(crate) entries: Entries,
}

/// Rows of fewer spans are looked through as they are.
const LEAST: usize = 1024;

/// The levels of a row from the finest to the coarsest, each with at most half as many entries as
/// the one before.
pub(crate) fn levels(spans: &Spans) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut last = spans.len();
    for (shift, &size) in sizes(&spans.begin).iter().enumerate() {
        if last < LEAST || size > last / 2 {
            continue;
        }
        let (shift, room) = (shift as u32, size + size / 8);
        let entries = match levels.last() {
            Some(finer) => Entries::of(finer.entries.iter(), shift, room),
            None => Entries::of(spans.iter().map(Entry::of), shift, room),
        };
        last = entries.len();
        levels.push(Level { shift, entries });
    }
    levels
}

/// In how many buckets of each shift spans begin.
fn sizes(begins: &[i64]) -> [usize; 64] {
    let mut sizes = [0; 64];
    if begins.len() < LEAST {
        return sizes;
    }
    // Neighbours meet in one bucket at the shift that takes away all bits in which they differ.
    let mut meet = [0; 65];
    for pair in begins.windows(2) {
        meet[(64 - (pair[0] ^ pair[1]).leading_zeros()) as usize] += 1;
    }
    let mut left = begins.len();
    for (size, meeting) in sizes.iter_mut().zip(meet) {
        left -= meeting;
        *size = left;
    }
    sizes
}
