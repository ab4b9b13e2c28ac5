//! One span for all of a bucket.

use crate::lane::Span;
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

/// Rows of fewer spans are looked through as they are.
const LEAST: usize = 1024;

/// The levels of a row: shift and entries, each with at most half as many as the one before.
pub(crate) fn levels(spans: &[Span]) -> Vec<(u32, Vec<Entry>)> {
    let mut found: Vec<(u32, Vec<Entry>)> = Vec::new();
    let sizes = sizes(spans);
    let mut last = spans.len();
    for (shift, &size) in sizes.iter().enumerate() {
        if last < LEAST || size > last / 2 {
            continue;
        }
        let mut entries = Vec::with_capacity(size + size / 8);
        let receive = |entry: &Entry| entries.push(*entry);
        match found.last() {
            Some((_, finer)) => coarser(finer.iter().copied(), shift as u32, receive),
            None => coarser(spans.iter().map(|&span| Entry::of(span)), shift as u32, receive),
        }
        last = entries.len();
        found.push((shift as u32, entries));
    }
    found
}

/// In how many buckets of each shift spans begin.
fn sizes(spans: &[Span]) -> [usize; 64] {
    let mut sizes = [0; 64];
    if spans.len() < LEAST {
        return sizes;
    }
    // Neighbours meet in one bucket at the shift that takes away all bits in which they differ.
    let mut meet = [0; 65];
    for pair in spans.windows(2) {
        meet[(64 - (pair[0].begin ^ pair[1].begin).leading_zeros()) as usize] += 1;
    }
    let mut left = spans.len();
    for (size, meeting) in sizes.iter_mut().zip(meet) {
        left -= meeting;
        *size = left;
    }
    sizes
}
