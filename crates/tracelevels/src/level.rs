//! A few spans for all of a bucket.

use arrow_buffer::ScalarBuffer;

use crate::spans::{Growing, Span, Spans};
use crate::state::{IDLE, is_background, runs};

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
}

#[inline]
fn rank(span: &Span) -> (bool, i64) {
    (!is_background(span.state), span.end - span.begin)
}

/// A span of a group, and its place in it.
#[derive(Debug, Clone, Copy)]
struct Kept {
    place: u64,
    span: Span,
}

/// Spans of one bucket as they come, in order of time.
#[derive(Debug)]
struct Group {
    bucket: i64,
    added: u64,
    count: u32,
    ran: i64,
    highest: Kept,
    /// The first and the last that leave anything on the screen, and of those what is no background.
    visible: Option<(Kept, Kept)>,
    active: Option<(Kept, Kept)>,
}

/// So many spans of a bucket are drawn at most.
const MOST_OF_BUCKET: usize = 5;

impl Group {
    #[inline]
    fn of(bucket: i64, entry: &Entry) -> Self {
        let kept = Kept { place: 0, span: entry.span };
        let state = entry.span.state;
        Self {
            bucket,
            added: 1,
            count: entry.count,
            ran: entry.ran,
            highest: kept,
            visible: (state != IDLE).then_some((kept, kept)),
            active: (!is_background(state)).then_some((kept, kept)),
        }
    }

    #[inline]
    fn add(&mut self, entry: &Entry) {
        let kept = Kept { place: self.added, span: entry.span };
        self.added += 1;
        self.count = self.count.saturating_add(entry.count);
        self.ran = self.ran.saturating_add(entry.ran);
        if rank(&kept.span) > rank(&self.highest.span) {
            self.highest = kept;
        }
        let state = entry.span.state;
        if state != IDLE {
            self.visible = Some((self.visible.map_or(kept, |(first, _)| first), kept));
        }
        if !is_background(state) {
            self.active = Some((self.active.map_or(kept, |(first, _)| first), kept));
        }
    }

    /// What is drawn, in order of time: the one that ranks highest stands for all others that are
    /// not drawn themselves.
    #[inline]
    fn drawn(&self, mut receive: impl FnMut(&Entry)) {
        let mut highest = Entry { span: self.highest.span, count: self.count, ran: self.ran };
        if self.added == 1 {
            return receive(&highest);
        }
        let ends = self.visible.into_iter().chain(self.active).flat_map(|(a, b)| [a, b]);
        let mut kept = [self.highest; MOST_OF_BUCKET];
        kept[1..].iter_mut().zip(ends).for_each(|(place, end)| *place = end);
        kept.sort_unstable_by_key(|kept| kept.place);
        let apart = || {
            kept.iter().enumerate().filter(|(at, one)| *at == 0 || kept[at - 1].place != one.place)
        };
        for (_, other) in apart().filter(|(_, one)| one.place != self.highest.place) {
            highest.count = highest.count.saturating_sub(1).max(1);
            highest.ran = highest.ran.saturating_sub(Entry::of(other.span).ran);
        }
        for (_, one) in apart() {
            let own = Entry::of(one.span);
            receive(if one.place == self.highest.place { &highest } else { &own });
        }
    }
}

/// The entries in buckets of `1 << shift` ns, from those of narrower buckets in order of time.
#[inline]
pub(crate) fn coarser(
    entries: impl Iterator<Item = Entry>,
    shift: u32,
    mut receive: impl FnMut(&Entry),
) {
    let mut gathered: Option<Group> = None;
    for entry in entries {
        let bucket = entry.span.begin >> shift;
        // It covers the next bucket whole: it is what that one shows.
        let long = entry.span.end >> shift >= bucket.saturating_add(2);
        match &mut gathered {
            Some(group) if group.bucket == bucket && !long => group.add(&entry),
            _ => {
                if let Some(done) = gathered.replace(Group::of(bucket, &entry)) {
                    done.drawn(&mut receive);
                }
            }
        }
    }
    if let Some(done) = gathered {
        done.drawn(&mut receive);
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
        if last < LEAST || size.saturating_mul(MOST_OF_BUCKET) > last / 2 {
            continue;
        }
        let (shift, room) = (shift as u32, size * 2);
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
