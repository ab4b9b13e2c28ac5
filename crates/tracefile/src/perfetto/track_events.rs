//! Track events: what programs tell through Perfetto's library, in packets of writers (sequences)
//! that keep their texts in tables of their own.

use std::collections::HashMap;
use std::fmt::Write;

use super::wire::{Fields, Value, last, numbers, text};
use crate::slices::{Builder, NO_TEXT, Owner, Span};

/// How deep values in details may nest.
const DEEPEST: usize = 32;

/// The texts of a writer, by their numbers.
#[derive(Default)]
struct Interned {
    categories: HashMap<u64, String>,
    names: HashMap<u64, String>,
    annotations: HashMap<u64, String>,
    values: HashMap<u64, String>,
}

/// What a writer said that holds for its next packets.
#[derive(Default)]
pub(super) struct Sequence {
    interned: Interned,
    track: Option<u64>,
    extra: Vec<u64>,
    pub(super) clock: Option<u64>,
    /// Of old writers: process, thread, and the time that differences add to, in ns.
    thread: Option<(i64, i64)>,
    reference: i64,
    /// What the differences of each incremental counter add up to: every writer counts by itself,
    /// and from 0 again when it forgets what it said before.
    counted: HashMap<u64, f64>,
    pub(super) valid: bool,
}

impl Sequence {
    /// Takes what a packet says for the next ones.
    pub(super) fn keep(&mut self, number: u32, value: Value<'_>) {
        match number {
            12 => self.intern(value.bytes()),
            59 => {
                for (field, value) in Fields::of(value.bytes()) {
                    match field {
                        58 => self.clock = value.number(),
                        11 => {
                            self.extra.clear();
                            for (field, value) in Fields::of(value.bytes()) {
                                match field {
                                    11 => self.track = value.number(),
                                    31 => self.extra.extend(numbers(value)),
                                    _ => {}
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            44 => {
                let number = |field| last(value.bytes(), field).and_then(|value| value.number());
                if let (Some(process), Some(thread)) = (number(1), number(2)) {
                    self.thread = Some((process as i32 as i64, thread as i32 as i64));
                }
                if let Some(reference) = number(6) {
                    self.reference = (reference as i64).wrapping_mul(1000);
                }
            }
            _ => {}
        }
    }

    fn intern(&mut self, data: &[u8]) {
        for (field, value) in Fields::of(data) {
            let table = match field {
                1 => &mut self.interned.categories,
                2 => &mut self.interned.names,
                3 => &mut self.interned.annotations,
                29 => &mut self.interned.values,
                _ => continue,
            };
            let number = last(value.bytes(), 1).and_then(|value| value.number());
            if let (Some(number), Some(value)) = (number, last(value.bytes(), 2)) {
                table.insert(number, text(value));
            }
        }
    }
}

/// What a track that has states became at a time; an empty name is none.
struct StateBegin {
    time: i64,
    name: u32,
    category: u32,
    detail: Span,
}

/// A track that counts.
struct CounterTrack {
    name: String,
    unit: f64,
    incremental: bool,
}

/// A track as it was described.
#[derive(Default)]
struct Described {
    parent: Option<u64>,
    name: String,
    thread: Option<(i64, i64)>,
    process: Option<i64>,
}

/// All tracks of the trace.
#[derive(Default)]
pub(super) struct Tracks {
    described: HashMap<u64, Described>,
    counters: HashMap<u64, CounterTrack>,
    /// Of the tracks that have states; writers are in no order of time.
    states: HashMap<u64, Vec<StateBegin>>,
    /// Details of slices as texts of JSON.
    pub(super) details: Vec<u8>,
}

impl Tracks {
    /// A `TrackDescriptor`.
    pub(super) fn describe(&mut self, descriptor: &[u8], builder: &mut Builder) {
        let mut id = 0;
        let mut track = Described::default();
        let mut counter = None;
        let mut has_states = false;
        for (field, value) in Fields::of(descriptor) {
            match field {
                1 => id = value.number().unwrap_or(0),
                5 => track.parent = value.number(),
                2 | 10 | 13 => track.name = text(value),
                3 => {
                    let process = integer(value.bytes(), 1);
                    track.process = process;
                    if let (Some(process), Some(name)) = (process, last(value.bytes(), 6)) {
                        builder.processes.insert(process, text(name));
                    }
                }
                4 => {
                    let (process, thread) = (integer(value.bytes(), 1), integer(value.bytes(), 2));
                    if let (Some(process), Some(thread)) = (process, thread) {
                        track.thread = Some((process, thread));
                        if let Some(name) = last(value.bytes(), 5) {
                            builder.threads.insert((process, thread), text(name));
                        }
                    }
                }
                8 => counter = Some(value.bytes()),
                18 => has_states = true,
                _ => {}
            }
        }
        if let Some(counter) = counter {
            let multiplier = last(counter, 4).and_then(|value| value.number()).unwrap_or(1);
            let incremental = last(counter, 5).and_then(|value| value.number()).unwrap_or(0) != 0;
            let name = match integer(counter, 1) {
                _ if !track.name.is_empty() => track.name.clone(),
                Some(1) => "thread time".into(),
                Some(2) => "thread instructions".into(),
                _ => format!("track {id}"),
            };
            let unit = multiplier as f64;
            self.counters.insert(id, CounterTrack { name, unit, incremental });
        }
        if has_states {
            self.states.entry(id).or_default();
        }
        let known = self.described.entry(id).or_default();
        if !track.name.is_empty() {
            known.name = track.name;
        }
        known.parent = track.parent.or(known.parent);
        known.thread = track.thread.or(known.thread);
        known.process = track.process.or(known.process);
    }

    /// The process of a track, its own or that of a track above it.
    fn process(&self, id: u64) -> Option<i64> {
        let mut at = id;
        for _ in 0..16 {
            let track = self.described.get(&at)?;
            if let Some(process) = track.process.or(track.thread.map(|(process, _)| process)) {
                return Some(process);
            }
            at = track.parent?;
        }
        None
    }

    fn owner(&self, id: u64) -> Owner {
        match self.described.get(&id).and_then(|track| track.thread) {
            Some((process, thread)) => Owner::Thread(process, thread),
            None => Owner::Described(id),
        }
    }

    /// Gives the states as slices that follow each other, and names for the tracks that are no
    /// threads.
    pub(super) fn finish(&mut self, builder: &mut Builder) {
        for (id, mut begins) in std::mem::take(&mut self.states) {
            begins.sort_by_key(|begin| begin.time);
            for (at, &StateBegin { time, name, category, detail }) in begins.iter().enumerate() {
                // Until the next one; the last has no end.
                let length = begins.get(at + 1).map_or(-1, |next| next.time.saturating_sub(time));
                if name != NO_TEXT {
                    builder.whole(Owner::Described(id), (time, length), name, category, detail);
                }
            }
        }
        self.name(builder);
    }

    fn name(&self, builder: &mut Builder) {
        for (&id, track) in &self.described {
            let process = self.process(id);
            let name = match process.filter(|_| track.name.is_empty() && track.process.is_some()) {
                Some(process) => match builder.processes.get(&process) {
                    Some(name) if !name.is_empty() => name.clone(),
                    _ => format!("process {process}"),
                },
                None => track.name.clone(),
            };
            builder.described.insert(id, (process, name));
        }
    }

    /// A `TrackEvent` of a writer at a time; false: nothing of it could be read.
    pub(super) fn event(
        &mut self,
        event: &[u8],
        time: Option<i64>,
        sequence: &mut Sequence,
        builder: &mut Builder,
    ) -> bool {
        let mut told = Told { extra: sequence.extra.clone(), ..Told::default() };
        let mut time = time;
        for (field, value) in Fields::of(event) {
            match field {
                9 => told.of = value.number().unwrap_or(0),
                10 => {
                    told.name =
                        value.number().and_then(|n| sequence.interned.names.get(&n)).cloned()
                }
                23 => told.name = Some(text(value)),
                3 => {
                    for number in numbers(value) {
                        if let Some(category) = sequence.interned.categories.get(&number) {
                            told.category(category);
                        }
                    }
                }
                22 => told.category(&text(value)),
                11 => told.track = value.number(),
                30 => told.value = value.number().map(|value| value as i64 as f64),
                44 => told.value = Some(value.double()),
                31 => {
                    if !std::mem::replace(&mut told.own_extra, true) {
                        told.extra.clear();
                    }
                    told.extra.extend(numbers(value));
                }
                12 => told.extra_values.extend(numbers(value)),
                1 => {
                    let difference = (value.number().unwrap_or(0) as i64).wrapping_mul(1000);
                    sequence.reference = sequence.reference.wrapping_add(difference);
                    time = Some(sequence.reference);
                }
                16 => time = value.number().map(|value| (value as i64).wrapping_mul(1000)),
                4 => told.annotations.push(value.bytes()),
                6 => told.legacy = Some(value.bytes()),
                47 => told.flows.extend(numbers(value).into_iter().map(|id| (id, "step"))),
                48 => told.flows.extend(numbers(value).into_iter().map(|id| (id, "end"))),
                _ => {}
            }
        }
        let Some(time) = time else { return false };
        let detail = self.annotate(&told.annotations, &sequence.interned);
        let track = told.track.or(sequence.track);
        let owner = match (track, sequence.thread) {
            (None, Some((process, thread))) => Owner::Thread(process, thread),
            (track, _) => self.owner(track.unwrap_or(0)),
        };
        for (track, value) in told.extra.iter().zip(&told.extra_values) {
            self.count(*track, time, *value as i64 as f64, sequence, builder);
        }
        let legacy_name = told.legacy.and_then(|legacy| integer(legacy, 1));
        let name = told.name.take().or_else(|| {
            legacy_name.and_then(|name| sequence.interned.names.get(&(name as u64))).cloned()
        });
        // A state without a name is none.
        let name = name.filter(|name| told.of != 5 || !name.is_empty());
        let name = name.map_or(NO_TEXT, |name| builder.text(&name));
        let category =
            if told.categories.is_empty() { NO_TEXT } else { builder.text(&told.categories) };
        for (id, step) in &told.flows {
            let (id, step) = (builder.text(&format!("{id:#x}")), builder.text(step));
            builder.flow(owner.clone(), time, (name, category), id, step);
        }
        match (told.of, told.legacy) {
            (1, _) => builder.begin(owner, time, name, category, detail),
            (2, _) => builder.end(owner, time, None, detail),
            (3, _) => builder.instant(owner, time, b'i', (name, category), detail),
            (4, _) => match (track, told.value) {
                (Some(track), Some(value)) => self.count(track, time, value, sequence, builder),
                _ => return false,
            },
            (5, _) => match track.and_then(|track| self.states.get_mut(&track)) {
                Some(states) => states.push(StateBegin { time, name, category, detail }),
                None => return false,
            },
            (_, Some(legacy)) => {
                let operation = |owner: &Owner| {
                    let process = match *owner {
                        Owner::Thread(process, _) => Some(process),
                        _ => track.and_then(|track| self.process(track)),
                    };
                    let (of, id) =
                        match (integer(legacy, 11), integer(legacy, 10), integer(legacy, 6)) {
                            (Some(global), ..) => (None, global),
                            (_, Some(local), _) => (process, local),
                            (.., id) => (process, id.unwrap_or(0)),
                        };
                    Owner::Async(of, category, format!("{id:#x}"))
                };
                match integer(legacy, 2).and_then(|phase| u8::try_from(phase).ok()) {
                    Some(b'B') => builder.begin(owner, time, name, category, detail),
                    Some(b'E') => builder.end(owner, time, None, detail),
                    Some(b'X') => {
                        let length = integer(legacy, 3).map_or(-1, |us| us.saturating_mul(1000));
                        builder.whole(owner, (time, length), name, category, detail);
                    }
                    Some(b'i' | b'I' | b'R') => {
                        builder.instant(owner, time, b'i', (name, category), detail)
                    }
                    Some(b'b' | b'S') => {
                        builder.begin(operation(&owner), time, name, category, detail);
                    }
                    Some(b'e' | b'F') => builder.end(operation(&owner), time, None, detail),
                    Some(b'n' | b'T' | b'p') => {
                        builder.instant(operation(&owner), time, b'n', (name, category), detail);
                    }
                    _ => return false,
                }
            }
            _ => return !told.extra_values.is_empty() || !told.flows.is_empty(),
        }
        true
    }

    fn count(
        &self,
        track: u64,
        time: i64,
        value: f64,
        sequence: &mut Sequence,
        builder: &mut Builder,
    ) {
        let process = self.process(track);
        let fallback;
        let (name, value) = match self.counters.get(&track) {
            Some(counter) if counter.incremental => {
                let counted = sequence.counted.entry(track).or_default();
                *counted += value;
                (&counter.name, *counted * counter.unit)
            }
            Some(counter) => (&counter.name, value * counter.unit),
            None => {
                fallback = format!("track {track}");
                (&fallback, value)
            }
        };
        builder.counter(process, name, time, [("value", value)]);
    }

    /// Details as one text of JSON.
    fn annotate(&mut self, annotations: &[&[u8]], interned: &Interned) -> Span {
        let at = self.details.len();
        if !annotations.is_empty() {
            let mut out = String::new();
            dictionary(annotations, interned, DEEPEST, &mut out);
            self.details.extend_from_slice(out.as_bytes());
        }
        let length = u32::try_from(self.details.len() - at).unwrap_or(0);
        Span { at: at as u64, length }
    }
}

/// What an event says of itself.
#[derive(Default)]
struct Told<'a> {
    of: u64,
    name: Option<String>,
    categories: String,
    track: Option<u64>,
    value: Option<f64>,
    extra: Vec<u64>,
    own_extra: bool,
    extra_values: Vec<u64>,
    annotations: Vec<&'a [u8]>,
    legacy: Option<&'a [u8]>,
    flows: Vec<(u64, &'static str)>,
}

impl Told<'_> {
    fn category(&mut self, category: &str) {
        if !self.categories.is_empty() {
            self.categories.push(',');
        }
        self.categories.push_str(category);
    }
}

fn integer(message: &[u8], field: u32) -> Option<i64> {
    last(message, field).and_then(|value| value.number()).map(|value| value as i64)
}

/// The fields of a system's messages that name threads and processes are numbers of 32 bits.
fn dictionary(entries: &[&[u8]], interned: &Interned, deepest: usize, out: &mut String) {
    out.push('{');
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let name = last(entry, 10).map(text).or_else(|| {
            let number = last(entry, 1)?.number()?;
            interned.annotations.get(&number).cloned()
        });
        quoted(&name.unwrap_or_default(), out);
        out.push(':');
        annotation(entry, interned, deepest, out);
    }
    out.push('}');
}

fn annotation(entry: &[u8], interned: &Interned, deepest: usize, out: &mut String) {
    let mut entries = Vec::new();
    let mut values = Vec::new();
    let mut written = false;
    for (field, value) in Fields::of(entry) {
        let number = || value.number().unwrap_or(0);
        let begin = out.len();
        // Writing into a text does not fail.
        let _ = match field {
            2 => write!(out, "{}", number() != 0),
            3 => write!(out, "{}", number()),
            4 => write!(out, "{}", number() as i64),
            5 if value.double().is_finite() => write!(out, "{}", value.double()),
            5 => write!(out, "\"{}\"", value.double()),
            7 => write!(out, "\"{:#x}\"", number()),
            6 => {
                quoted(&text(value), out);
                Ok(())
            }
            17 => {
                quoted(interned.values.get(&number()).map_or("", String::as_str), out);
                Ok(())
            }
            9 => {
                let json = text(value);
                match serde_json::from_str::<serde_json::Value>(&json) {
                    Ok(_) => out.push_str(&json),
                    Err(_) => quoted(&json, out),
                }
                Ok(())
            }
            11 => {
                entries.push(value.bytes());
                Ok(())
            }
            12 => {
                values.push(value.bytes());
                Ok(())
            }
            _ => Ok(()),
        };
        written |= out.len() > begin;
        if written {
            return;
        }
    }
    match deepest.checked_sub(1) {
        Some(deepest) if !entries.is_empty() => dictionary(&entries, interned, deepest, out),
        Some(deepest) if !values.is_empty() => {
            out.push('[');
            for (at, value) in values.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                annotation(value, interned, deepest, out);
            }
            out.push(']');
        }
        _ => out.push_str("null"),
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
