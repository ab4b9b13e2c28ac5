//! Records as they lie in the file, in order of time, a few pages at a time: for whoever writes each
//! out once, and needs no columns.
//!
//! ```text
//! stamps of the pages ─→ Slices: pages whose events come next ─→ read: records in order of time
//!                                                                  └ data, place, batch
//! ```
//!
//! Slices are cut by the stamps of pages alone, so that each is read on its own, in any thread.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema};

use crate::columns::{self, Column};
use crate::dat::format::Item;
use crate::dat::layout::{self, Place};
use crate::dat::page;
use crate::dat::unit::TraceDat;
use crate::{ByteOrder, ColumnType, Damage, Loss, LossKind};

/// The events of an opened trace.dat whose pages are in the file as they were in memory.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    trace: &'a TraceDat,
}

/// Where an event lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the trace's clock.
    pub time: i64,
    at: usize,
    length: u32,
    /// The type, an index into [`crate::Info::events`].
    pub event: u16,
    /// [`crate::Index::NO_CPU`] when it is not known.
    pub cpu: u16,
}

/// Where a field lies in a record; numbers are little endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldPlace {
    /// A number of 1, 2, 4 or 8 bytes, which every record of its type holds.
    Number {
        /// Bytes from the record's beginning.
        at: usize,
        /// In bytes.
        size: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A truth value of one byte, which every record of its type holds.
    Bool {
        /// Bytes from the record's beginning.
        at: usize,
    },
    /// Characters up to a NUL or the end, which the record's end may cut.
    Text {
        /// Bytes from the record's beginning.
        at: usize,
        /// The most bytes.
        size: usize,
    },
    /// As many whole numbers as there are, which the record's end may cut.
    Numbers {
        /// Bytes from the record's beginning.
        at: usize,
        /// The most bytes.
        size: usize,
        /// Of each, in bytes.
        item: u8,
        /// Whether they have a sign.
        signed: bool,
    },
    /// The same as `Text` at another place, which the field tells: its u32 has the offset in its
    /// low half and the size in the other. Nothing where that is beyond the record.
    LocatedText {
        /// Bytes from the record's beginning to the field.
        at: usize,
        /// What is added to the offset.
        base: usize,
    },
}

/// The parts of a trace that follow each other in time.
pub struct Slices {
    lanes: Vec<Lane>,
    times: Range<i64>,
    /// Where the last slice ended.
    end: i64,
    over: bool,
}

/// A CPU's pages that are not in earlier slices.
struct Lane {
    stream: usize,
    cpu: Option<u16>,
    page: usize,
    /// The first page that has events of the next slice, perhaps besides those of earlier ones.
    begin: usize,
    /// The first page that no slice had yet, and when it begins; `None`: there is no more.
    next: usize,
    stamp: Option<i64>,
    end: usize,
    /// A time after the last page's events.
    after: i64,
    /// Of the pages that slices had and the next one has again: when the page behind each begins.
    open: Vec<i64>,
}

/// Some pages of each CPU, and the times of those of their events that are meant.
#[derive(Debug)]
pub struct Slice {
    runs: Vec<Run>,
    /// Before the end of the earlier slice is what that had, behind the end what the next one has.
    times: Range<i64>,
    /// Times that were asked for.
    asked: Range<i64>,
}

/// Pages of a CPU that follow each other.
#[derive(Debug)]
struct Run {
    stream: usize,
    cpu: u16,
    page: usize,
    pages: Range<usize>,
    /// How many of the first were in earlier slices, too.
    again: usize,
    /// How many of the last the next slice has, too.
    open: usize,
}

/// What was seen besides events.
#[derive(Debug, Default)]
pub struct Seen {
    /// What was lost before the pages of a slice.
    pub losses: Vec<Loss>,
    /// What could not be read of them.
    pub damage: Vec<Damage>,
}

impl<'a> Records<'a> {
    /// Of a file whose pages are not compressed, of a machine with the bytes of numbers in the order
    /// that nearly all have.
    pub(crate) fn new(trace: &'a TraceDat) -> Option<Self> {
        let plain = trace.pages.iter().all(|pages| pages.range().is_some());
        (plain && trace.layout.order == ByteOrder::Little).then_some(Self { trace })
    }

    /// The slices of all events at some times, of some CPUs or all.
    pub fn slices(self, times: Range<i64>, cpu: impl Fn(u16) -> bool) -> Slices {
        let mut lanes: Vec<Lane> = Vec::new();
        for (unit, pages) in self.trace.units.iter().zip(&self.trace.pages) {
            let Some(range) = pages.range() else { continue };
            match lanes.last_mut().filter(|lane| lane.stream == unit.stream) {
                Some(lane) => lane.end = range.end,
                None if cpu(unit.cpu.unwrap_or(crate::Index::NO_CPU)) => lanes.push(Lane {
                    stream: unit.stream,
                    cpu: unit.cpu,
                    page: pages.page(),
                    begin: range.start,
                    next: range.start,
                    stamp: None,
                    end: range.end,
                    after: i64::MAX,
                    open: Vec::new(),
                }),
                None => {}
            }
        }
        lanes.iter_mut().for_each(|lane| lane.start(self, &times));
        Slices { lanes, end: times.start, times, over: false }
    }

    /// Appends the records of a slice that are of chosen types, in order of time; of equal times in
    /// the order of the file.
    pub fn read(self, slice: &Slice, chosen: &[bool], records: &mut Vec<Record>) -> Seen {
        let mut seen = Seen::default();
        let begin = records.len();
        slice.runs.iter().for_each(|run| self.run(slice, run, chosen, records, &mut seen));
        // Runs are put one into the other: each is in order nearly always.
        records[begin..].sort_by_key(|record| record.time);
        seen
    }

    fn run(
        self,
        slice: &Slice,
        run: &Run,
        chosen: &[bool],
        records: &mut Vec<Record>,
        seen: &mut Seen,
    ) {
        let (events, layout) = (&self.trace.events, &self.trace.layout);
        let clock = self.trace.time.of(run.cpu_known());
        let type_at = events.type_at;
        let count = run.pages.len().div_ceil(run.page);
        let mut last = None;
        for number in 0..count {
            let begin = run.pages.start + number * run.page;
            let bytes = &self.trace.file[begin..(begin + run.page).min(run.pages.end)];
            let from = if number < run.again { slice.times.start } else { i64::MIN };
            let until = if number >= count - run.open { slice.times.end } else { i64::MAX };
            let before = last;
            let (mut short, mut shortest) = (0, None);
            let end = page::walk::<false>(bytes, layout, |stamp, at, length| {
                let time = clock.nanoseconds(stamp);
                last = Some(time);
                if length < type_at + 2 {
                    short += 1;
                    return;
                }
                let event = events.of_id(page::u16_at::<false>(bytes, at + type_at));
                if !chosen[event] || !slice.asked.contains(&time) {
                    return;
                }
                if (length as u32) < events.layouts[event].least {
                    short += 1;
                    shortest = Some(event);
                } else if (from..until).contains(&time) {
                    let (at, length) = (begin + at, length as u32);
                    records.push(Record { time, at, length, event: event as u16, cpu: run.cpu });
                }
            });
            // What the page says besides is told with the slice that had it first.
            if number < run.again {
                continue;
            }
            let mut damage = |offset: usize, what: String| {
                seen.damage.push(Damage {
                    file: self.trace.file.path().to_owned(),
                    offset: offset as u64,
                    stream: Some(run.stream),
                    what,
                });
            };
            if let Some(broken) = end.broken {
                let what = format!("{}: the rest of the page is left out", broken.what);
                damage(begin + broken.at, what);
            }
            if short > 0 {
                let name = shortest
                    .map_or("of unknown type", |event: usize| &self.trace.info.events[event].name);
                let what = format!("{short} records shorter than their format ({name}): left out");
                damage(begin, what);
            }
            if let Some(lost) = end.lost {
                let end = page::stamp(bytes, layout).map(|stamp| clock.nanoseconds(stamp));
                let kind = LossKind::Events;
                let count = lost.count;
                seen.losses.push(Loss { stream: run.stream, kind, begin: before, end, count });
            }
        }
    }

    /// The bytes of a record.
    #[inline]
    pub fn data(self, record: &Record) -> &'a [u8] {
        &self.trace.file[record.at..][..record.length as usize]
    }

    /// Where a field of a type lies in its records; `None`: not at a place of its own, or nothing
    /// that has a simple form.
    pub fn place(self, event: usize, field: usize) -> Option<FieldPlace> {
        let column = &self.trace.info.events[event].fields.get(field)?.column;
        let signed = matches!(column, ColumnType::Signed(_));
        Some(match self.trace.events.layouts[event].place(field)? {
            Place::Number { at, .. } if *column == ColumnType::Bool => {
                FieldPlace::Bool { at: at as usize }
            }
            Place::Number { at, size } => {
                FieldPlace::Number { at: at as usize, size: size as u8, signed }
            }
            Place::Array { at, size, item: Item::Text } => {
                FieldPlace::Text { at: at as usize, size: size as usize }
            }
            Place::Array { at, size, item: Item::Number { size: item, signed } } => {
                FieldPlace::Numbers { at: at as usize, size: size as usize, item, signed }
            }
            Place::Located { at, item: Item::Text, base } => {
                FieldPlace::LocatedText { at: at as usize, base: base as usize }
            }
            _ => return None,
        })
    }

    /// Some records of one type as columns: those fields of it that have these names.
    pub fn batch(self, event: usize, names: &[String], records: &[Record]) -> RecordBatch {
        let fields = self.trace.info.events[event].fields.iter().enumerate();
        let fields = fields.filter(|(_, field)| names.contains(&field.name));
        let mut block = Vec::new();
        let mut lying = Vec::with_capacity(records.len());
        for record in records {
            let (time, at, length) = (record.time, block.len() as u32, record.length);
            lying.push(layout::Record { time, at, length });
            block.extend_from_slice(self.data(record));
        }
        let (mut schema, mut arrays) = (Vec::new(), Vec::new());
        for (at, field) in fields {
            let mut column = Column::new(&field.column, records.len());
            let order = self.trace.layout.order;
            self.trace.events.layouts[event].gather(at, &mut column, &block, &lying, order);
            let of = columns::arrow_type(&field.column);
            schema.push(ArrowField::new(&field.name, of, field.nullable));
            arrays.push(column.finish());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(records.len()));
        let schema = Arc::new(Schema::new(schema));
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .expect("columns are made from the schema's fields")
    }
}

impl Run {
    fn cpu_known(&self) -> Option<u16> {
        (self.cpu != crate::Index::NO_CPU).then_some(self.cpu)
    }
}

impl Lane {
    /// Passes over what lies before the times that are asked for.
    fn start(&mut self, records: Records<'_>, times: &Range<i64>) {
        let last = self.begin + (self.end - self.begin - 1) / self.page * self.page;
        let clock = records.trace.time.of(self.cpu);
        let mut latest = i64::MIN;
        page::walk::<false>(
            &records.trace.file[last..self.end],
            &records.trace.layout,
            |stamp, _, _| latest = latest.max(clock.nanoseconds(stamp)),
        );
        self.after = latest.saturating_add(1);
        // Many pages at once, then one by one.
        for pages in [1 << 10, 1] {
            let step = pages * self.page;
            while self.end - self.begin > step
                && self.stamp_of(records, self.begin + step).is_some_and(|at| at < times.start)
            {
                self.begin += step;
            }
        }
        self.next = self.begin;
        self.stamp = Some(self.stamp_of(records, self.next).unwrap_or(i64::MIN));
    }

    fn stamp_of(&self, records: Records<'_>, at: usize) -> Option<i64> {
        let stamp = page::stamp(&records.trace.file[at..self.end], &records.trace.layout)?;
        Some(records.trace.time.of(self.cpu).nanoseconds(stamp))
    }

    /// Takes the next page. Of pages that go back in time the latest stamp counts, so that none is
    /// left out.
    fn take(&mut self, records: Records<'_>) {
        let before = self.stamp.unwrap_or(i64::MIN);
        self.next += self.page;
        let follows = self.next < self.end;
        let behind = match follows {
            true => self.stamp_of(records, self.next).unwrap_or(before),
            false => self.after,
        };
        let behind = behind.max(before);
        self.open.push(behind);
        self.stamp = follows.then_some(behind);
    }
}

impl Slices {
    /// The next pages in order of time, of so many bytes.
    pub fn next(&mut self, records: Records<'_>, bytes: usize) -> Option<Slice> {
        if self.over {
            return None;
        }
        let begun: Vec<usize> = self.lanes.iter().map(|lane| lane.next).collect();
        let mut taken = 0;
        let end = loop {
            let next = self.lanes.iter_mut().filter(|lane| lane.stamp.is_some());
            let next = next.min_by_key(|lane| lane.stamp);
            let Some(lane) = next.filter(|lane| lane.stamp < Some(self.times.end)) else {
                self.over = true;
                break i64::MAX;
            };
            if taken >= bytes && lane.stamp > Some(self.end) {
                break lane.stamp.unwrap_or(i64::MAX);
            }
            lane.take(records);
            taken += lane.page;
        };
        let mut runs = Vec::new();
        for (lane, begun) in self.lanes.iter_mut().zip(begun) {
            let open = lane.open.iter().position(|&behind| behind >= end);
            let open = open.map_or(0, |at| lane.open.len() - at);
            if lane.next > lane.begin {
                runs.push(Run {
                    stream: lane.stream,
                    cpu: lane.cpu.unwrap_or(crate::Index::NO_CPU),
                    page: lane.page,
                    pages: lane.begin..lane.next.min(lane.end),
                    again: (begun - lane.begin) / lane.page,
                    open,
                });
            }
            lane.open.drain(..lane.open.len() - open);
            lane.begin = lane.next - open * lane.page;
        }
        let times = self.end..end;
        self.end = end;
        Some(Slice { runs, times, asked: self.times.clone() })
    }

    /// How many CPUs have events.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Mapped;

    /// The small recording of the tests, by its slices of any size, has the records that decoding
    /// finds, in the same order.
    #[test]
    fn slices_of_any_size_have_what_decoding_has() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/traces/small.dat");
        let bytes = std::fs::read(path).expect("it is in the repository");
        let trace = crate::dat::open(Mapped::of_bytes(bytes)).unwrap();
        let records = Records::new(&trace).unwrap();
        let options = crate::Options { index: true, times: None };
        let decoded =
            crate::decode::all(&trace, &crate::Selection::everything(), &options).unwrap();
        let index = decoded.index.unwrap();
        let expected: Vec<(i64, u16, u16)> =
            (0..index.len()).map(|at| (index.time[at], index.cpu[at], index.event[at])).collect();
        assert!(expected.len() > 100);
        let every = vec![true; trace.info.events.len()];
        let listed = |times: Range<i64>, bytes: usize| {
            let mut slices = records.slices(times, |_| true);
            let mut found = Vec::new();
            let (mut losses, mut count) = (0, 0);
            while let Some(slice) = slices.next(records, bytes) {
                losses += records.read(&slice, &every, &mut found).losses.len();
                count += 1;
            }
            let found = found.iter().map(|record| (record.time, record.cpu, record.event));
            (found.collect::<Vec<_>>(), losses, count)
        };
        for bytes in [1, 10_000, 1 << 30] {
            let (found, losses, count) = listed(i64::MIN..i64::MAX, bytes);
            assert_eq!(found, expected, "{bytes}");
            assert_eq!(losses, decoded.losses.len() - trace.info.losses.len());
            assert!(count > 2 || bytes > 1);
        }
        let middle = expected[expected.len() / 3].0..expected[expected.len() / 2].0;
        let within: Vec<_> =
            expected.iter().filter(|event| middle.contains(&event.0)).copied().collect();
        assert_eq!(listed(middle, 1).0, within);
    }
}
