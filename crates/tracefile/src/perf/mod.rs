//! perf.data: samples of tracepoints, as `perf record -e SYSTEM:EVENT` writes them.
//!
//! The bytes of a sample are what ftrace would have written, and the file holds the format texts, so
//! that layouts and columns are those of [`crate::dat`]. Samples of other events are left out.

mod head;
mod records;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::bytes::Reader;
use crate::dat::block::{Buckets, Left};
use crate::dat::events::Events;
use crate::dat::head as texts;
use crate::dat::layout::Record;
use crate::dat::page::PageLayout;
use crate::dat::symbols::{Symbols, printk_formats};
use crate::dat::{MAGIC, format};
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::perf::head::Head;
use crate::perf::records::{OfCpu, Records, Sample};
use crate::select::Chosen;
use crate::{ByteOrder, Clock, Damage, Error, Format, Info, Loss, Result, Stream};

pub(crate) use crate::perf::head::MAGICS;

/// An opened perf.data.
pub(crate) struct PerfData {
    file: Mapped,
    info: Info,
    order: ByteOrder,
    events: Events,
    /// The records, when they had to be unpacked; otherwise they lie in the file at `begin`.
    unpacked: Option<Vec<u8>>,
    begin: usize,
    cpus: Vec<OfCpu>,
    units: Vec<Unit>,
    /// CPU and samples of each unit.
    parts: Vec<(usize, Range<usize>)>,
    /// Where the kernel's symbols are in the file.
    kallsyms: Range<usize>,
    /// And the format strings of `trace_printk`.
    printk: Range<usize>,
    symbols: OnceLock<Symbols>,
}

/// Samples in a unit.
const UNIT: usize = 1 << 18;
/// Samples that are sorted by type before they become columns.
const BLOCK: usize = 1 << 12;
/// The samples of a block lie at most so far apart: offsets within a block have 32 bits.
const REACH: u64 = 1 << 30;

/// Opens a mapped file that begins with one of [`MAGICS`].
pub(crate) fn open(file: Mapped) -> Result<PerfData> {
    let path = file.path().to_owned();
    let mut head = Head::read(&file, &path)?;
    let mut notes = Vec::new();
    let described = described(&file[head.tracing_data.clone()])
        .map_err(|what| Error::damaged(&path, 0, format!("the events' formats: {what}")))?;
    let (events, types) = Events::parse(&described.formats, described.long, &mut notes);
    let mut damage = std::mem::take(&mut head.damage);
    let unpacked = records::unpacked(&head, &mut damage);
    let mut records = Records::read(&head, unpacked.as_deref().unwrap_or(head.data.1));
    if unpacked.is_some() {
        // Names of tasks stand beside the compressed records.
        records.tasks.splice(0..0, Records::read(&head, head.data.1).tasks);
    }
    if records.others > 0 {
        let what = "samples of events that are no tracepoints are left out";
        notes.push(format!("{} {what}", records.others));
    }
    let begin = if unpacked.is_some() { 0 } else { head.data.0 };
    // Damage in unpacked records has no place of its own in the file.
    let place = |at| if unpacked.is_some() { head.data.0 as u64 } else { begin as u64 + at };
    damage.extend(records.damage.into_iter().map(|(at, what)| (place(at), what)));
    let mut streams = Vec::new();
    let mut losses = Vec::new();
    let (mut units, mut parts, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
    for (number, of_cpu) in records.cpus {
        let stream = streams.len();
        let cpu = number.and_then(|cpu| u16::try_from(cpu).ok());
        losses.extend(of_cpu.lost.iter().map(|lost| Loss {
            stream,
            kind: lost.kind,
            begin: lost.after,
            end: lost.before,
            count: Some(lost.count),
        }));
        streams.push(Stream {
            name: number.map_or("all CPUs".into(), |cpu| format!("cpu {cpu}")),
            cpu,
            files: vec![path.clone()],
            bytes: size(&of_cpu.samples),
        });
        for begin in (0..of_cpu.samples.len()).step_by(UNIT) {
            let range = begin..(begin + UNIT).min(of_cpu.samples.len());
            units.push(Unit { stream, cpu, bytes: size(&of_cpu.samples[range.clone()]) });
            parts.push((stream, range));
        }
        cpus.push(of_cpu);
    }
    let info = Info {
        format: Format::PerfData,
        byte_order: head.order,
        environment: head.environment,
        clock: Clock {
            name: head.clock.into(),
            frequency_hz: 1_000_000_000,
            epoch_offset_ns: head.epoch_ns,
            uuid: None,
        },
        streams,
        events: types,
        tasks: records.tasks,
        losses,
        damage: damage
            .into_iter()
            .map(|(offset, what)| Damage { file: path.clone(), offset, stream: None, what })
            .collect(),
        notes,
    };
    let within = |part: &Range<usize>| {
        head.tracing_data.start + part.start..head.tracing_data.start + part.end
    };
    let (kallsyms, printk) = (within(&described.kallsyms), within(&described.printk));
    Ok(PerfData {
        info,
        order: head.order,
        events,
        begin,
        cpus,
        units,
        parts,
        kallsyms,
        printk,
        symbols: OnceLock::new(),
        unpacked,
        file,
    })
}

fn size(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| u64::from(sample.length)).sum()
}

/// What the feature TRACING_DATA holds: the head of a trace.dat up to the kernel's symbols.
struct Described<'a> {
    formats: Vec<(String, Cow<'a, [u8]>)>,
    long: u8,
    /// Where in these bytes the kernel's symbols are.
    kallsyms: Range<usize>,
    /// And the format strings of `trace_printk`.
    printk: Range<usize>,
}

fn described(bytes: &[u8]) -> std::result::Result<Described<'_>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("they do not begin as they should")?;
    let at = MAGIC.len() + memchr::memchr(0, rest).ok_or("no version")? + 1;
    let order = match bytes.get(at) {
        Some(0) => ByteOrder::Little,
        Some(1) => ByteOrder::Big,
        _ => return Err("no byte order".into()),
    };
    // User-space long, page size.
    let mut reader = Reader::new(bytes, order).at(at + 1 + 1 + 4);
    let page = texts::header_info(&mut reader)?;
    let layout = PageLayout::parse(&format::readable(page), order)?;
    let mut formats = Vec::new();
    let mut keep = |system, text| formats.push((system, Cow::Borrowed(text)));
    let whole = texts::ftrace_formats(&mut reader, &mut keep)
        && texts::event_formats(&mut reader, &mut keep);
    if !whole {
        return Err("cut short".into());
    }
    let mut text = || {
        let size = reader.u32().unwrap_or(0) as usize;
        let begin = reader.position();
        let end = if reader.take(size).is_some() { begin + size } else { begin };
        begin..end
    };
    let (kallsyms, printk) = (text(), text());
    Ok(Described { formats, long: layout.long as u8, kallsyms, printk })
}

impl Source for PerfData {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        match self.order {
            ByteOrder::Little => self.samples::<false>(unit, chosen, rows),
            ByteOrder::Big => self.samples::<true>(unit, chosen, rows),
        }
    }

    fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        let symbols =
            self.symbols.get_or_init(|| Symbols::parse(&self.file[self.kallsyms.clone()]));
        symbols.name(address)
    }

    fn printk_formats(&self) -> Vec<(u64, String)> {
        printk_formats(&self.file[self.printk.clone()])
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        let (cpu, range) = &self.parts[unit];
        let samples = &self.cpus[*cpu].samples[range.clone()];
        (samples.first().map(|first| first.time), samples.last().map(|last| last.time))
    }
}

impl PerfData {
    fn samples<const BIG: bool>(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let (cpu, range) = &self.parts[unit];
        let samples = &self.cpus[*cpu].samples[range.clone()];
        let bytes = match &self.unpacked {
            Some(bytes) => bytes,
            None => &self.file[self.begin..],
        };
        let mut buckets = Buckets::new(&self.events);
        let mut short = None;
        let mut rest = samples;
        while let Some(first) = rest.first() {
            let near = |sample: &Sample| sample.at.abs_diff(first.at) < REACH;
            let count = rest.iter().take(BLOCK).take_while(|sample| near(sample)).count();
            let (block, after) = rest.split_at(count);
            rest = after;
            let begin = block.iter().map(|sample| sample.at).min().unwrap_or(first.at);
            let lying = &bytes[begin as usize..];
            for sample in block {
                let at = (sample.at - begin) as u32;
                let record = Record { time: sample.time, at, length: sample.length };
                match buckets.push::<BIG>(&self.events, chosen, lying, record) {
                    Ok(event) => rows.note(event, sample.time),
                    Err(Left::NotChosen) => {}
                    Err(Left::Short(event)) => {
                        let (_, _, count) = short.get_or_insert((sample.at, event, 0u64));
                        *count += 1;
                    }
                }
            }
            let blocks = samples.len().div_ceil(BLOCK);
            buckets.gather(&self.events, chosen, lying, self.order, blocks, rows);
        }
        let damage = short.map(|(at, event, count)| Damage {
            file: self.file.path().to_owned(),
            offset: self.begin as u64 + at,
            stream: Some(self.units[unit].stream),
            what: format!(
                "{count} samples shorter than their format ({}): left out",
                event.map_or("of unknown type", |event| &self.info.events[event].name)
            ),
        });
        Outcome {
            events: samples.len() as u64,
            span: samples.first().zip(samples.last()).map(|(a, b)| (a.time, b.time)),
            damage: damage.into_iter().collect(),
            ..Outcome::default()
        }
    }
}
