//! An opened trace: its description, its units, and how they decode.

use std::cell::Cell;
use std::path::Path;

use super::classes::TraceClass;
use super::clock::{self, TimeBase};
use super::cursor::{Cursor, Stop};
use super::events::HeaderReader;
use super::layout::{self, Layout};
use super::packet;
use super::program;
use super::streams::{self, Packet, PacketStream};
use super::walk::State;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::select::Chosen;
use crate::{Clock, Damage, Error, EventType, Format, Info, Loss, LossKind, Result};

/// Small packets are decoded together: each unit makes its own batches.
const UNIT_BYTES: u64 = 4 << 20;
/// Of all events together: contexts make columns of each event.
const MOST_COLUMNS: usize = 1 << 20;
/// Ids up to here are found by a table, others by a map.
const TABLE_IDS: u64 = 1 << 16;

pub(super) struct Ctf {
    class: TraceClass,
    info: Info,
    files: Vec<Mapped>,
    streams: Vec<PacketStream>,
    layouts: Vec<Layout>,
    /// By stream class.
    headers: Vec<HeaderReader>,
    bases: Vec<TimeBase>,
    units: Vec<Unit>,
    /// Of each unit: its packets within its stream.
    ranges: Vec<std::ops::Range<usize>>,
    /// Where its streams begin among those of a session.
    first_stream: usize,
    /// Of each event type: its place among those of a session.
    tables: Vec<usize>,
}

impl Ctf {
    pub(super) fn new(metadata: &Path, class: TraceClass, files: Vec<Mapped>) -> Result<Self> {
        let mut columns = 0;
        let mut layouts = Vec::with_capacity(class.events.len());
        let mut events = Vec::with_capacity(class.events.len());
        for (at, event) in class.events.iter().enumerate() {
            let (fields, layout) = layout::compile(&class, at).map_err(|what| {
                Error::unsupported(metadata, format!("the event {} of {what}", event.name))
            })?;
            layouts.push(layout);
            columns += fields.len();
            if columns > MOST_COLUMNS {
                let what = format!("more than {MOST_COLUMNS} fields in all events");
                return Err(Error::unsupported(metadata, what));
            }
            let (name, system) = (event.name.clone(), event.system.clone());
            events.push(EventType { name, system, fields, print_format: String::new() });
        }
        name_apart(&mut events, &class);
        let main = class.streams.iter().find_map(|stream| stream.clock);
        let main_clock = main.map(|at| &class.clocks[at]);
        let base =
            |clock: Option<usize>| TimeBase::new(clock.map(|at| &class.clocks[at]), main_clock);
        let bases: Vec<TimeBase> = class.streams.iter().map(|stream| base(stream.clock)).collect();
        let scan = streams::scan(&class, &files);
        let mut losses = scan.not_covered(&bases);
        let mut notes = class.notes.clone();
        notes.extend(scan.notes);
        if class.streams.iter().any(|stream| stream.clock.is_some() && stream.clock != main) {
            notes.push(
                "its streams have several clocks: times were brought to the first by their offsets"
                    .into(),
            );
        }
        if main_clock.is_none() {
            notes.push("it describes no clock: stamps are taken as nanoseconds, none as 0".into());
        }
        for (at, stream) in scan.streams.iter().enumerate() {
            losses.extend(stream.losses(at, &bases[stream.class], &scan.cut, &mut notes));
            if stream
                .packets
                .iter()
                .any(|packet| packet.head.end == Some(0) && packet.end().is_none())
            {
                notes.push(format!(
                    "{}: the end of a packet is 0, as after a crash; it was taken from what follows",
                    stream.description.name
                ));
            }
        }
        let (units, ranges) = units(&scan.streams);
        let info = Info {
            format: if class.version == 2 { Format::Ctf2 } else { Format::Ctf1 },
            byte_order: class.byte_order,
            environment: class.environment.clone(),
            clock: Clock {
                name: main_clock.map_or_else(String::new, |clock| clock.name.clone()),
                frequency_hz: main_clock.map_or(1_000_000_000, |clock| clock.frequency),
                epoch_offset_ns: main_clock.filter(|clock| clock.unix).map(clock::epoch_offset_ns),
                uuid: main_clock.and_then(|clock| clock.uuid.clone()),
            },
            streams: scan.streams.iter().map(|stream| stream.description.clone()).collect(),
            events,
            tasks: Vec::new(),
            losses,
            damage: scan.damage,
            notes,
        };
        let headers = class.streams.iter().map(HeaderReader::new).collect();
        let streams = scan.streams;
        let tables = (0..info.events.len()).collect();
        Ok(Self {
            class,
            info,
            files,
            streams,
            layouts,
            headers,
            bases,
            units,
            ranges,
            first_stream: 0,
            tables,
        })
    }

    /// Makes it a part of a session: see the fields of these names.
    pub(super) fn place(&mut self, first_stream: usize, tables: Vec<usize>) {
        (self.first_stream, self.tables) = (first_stream, tables);
    }
}

/// Events of several stream classes may share a name; tables may not.
fn name_apart(events: &mut [EventType], class: &TraceClass) {
    let mut taken = std::collections::HashSet::new();
    for (event, of) in events.iter_mut().zip(&class.events) {
        if !taken.insert(event.name.clone()) {
            let stream = class.streams[of.stream].id;
            event.name = format!("{}#{stream}.{}", of.name, of.id);
            taken.insert(event.name.clone());
        }
    }
}

fn units(streams: &[PacketStream]) -> (Vec<Unit>, Vec<std::ops::Range<usize>>) {
    let (mut units, mut ranges): (Vec<Unit>, Vec<std::ops::Range<usize>>) = (vec![], vec![]);
    for (stream, of) in streams.iter().enumerate() {
        for (at, packet) in of.packets.iter().enumerate() {
            if let (Some(unit), Some(range)) = (units.last_mut(), ranges.last_mut())
                && unit.stream == stream
                && unit.cpu == packet.cpu()
                && unit.bytes + packet.bytes <= UNIT_BYTES
            {
                unit.bytes += packet.bytes;
                range.end += 1;
            } else {
                units.push(Unit { stream, cpu: packet.cpu(), bytes: packet.bytes });
                ranges.push(at..at + 1);
            }
        }
    }
    (units, ranges)
}

impl Source for Ctf {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let stream = self.units[unit].stream;
        let mut work = Work::new(self, stream, chosen);
        let packets = &self.streams[stream].packets;
        for at in self.ranges[unit].clone() {
            let next = packets.get(at + 1).and_then(|next| next.head.begin);
            work.packet(&packets[at], next, rows);
        }
        work.finish()
    }
}

/// An event class, projected to what is chosen of it.
struct Projected {
    event: usize,
    table: usize,
    chosen: bool,
    /// Events that were passed over, as they are not chosen.
    passed: Cell<u64>,
    layout: Layout,
}

/// The decoding of one unit.
struct Work<'a> {
    ctf: &'a Ctf,
    stream: usize,
    class: usize,
    chosen: &'a Chosen,
    /// By event class id; made when the class is first seen.
    table: Vec<Option<Box<Projected>>>,
    others: std::collections::HashMap<u64, Box<Projected>>,
    outcome: Outcome,
    faults: Faults,
    last: i64,
}

impl<'a> Work<'a> {
    fn new(ctf: &'a Ctf, stream: usize, chosen: &'a Chosen) -> Self {
        let class = ctf.streams[stream].class;
        let ids = ctf.class.streams[class].events.keys().filter(|&&id| id < TABLE_IDS);
        let mut table = Vec::new();
        table.resize_with(ids.max().map_or(0, |&id| id as usize + 1), || None);
        Self {
            ctf,
            stream,
            class,
            chosen,
            table,
            others: std::collections::HashMap::new(),
            outcome: Outcome::default(),
            faults: Faults::default(),
            last: i64::MIN,
        }
    }

    /// `next` is when the stream's next packet begins.
    fn packet(&mut self, packet: &Packet, next: Option<u64>, rows: &mut Rows) {
        let file = &self.ctf.files[packet.file];
        let bytes = &file[packet.offset as usize..(packet.offset + packet.bytes) as usize];
        let mut state = State::new(self.ctf.class.slots, bytes.len());
        // Read when the trace was opened; again for the values that events refer to.
        let Ok(head) = packet::head(&self.ctf.class, bytes, &mut state) else { return };
        let mut cursor = Cursor::new(bytes, packet.content_bits);
        let context = cursor.from(head.context_at);
        cursor.at = head.events_at;
        let mut clock = head.begin.unwrap_or(0);
        let mut whole = !packet.cut;
        while cursor.at < cursor.end {
            let before = cursor.at;
            let problem = match self.event(&mut cursor, &context, &mut clock, &mut state, rows) {
                Ok(()) if cursor.at > before => continue,
                Ok(()) => "an event that has no size".to_owned(),
                Err(Problem::Stop(Stop::Short)) if packet.cut => break,
                Err(Problem::Stop(stop)) => format!("an event's header: {stop}"),
                Err(Problem::Event(_, Stop::Short)) if packet.cut => break,
                Err(Problem::Event(event, stop)) => {
                    format!("the event {}: {stop}", self.ctf.info.events[event].name)
                }
                Err(Problem::Unknown(id)) => format!("an event of the unknown class {id}"),
            };
            whole = false;
            let left = (cursor.end - before).div_ceil(8);
            self.outcome.damage.push(Damage {
                file: file.path().to_owned(),
                offset: packet.offset + before / 8,
                stream: Some(self.ctf.first_stream + self.stream),
                what: format!("{problem}; the rest of its packet, {left} bytes, is left out"),
            });
            break;
        }
        if !whole {
            let base = &self.ctf.bases[self.class];
            self.outcome.losses.push(Loss {
                stream: self.ctf.first_stream + self.stream,
                kind: LossKind::Events,
                begin: Some(base.ns(clock)),
                end: next.map(|next| base.ns(next)),
                count: None,
            });
        }
        self.faults.late += u64::from(packet.end().is_some_and(|end| clock > end));
    }

    #[inline]
    fn event(
        &mut self,
        cursor: &mut Cursor,
        context: &Cursor,
        clock: &mut u64,
        state: &mut State,
        rows: &mut Rows,
    ) -> std::result::Result<(), Problem> {
        let begin = cursor.at;
        let header = self.ctf.headers[self.class].read(cursor, state, *clock)?;
        let known = self.table.get(header.id as usize).is_some_and(Option::is_some);
        if !known {
            self.learn(header.id)?;
        }
        let projected = match self.table.get(header.id as usize) {
            Some(Some(projected)) => projected,
            _ => &self.others[&header.id],
        };
        let (event, table) = (projected.event, projected.table);
        let layout = &projected.layout;
        let time = self.ctf.bases[self.class].ns(header.clock);
        if projected.chosen {
            let columns = rows.begin(table, time);
            let result = (|| {
                if !layout.packet.is_empty() {
                    program::run(&layout.packet, &mut context.clone(), state, columns)?;
                }
                if !layout.header.is_empty() {
                    let mut header = cursor.from(begin);
                    program::run(&layout.header, &mut header, state, columns)?;
                }
                program::run(&layout.body, cursor, state, columns)
            })();
            if let Err(stop) = result {
                rows.abandon(table);
                return Err(Problem::Event(event, stop));
            }
            if !self.chosen.at(time) {
                rows.abandon(table);
            }
        } else if let Err(stop) = program::run(&layout.body, cursor, state, &mut []) {
            return Err(Problem::Event(event, stop));
        } else {
            projected.passed.set(projected.passed.get() + 1);
        }
        *clock = header.clock;
        self.outcome.events += 1;
        self.faults.backwards += u64::from(time < self.last);
        self.last = time;
        let (first, last) = self.outcome.span.unwrap_or((time, time));
        self.outcome.span = Some((first.min(time), last.max(time)));
        Ok(())
    }

    #[cold]
    fn learn(&mut self, id: u64) -> std::result::Result<(), Problem> {
        if self.others.contains_key(&id) {
            return Ok(());
        }
        let events = &self.ctf.class.streams[self.class].events;
        let event = *events.get(&id).ok_or(Problem::Unknown(id))?;
        let table = self.ctf.tables[event];
        let fields = self.chosen.fields(table);
        let layout = self.ctf.layouts[event].project(fields);
        let chosen = fields.is_some();
        let projected = Projected { event, table, chosen, passed: Cell::new(0), layout };
        let projected = Box::new(projected);
        match self.table.get_mut(id as usize) {
            Some(place) => *place = Some(projected),
            None => {
                self.others.insert(id, projected);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome {
        let seen = self.table.iter().flatten().chain(self.others.values());
        let passed = seen.map(|projected| (projected.table, projected.passed.get()));
        self.outcome.passed = passed.filter(|&(_, count)| count > 0).collect();
        let name = &self.ctf.info.streams[self.stream].name;
        let Faults { backwards, late } = self.faults;
        if backwards > 0 {
            let often = if backwards == 1 { "once".into() } else { format!("{backwards} times") };
            let what = format!("{name}: time goes back {often}; the order is the file's");
            self.outcome.notes.push(what);
        }
        if late > 0 {
            let what =
                format!("{name}: events after the stated end of their packet, in {late} packets");
            self.outcome.notes.push(what);
        }
        self.outcome
    }
}

/// What producers do wrong without harm.
#[derive(Default)]
struct Faults {
    /// Events whose time is before that of the event before them.
    backwards: u64,
    /// Packets with events after their end.
    late: u64,
}

enum Problem {
    /// Within an event's header.
    Stop(Stop),
    Event(usize, Stop),
    Unknown(u64),
}

impl From<Stop> for Problem {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
