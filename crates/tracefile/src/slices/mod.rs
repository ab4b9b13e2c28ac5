//! What programs tell of themselves: slices of time that nest, instants, flows and counters, on tracks.
//!
//! ```text
//! chrome, perfetto ─→ Builder ─→ Slices: tables slice_begin, slice_end, instant, flow, COUNTER
//! ```
//! A track is a thread, or what has a name of its own; its number stands in `common_pid`. A slice is
//! an event at its begin, which tells its `duration` where it has an end, and one at its end.

mod builder;

use std::ops::Range;

pub(crate) use builder::{Builder, Owner};

use crate::columns::Column;
use crate::{ColumnType, EventType, Field};

/// Tracks that are no threads have numbers from here on: more than Linux can give to a thread.
const FIRST_TRACK: i32 = 1 << 22;
/// Stands for a text that is not there.
pub(crate) const NO_TEXT: u32 = u32::MAX;

/// A part of the text in which details stand.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u64,
    pub(crate) length: u32,
}

#[derive(Debug, Clone)]
struct Track {
    number: i32,
    process: Option<i64>,
    name: String,
}

#[derive(Debug)]
struct Slice {
    begin: i64,
    end: Option<i64>,
    track: u32,
    depth: i32,
    name: u32,
    category: u32,
    detail: Span,
    end_detail: Span,
}

#[derive(Debug)]
struct Instant {
    time: i64,
    track: u32,
    phase: u8,
    name: u32,
    category: u32,
    detail: Span,
}

#[derive(Debug)]
struct Flow {
    time: i64,
    track: u32,
    name: u32,
    category: u32,
    id: u32,
    step: u32,
}

#[derive(Debug)]
struct Counter {
    process: Option<i64>,
    name: String,
    series: Vec<String>,
    /// Whether all values are whole numbers.
    whole: bool,
    rows: Vec<CounterRow>,
    values: Vec<(u16, f64)>,
}

#[derive(Debug)]
struct CounterRow {
    time: i64,
    values: Range<usize>,
}

/// What a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Begin,
    End,
    Instant,
    Flow,
    Counter(u16),
}

/// One event: its time, what it is, and the place among those of its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) time: i64,
    kind: Kind,
    at: u32,
}

/// All of it, in order of time.
pub(crate) struct Slices {
    texts: Vec<String>,
    tracks: Vec<Track>,
    slices: Vec<Slice>,
    instants: Vec<Instant>,
    flows: Vec<Flow>,
    counters: Vec<Counter>,
    pub(crate) rows: Vec<Row>,
}

/// Event types before those of counters.
const TYPES: usize = 4;

impl Slices {
    /// The event types, in the order of [`Slices::event`].
    pub(crate) fn types(&self) -> Vec<EventType> {
        let slice = [
            ("slice", ColumnType::Unsigned(32)),
            ("depth", ColumnType::Signed(32)),
            ("duration", ColumnType::Signed(64)),
            ("name", ColumnType::Text),
            ("category", ColumnType::Text),
            ("process", ColumnType::Signed(64)),
            ("args", ColumnType::Text),
        ];
        let [number, depth, duration, name, category, process, args] = slice;
        let mut types = vec![
            event(
                "slice_begin",
                &[
                    number.clone(),
                    depth.clone(),
                    duration,
                    name.clone(),
                    category.clone(),
                    process.clone(),
                    args.clone(),
                ],
            ),
            event("slice_end", &[number, depth, name.clone(), args.clone()]),
            event(
                "instant",
                &[
                    ("phase", ColumnType::Text),
                    name.clone(),
                    category.clone(),
                    process.clone(),
                    args,
                ],
            ),
            event(
                "flow",
                &[name, category, process, ("id", ColumnType::Text), ("step", ColumnType::Text)],
            ),
        ];
        let mut taken = std::collections::HashMap::new();
        for counter in &self.counters {
            let of = if counter.whole { ColumnType::Signed(64) } else { ColumnType::Float(64) };
            let series: Vec<(String, ColumnType)> = counter
                .series
                .iter()
                .map(|series| match series.as_str() {
                    "" => ("value".to_owned(), of.clone()),
                    "process" => ("payload.process".to_owned(), of.clone()),
                    other => (other.to_owned(), of.clone()),
                })
                .collect();
            let mut name = format!("counter:{}", counter.name);
            if let Some(process) = counter.process.filter(|_| taken.contains_key(&name)) {
                name = format!("{name} {process}");
            }
            let again: &mut u32 = taken.entry(name.clone()).or_default();
            *again += 1;
            if *again > 1 {
                name = format!("{name} #{again}");
            }
            let mut fields = vec![Field::payload("process", ColumnType::Signed(64))];
            fields.extend(series.into_iter().map(|(name, of)| Field::payload(&name, of)));
            types.push(EventType {
                name,
                system: "counter".into(),
                fields,
                print_format: String::new(),
            });
        }
        types
    }

    /// The names of tracks by their numbers.
    pub(crate) fn tasks(&self) -> Vec<(i32, String)> {
        self.tracks.iter().map(|track| (track.number, track.name.clone())).collect()
    }

    /// Which of [`Slices::types`] a row is.
    pub(crate) fn event(&self, row: Row) -> usize {
        match row.kind {
            Kind::Begin => 0,
            Kind::End => 1,
            Kind::Instant => 2,
            Kind::Flow => 3,
            Kind::Counter(number) => TYPES + usize::from(number),
        }
    }

    fn text(&self, number: u32) -> &[u8] {
        self.texts.get(number as usize).map_or(b"", |text| text.as_bytes())
    }

    /// Pushes the chosen fields of a row; `details` is the text in which details stand.
    pub(crate) fn push(&self, row: Row, details: &[u8], fields: &[usize], columns: &mut [Column]) {
        let at = row.at as usize;
        for (&field, column) in fields.iter().zip(columns) {
            match row.kind {
                Kind::Begin => {
                    let slice = &self.slices[at];
                    match field {
                        0 => self.track(slice.track, column),
                        1 => column.unsigned(at as u64),
                        2 => column.signed(i64::from(slice.depth)),
                        3 => match slice.end {
                            Some(end) => column.signed(end.saturating_sub(slice.begin)),
                            None => column.null(),
                        },
                        4 => column.bytes(self.text(slice.name)),
                        5 => column.bytes(self.text(slice.category)),
                        6 => self.process(slice.track, column),
                        _ => detail(slice.detail, details, column),
                    }
                }
                Kind::End => {
                    let slice = &self.slices[at];
                    match field {
                        0 => self.track(slice.track, column),
                        1 => column.unsigned(at as u64),
                        2 => column.signed(i64::from(slice.depth)),
                        3 => column.bytes(self.text(slice.name)),
                        _ => detail(slice.end_detail, details, column),
                    }
                }
                Kind::Instant => {
                    let instant = &self.instants[at];
                    match field {
                        0 => self.track(instant.track, column),
                        1 => column.bytes(&[instant.phase]),
                        2 => column.bytes(self.text(instant.name)),
                        3 => column.bytes(self.text(instant.category)),
                        4 => self.process(instant.track, column),
                        _ => detail(instant.detail, details, column),
                    }
                }
                Kind::Flow => {
                    let flow = &self.flows[at];
                    match field {
                        0 => self.track(flow.track, column),
                        1 => column.bytes(self.text(flow.name)),
                        2 => column.bytes(self.text(flow.category)),
                        3 => self.process(flow.track, column),
                        4 => column.bytes(self.text(flow.id)),
                        _ => column.bytes(self.text(flow.step)),
                    }
                }
                Kind::Counter(number) => {
                    let counter = &self.counters[usize::from(number)];
                    match field.checked_sub(1) {
                        None => whole(counter.process, column),
                        Some(series) => counter.push_value(at, series, column),
                    }
                }
            }
        }
    }

    fn track(&self, track: u32, column: &mut Column) {
        column.signed(i64::from(self.tracks[track as usize].number));
    }

    fn process(&self, track: u32, column: &mut Column) {
        whole(self.tracks[track as usize].process, column);
    }
}

impl Counter {
    fn push_value(&self, row: usize, series: usize, column: &mut Column) {
        let values = &self.values[self.rows[row].values.clone()];
        match values.iter().rev().find(|(of, _)| usize::from(*of) == series) {
            Some(&(_, value)) if self.whole => column.signed(value as i64),
            Some(&(_, value)) => column.float(value),
            None => column.null(),
        }
    }
}

/// Numbers that stand for texts are none.
fn whole(value: Option<i64>, column: &mut Column) {
    match value.filter(|&value| value > i64::MIN / 2) {
        Some(value) => column.signed(value),
        None => column.null(),
    }
}

fn detail(span: Span, details: &[u8], column: &mut Column) {
    let from = span.at as usize;
    match details.get(from..from.saturating_add(span.length as usize)) {
        Some(text) if !text.is_empty() => column.bytes(text),
        _ => column.null(),
    }
}

fn event(name: &str, own: &[(&str, ColumnType)]) -> EventType {
    let mut fields = vec![Field::common("common_pid", ColumnType::Signed(32), false)];
    fields.extend(own.iter().map(|(name, column)| Field::payload(name, column.clone())));
    EventType { name: name.into(), system: "track".into(), fields, print_format: String::new() }
}
