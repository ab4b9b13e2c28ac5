//! Perfetto's protocol buffers: events of the kernel as tables with its names and fields, what
//! programs tell as slices, instants, flows and counters, what is polled as counters.
//!
//! ```text
//! packets ─→ reading ─┬→ kernel: by CPU, where each event is (columns: compact) ─→ units ─→ columns
//!                     │    └→ atrace ──┐
//!                     ├→ track_events ─┼→ slices::Builder ──────────────────────────┘
//!                     ├→ frames ───────┤
//!                     └→ counters ─────┘
//! ```
//! Numbers of messages and fields are those of the public protocol definitions (`protos/perfetto`).
//! Packets of other data sources are left out and counted.

mod atrace;
mod clocks;
mod compact;
mod counters;
mod frames;
mod ftrace;
mod kernel;
mod packets;
mod reading;
mod track_events;
mod wire;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::columns::Column;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::places::{Home, Place, Placed, UNIT};
use crate::select::Chosen;
use crate::slices::{Row, Slices};
use crate::{ByteOrder, Clock, Damage, Format, Info, Loss, LossKind, Result, Stream};
use clocks::BOOTTIME;
use ftrace::{Told, Type};
use packets::Packets;
use reading::Reading;
use wire::{Fields, Value};

/// An opened file.
pub(crate) struct Perfetto {
    file: Mapped,
    unpacked: Vec<u8>,
    written: Vec<u8>,
    info: Info,
    types: Vec<Type>,
    placed: Placed,
    slices: Slices,
    details: Vec<u8>,
    /// Behind the units of `placed`: which rows of the slices.
    parts: Vec<Range<usize>>,
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
    let packets = Packets::of(&file);
    let each = || packets.places.iter().map(|packet| (packets.bytes(&file, packet), packet.home));
    let mut reading = Reading::new(each().map(|((_, packet), _)| packet));
    for ((bytes, packet), home) in each() {
        reading.packet(packet, bytes, home)?;
    }
    let mut notes = reading.notes();
    let Reading {
        clocks,
        mut kernel,
        mut tracks,
        frames,
        mut builder,
        tasks,
        environment,
        symbols,
        ..
    } = reading;
    std::mem::take(&mut kernel.atrace).finish(&mut builder);
    frames.finish(&mut builder);
    tracks.finish(&mut builder);
    for ((process, thread), name) in &tasks {
        builder.threads.entry((*process, *thread)).or_insert_with(|| name.clone());
    }
    let slices = builder.finish(&mut notes);
    let mut types = kernel.types;
    let described = types.iter_mut().map(|of| of.describe(of.name().to_owned()));
    let events = described.chain(slices.types()).collect();
    let mut names: Vec<(i32, String)> = tasks
        .into_iter()
        .filter_map(|((_, thread), name)| Some((i32::try_from(thread).ok()?, name)))
        .chain(slices.tasks())
        .collect();
    names.sort_by_key(|(thread, _)| *thread);
    names.dedup_by_key(|(thread, _)| *thread);
    let mut placed = Placed::new(kernel.cpus, &path);
    let losses = kernel.losses.into_iter().filter_map(|(cpu, begin, end)| {
        let stream = placed.stream_of(cpu)?;
        Some(Loss { stream, kind: LossKind::Events, begin, end: Some(end), count: None })
    });
    let losses = losses.collect();
    let parts = place_slices(&slices, &mut placed, &path);
    let damage = packets.damage.into_iter().map(|(offset, what)| Damage {
        file: path.clone(),
        offset: offset as u64,
        stream: None,
        what,
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
        streams: std::mem::take(&mut placed.streams),
        events,
        tasks: names,
        losses,
        damage: damage.collect(),
        notes,
    };
    Ok(Perfetto {
        unpacked: packets.unpacked,
        written: kernel.written,
        info,
        types,
        placed,
        slices,
        details: tracks.details,
        parts,
        symbols,
        file,
    })
}

/// A stream of the slices behind those of the CPUs, and its units: which rows each has.
fn place_slices(slices: &Slices, placed: &mut Placed, path: &Path) -> Vec<Range<usize>> {
    const ROW: u64 = 16;
    let count = slices.rows.len();
    if count == 0 {
        return Vec::new();
    }
    let stream = placed.streams.len();
    let (name, files) = ("track events".into(), vec![path.to_owned()]);
    placed.streams.push(Stream { name, cpu: None, files, bytes: count as u64 * ROW });
    let ranges = (0..count).step_by(UNIT).map(|begin| begin..(begin + UNIT).min(count));
    let ranges: Vec<Range<usize>> = ranges.collect();
    let units =
        ranges.iter().map(|rows| Unit { stream, cpu: None, bytes: rows.len() as u64 * ROW });
    placed.units.extend(units);
    ranges
}

impl Perfetto {
    fn event(&self, place: &Place) -> Option<Told<'_>> {
        let from: &[u8] = match place.home {
            Home::File => &self.file,
            Home::Unpacked => &self.unpacked,
            Home::Written => &self.written,
        };
        from.get(place.at..place.at + place.length as usize).and_then(Told::read)
    }

    /// The rows of a unit that stands behind those of the CPUs.
    fn slices_of(&self, unit: usize) -> &[Row] {
        let behind = unit.checked_sub(self.placed.units.len() - self.parts.len());
        behind.map_or(&[], |part| &self.slices.rows[self.parts[part].clone()])
    }

    fn decode_kernel(
        &self,
        (stream, places): (usize, &[Place]),
        chosen: &Chosen,
        rows: &mut Rows,
        outcome: &mut Outcome,
    ) {
        for place in places {
            let event = usize::from(place.event);
            let Some(fields) = chosen.fields(event).filter(|_| chosen.at(place.time)) else {
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
                    stream: Some(stream),
                    what: "an event that was there, and is no more".into(),
                }),
            }
        }
    }

    fn decode_slices(&self, own: &[Row], chosen: &Chosen, rows: &mut Rows) {
        for &row in own {
            let event = self.types.len() + self.slices.event(row);
            if let Some(fields) = chosen.fields(event).filter(|_| chosen.at(row.time)) {
                let columns: &mut [Column] = rows.begin(event, row.time);
                self.slices.push(row, &self.details, fields, columns);
            }
        }
    }
}

impl Source for Perfetto {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.placed.units
    }

    fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        self.symbols.get(&address).map(|name| (name.as_str(), 0))
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        let span = match self.placed.of(unit) {
            Some(places) => Placed::span(places),
            None => {
                let own = self.slices_of(unit);
                own.first().zip(own.last()).map(|(first, last)| (first.time, last.time))
            }
        };
        span.unzip()
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let (begin, end) = self.span(unit);
        let mut outcome = Outcome { span: begin.zip(end), ..Outcome::default() };
        match self.placed.of(unit) {
            Some(places) => {
                outcome.events = places.len() as u64;
                let stream = self.placed.units[unit].stream;
                self.decode_kernel((stream, places), chosen, rows, &mut outcome);
            }
            None => {
                let own = self.slices_of(unit);
                outcome.events = own.len() as u64;
                self.decode_slices(own, chosen, rows);
            }
        }
        outcome
    }
}
