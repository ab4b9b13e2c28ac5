//! The head of a perf.data file: its sections, the attributes of its events, and its features.
//!
//! Sections are found here and not by a library's reader, because every offset and size is held
//! against the file before it is used.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use byteorder::{BigEndian, LittleEndian};
use linux_perf_event_reader::{
    AttrFlags, ClockId, PerfClock, PerfEventAttr, PerfEventType, ReadFormat, SampleFormat,
};

use crate::bytes::Reader;
use crate::{ByteOrder, Error, Result};

/// The first bytes of the format, as each byte order writes them.
pub(crate) const MAGICS: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

/// Bits of the features that are read.
mod feature {
    pub(super) const TRACING_DATA: u32 = 1;
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OSRELEASE: u32 = 4;
    pub(super) const VERSION: u32 = 5;
    pub(super) const ARCH: u32 = 6;
    pub(super) const NRCPUS: u32 = 7;
    pub(super) const CLOCK_DATA: u32 = 29;
}

/// What precedes and follows the records.
pub(crate) struct Head<'a> {
    pub(crate) order: ByteOrder,
    /// Offset and bytes of the records.
    pub(crate) data: (usize, &'a [u8]),
    pub(crate) attributes: Attributes,
    /// Where the formats of the events are in the file.
    pub(crate) tracing_data: Range<usize>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) clock: &'static str,
    /// Nanoseconds from the clock's zero to the Unix epoch.
    pub(crate) epoch_ns: Option<i64>,
    pub(crate) damage: Vec<(u64, String)>,
}

/// One kind of event that was recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) tracepoint: bool,
    pub(crate) format: SampleFormat,
    pub(crate) read: ReadFormat,
    /// Records that are no samples end with the identity of one.
    pub(crate) trailer: bool,
    clock: PerfClock,
}

/// All kinds of events, and how a sample's is found.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) all: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
}

impl Attributes {
    /// The kind of a sample that begins with `identifier`.
    pub(crate) fn of(&self, identifier: Option<u64>) -> Option<&Attribute> {
        match identifier {
            Some(id) if self.all.len() > 1 => self.all.get(*self.by_id.get(&id)?),
            _ => self.all.first(),
        }
    }

    /// Whether every sample begins with its identifier.
    pub(crate) fn identified(&self) -> bool {
        self.all.iter().all(|each| each.format.contains(SampleFormat::IDENTIFIER))
    }
}

impl<'a> Head<'a> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`Error::Damaged`], and [`Error::Unsupported`] for files without tracepoints and in forms
    /// that are not known.
    pub(crate) fn read(file: &'a [u8], path: &Path) -> Result<Self> {
        let order = match file.starts_with(MAGICS[0]) {
            true => ByteOrder::Little,
            false => ByteOrder::Big,
        };
        let mut reader = Reader::new(file, order).at(8);
        let cut = |what: &str| Error::damaged(path, file.len() as u64, what);
        if reader.u64() == Some(16) {
            let what = "a perf.data written into a pipe (record it with `perf record -o FILE`)";
            return Err(Error::unsupported(path, what));
        }
        let told = (|| {
            let attribute = reader.u64()?;
            let attributes = (reader.u64()?, reader.u64()?);
            let data = (reader.u64()?, reader.u64()?);
            reader.take(16)?;
            let features = reader.u64()?;
            Some((attribute, attributes, data, features))
        })();
        let (attribute, attributes, data, features) =
            told.ok_or_else(|| cut("the file ends in its head"))?;
        let mut damage = Vec::new();
        let all =
            section(file, attributes).ok_or_else(|| cut("the file ends in its attributes"))?;
        let attributes = kinds(file, &file[all], attribute, order)
            .map_err(|what| Error::damaged(path, attributes.0, what))?;
        let sections = sections(file, data, features, order);
        let find = |bit| sections.iter().find(|(id, _)| *id == bit).map(|(_, place)| place.clone());
        let tracing_data = find(feature::TRACING_DATA).ok_or_else(|| {
            match features & (1 << feature::TRACING_DATA) {
                0 => Error::unsupported(path, "a perf.data without tracepoints"),
                _ => cut("the file ends before the formats of its events, which stand last"),
            }
        })?;
        let begin = usize::try_from(data.0).unwrap_or(usize::MAX).min(file.len());
        let have = file.len() - begin;
        let told = usize::try_from(data.1).unwrap_or(usize::MAX);
        if told > have {
            damage.push((file.len() as u64, "the file ends before its records do".into()));
        }
        Ok(Self {
            order,
            data: (begin, &file[begin..begin + told.min(have)]),
            clock: clock(&attributes),
            attributes,
            tracing_data,
            environment: environment(order, |bit| find(bit).map(|place| &file[place])),
            epoch_ns: find(feature::CLOCK_DATA).and_then(|place| epoch(&file[place], order)),
            damage,
        })
    }
}

fn section(file: &[u8], (offset, size): (u64, u64)) -> Option<Range<usize>> {
    let begin = usize::try_from(offset).ok()?;
    let end = begin.checked_add(usize::try_from(size).ok()?)?;
    (end <= file.len()).then_some(begin..end)
}

/// Each attribute stands with the place of its ids.
fn kinds(
    file: &[u8],
    all: &[u8],
    size: u64,
    order: ByteOrder,
) -> std::result::Result<Attributes, String> {
    let size = usize::try_from(size).ok().filter(|&size| size > 16);
    let size = size.ok_or("attributes of no size")?;
    let mut attributes = Attributes::default();
    for entry in all.chunks_exact(size) {
        let (attribute, ids) = entry.split_at(size - 16);
        let parsed = match order {
            ByteOrder::Little => PerfEventAttr::parse::<_, LittleEndian>(attribute),
            ByteOrder::Big => PerfEventAttr::parse::<_, BigEndian>(attribute),
        };
        let (attribute, _) = parsed.map_err(|error| format!("an event's attributes: {error}"))?;
        let mut place = Reader::new(ids, order);
        let ids = place.u64().zip(place.u64()).and_then(|place| section(file, place));
        let mut ids = Reader::new(&file[ids.unwrap_or_default()], order);
        while let Some(id) = ids.u64() {
            attributes.by_id.insert(id, attributes.all.len());
        }
        attributes.all.push(Attribute {
            tracepoint: matches!(attribute.type_, PerfEventType::Tracepoint(_)),
            format: attribute.sample_format,
            read: attribute.read_format,
            trailer: attribute.flags.contains(AttrFlags::SAMPLE_ID_ALL),
            clock: attribute.clock,
        });
    }
    let alike = |a: &Attribute, b: &Attribute| a.format == b.format && a.read == b.read;
    let same = attributes.all.windows(2).all(|pair| alike(&pair[0], &pair[1]));
    match attributes.all.first() {
        None => Err("no event".into()),
        Some(_) if same || attributes.identified() => Ok(attributes),
        Some(_) => Err("samples of different forms without an identifier".into()),
    }
}

/// Places of the features stand behind the records, in the order of their bits.
fn sections(
    file: &[u8],
    data: (u64, u64),
    features: u64,
    order: ByteOrder,
) -> Vec<(u32, Range<usize>)> {
    let at = data.0.checked_add(data.1).and_then(|at| usize::try_from(at).ok());
    let mut reader = Reader::new(file, order).at(at.unwrap_or(file.len()));
    let bits = (0..64).filter(|bit| features & (1 << bit) != 0);
    let places = bits.map_while(|bit| Some((bit, reader.u64().zip(reader.u64())?)));
    places.filter_map(|(bit, place)| Some((bit, section(file, place)?))).collect()
}

fn clock(attributes: &Attributes) -> &'static str {
    match attributes.all.first().map(|attribute| attribute.clock) {
        Some(PerfClock::ClockId(id)) => match id {
            ClockId::Realtime | ClockId::RealtimeCoarse | ClockId::RealtimeAlarm => "realtime",
            ClockId::Monotonic | ClockId::MonotonicCoarse => "mono",
            ClockId::MonotonicRaw => "mono_raw",
            ClockId::Boottime | ClockId::BoottimeAlarm => "boot",
            ClockId::ProcessCputimeId | ClockId::ThreadCputimeId => "cputime",
            _ => "unknown",
        },
        _ => "perf",
    }
}

fn environment<'a>(
    order: ByteOrder,
    find: impl Fn(u32) -> Option<&'a [u8]>,
) -> Vec<(String, String)> {
    let mut pairs = vec![
        ("domain".to_owned(), "kernel".to_owned()),
        ("tracer_name".to_owned(), "perf".to_owned()),
    ];
    let texts = [
        (feature::HOSTNAME, "hostname"),
        (feature::OSRELEASE, "kernel_release"),
        (feature::ARCH, "machine"),
        (feature::VERSION, "recorder"),
    ];
    for (bit, name) in texts {
        // u32 length of the padded text, the text.
        let text = find(bit).and_then(|bytes| Reader::new(bytes, order).at(4).text());
        if let Some(text) = text {
            pairs.push((name.to_owned(), String::from_utf8_lossy(text).into_owned()));
        }
    }
    // u32 CPUs online behind those available.
    if let Some(count) = find(feature::NRCPUS).and_then(|b| Reader::new(b, order).at(4).u32()) {
        pairs.push(("cpu_count".to_owned(), count.to_string()));
    }
    pairs
}

/// u32 version, u32 clock, u64 nanoseconds since the epoch, u64 nanoseconds of the clock then.
fn epoch(bytes: &[u8], order: ByteOrder) -> Option<i64> {
    let mut reader = Reader::new(bytes, order).at(8);
    let (wall, clock) = (reader.u64()?, reader.u64()?);
    i64::try_from(i128::from(wall) - i128::from(clock)).ok()
}
