//! The records of a perf.data file: where the samples of tracepoints lie, by CPU.

use std::collections::BTreeMap;
use std::io::Write;

use linux_perf_event_reader::{ReadFormat, SampleFormat};

use crate::bytes::Reader;
use crate::perf::head::{Attribute, Head};
use crate::{ByteOrder, LossKind};

/// A tracepoint's sample: its time, and where the bytes that the tracepoint wrote lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) time: i64,
    pub(crate) at: u64,
    pub(crate) length: u32,
}

/// Losses of a CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) kind: LossKind,
    pub(crate) after: Option<i64>,
    pub(crate) before: Option<i64>,
    pub(crate) count: u64,
}

/// The samples of one CPU in order of time.
#[derive(Debug, Default)]
pub(crate) struct OfCpu {
    pub(crate) samples: Vec<Sample>,
    pub(crate) lost: Vec<Lost>,
}

/// What the records hold.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// By CPU; `None` when the samples do not tell it.
    pub(crate) cpus: BTreeMap<Option<u32>, OfCpu>,
    pub(crate) tasks: Vec<(i32, String)>,
    /// Samples of events that are no tracepoints.
    pub(crate) others: u64,
    /// Places within the records, and what is wrong there.
    pub(crate) damage: Vec<(u64, String)>,
}

/// Types of records.
mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// Bytes of a record's header: u32 type, u16 flags, u16 size with the header.
const HEADER: usize = 8;
/// Damages that are told; more are counted.
const MOST_DAMAGE: usize = 16;
/// What compressed records may become, times their size: zstd of samples gives 3 to 10.
const MOST_GROWTH: usize = 64;

/// A record: type, place of its body, body.
type Found<'a> = (u32, usize, &'a [u8]);

/// Passes over the records' headers.
struct Walk<'a> {
    reader: Reader<'a>,
    order: ByteOrder,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { reader: Reader::new(bytes, order), order }
    }

    /// The next record: its type, where its body is, the body. Or where and why there is none.
    fn next(&mut self) -> Result<Option<Found<'a>>, (usize, String)> {
        let at = self.reader.position();
        if self.reader.clone().u8().is_none() {
            return Ok(None);
        }
        let cut = || (at, "the file ends in a record".to_owned());
        let head = (|| Some((self.reader.u32()?, self.reader.u16()?, self.reader.u16()?)))();
        let (kind, _, size) = head.ok_or_else(cut)?;
        let Some(size) = usize::from(size).checked_sub(HEADER) else {
            return Err((at, format!("a record of {size} bytes: the rest is left out")));
        };
        let body = self.reader.take(size).ok_or_else(cut)?;
        if kind == kind::AUXTRACE {
            // Followed by as many bytes as its first number says.
            let follow = Reader::new(body, self.order).u64().unwrap_or(0);
            let follow = usize::try_from(follow).unwrap_or(usize::MAX);
            self.reader.take(follow).ok_or_else(cut)?;
        }
        Ok(Some((kind, at + HEADER, body)))
    }
}

/// The records with compressed ones unpacked; `None`: there are none, and they can be read where they
/// lie.
pub(crate) fn unpacked(head: &Head<'_>, damage: &mut Vec<(u64, String)>) -> Option<Vec<u8>> {
    let bytes = head.data.1;
    let packed = |kind| matches!(kind, kind::COMPRESSED | kind::COMPRESSED2);
    let mut walk = Walk::new(bytes, head.order);
    loop {
        match walk.next() {
            Ok(Some((kind, ..))) if packed(kind) => break,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return None,
        }
    }
    // One stream over all compressed records.
    let mut decoder = zstd::stream::write::Decoder::new(Vec::new()).ok()?;
    let mut walk = Walk::new(bytes, head.order);
    while let Ok(Some((kind, at, body))) = walk.next() {
        let body = match kind {
            kind::COMPRESSED => body,
            kind::COMPRESSED2 => {
                let size = Reader::new(body, head.order).u64().unwrap_or(0);
                let rest = &body[body.len().min(8)..];
                &rest[..rest.len().min(usize::try_from(size).unwrap_or(usize::MAX))]
            }
            _ => continue,
        };
        let place = (head.data.0 + at) as u64;
        if let Err(error) = decoder.write_all(body).and_then(|()| decoder.flush()) {
            damage.push((place, format!("compressed records: {error}: the rest is left out")));
            break;
        }
        if decoder.get_ref().len() / MOST_GROWTH > bytes.len() {
            damage.push((place, "compressed records that grow too much".into()));
            break;
        }
    }
    Some(std::mem::take(decoder.get_mut()))
}

impl Records {
    /// Reads all records.
    pub(crate) fn read(head: &Head<'_>, bytes: &[u8]) -> Self {
        let mut records = Self::default();
        let mut walk = Walk::new(bytes, head.order);
        let mut wrong = 0usize;
        let mut damage = |records: &mut Self, at: usize, what: String| {
            wrong += 1;
            if wrong <= MOST_DAMAGE {
                records.damage.push((at as u64, what));
            }
        };
        loop {
            match walk.next() {
                Ok(Some((kind, at, body))) => {
                    if let Err(what) = records.take(head, kind, at, body) {
                        damage(&mut records, at, what.into());
                    }
                }
                Ok(None) => break,
                Err((at, what)) => {
                    damage(&mut records, at, what);
                    break;
                }
            }
        }
        if wrong > MOST_DAMAGE {
            let more = wrong - MOST_DAMAGE;
            records.damage.push((bytes.len() as u64, format!("{more} more places are damaged")));
        }
        for of_cpu in records.cpus.values_mut() {
            if !of_cpu.samples.is_sorted_by_key(|sample| sample.time) {
                of_cpu.samples.sort_by_key(|sample| sample.time);
            }
        }
        records
    }

    fn take(
        &mut self,
        head: &Head<'_>,
        kind: u32,
        at: usize,
        body: &[u8],
    ) -> Result<(), &'static str> {
        match kind {
            kind::SAMPLE => self.sample(head, at, body),
            kind::LOST | kind::LOST_SAMPLES => {
                // u64 id before the number in the first.
                let begin = if kind == kind::LOST { 8 } else { 0 };
                let count = Reader::new(body, head.order).at(begin).u64();
                let count = count.ok_or("a record of losses that is cut short")?;
                let (before, cpu) = trailer(head, body);
                let of_cpu = self.cpus.entry(cpu).or_default();
                let after = of_cpu.samples.last().map(|sample| sample.time);
                of_cpu.lost.push(Lost { kind: LossKind::Events, after, before, count });
                Ok(())
            }
            kind::COMM => {
                let mut reader = Reader::new(body, head.order).at(4);
                if let (Some(thread), Some(name)) = (reader.u32(), reader.text()) {
                    self.tasks.push((thread as i32, String::from_utf8_lossy(name).into_owned()));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sample(&mut self, head: &Head<'_>, at: usize, body: &[u8]) -> Result<(), &'static str> {
        let mut reader = Reader::new(body, head.order);
        let identifier = head.attributes.identified().then(|| reader.clone().u64()).flatten();
        let attribute = head.attributes.of(identifier).ok_or("a sample of an unknown event")?;
        if !attribute.tracepoint || !attribute.format.contains(SampleFormat::RAW) {
            self.others += 1;
            return Ok(());
        }
        let told = sample(&mut reader, attribute).ok_or("a sample that is cut short")?;
        let raw = Sample {
            time: told.time.ok_or("samples without their time")? as i64,
            at: (at + reader.position()) as u64,
            length: told.length,
        };
        self.cpus.entry(told.cpu).or_default().samples.push(raw);
        Ok(())
    }
}

struct Told {
    time: Option<u64>,
    cpu: Option<u32>,
    length: u32,
}

/// Reads a sample up to the raw data of its tracepoint, of which it checks the length.
fn sample(reader: &mut Reader<'_>, attribute: &Attribute) -> Option<Told> {
    let has = |part| attribute.format.contains(part);
    let skip =
        |reader: &mut Reader<'_>, part| if has(part) { reader.u64().map(drop) } else { Some(()) };
    let mut told = Told { time: None, cpu: None, length: 0 };
    skip(reader, SampleFormat::IDENTIFIER)?;
    skip(reader, SampleFormat::IP)?;
    skip(reader, SampleFormat::TID)?;
    if has(SampleFormat::TIME) {
        told.time = Some(reader.u64()?);
    }
    skip(reader, SampleFormat::ADDR)?;
    skip(reader, SampleFormat::ID)?;
    skip(reader, SampleFormat::STREAM_ID)?;
    if has(SampleFormat::CPU) {
        told.cpu = Some(reader.u32()?);
        reader.u32()?;
    }
    skip(reader, SampleFormat::PERIOD)?;
    if has(SampleFormat::READ) {
        let read = |part| u64::from(attribute.read.contains(part));
        let times = read(ReadFormat::TOTAL_TIME_ENABLED) + read(ReadFormat::TOTAL_TIME_RUNNING);
        // A group has its number of values first, and each with its id.
        let words = match attribute.read.contains(ReadFormat::GROUP) {
            true => reader.u64()?.checked_mul(1 + read(ReadFormat::ID))?.checked_add(times)?,
            false => 1 + times + read(ReadFormat::ID),
        };
        words_over(reader, words)?;
    }
    if has(SampleFormat::CALLCHAIN) {
        let words = reader.u64()?;
        words_over(reader, words)?;
    }
    told.length = reader.u32()?;
    reader.clone().take(told.length as usize)?;
    Some(told)
}

fn words_over(reader: &mut Reader<'_>, words: u64) -> Option<()> {
    let bytes = usize::try_from(words).ok()?.checked_mul(8)?;
    reader.take(bytes).map(drop)
}

/// Time and CPU at the end of a record that is no sample.
fn trailer(head: &Head<'_>, body: &[u8]) -> (Option<i64>, Option<u32>) {
    let Some(attribute) = head.attributes.all.first().filter(|each| each.trailer) else {
        return (None, None);
    };
    let has = |part| attribute.format.contains(part);
    let parts = [
        SampleFormat::TID,
        SampleFormat::TIME,
        SampleFormat::ID,
        SampleFormat::STREAM_ID,
        SampleFormat::CPU,
        SampleFormat::IDENTIFIER,
    ];
    let bytes = parts.into_iter().filter(|&part| has(part)).count() * 8;
    let Some(begin) = body.len().checked_sub(bytes) else { return (None, None) };
    let mut reader = Reader::new(body, head.order).at(begin);
    let (mut time, mut cpu) = (None, None);
    for part in parts.into_iter().filter(|&part| has(part)) {
        match part {
            SampleFormat::TIME => time = reader.u64().map(|time| time as i64),
            SampleFormat::CPU => cpu = reader.u32().filter(|_| reader.u32().is_some()),
            _ => drop(reader.u64()),
        }
    }
    (time, cpu)
}
