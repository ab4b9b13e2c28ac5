//! Perfetto's protocol buffers: events of the kernel as tables with its names and fields, what
//! programs tell as slices, instants, flows and counters.
//!
//! ```text
//! packets ─→ snapshots of clocks ─→ by CPU, where each kernel event is  ─→ units ─→ columns
//!                               └→ track events ─→ slices::Builder ────┘
//! ```
//! Numbers of messages and fields are those of the public protocol definitions (`protos/perfetto`).
//! Packets of other data sources are left out and counted.

mod clocks;
mod ftrace;
mod track_events;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::columns::Column;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::select::Chosen;
use crate::slices::{Builder, Slices};
use crate::{ByteOrder, Clock, Damage, Error, Format, Info, Loss, LossKind, Result, Stream};
use clocks::{BOOTTIME, Clocks};
use ftrace::{GENERIC, Told, Type};
use track_events::{Sequence, Tracks};
use wire::{Fields, Value, last, numbers, text};

/// Messages of switches and wakes.
const SWITCH: u32 = 4;
const WAKING: u32 = 20;
/// The first switch of a CPU that stands in columns does not tell who ran before, and what stands
/// before it does not tell who ran: types of their own, as no thread may be said to have.
const SWITCH_OF_UNKNOWN: u32 = u32::MAX;
const WAKING_BY_UNKNOWN: u32 = u32::MAX - 1;

/// Events in a unit.
const UNIT: usize = 1 << 16;
/// Bytes that compressed packets of a file may unpack to.
const MOST_UNPACKED: u64 = 4 << 30;
/// Types of events of the kernel.
const MOST_TYPES: usize = 20_000;

/// Where an event of the kernel is.
#[derive(Debug, Clone, Copy)]
struct Place {
    time: i64,
    at: usize,
    length: u32,
    event: u16,
    /// In the file, in unpacked packets, or what was written together with others of its kind.
    of: Home,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    File,
    Unpacked,
    Compact,
}

/// What a part of the events is.
#[derive(Debug)]
enum Part {
    Kernel(usize, Range<usize>),
    Programs(Range<usize>),
}

/// An opened file.
pub(crate) struct Perfetto {
    file: Mapped,
    unpacked: Vec<u8>,
    /// Events that the file keeps in columns, as the messages that they would be.
    compact: Vec<u8>,
    info: Info,
    types: Vec<Type>,
    /// By stream, and in order of time.
    places: Vec<Vec<Place>>,
    slices: Slices,
    details: Vec<u8>,
    units: Vec<Unit>,
    parts: Vec<Part>,
    symbols: HashMap<u64, String>,
}

/// Whether a file is such a trace: its first packets are whole.
pub(crate) fn looks_like(file: &[u8]) -> bool {
    let mut packets = Fields::of(file);
    let mut told = false;
    for _ in 0..3 {
        match packets.next() {
            Some((1, Value::Bytes(packet))) => {
                let mut fields = Fields::of(packet);
                told |= fields.by_ref().count() > 0;
                if fields.damaged {
                    return false;
                }
            }
            Some(_) => return false,
            None => break,
        }
    }
    told
}

/// Opens a file that [`looks_like`] it.
pub(crate) fn open(file: Mapped) -> Result<Perfetto> {
    let path = file.path().to_owned();
    let mut damage = Vec::new();
    let mut unpacked = Vec::new();
    let packets = packets(&file, &mut unpacked, &mut damage);
    let bytes_of = |packet: &(bool, Range<usize>)| {
        let from: &[u8] = if packet.0 { &unpacked } else { &file };
        &from[packet.1.clone()]
    };
    let snapshots: Vec<&[u8]> = packets
        .iter()
        .flat_map(|packet| Fields::of(bytes_of(packet)))
        .filter(|(number, _)| *number == 6)
        .map(|(_, value)| value.bytes())
        .collect();
    let mut reading = Reading {
        clocks: Clocks::new(&snapshots),
        known: known(),
        types: Vec::new(),
        numbers: HashMap::new(),
        names: HashMap::new(),
        described: HashMap::new(),
        cpus: BTreeMap::new(),
        compact: Vec::new(),
        running: HashMap::new(),
        losses: Vec::new(),
        sequences: HashMap::new(),
        tracks: Tracks::default(),
        builder: Builder::default(),
        tasks: BTreeMap::new(),
        environment: Vec::new(),
        symbols: HashMap::new(),
        left_out: BTreeMap::new(),
    };
    for packet in &packets {
        let from: &[u8] = if packet.0 { &unpacked } else { &file };
        let home = if packet.0 { Home::Unpacked } else { Home::File };
        reading.packet(bytes_of(packet), from, home)?;
    }
    let Reading {
        clocks,
        mut types,
        mut cpus,
        compact,
        losses,
        tracks,
        mut builder,
        tasks,
        environment,
        symbols,
        left_out,
        ..
    } = reading;
    tracks.name(&mut builder);
    for ((process, thread), name) in &tasks {
        builder.threads.entry((*process, *thread)).or_insert_with(|| name.clone());
    }
    let mut notes: Vec<String> =
        left_out.into_iter().map(|(what, count)| format!("{count} {what}")).collect();
    if clocks.unknown > 0 {
        notes.push(format!(
            "{} stamps of clocks that no snapshot lines up: they are taken as they are",
            clocks.unknown
        ));
    }
    let slices = builder.finish(&mut notes);
    let mut events: Vec<_> = types
        .iter_mut()
        .map(|of| {
            let name = of.name().to_owned();
            of.describe(name)
        })
        .collect();
    events.extend(slices.types());
    let mut all: Vec<(i32, String)> = tasks
        .into_iter()
        .filter_map(|((_, thread), name)| Some((i32::try_from(thread).ok()?, name)))
        .collect();
    all.extend(slices.tasks());
    all.sort_by_key(|(thread, _)| *thread);
    all.dedup_by_key(|(thread, _)| *thread);
    let (mut streams, mut units, mut parts, mut places) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut stream_of = HashMap::new();
    for (cpu, own) in &mut cpus {
        let stream = streams.len();
        stream_of.insert(*cpu, stream);
        if !own.is_sorted_by_key(|place| place.time) {
            own.sort_by_key(|place| place.time);
        }
        streams.push(Stream {
            name: format!("cpu {cpu}"),
            cpu: Some(*cpu),
            files: vec![path.clone()],
            bytes: size(own),
        });
        for begin in (0..own.len()).step_by(UNIT) {
            let range = begin..(begin + UNIT).min(own.len());
            units.push(Unit { stream, cpu: Some(*cpu), bytes: size(&own[range.clone()]) });
            parts.push(Part::Kernel(stream, range));
        }
        places.push(std::mem::take(own));
    }
    if !slices.rows.is_empty() {
        let stream = streams.len();
        let bytes = slices.rows.len() as u64 * 16;
        let (name, files) = ("track events".into(), vec![path.clone()]);
        streams.push(Stream { name, cpu: None, files, bytes });
        for begin in (0..slices.rows.len()).step_by(UNIT) {
            let range = begin..(begin + UNIT).min(slices.rows.len());
            units.push(Unit { stream, cpu: None, bytes: range.len() as u64 * 16 });
            parts.push(Part::Programs(range));
        }
    }
    let losses = losses.into_iter().filter_map(|(cpu, begin, end)| {
        let stream = *stream_of.get(&cpu)?;
        Some(Loss { stream, kind: LossKind::Events, begin, end: Some(end), count: None })
    });
    let info = Info {
        format: Format::Perfetto,
        byte_order: ByteOrder::Little,
        environment,
        clock: Clock {
            name: if clocks.main == BOOTTIME { "boot" } else { "mono" }.into(),
            frequency_hz: 1_000_000_000,
            epoch_offset_ns: clocks.epoch(),
            uuid: None,
        },
        streams,
        events,
        tasks: all,
        losses: losses.collect(),
        damage: damage
            .into_iter()
            .map(|(offset, what)| Damage {
                file: path.clone(),
                offset: offset as u64,
                stream: None,
                what,
            })
            .collect(),
        notes,
    };
    let details = tracks.details;
    Ok(Perfetto {
        file,
        unpacked,
        compact,
        info,
        types,
        places,
        slices,
        details,
        units,
        parts,
        symbols,
    })
}

fn size(places: &[Place]) -> u64 {
    places.iter().map(|place| u64::from(place.length)).sum()
}

/// Where the packets are: whether in what was unpacked, and where.
fn packets(
    file: &[u8],
    unpacked: &mut Vec<u8>,
    damage: &mut Vec<(usize, String)>,
) -> Vec<(bool, Range<usize>)> {
    let mut packets = Vec::new();
    let mut outer = Fields::of(file);
    while let Some((number, value)) = outer.next() {
        let (1, Value::Bytes(packet)) = (number, value) else { continue };
        let begin = outer.at - packet.len();
        let mut fields = Fields::of(packet);
        let mut whole = true;
        for (number, value) in fields.by_ref() {
            if number != 50 {
                continue;
            }
            whole = false;
            let from = unpacked.len();
            let most = MOST_UNPACKED - from as u64;
            let decoder = flate2::read::ZlibDecoder::new(value.bytes());
            let read =
                std::io::Read::read_to_end(&mut std::io::Read::take(decoder, most), unpacked);
            if let Err(error) = read {
                damage.push((begin, format!("compressed packets: {error}")));
            }
            let mut inner = Fields::of(&unpacked[from..]);
            while let Some((number, value)) = inner.next() {
                if let (1, Value::Bytes(packet)) = (number, value) {
                    let end = from + inner.at;
                    packets.push((true, end - packet.len()..end));
                }
            }
        }
        if fields.damaged {
            damage.push((begin, "a packet that is no message: what follows in it is lost".into()));
        }
        if whole {
            packets.push((false, begin..outer.at));
        }
    }
    if outer.damaged {
        damage.push((outer.at.min(file.len()), "the file ends within a packet".into()));
    }
    packets
}

/// What was read of the packets so far.
struct Reading {
    clocks: Clocks,
    known: HashMap<u32, (&'static str, &'static str)>,
    types: Vec<Type>,
    /// Types by the number of their message, and by name where the event brings it along.
    numbers: HashMap<u32, u16>,
    names: HashMap<String, u16>,
    /// Events that the file describes: group and descriptor.
    described: HashMap<u32, (String, Vec<u8>)>,
    cpus: BTreeMap<u16, Vec<Place>>,
    compact: Vec<u8>,
    /// Number and name of the thread that runs, by CPU.
    running: HashMap<u16, (i32, Vec<u8>)>,
    losses: Vec<(u16, Option<i64>, i64)>,
    sequences: HashMap<u64, Sequence>,
    tracks: Tracks,
    builder: Builder,
    /// Names of threads by process and thread.
    tasks: BTreeMap<(i64, i64), String>,
    environment: Vec<(String, String)>,
    symbols: HashMap<u64, String>,
    left_out: BTreeMap<String, u64>,
}

impl Reading {
    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    fn packet(&mut self, packet: &[u8], file: &[u8], home: Home) -> Result<()> {
        let number = |field| last(packet, field).and_then(|value| value.number());
        let id = number(10).unwrap_or(0);
        let flags = number(13).unwrap_or(0);
        let sequence = self.sequences.entry(id).or_default();
        if flags & 1 != 0 || number(41).unwrap_or(0) != 0 {
            *sequence = Sequence::default();
            sequence.valid = true;
        }
        if number(42).unwrap_or(0) != 0 {
            sequence.valid = flags & 1 != 0;
            self.leave_out("times a writer lost packets: slices beside these may lack ends");
        }
        let sequence = self.sequences.entry(id).or_default();
        for (field, value) in Fields::of(packet) {
            match field {
                6 => self.clocks.snapshot(id, value.bytes()),
                12 | 59 | 44 => sequence.keep(field, value),
                _ => {}
            }
        }
        for (_, data) in Fields::of(packet).filter(|(field, _)| *field == 12) {
            for (_, symbol) in Fields::of(data.bytes()).filter(|(field, _)| *field == 26) {
                let number = last(symbol.bytes(), 1).and_then(|value| value.number());
                if let (Some(number), Some(name)) = (number, last(symbol.bytes(), 2)) {
                    self.symbols.insert(number, text(name));
                }
            }
        }
        let usable = sequence.valid || flags & 2 == 0;
        let clock = number(58).or(sequence.clock).unwrap_or(self.clocks.main);
        let time = number(8).map(|stamp| self.clocks.time(id, clock, stamp));
        for (field, value) in Fields::of(packet) {
            match field {
                1 => self.bundle(value.bytes(), file, home)?,
                11 => {
                    let sequence = self.sequences.entry(id).or_default();
                    let read = usable
                        && self.tracks.event(value.bytes(), time, sequence, &mut self.builder);
                    if !read {
                        self.leave_out("track events are left out: what they refer to is missing");
                    }
                }
                60 => self.tracks.describe(value.bytes(), &mut self.builder),
                2 => self.processes(value.bytes()),
                43 => {
                    let number = last(value.bytes(), 1).and_then(|value| value.number());
                    if let (Some(process), Some(name)) = (number, last(value.bytes(), 6)) {
                        self.builder.processes.insert(process as i64, text(name));
                    }
                }
                45 => self.system(value.bytes()),
                44 => {
                    let number = |field| last(value.bytes(), field).and_then(|v| v.number());
                    if let (Some(process), Some(thread), Some(name)) =
                        (number(1), number(2), last(value.bytes(), 5))
                    {
                        let key = (process as i64, thread as i64);
                        self.builder.threads.insert(key, text(name));
                    }
                }
                9 => self.leave_out("packets of process_stats are left out"),
                7 => self.leave_out("packets of sys_stats are left out"),
                66 => self.leave_out("packets of perf_sample are left out"),
                _ => {}
            }
        }
        Ok(())
    }

    fn system(&mut self, info: &[u8]) {
        for (field, value) in Fields::of(info) {
            match field {
                1 => {
                    for (field, value) in Fields::of(value.bytes()) {
                        let name = match field {
                            1 => "sysname",
                            2 => "kernel_version",
                            3 => "kernel_release",
                            4 => "machine",
                            _ => continue,
                        };
                        self.environment.push((name.into(), text(value)));
                    }
                }
                2 => self.environment.push(("android_build".into(), text(value))),
                4 => self.environment.push(("tracer_version".into(), text(value))),
                17 => self.environment.push(("hostname".into(), text(value))),
                _ => {}
            }
        }
    }

    /// Names of processes and threads.
    fn processes(&mut self, tree: &[u8]) {
        for (field, value) in Fields::of(tree) {
            let number = |field| {
                last(value.bytes(), field).and_then(|value| value.number()).map(|n| n as i32 as i64)
            };
            match field {
                1 => {
                    let command = last_first(value.bytes(), 3);
                    if let (Some(process), Some(command)) = (number(1), command) {
                        let name = command.rsplit('/').next().unwrap_or(&command).to_owned();
                        self.tasks.entry((process, process)).or_insert_with(|| name.clone());
                        self.builder.processes.entry(process).or_insert(name);
                    }
                }
                2 => {
                    if let (Some(thread), Some(name)) = (number(1), last(value.bytes(), 2)) {
                        let process = number(3).unwrap_or(thread);
                        self.tasks.insert((process, thread), text(name));
                    }
                }
                _ => {}
            }
        }
    }

    /// Events of a CPU.
    fn bundle(&mut self, bundle: &[u8], file: &[u8], home: Home) -> Result<()> {
        let number = |field| last(bundle, field).and_then(|value| value.number());
        let Ok(cpu) = u16::try_from(number(1).unwrap_or(0)) else {
            self.leave_out("bundles of CPUs beyond 65,535 are left out");
            return Ok(());
        };
        // Other clocks of ftrace come with one moment on both.
        let ahead = match (number(5), number(6), number(7)) {
            (Some(clock), Some(own), Some(boot)) if clock != 0 => {
                (boot as i64).wrapping_sub(own as i64)
            }
            _ => 0,
        };
        let before = self.cpus.get(&cpu).and_then(|own| own.last()).map(|place| place.time);
        let from = self.cpus.get(&cpu).map_or(0, Vec::len);
        let lost = number(3).unwrap_or(0) != 0;
        if lost {
            self.running.remove(&cpu);
        }
        for (field, value) in Fields::of(bundle) {
            if field == 11 {
                self.described_event(value.bytes());
            }
        }
        let mut compact = None;
        for (field, value) in Fields::of(bundle) {
            match field {
                2 => {
                    let event = value.bytes();
                    let Some(told) = Told::read(event) else {
                        self.leave_out("events of the kernel have no message that can be read");
                        continue;
                    };
                    let at = event.as_ptr().addr() - file.as_ptr().addr();
                    let time = (told.time as i64).wrapping_add(ahead);
                    self.event(
                        cpu,
                        &told,
                        Place {
                            time,
                            at,
                            length: u32::try_from(event.len()).unwrap_or(0),
                            event: 0,
                            of: home,
                        },
                    )?;
                }
                4 => compact = Some(value.bytes()),
                _ => {}
            }
        }
        if let Some(compact) = compact {
            self.expand(cpu, compact, ahead)?;
        }
        if lost
            && let Some(first) =
                self.cpus.get(&cpu).and_then(|own| own[from..].iter().map(|p| p.time).min())
        {
            self.losses.push((cpu, before, first));
        }
        Ok(())
    }

    fn event(&mut self, cpu: u16, told: &Told<'_>, place: Place) -> Result<()> {
        let event = self.number(told)?;
        self.types[usize::from(event)].learn(told);
        if told.message == SWITCH && place.of != Home::Compact {
            let next = last(told.fields, 6).and_then(|value| value.number());
            let name = last(told.fields, 5).map_or(&[][..], |value| value.bytes());
            if let Some(next) = next {
                self.running.insert(cpu, (next as i32, name.to_vec()));
            }
        }
        self.cpus.entry(cpu).or_default().push(Place { event, ..place });
        Ok(())
    }

    /// The type of an event.
    fn number(&mut self, told: &Told<'_>) -> Result<u16> {
        if told.message != GENERIC
            && let Some(&number) = self.numbers.get(&told.message)
        {
            return Ok(number);
        }
        if told.message == GENERIC {
            let name = told.generic_name();
            let name = if name.is_empty() { "unknown".to_owned() } else { name };
            return match self.names.get(&name) {
                Some(&number) => Ok(number),
                None => self.add(&name, Type::described(&name, "", true)),
            };
        }
        let of = match (self.described.get(&told.message), self.known.get(&told.message)) {
            (Some((group, descriptor)), _) => described(group, descriptor),
            (None, Some((name, fields))) => Type::known(name, fields),
            (None, None) => Type::described(&format!("message_{}", told.message), "", false),
        };
        let name = of.name().to_owned();
        let number = self.add(&name, of)?;
        self.numbers.insert(told.message, number);
        Ok(number)
    }

    /// A new type; where the name is taken, with a number behind it.
    fn add(&mut self, name: &str, of: Type) -> Result<u16> {
        if self.types.len() >= MOST_TYPES {
            return Err(Error::TooMuch(format!("{MOST_TYPES} event types")));
        }
        let number = self.types.len() as u16;
        let mut unique = name.to_owned();
        let mut again = 1;
        while self.names.contains_key(&unique) {
            again += 1;
            unique = format!("{name} {again}");
        }
        self.names.insert(unique.clone(), number);
        self.types.push(of.renamed(unique));
        Ok(number)
    }

    fn described_event(&mut self, message: &[u8]) {
        let number = last(message, 1).and_then(|value| value.number());
        if let (Some(Ok(number)), Some(descriptor)) = (number.map(u32::try_from), last(message, 2))
        {
            let group = last(message, 3).map(text).unwrap_or_default();
            self.described.entry(number).or_insert((group, descriptor.bytes().to_vec()));
        }
    }

    /// Switches and wakes that stand in columns: differences of times, numbers of names.
    fn expand(&mut self, cpu: u16, compact: &[u8], ahead: i64) -> Result<()> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut columns: HashMap<u32, Vec<u64>> = HashMap::new();
        for (field, value) in Fields::of(compact) {
            match field {
                5 => names.push(value.bytes()),
                _ => columns.entry(field).or_default().extend(numbers(value)),
            }
        }
        let column = |field| columns.get(&field).map_or(&[][..], Vec::as_slice);
        let name = |at: Option<&u64>| {
            at.and_then(|&at| usize::try_from(at).ok()).and_then(|at| names.get(at)).copied()
        };
        // Both kinds in one order of time: who runs is known from the switch before.
        let mut events: Vec<(i64, bool, usize)> = Vec::new();
        for (field, wakes) in [(7, true), (1, false)] {
            let mut time = ahead;
            for (at, &difference) in column(field).iter().enumerate() {
                time = time.wrapping_add(difference as i64);
                events.push((time, wakes, at));
            }
        }
        events.sort_by_key(|&(time, ..)| time);
        for (time, wakes, at) in events {
            let running = self.running.get(&cpu).cloned();
            let thread = running.as_ref().map(|(thread, _)| u64::from(*thread as u32));
            let mut message = Message::default();
            if wakes {
                message.text(1, name(column(11).get(at)));
                message.number(2, column(8).get(at));
                message.number(3, column(10).get(at));
                message.number(5, column(9).get(at));
                let number = if running.is_some() { WAKING } else { WAKING_BY_UNKNOWN };
                let flags = column(12).get(at).copied();
                self.compacted(cpu, time, (WAKING, number), (thread, flags), &message)?;
                continue;
            }
            if let Some((thread, name)) = &running {
                message.text(1, Some(name));
                message.number(2, Some(&u64::from(*thread as u32)));
            }
            let (next, name) = (column(3).get(at), name(column(6).get(at)));
            message.number(4, column(2).get(at));
            message.text(5, name);
            message.number(6, next);
            message.number(7, column(4).get(at));
            let number = if running.is_some() { SWITCH } else { SWITCH_OF_UNKNOWN };
            self.compacted(cpu, time, (SWITCH, number), (thread, None), &message)?;
            if let Some(&next) = next {
                self.running.insert(cpu, (next as i32, name.unwrap_or_default().to_vec()));
            }
        }
        Ok(())
    }

    /// An event that stood in columns, as the message `number`; it is one of the type `of`.
    fn compacted(
        &mut self,
        cpu: u16,
        time: i64,
        (number, of): (u32, u32),
        (thread, flags): (Option<u64>, Option<u64>),
        message: &Message,
    ) -> Result<()> {
        let mut event = Message::default();
        event.number(1, Some(&(time as u64)));
        event.number(2, thread.as_ref());
        event.number(5, flags.as_ref());
        event.text(number, Some(&message.0));
        let at = self.compact.len();
        let Some(told) = Told::read(&event.0) else { return Ok(()) };
        let place = Place { time, at, length: event.0.len() as u32, event: 0, of: Home::Compact };
        self.event(cpu, &Told { message: of, ..told }, place)?;
        self.compact.extend_from_slice(&event.0);
        Ok(())
    }
}

/// The messages of the table, and those that only columns have.
fn known() -> HashMap<u32, (&'static str, &'static str)> {
    let mut known = ftrace::known();
    for (like, number, name) in [
        (SWITCH, SWITCH_OF_UNKNOWN, "sched_switch_of_unknown"),
        (WAKING, WAKING_BY_UNKNOWN, "sched_waking_by_unknown"),
    ] {
        if let Some(&(_, fields)) = known.get(&like) {
            known.insert(number, (name, fields));
        }
    }
    known
}

/// The first of a message's texts of a number.
fn last_first(message: &[u8], number: u32) -> Option<String> {
    Fields::of(message).find(|(of, _)| *of == number).map(|(_, value)| text(value))
}

/// The type that a `DescriptorProto` describes.
fn described(group: &str, descriptor: &[u8]) -> Type {
    let name = last(descriptor, 1).map(text).unwrap_or_default();
    let mut of = Type::described(&name, group, false);
    for (_, field) in Fields::of(descriptor).filter(|(number, _)| *number == 2) {
        let number = |of| last(field.bytes(), of).and_then(|value| value.number());
        if let (Some(Ok(at)), Some(name)) = (number(3).map(u32::try_from), last(field.bytes(), 1)) {
            of.add(at, &text(name), number(5).unwrap_or(0));
        }
    }
    of
}

/// A message that is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u32, value: Option<&u64>) {
        if let Some(&value) = value {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    fn text(&mut self, field: u32, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.varint(u64::from(field) << 3 | 2);
            self.varint(value.len() as u64);
            self.0.extend_from_slice(value);
        }
    }
}

impl Perfetto {
    fn event(&self, place: &Place) -> Option<Told<'_>> {
        let from: &[u8] = match place.of {
            Home::File => &self.file,
            Home::Unpacked => &self.unpacked,
            Home::Compact => &self.compact,
        };
        from.get(place.at..place.at + place.length as usize).and_then(Told::read)
    }
}

impl Source for Perfetto {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        self.symbols.get(&address).map(|name| (name.as_str(), 0))
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        match &self.parts[unit] {
            Part::Kernel(stream, range) => {
                let places = &self.places[*stream][range.clone()];
                (places.first().map(|one| one.time), places.last().map(|one| one.time))
            }
            Part::Programs(range) => {
                let rows = &self.slices.rows[range.clone()];
                (rows.first().map(|one| one.time), rows.last().map(|one| one.time))
            }
        }
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let (begin, end) = self.span(unit);
        let mut outcome = Outcome { span: begin.zip(end), ..Outcome::default() };
        match &self.parts[unit] {
            Part::Kernel(stream, range) => {
                let places = &self.places[*stream][range.clone()];
                outcome.events = places.len() as u64;
                for place in places {
                    let event = usize::from(place.event);
                    let Some(fields) = chosen.fields(event).filter(|_| chosen.at(place.time))
                    else {
                        continue;
                    };
                    match self.event(place) {
                        Some(told) => {
                            let columns: &mut [Column] = rows.begin(event, place.time);
                            self.types[event].push(&told, fields, columns);
                        }
                        // The file was changed since it was opened.
                        None => outcome.damage.push(Damage {
                            file: self.file.path().to_owned(),
                            offset: place.at as u64,
                            stream: Some(*stream),
                            what: "an event that was there, and is no more".into(),
                        }),
                    }
                }
            }
            Part::Programs(range) => {
                let own = &self.slices.rows[range.clone()];
                outcome.events = own.len() as u64;
                for &row in own {
                    let event = self.types.len() + self.slices.event(row);
                    if let Some(fields) = chosen.fields(event).filter(|_| chosen.at(row.time)) {
                        let columns: &mut [Column] = rows.begin(event, row.time);
                        self.slices.push(row, &self.details, fields, columns);
                    }
                }
            }
        }
        outcome
    }
}
