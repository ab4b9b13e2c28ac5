//! Events as labels of rows.

use std::sync::OnceLock;

use arrow_array::RecordBatch;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_buffer::ScalarBuffer;

use crate::columns::{Missing, batch, column, numbers};
use crate::forest::{Forest, Kind};
use crate::query::View;
use crate::spans::Spans;

/// A span of time with more events than this shows rare ones only: labels of that many could not
/// be told from each other, and to go through them takes too long.
const MOST_EVENTS: usize = 150_000;
/// How many rare events there are at most.
const MOST_RARE: usize = 20_000;

/// All events of a trace in order of time.
#[derive(Debug)]
pub struct Events {
    batches: Vec<Batch>,
    origin: i64,
    /// How often each type occurs.
    counts: OnceLock<Vec<u64>>,
    /// The places of events of rare types.
    rare: OnceLock<Vec<u64>>,
}

#[derive(Debug)]
struct Batch {
    /// The place of its first event.
    from: u64,
    times: ScalarBuffer<i64>,
    cpus: ScalarBuffer<u16>,
    events: ScalarBuffer<u16>,
}

impl Events {
    /// `index`: columns `time`, `cpu`, `event`; `origin`: the time of the first event.
    ///
    /// # Errors
    /// [`Missing`] when it has no such columns.
    pub fn new(index: &[RecordBatch], origin: i64) -> Result<Self, Missing> {
        let mut from = 0;
        let mut batches = Vec::with_capacity(index.len());
        for batch in index.iter().filter(|batch| batch.num_rows() > 0) {
            batches.push(Batch {
                from,
                times: numbers::<Int64Type>(batch, "time")?,
                cpus: numbers::<UInt16Type>(batch, "cpu")?,
                events: numbers::<UInt16Type>(batch, "event")?,
            });
            from += batch.num_rows() as u64;
        }
        Ok(Self { batches, origin, counts: OnceLock::new(), rare: OnceLock::new() })
    }

    /// How many there are in a span of time since the first one.
    pub fn count(&self, begin: i64, end: i64) -> usize {
        self.ranges(begin, end).map(|(_, from, to)| to - from).sum()
    }

    fn ranges(&self, begin: i64, end: i64) -> impl Iterator<Item = (&Batch, usize, usize)> {
        let (begin, end) = (begin.saturating_add(self.origin), end.saturating_add(self.origin));
        self.batches.iter().filter_map(move |batch| {
            let from = batch.times.partition_point(|&time| time < begin);
            let to = from + batch.times[from..].partition_point(|&time| time < end);
            (from < to).then_some((batch, from, to))
        })
    }

    fn counts(&self) -> &[u64] {
        self.counts.get_or_init(|| {
            let mut counts = vec![0; 1 << 16];
            for batch in &self.batches {
                batch.events.iter().for_each(|&event| counts[usize::from(event)] += 1);
            }
            counts
        })
    }

    /// The rarest types whose events together are not too many.
    fn rare(&self) -> &[u64] {
        self.rare.get_or_init(|| {
            let counts = self.counts();
            let mut types: Vec<usize> = (0..counts.len()).filter(|&of| counts[of] > 0).collect();
            types.sort_by_key(|&of| counts[of]);
            let mut left = MOST_RARE as u64;
            let mut chosen = vec![false; counts.len()];
            for of in types {
                let Some(rest) = left.checked_sub(counts[of]) else { break };
                left = rest;
                chosen[of] = true;
            }
            let places = self.batches.iter().flat_map(|batch| {
                (batch.from..).zip(&batch.events).filter(|(_, event)| chosen[usize::from(**event)])
            });
            places.map(|(place, _)| place).collect()
        })
    }

    /// Time since the first event, CPU and type of the event at a place.
    fn get(&self, place: u64) -> (i64, u16, u16) {
        let batch = self.batches.partition_point(|batch| batch.from <= place) - 1;
        let batch = &self.batches[batch];
        let at = (place - batch.from) as usize;
        (batch.times[at].saturating_sub(self.origin), batch.cpus[at], batch.events[at])
    }
}

/// Events of rows in columns, row by row and in order of time within each.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// Whether only events of rare types are among them, as there are too many others.
    pub only_rare: bool,
    row: Vec<u32>,
    time: Vec<f64>,
    event: Vec<u16>,
    count: Vec<u32>,
    index: Vec<u64>,
}

impl Marks {
    /// As columns `row`, `time`, `event`, `count`, `index`.
    pub fn into_batch(self) -> RecordBatch {
        batch(vec![
            ("row", column::<UInt32Type>(self.row), false),
            ("time", column::<Float64Type>(self.time), false),
            ("event", column::<UInt16Type>(self.event), false),
            ("count", column::<UInt32Type>(self.count), false),
            ("index", column::<UInt64Type>(self.index), false),
        ])
    }
}

/// The event that stands for those of a bucket.
#[derive(Debug, Clone, Copy)]
struct Mark {
    bucket: i64,
    time: i64,
    event: u16,
    count: u32,
    index: u64,
}

/// The marks of a row that is asked for.
struct Lane {
    row: u32,
    marks: Vec<Mark>,
}

/// Where the row of a CPU lies, and how far it has been gone through.
struct OfCpu<'a> {
    lane: Option<usize>,
    at: usize,
    spans: &'a Spans,
}

impl Forest {
    /// The events of the rows from `begin` until `end` in buckets of `1 << shift` ns, of each row at
    /// most one a bucket: the one whose type is rarest in the trace, and `count`, for how many it
    /// stands.
    ///
    /// An event is of the row of its CPU, and of that of whoever was on top there; at the moment of
    /// a change, of whoever was before.
    pub fn marks(&self, events: &Events, rows: &[u32], begin: i64, end: i64, shift: u32) -> Marks {
        let Some(view) = View::new(begin, end, shift) else { return Marks::default() };
        let only_rare = events.count(view.begin, view.end) > MOST_EVENTS;
        let mut gathering = Gathering::new(self, events, rows, view);
        if only_rare {
            let rare = events.rare();
            let from = rare.partition_point(|&place| events.get(place).0 < view.begin);
            for &place in &rare[from..] {
                let (time, cpu, event) = events.get(place);
                if time >= view.end {
                    break;
                }
                gathering.add(time, cpu, event, place);
            }
        } else {
            for (batch, from, to) in events.ranges(view.begin, view.end) {
                for at in from..to {
                    let time = batch.times[at].saturating_sub(events.origin);
                    gathering.add(time, batch.cpus[at], batch.events[at], batch.from + at as u64);
                }
            }
        }
        Marks { only_rare, ..gathering.marks() }
    }
}

struct Gathering<'a> {
    counts: &'a [u64],
    shift: u32,
    cpus: Vec<Option<OfCpu<'a>>>,
    lanes: Vec<Lane>,
    /// By actor its lanes, each of a CPU; those of threads of any.
    of_actor: Vec<Vec<(Option<u16>, usize)>>,
}

impl<'a> Gathering<'a> {
    fn new(forest: &'a Forest, events: &'a Events, rows: &[u32], view: View) -> Self {
        let mut cpus: Vec<Option<OfCpu<'a>>> = Vec::new();
        for (row, content) in forest.rows.iter().zip(&forest.contents) {
            let Some(cpu) = row.cpu.filter(|_| row.kind == Kind::Cpu).map(usize::from) else {
                break;
            };
            if cpus.len() <= cpu {
                cpus.resize_with(cpu + 1, || None);
            }
            let spans = &content.spans;
            let at = spans.end.partition_point(|&end| end < view.begin);
            cpus[cpu] = Some(OfCpu { lane: None, at, spans });
        }
        let mut lanes: Vec<Lane> = Vec::new();
        let mut of_actor: Vec<Vec<_>> = Vec::new();
        for &row in rows {
            let Some(of) = forest.rows.get(row as usize) else { continue };
            match (of.kind, of.actor, of.cpu) {
                (Kind::Cpu, _, Some(cpu)) => {
                    if let Some(Some(place)) = cpus.get_mut(usize::from(cpu)) {
                        place.lane = Some(lanes.len());
                    }
                }
                (_, Some(actor), cpu) => {
                    let actor = actor as usize;
                    if of_actor.len() <= actor {
                        of_actor.resize_with(actor + 1, Vec::new);
                    }
                    of_actor[actor].push((cpu, lanes.len()));
                }
                _ => continue,
            }
            lanes.push(Lane { row, marks: Vec::new() });
        }
        Self { counts: events.counts(), shift: view.shift, cpus, lanes, of_actor }
    }

    #[inline]
    fn add(&mut self, time: i64, cpu: u16, event: u16, index: u64) {
        let Some(Some(place)) = self.cpus.get_mut(usize::from(cpu)) else { return };
        // The first span that ends at the event or later: before a change, and not in a gap.
        let spans = place.spans;
        let ends = &spans.end[place.at..];
        let near = ends.iter().take(8).position(|&end| end >= time);
        place.at += near.unwrap_or_else(|| ends.partition_point(|&end| end < time));
        let mark = Mark { bucket: time >> self.shift, time, event, count: 1, index };
        if let Some(lane) = place.lane {
            self.lanes[lane].add(mark, self.counts);
        }
        if place.at < spans.len()
            && spans.begin[place.at] <= time
            && let Some(lanes) = self.of_actor.get(spans.actor[place.at] as usize)
        {
            for &(on, lane) in lanes {
                if on.is_none_or(|on| on == cpu) {
                    self.lanes[lane].add(mark, self.counts);
                }
            }
        }
    }

    fn marks(self) -> Marks {
        let mut table = Marks::default();
        for Lane { row, marks } in self.lanes {
            for mark in marks {
                table.row.push(row);
                table.time.push(mark.time as f64);
                table.event.push(mark.event);
                table.count.push(mark.count);
                table.index.push(mark.index);
            }
        }
        table
    }
}

impl Lane {
    #[inline]
    fn add(&mut self, mark: Mark, counts: &[u64]) {
        match self.marks.last_mut() {
            Some(last) if last.bucket == mark.bucket => {
                let count = last.count.saturating_add(1);
                if counts[usize::from(mark.event)] < counts[usize::from(last.event)] {
                    *last = mark;
                }
                last.count = count;
            }
            _ => self.marks.push(mark),
        }
    }
}
