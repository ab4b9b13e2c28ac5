//! Chrome's JSON (the trace event format): what Chromium, Node.js, PyTorch, Bazel, clang's
//! `-ftime-trace` and others write. An object with `traceEvents`, or the array alone, whose end may
//! be missing.
//!
//! Method: <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.

mod scan;

use std::collections::BTreeMap;

use crate::columns::Column;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::select::Chosen;
use crate::slices::{Builder, NO_TEXT, Owner, Slices, Span};
use crate::{ByteOrder, Clock, Damage, Format, Info, Result, Stream};
use scan::{Scanner, elements, members, nanoseconds, text};

/// Events in a unit.
pub(crate) const UNIT: usize = 1 << 16;
/// Events of an array of which one has to have a phase.
const LOOK: usize = 16;

/// An opened file.
pub(crate) struct Chrome {
    file: Mapped,
    info: Info,
    slices: Slices,
    units: Vec<Unit>,
}

/// Whether a file is such JSON: it begins as an array of objects or as an object, and has a phase or
/// the name of the array near its begin.
pub(crate) fn looks_like(file: &[u8]) -> bool {
    let mut scanner = Scanner::new(file);
    match scanner.peek() {
        Some(b'[') => {
            scanner.skip(b'[');
            // Some programs write an empty object for what they leave out.
            (0..LOOK).any(|_| {
                scanner.skip(b',');
                scanner.peek() == Some(b'{')
                    && scanner
                        .value()
                        .is_some_and(|event| members(event).any(|(name, _)| name == "ph"))
            })
        }
        Some(b'{') => {
            scanner.skip(b'{');
            while scanner.peek() == Some(b'"') || scanner.skip(b',') {
                let Some(name) = scanner.value() else { return false };
                if !scanner.skip(b':') {
                    return false;
                }
                if text(name) == "traceEvents" {
                    return scanner.peek() == Some(b'[');
                }
                if scanner.value().is_none() {
                    return false;
                }
            }
            false
        }
        _ => false,
    }
}

/// Opens a file that [`looks_like`] it.
pub(crate) fn open(file: Mapped) -> Result<Chrome> {
    let path = file.path().to_owned();
    let mut reading = Reading::default();
    let cut = reading.read(&file);
    let damage = cut.into_iter().map(|(offset, what)| Damage {
        file: path.clone(),
        offset: offset as u64,
        stream: None,
        what: what.into(),
    });
    let Reading { builder, mut notes, environment, left_out, .. } = reading;
    for (what, count) in left_out {
        notes.push(format!("{count} {what}"));
    }
    let slices = builder.finish(&mut notes);
    let count = slices.rows.len();
    let mut units = Vec::new();
    for begin in (0..count).step_by(UNIT) {
        let events = (begin + UNIT).min(count) - begin;
        let bytes = (file.len() as u64).saturating_mul(events as u64) / count as u64;
        units.push(Unit { stream: 0, cpu: None, bytes });
    }
    let info = Info {
        format: Format::ChromeJson,
        byte_order: ByteOrder::Little,
        environment,
        clock: Clock {
            name: "unknown".into(),
            frequency_hz: 1_000_000_000,
            epoch_offset_ns: None,
            uuid: None,
        },
        streams: vec![Stream {
            name: "traceEvents".into(),
            cpu: None,
            files: vec![path.clone()],
            bytes: file.len() as u64,
        }],
        events: slices.types(),
        tasks: slices.tasks(),
        losses: Vec::new(),
        damage: damage.collect(),
        notes,
    };
    Ok(Chrome { file, info, slices, units })
}

#[derive(Default)]
struct Reading {
    builder: Builder,
    notes: Vec<String>,
    environment: Vec<(String, String)>,
    /// What is not shown, and how many.
    left_out: BTreeMap<&'static str, u64>,
}

/// The members of an event that mean something.
#[derive(Default)]
struct Told<'a> {
    phase: u8,
    time: Option<i64>,
    length: Option<i64>,
    name: Option<&'a [u8]>,
    category: Option<&'a [u8]>,
    process: Option<&'a [u8]>,
    thread: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    ids: Option<&'a [u8]>,
    args: Option<&'a [u8]>,
}

impl Reading {
    /// Reads all; returns where and why it ended early.
    fn read(&mut self, file: &[u8]) -> Option<(usize, &'static str)> {
        let mut scanner = Scanner::new(file);
        if scanner.peek() == Some(b'[') {
            // An array alone may be without its end: a program that died could not write it.
            return self.events(&mut scanner, file).err();
        }
        scanner.skip(b'{');
        loop {
            scanner.skip(b',');
            if scanner.skip(b'}') {
                return None;
            }
            let begin = scanner.at;
            let name = match scanner.value() {
                Some(name) if scanner.skip(b':') => text(name),
                _ => return Some((begin, "the object ends here without a `}`")),
            };
            if name == "traceEvents" && scanner.peek() == Some(b'[') {
                if let Err(cut) = self.events(&mut scanner, file) {
                    return Some(cut);
                }
                continue;
            }
            let Some(value) = scanner.value() else {
                return Some((begin, "the file ends within this value"));
            };
            match &*name {
                "systemTraceEvents" => self.notes.push(
                    "the kernel's events in systemTraceEvents are left out: save that text as a file \
                     of its own"
                        .into(),
                ),
                "samples" if value.len() > 2 => {
                    *self.left_out.entry("samples of stacks are left out").or_default() +=
                        elements(value).count() as u64;
                }
                "metadata" | "otherData" => {
                    for (name, value) in members(value) {
                        if self.environment.len() < 100 && value.len() < 1000 {
                            self.environment.push((name.into(), text(value).into()));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn events(
        &mut self,
        scanner: &mut Scanner<'_>,
        file: &[u8],
    ) -> std::result::Result<(), (usize, &'static str)> {
        scanner.skip(b'[');
        loop {
            scanner.skip(b',');
            match scanner.peek() {
                None => return Ok(()),
                Some(b']') => {
                    scanner.skip(b']');
                    return Ok(());
                }
                Some(_) => {}
            }
            let begin = scanner.at;
            let Some(event) = scanner.value() else {
                return Err((begin, "the file ends within this event, or it is no JSON"));
            };
            if event.first() == Some(&b'{') {
                self.event(event, file);
            } else {
                *self.left_out.entry("elements of traceEvents are no events").or_default() += 1;
            }
        }
    }

    fn event(&mut self, event: &[u8], file: &[u8]) {
        let mut told = Told::default();
        for (name, value) in members(event) {
            match &*name {
                "ph" => told.phase = text(value).bytes().next().unwrap_or(0),
                "ts" => told.time = nanoseconds(value),
                "dur" => told.length = nanoseconds(value),
                "name" => told.name = Some(value),
                "cat" => told.category = Some(value),
                "pid" => told.process = Some(value),
                "tid" => told.thread = Some(value),
                "id" => told.id = Some(value),
                "id2" => told.ids = Some(value),
                "args" if value.len() > 2 => told.args = Some(value),
                _ => {}
            }
        }
        let process = told.process.map_or(0, |value| self.identity(value));
        let thread = told.thread.map_or(0, |value| self.identity(value));
        if told.phase == b'M' {
            return self.name(&told, process, thread);
        }
        let Some(time) = told.time else {
            *self.left_out.entry("events without a time are left out").or_default() += 1;
            return;
        };
        let detail = told.args.map_or(Span { at: 0, length: 0 }, |args| Span {
            at: args.as_ptr().addr().saturating_sub(file.as_ptr().addr()) as u64,
            length: u32::try_from(args.len()).unwrap_or(0),
        });
        let name = told.name.map_or(NO_TEXT, |name| self.builder.text(&text(name)));
        let category = told.category.map_or(NO_TEXT, |value| self.builder.text(&text(value)));
        let owner = Owner::Thread(process, thread);
        match told.phase {
            b'B' => self.builder.begin(owner, time, name, category, detail),
            b'E' => {
                let name = told.name.filter(|name| name.len() > 2).map(|_| name);
                self.builder.end(owner, time, name, detail);
            }
            b'X' => {
                // Without a length it is one that has not ended.
                let length = told.length.unwrap_or(-1);
                self.builder.whole(owner, (time, length), name, category, detail);
            }
            b'b' | b'S' => self.builder.begin(
                Self::operation(&told, process, category),
                time,
                name,
                category,
                detail,
            ),
            b'e' | b'F' => {
                let owner = Self::operation(&told, process, category);
                let name = (told.phase == b'e' && name != NO_TEXT).then_some(name);
                self.builder.end(owner, time, name, detail);
            }
            b'n' | b'T' | b'p' => {
                let owner = Self::operation(&told, process, category);
                self.builder.instant(owner, time, told.phase, (name, category), detail);
            }
            b's' | b't' | b'f' => {
                let id = told.id.map(text).unwrap_or_default();
                let id = self.builder.text(&id);
                let step = match told.phase {
                    b's' => "begin",
                    b't' => "step",
                    _ => "end",
                };
                let step = self.builder.text(step);
                self.builder.flow(owner, time, (name, category), id, step);
            }
            b'C' => {
                let name = told.name.map(text).unwrap_or_default();
                let name = match told.id {
                    Some(id) => format!("{name} {}", text(id)),
                    None => name.into_owned(),
                };
                let series: Vec<_> = told.args.into_iter().flat_map(members).collect();
                let values = series.iter().filter_map(|(name, value)| {
                    let value: f64 = text(value).trim().parse().ok()?;
                    value.is_finite().then_some((&**name, value))
                });
                self.builder.counter(Some(process), &name, time, values);
            }
            // Instants, and what has no place of its own: snapshots of objects, samples, dumps of
            // memory, marks that line up clocks.
            phase if phase.is_ascii_graphic() => {
                self.builder.instant(owner, time, phase, (name, category), detail);
            }
            _ => *self.left_out.entry("events without a phase are left out").or_default() += 1,
        }
    }

    /// Whose the slices are that an id holds together: of all processes, unless it is local.
    fn operation(told: &Told<'_>, process: i64, category: u32) -> Owner {
        let mut of = Some(process);
        let mut id = told.id.map(text).unwrap_or_default().into_owned();
        for (scope, value) in told.ids.into_iter().flat_map(members) {
            of = (scope != "global").then_some(process);
            id = text(value).into_owned();
        }
        Owner::Async(of, category, id)
    }

    /// Names of processes and threads.
    fn name(&mut self, told: &Told<'_>, process: i64, thread: i64) {
        let name = told.args.into_iter().flat_map(members).find(|(of, _)| of == "name");
        let Some((_, name)) = name else { return };
        let name = text(name).into_owned();
        match told.name.map(text).as_deref() {
            Some("process_name") => drop(self.builder.processes.insert(process, name)),
            Some("thread_name") => drop(self.builder.threads.insert((process, thread), name)),
            _ => {}
        }
    }

    /// A process or thread, which may have a text for a number.
    fn identity(&mut self, value: &[u8]) -> i64 {
        let text = text(value);
        match text.trim().parse::<i64>() {
            Ok(number) if number > i64::MIN / 2 => number,
            _ => self.builder.identify(&text),
        }
    }
}

impl Source for Chrome {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        let rows = self.rows(unit);
        (rows.first().map(|row| row.time), rows.last().map(|row| row.time))
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let own = self.rows(unit);
        for &row in own {
            let event = self.slices.event(row);
            if let Some(fields) = chosen.fields(event).filter(|_| chosen.at(row.time)) {
                let columns: &mut [Column] = rows.begin(event, row.time);
                self.slices.push(row, &self.file, fields, columns);
            }
        }
        Outcome {
            events: own.len() as u64,
            span: own.first().zip(own.last()).map(|(a, b)| (a.time, b.time)),
            ..Outcome::default()
        }
    }
}

impl Chrome {
    fn rows(&self, unit: usize) -> &[crate::slices::Row] {
        let begin = unit * UNIT;
        &self.slices.rows[begin..(begin + UNIT).min(self.slices.rows.len())]
    }
}
