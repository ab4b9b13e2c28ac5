//! ftrace's text: the `trace` file of tracefs, `trace-cmd report`, Android's systrace (HTML or text).
//!
//! ```text
//! lines ─→ where each event is, by CPU; which fields its type has ─→ units ─→ columns
//! ```
//! Types, fields and their kinds are those that occur. The tables have the names and, where the text
//! tells them, the values of the binary recording.

mod fields;
mod line;
mod schema;

use std::collections::{BTreeMap, HashMap};

use crate::columns::Column;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::places::{Home, Place, Placed};
use crate::select::Chosen;
use crate::text::line::{Name, Said};
use crate::text::schema::{Schema, SchemaBuilder};
use crate::{ByteOrder, Clock, Damage, Error, EventType, Format, Info, Loss, LossKind, Result};

/// Bytes in which the first event of a text is looked for: systrace puts a page's head before it.
const LOOK: usize = 4 << 20;
/// Event types; more are what is no event, as the messages of `trace_printk`.
const MOST_TYPES: usize = 4000;

/// An opened text.
pub(crate) struct Text {
    file: Mapped,
    info: Info,
    schemas: Vec<Schema>,
    placed: Placed,
}

/// Whether a file is such a text.
pub(crate) fn looks_like(file: &[u8]) -> bool {
    let head = &file[..file.len().min(LOOK)];
    if memchr::memchr(0, &head[..head.len().min(4096)]).is_some() {
        return false;
    }
    head.split(|&c| c == b'\n').any(|line| {
        std::str::from_utf8(line)
            .is_ok_and(|line| matches!(line::read(plain(line)), Said::Event(_)))
    })
}

/// A line without what a browser's script has around it.
fn plain(line: &str) -> &str {
    // Legacy systrace is a string of JavaScript: its lines end in `\n\`.
    line.trim_end_matches('\r').trim_end_matches('\\').trim_end_matches("\\n")
}

/// Opens a text that [`looks_like`] it.
pub(crate) fn open(file: Mapped) -> Result<Text> {
    let path = file.path().to_owned();
    let mut reading = Reading::default();
    let mut at = 0;
    for line in file.split_inclusive(|&c| c == b'\n') {
        reading.line(line, at)?;
        at += line.len();
    }
    let Reading { types, cpus, losses, tasks, tasks_of, mut notes, .. } = reading;
    let (mut schemas, mut events) = (Vec::new(), Vec::new());
    for (name, builder) in types {
        let (schema, fields) = builder.build();
        schemas.push(schema);
        events.push(EventType { name, system: String::new(), fields, print_format: String::new() });
    }
    notes.push(
        "a text: values are those that were written, functions are names, and times as exact as it \
         has them"
            .into(),
    );
    let mut placed = Placed::new(cpus, &path);
    let losses = losses.into_iter().filter_map(|(cpu, count, begin, end)| {
        let stream = placed.stream_of(cpu)?;
        Some(Loss { stream, kind: LossKind::Events, begin, end, count })
    });
    let losses = losses.collect();
    let info = Info {
        format: Format::FtraceText,
        byte_order: ByteOrder::Little,
        environment: vec![
            ("domain".into(), "kernel".into()),
            ("tracer_name".into(), "ftrace".into()),
        ],
        clock: Clock {
            name: "unknown".into(),
            frequency_hz: 1_000_000_000,
            epoch_offset_ns: None,
            uuid: None,
        },
        streams: std::mem::take(&mut placed.streams),
        events,
        tasks: tasks.into_iter().map(|pid| (pid, tasks_of[&pid].clone())).collect(),
        losses,
        damage: Vec::new(),
        notes,
    };
    Ok(Text { file, info, schemas, placed })
}

/// A loss: CPU, number of events, time of the CPU's events before and behind it.
type Lost = (u16, Option<u64>, Option<i64>, Option<i64>);

/// What was read of the lines so far.
#[derive(Default)]
struct Reading {
    types: Vec<(String, SchemaBuilder)>,
    numbers: HashMap<String, u16>,
    cpus: BTreeMap<u16, Vec<Place>>,
    losses: Vec<Lost>,
    /// Losses of CPUs whose next event has not come yet.
    open: HashMap<u16, usize>,
    tasks: Vec<i32>,
    tasks_of: HashMap<i32, String>,
    notes: Vec<String>,
}

impl Reading {
    fn line(&mut self, bytes: &[u8], at: usize) -> Result<()> {
        let Ok(text) = std::str::from_utf8(bytes) else { return self.lossy(bytes, at) };
        self.read(text.trim_end_matches('\n'), at, bytes.len())
    }

    /// A line with bytes that are no UTF-8, as names of threads may have.
    #[cold]
    fn lossy(&mut self, bytes: &[u8], at: usize) -> Result<()> {
        let text = String::from_utf8_lossy(bytes);
        self.read(text.trim_end_matches('\n'), at, bytes.len())
    }

    fn read(&mut self, text: &str, at: usize, length: usize) -> Result<()> {
        let text = plain(text);
        match line::read(text) {
            Said::Event(line) => {
                let event = self.number(line.event);
                self.types[usize::from(event)].1.learn(&line);
                if !self.tasks_of.contains_key(&line.pid) && line.task != "<...>" && line.pid != 0 {
                    self.tasks.push(line.pid);
                    self.tasks_of.insert(line.pid, line.task.to_owned());
                }
                if let Some(loss) = self.open.remove(&line.cpu) {
                    self.losses[loss].3 = Some(line.time);
                }
                let length = u32::try_from(length)
                    .map_err(|_| Error::TooMuch("a line of more than 4 GB".into()))?;
                let places = self.cpus.entry(line.cpu).or_default();
                places.push(Place { time: line.time, at, length, event, home: Home::File });
            }
            Said::Lost { cpu, count } => {
                let before = self.cpus.entry(cpu).or_default().last().map(|place| place.time);
                self.open.insert(cpu, self.losses.len());
                self.losses.push((cpu, count, before, None));
            }
            Said::Other => self.heading(text),
        }
        Ok(())
    }

    /// `# entries-in-buffer/entries-written: 140/250   #P:4`.
    fn heading(&mut self, text: &str) {
        let Some((_, counts)) = text.split_once("entries-in-buffer/entries-written:") else {
            return;
        };
        let mut numbers = counts.trim().split(['/', ' ']).map(str::parse::<u64>);
        if let (Some(Ok(kept)), Some(Ok(written))) = (numbers.next(), numbers.next())
            && written > kept
        {
            self.notes.push(format!(
                "{} events were overwritten before the text was written: it begins late",
                written - kept
            ));
        }
    }

    fn number(&mut self, name: Name<'_>) -> u16 {
        let plain = match name {
            Name::Plain(name) if name != "tracing_mark_write" => self.numbers.get(name).copied(),
            _ => None,
        };
        if let Some(number) = plain {
            return number;
        }
        let mut table = name.table();
        if self.types.len() >= MOST_TYPES && !self.numbers.contains_key(&table) {
            table = "unknown".into();
        }
        if let Some(&number) = self.numbers.get(&table) {
            return number;
        }
        let number = self.types.len() as u16;
        self.numbers.insert(table.clone(), number);
        self.types.push((table.clone(), SchemaBuilder::new(&table)));
        number
    }
}

impl Source for Text {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.placed.units
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        self.placed.of(unit).and_then(Placed::span).unzip()
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let places = self.placed.of(unit).unwrap_or_default();
        let mut outcome = Outcome {
            events: places.len() as u64,
            span: Placed::span(places),
            ..Outcome::default()
        };
        for place in places {
            let event = usize::from(place.event);
            let Some(fields) = chosen.fields(event).filter(|_| chosen.at(place.time)) else {
                continue;
            };
            let bytes = &self.file[place.at..place.at + place.length as usize];
            let text = String::from_utf8_lossy(bytes);
            match line::read(plain(text.trim_end_matches('\n'))) {
                Said::Event(line) => {
                    let columns: &mut [Column] = rows.begin(event, place.time);
                    self.schemas[event].push(&line, fields, columns);
                }
                // The file was changed since it was opened.
                _ => outcome.damage.push(Damage {
                    file: self.file.path().to_owned(),
                    offset: place.at as u64,
                    stream: Some(self.placed.units[unit].stream),
                    what: "a line that told of an event, and does no more".into(),
                }),
            }
        }
        outcome
    }
}
