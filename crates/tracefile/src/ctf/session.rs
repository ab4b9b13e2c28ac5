//! The traces of a session as one: that of the kernel, and those of user space.
//!
//! LTTng writes a trace of its own for the kernel, for each user and word size, or for each process.
//! They count by one clock, whose identity (the boot's) they all state. What they say of the clock's
//! beginning is measured for each, and may differ by seconds when the time of day was set meanwhile.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::source::Ctf;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::select::Chosen;
use crate::{Error, EventType, Info, Result};

/// Beginnings of one clock that differ by less are not worth a remark, in nanoseconds.
const SAME_BEGINNING: u64 = 1_000_000;

pub(super) struct Session {
    parts: Vec<Ctf>,
    info: Info,
    units: Vec<Unit>,
    /// Of each unit: its part, and its number there.
    places: Vec<(usize, usize)>,
}

/// The traces found below a path as one source. They must count by one clock.
pub(super) fn joined(path: &Path, mut traces: Vec<(PathBuf, Ctf)>) -> Result<Box<dyn Source>> {
    if traces.len() == 1 {
        return Ok(Box::new(traces.remove(0).1));
    }
    let clock = |trace: &(PathBuf, Ctf)| trace.1.info().clock.uuid.clone();
    let first = clock(&traces[0]);
    let names: Vec<String> =
        traces.iter().map(|(directory, _)| name_below(path, directory)).collect();
    if first.is_none() || traces.iter().any(|trace| clock(trace) != first) {
        let reason = format!(
            "it holds {} traces that do not say that they share a clock; open one of them: {}",
            traces.len(),
            names.join(", ")
        );
        return Err(Error::NotATrace { path: path.to_owned(), reason });
    }
    Ok(Box::new(Session::new(names, traces.into_iter().map(|(_, trace)| trace).collect())))
}

fn name_below(path: &Path, directory: &Path) -> String {
    directory.strip_prefix(path).unwrap_or(directory).display().to_string()
}

impl Session {
    fn new(names: Vec<String>, mut parts: Vec<Ctf>) -> Self {
        let mut info = Info {
            environment: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            losses: Vec::new(),
            damage: Vec::new(),
            notes: Vec::new(),
            ..parts[0].info().clone()
        };
        let (mut units, mut places) = (Vec::new(), Vec::new());
        let mut tables = Tables::default();
        for (at, (name, part)) in names.iter().zip(&mut parts).enumerate() {
            let first_stream = info.streams.len();
            let events = part.info().events.iter().map(|event| tables.place(event)).collect();
            add(&mut info, name, part.info(), first_stream);
            for (unit, of) in part.units().iter().enumerate() {
                units.push(Unit { stream: first_stream + of.stream, ..*of });
                places.push((at, unit));
            }
            part.place(first_stream, events);
        }
        info.events = tables.events;
        Self { parts, info, units, places }
    }
}

/// The event types of all traces.
#[derive(Default)]
struct Tables {
    events: Vec<EventType>,
    /// Places of those that a trace calls so.
    by_name: HashMap<String, Vec<usize>>,
}

impl Tables {
    /// The place of an event type. Processes that are traced by themselves have the same ones; what
    /// only has the name of another gets a number.
    fn place(&mut self, event: &EventType) -> usize {
        let same = self.by_name.entry(event.name.clone()).or_default();
        let known = same.iter().copied().find(|&at| {
            let known = &self.events[at];
            known.fields == event.fields && known.system == event.system
        });
        if let Some(known) = known {
            return known;
        }
        let number = same.len() + 1;
        same.push(self.events.len());
        let name = match number {
            1 => event.name.clone(),
            _ => format!("{}#{number}", event.name),
        };
        self.events.push(EventType { name, ..event.clone() });
        self.events.len() - 1
    }
}

/// Adds what a trace says of itself, but its events.
fn add(info: &mut Info, name: &str, part: &Info, first_stream: usize) {
    for (key, value) in &part.environment {
        match info.environment.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) if values.split(", ").any(|known| known == value) => {}
            Some((_, values)) => *values = format!("{values}, {value}"),
            None => info.environment.push((key.clone(), value.clone())),
        }
    }
    if let (Some(first), Some(own)) = (info.clock.epoch_offset_ns, part.clock.epoch_offset_ns)
        && first.abs_diff(own) > SAME_BEGINNING
    {
        info.notes.push(format!(
            "{name}: its clock is said to have begun {:.6} s {} than that of the first trace, though \
             it is the same: times are that clock's, dates those of the first trace",
            first.abs_diff(own) as f64 / 1e9,
            if own > first { "later" } else { "earlier" },
        ));
    }
    info.streams.extend(part.streams.iter().cloned().map(|mut stream| {
        stream.name = format!("{name}/{}", stream.name);
        stream
    }));
    let placed = |stream: usize| first_stream + stream;
    info.losses.extend(part.losses.iter().cloned().map(|mut loss| {
        loss.stream = placed(loss.stream);
        loss
    }));
    info.damage.extend(part.damage.iter().cloned().map(|mut damage| {
        damage.stream = damage.stream.map(placed);
        damage
    }));
    info.notes.extend(part.notes.iter().map(|note| format!("{name}: {note}")));
}

impl Source for Session {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let (part, unit) = self.places[unit];
        self.parts[part].decode(unit, chosen, rows)
    }
}
