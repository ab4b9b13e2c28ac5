//! perf.data: samples of events, as `perf record` writes them, with the functions they were taken in.
//!
//! ```text
//! head ─→ attributes, features      what is known of the events and of the recording
//! walk ─→ records ─→ places by CPU  where samples lie, and what perf tells of threads and files
//!                      └─→ dat (tracepoints), rows (all others) ←─ unwind (copies of stacks)
//! ```
//! What a tracepoint wrote is what ftrace would have written, and the file holds the format texts, so
//! that layouts and columns are those of [`crate::dat`].

mod attributes;
mod features;
mod head;
mod records;
mod rows;
mod sample;
mod unpack;
mod unwind;
mod user_stack;
mod walk;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use linux_perf_event_reader::SampleFormat;

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
use crate::perf::attributes::{Attribute, Attributes, branch};
use crate::perf::head::Head;
use crate::perf::records::{OfCpu, Place, Records, What};
use crate::perf::rows::{Sampled, StackFields};
use crate::perf::sample::{Parts, parts};
use crate::perf::unwind::{Unwinding, Walker};
use crate::perf::walk::HEADER;
use crate::select::Chosen;
use crate::{ByteOrder, Clock, Damage, Error, EventType, Format, Info, Loss, Result, Stream};

pub(crate) use crate::perf::head::MAGICS;
pub use crate::perf::unwind::ProgramFile;
pub(crate) use crate::perf::unwind::unwind_in;

/// An opened perf.data.
pub(crate) struct PerfData {
    file: Mapped,
    info: Info,
    order: ByteOrder,
    events: Events,
    /// The records, when they had to be unpacked; otherwise they lie in the file at `begin`.
    unpacked: Option<Vec<u8>>,
    begin: usize,
    attributes: Attributes,
    build_ids: HashMap<String, Vec<u8>>,
    /// The event types behind those of tracepoints: that of each attribute's samples, of side-band records.
    samples: Vec<usize>,
    sideband: usize,
    /// Where stacks begin among the fields of a tracepoint.
    stacks: Vec<usize>,
    cpus: Vec<OfCpu>,
    units: Vec<Unit>,
    /// CPU and places of each unit.
    parts: Vec<(usize, Range<usize>)>,
    /// Where the kernel's symbols are in the file.
    kallsyms: Range<usize>,
    /// And the format strings of `trace_printk`.
    printk: Range<usize>,
    symbols: OnceLock<Symbols>,
    /// Where chains are made of copies of stacks.
    unwinding: Option<Unwinding>,
}

/// Samples in a unit.
const UNIT: usize = 1 << 18;
/// And their bytes, so that stacks are not more than offsets within a column can tell.
const UNIT_BYTES: u64 = 1 << 28;
/// Samples that are sorted by type before they become columns.
const BLOCK: usize = 1 << 12;
/// The samples of a block lie at most so far apart: offsets within a block have 32 bits.
const REACH: u64 = 1 << 30;

/// Opens a mapped file that begins with one of [`MAGICS`]. With `files`, stacks of programs of which
/// it has copies are unwound by what these files tell.
pub(crate) fn open(file: Mapped, files: Option<Vec<ProgramFile>>) -> Result<PerfData> {
    let path = file.path().to_owned();
    let mut head = Head::read(&file, &path)?;
    if let Some((_, machine)) = head.environment.iter().find(|(name, _)| name == "machine") {
        head.attributes.of_machine(machine);
    }
    let described = match &head.tracing_data {
        Some(place) => Some(
            described(&file[place.clone()])
                .map_err(|what| Error::damaged(&path, 0, format!("the events' formats: {what}")))?,
        ),
        None => None,
    };
    let raw = described.is_some();
    let described = described.unwrap_or_default();
    let mut notes = Vec::new();
    let (events, mut types) = Events::parse(&described.formats, described.long, &mut notes);
    let unwound = files.is_some();
    let stacks = with_stacks(&mut types, &head.attributes, unwound);
    let (samples, sideband) = further_types(&mut types, &head.attributes, raw, unwound);
    let mut damage = std::mem::take(&mut head.damage);
    let unpacked = unpack::unpacked(&head, &mut damage);
    let records = Records::read(&head, unpacked.as_deref().unwrap_or(head.data.1), raw);
    notes.extend(remarks(&head.attributes, &records));
    let unwinding = files.map(|files| {
        let bytes = unpacked.as_deref().unwrap_or(head.data.1);
        unwinding(&head, &records, bytes, files)
    });
    let begin = if unpacked.is_some() { 0 } else { head.data.0 };
    // Damage in unpacked records has no place of its own in the file.
    let place = |at| if unpacked.is_some() { head.data.0 as u64 } else { begin as u64 + at };
    damage.extend(records.damage.into_iter().map(|(at, what)| (place(at), what)));
    let mut streams = Vec::new();
    let mut losses = Vec::new();
    let (mut units, mut parts, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
    let unknown = if records.cpus.len() > 1 { "no CPU" } else { "all CPUs" };
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
            name: number.map_or(unknown.into(), |cpu| format!("cpu {cpu}")),
            cpu,
            files: vec![path.clone()],
            bytes: of_cpu.places.iter().map(size).sum(),
        });
        let mut begin = 0;
        while begin < of_cpu.places.len() {
            let mut bytes = 0;
            let fits = |place: &&Place| {
                bytes += size(place);
                bytes <= UNIT_BYTES
            };
            let count = of_cpu.places[begin..].iter().take(UNIT).take_while(fits).count();
            let range = begin..begin + count;
            begin = range.end;
            let bytes = of_cpu.places[range.clone()].iter().map(size).sum();
            units.push(Unit { stream, cpu, bytes });
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
    let within = |part: &Range<usize>| match &head.tracing_data {
        Some(place) => place.start + part.start..place.start + part.end,
        None => 0..0,
    };
    let (kallsyms, printk) = (within(&described.kallsyms), within(&described.printk));
    let (attributes, build_ids) = (head.attributes, head.build_ids);
    Ok(PerfData {
        info,
        order: head.order,
        events,
        begin,
        attributes,
        build_ids,
        samples,
        sideband,
        stacks,
        cpus,
        units,
        parts,
        kallsyms,
        printk,
        symbols: OnceLock::new(),
        unwinding,
        unpacked,
        file,
    })
}

/// Adds the columns of stacks to tracepoints, where their samples have some; where they begin among
/// the fields of each.
fn with_stacks(types: &mut [EventType], attributes: &Attributes, unwound: bool) -> Vec<usize> {
    let begin: Vec<usize> = types.iter().map(|event| event.fields.len()).collect();
    let tracepoints = || attributes.all.iter().filter(|each| each.tracepoint);
    if tracepoints().any(|each| each.has(SampleFormat::CALLCHAIN)) {
        let copied = tracepoints().any(Attribute::raw_stacks);
        let add = |event: &mut EventType| event.fields.extend(rows::stack_fields(copied, unwound));
        types.iter_mut().for_each(add);
    }
    begin
}

/// Adds the types of all other samples, and of what perf tells of threads, files and symbols.
fn further_types(
    types: &mut Vec<EventType>,
    attributes: &Attributes,
    raw: bool,
    unwound: bool,
) -> (Vec<usize>, usize) {
    let mut samples = Vec::new();
    let add = |types: &mut Vec<EventType>, event: EventType| {
        let taken = |types: &[EventType], name: &str| types.iter().any(|event| event.name == name);
        let again = (2..).map(|number| format!("{} #{number}", event.name));
        let names = std::iter::once(event.name.clone()).chain(again);
        let name = names.into_iter().find(|name| !taken(types, name)).expect("numbers do not end");
        types.push(EventType { name, ..event });
        types.len() - 1
    };
    for attribute in &attributes.all {
        // A tracepoint whose format is known has a type of its own already.
        samples.push(match raw && attribute.tracepoint && attribute.has(SampleFormat::RAW) {
            true => usize::MAX,
            false => add(types, rows::sample_type(&attribute.name, attribute, unwound)),
        });
    }
    let sideband = types.len();
    for event in rows::sideband_types() {
        add(types, event);
    }
    (samples, sideband)
}

/// What is needed to unwind: what happened to the memory of processes, and their files.
fn unwinding(
    head: &Head<'_>,
    records: &Records,
    bytes: &[u8],
    mut files: Vec<ProgramFile>,
) -> Unwinding {
    let mut numbers: HashMap<(String, Vec<u8>), u32> = HashMap::new();
    for (number, file) in files.iter().enumerate() {
        numbers.insert((file.path.clone(), file.build_id.clone()), number as u32);
    }
    let mut changes = Vec::new();
    for place in records.cpus.values().flat_map(|of_cpu| &of_cpu.places) {
        let What::Sideband { existing } = place.what else { continue };
        let begin = place.at as usize;
        let bytes = &bytes[begin..begin + usize::from(place.length)];
        let Some(record) = rows::Record::new(bytes, head.order) else { continue };
        let change = rows::change(&record, &head.build_ids, |path, build_id| {
            *numbers.entry((path.into(), build_id.into())).or_insert_with(|| {
                files.push(ProgramFile {
                    path: path.into(),
                    build_id: build_id.into(),
                    candidates: Vec::new(),
                });
                files.len() as u32 - 1
            })
        });
        let time = if existing { i64::MIN } else { place.time };
        changes.extend(change.map(|(process, change)| (time, process, change)));
    }
    let machine = head.environment.iter().find(|(name, _)| name == "machine");
    Unwinding::new(machine.map_or_else(String::new, |(_, name)| name.clone()), changes, files)
}

/// What a reader must know of how it was recorded.
fn remarks(attributes: &Attributes, records: &Records) -> Vec<String> {
    let mut notes = Vec::new();
    if attributes.all.iter().any(|each| each.raw_stacks()) {
        notes.push(
            "recorded with --call-graph dwarf: stacks of programs lie in it as copies of memory; \
             flame graphs unwind them by the files of the programs, of others the innermost function \
             is known"
                .into(),
        );
    }
    let has_branches = |each: &Attribute| each.has(SampleFormat::BRANCH_STACK);
    let is_call = |each: &Attribute| each.branches & branch::CALL_STACK != 0;
    if attributes.all.iter().any(|each| has_branches(each) && !is_call(each)) {
        notes.push("branches that are no calls (--branch-filter) are left out".into());
    }
    if records.throttled > 0 {
        let times = records.throttled;
        notes.push(format!("the kernel throttled sampling {times} times: samples are missing"));
    }
    if records.untimed > 0 {
        let count = records.untimed;
        notes.push(format!("{count} samples have no time and stand at 0 (perf record -T)"));
    }
    notes
}

/// Bytes of what lies at a place.
fn size(place: &Place) -> u64 {
    u64::from(place.length) + u64::from(place.head)
}

/// What the feature TRACING_DATA holds: the head of a trace.dat up to the kernel's symbols.
#[derive(Default)]
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
        let samples = &self.cpus[*cpu].places[range.clone()];
        (samples.first().map(|first| first.time), samples.last().map(|last| last.time))
    }
}

impl PerfData {
    fn samples<const BIG: bool>(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        let (cpu, range) = &self.parts[unit];
        let places = &self.cpus[*cpu].places[range.clone()];
        let bytes = match &self.unpacked {
            Some(bytes) => bytes,
            None => &self.file[self.begin..],
        };
        let mut buckets = Buckets::new(&self.events);
        let mut short = None;
        let mut walker = self.unwinding.as_ref().map(Walker::new);
        let mut rest = places;
        while let Some(first) = rest.first() {
            let near = |place: &Place| place.at.abs_diff(first.at) < REACH;
            let count = rest.iter().take(BLOCK).take_while(|place| near(place)).count();
            let (block, after) = rest.split_at(count);
            rest = after;
            let begin = block.iter().map(|place| place.at).min().unwrap_or(first.at);
            let lying = &bytes[begin as usize..];
            for place in block {
                let What::Tracepoint(_) = place.what else {
                    self.row(*place, bytes, chosen, walker.as_mut(), rows);
                    continue;
                };
                let at = (place.at - begin) as u32;
                let record = Record { time: place.time, at, length: place.length.into() };
                match buckets.push::<BIG>(&self.events, chosen, lying, record) {
                    Ok(event) => {
                        rows.note(event, place.time);
                        self.stack(event, *place, bytes, chosen, walker.as_mut(), rows);
                    }
                    Err(Left::NotChosen) => {}
                    Err(Left::Short(event)) => {
                        let (_, _, count) = short.get_or_insert((place.at, event, 0u64));
                        *count += 1;
                    }
                }
            }
            let blocks = places.len().div_ceil(BLOCK);
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
            events: places.len() as u64,
            span: places.first().zip(places.last()).map(|(a, b)| (a.time, b.time)),
            damage: damage.into_iter().collect(),
            ..Outcome::default()
        }
    }

    /// The row of what is no tracepoint.
    fn row(
        &self,
        place: Place,
        bytes: &[u8],
        chosen: &Chosen,
        walker: Option<&mut Walker<'_>>,
        rows: &mut Rows,
    ) {
        let begin = place.at as usize;
        let record =
            rows::Record::new(&bytes[begin..begin + usize::from(place.length)], self.order);
        let Some(record) = record.filter(|_| chosen.at(place.time)) else { return };
        match place.what {
            What::Tracepoint(_) => {}
            What::Sample(at) => {
                let event = self.samples[usize::from(at)];
                let Some(fields) = chosen.fields(event) else { return };
                let columns = rows.begin(event, place.time);
                rows::push_sample(&record, &self.sampled(at, place), walker, fields, columns);
            }
            What::Sideband { existing } => {
                let event = self.sideband + rows::sideband(&record);
                let Some(fields) = chosen.fields(event) else { return };
                let columns = rows.begin(event, place.time);
                rows::push_sideband(&record, &self.build_ids, existing, fields, columns);
            }
        }
    }

    fn sampled(&self, attribute: u16, place: Place) -> Sampled<'_> {
        let attribute = &self.attributes.all[usize::from(attribute)];
        Sampled { attribute, time: place.time, order: self.order }
    }

    /// The chosen stacks of a tracepoint, which lie around what it wrote.
    fn stack(
        &self,
        event: usize,
        place: Place,
        bytes: &[u8],
        chosen: &Chosen,
        walker: Option<&mut Walker<'_>>,
        rows: &mut Rows,
    ) {
        let What::Tracepoint(attribute) = place.what else { return };
        let fields = chosen.fields(event).unwrap_or_default();
        let own = fields.partition_point(|&field| field < self.stacks[event]);
        if own == fields.len() {
            return;
        }
        let begin = (place.at as usize).saturating_sub(usize::from(place.head));
        let sampled = self.sampled(attribute, place);
        // The record was read when it was opened: its size stands in its header.
        let mut header = Reader::new(&bytes[begin..], self.order).at(HEADER - 2);
        let size = usize::from(header.u16().unwrap_or(0)).max(HEADER);
        let body = bytes.get(begin + HEADER..begin + size).unwrap_or_default();
        let parts = parts(Reader::new(body, self.order), sampled.attribute).unwrap_or_default();
        // Of tracepoints only the chain tells functions: all else is where the tracepoint is.
        let parts = Parts { ip: None, ..parts };
        let chosen = StackFields { fields: &fields[own..], begin: self.stacks[event] };
        let (_, columns) = rows.table(event);
        rows::push_stacks(&parts, None, &sampled, walker, &chosen, &mut columns[own..]);
    }
}
