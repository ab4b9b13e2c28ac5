//! The records of a perf.data: where samples and what else became events lie, by CPU.

use std::collections::BTreeMap;

use linux_perf_event_reader::SampleFormat;

use crate::LossKind;
use crate::bytes::Reader;
use crate::perf::attributes::Attribute;
use crate::perf::head::Head;
use crate::perf::sample;
use crate::perf::walk::{Found, HEADER, Walk, kind};

/// What becomes an event: its time, and where it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) time: i64,
    /// Of a tracepoint what it wrote; of others the record's header.
    pub(crate) at: u64,
    pub(crate) length: u16,
    /// Bytes from the record's header to what a tracepoint wrote; 0 of others.
    pub(crate) head: u16,
    pub(crate) what: What,
}

/// What lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// What a tracepoint wrote; the event has this place among the attributes.
    Tracepoint(u16),
    /// A sample of the event that has this place among the attributes.
    Sample(u16),
    /// A record on threads, files or symbols; `existing`: of what was before the recording began.
    Sideband { existing: bool },
}

/// Losses of a CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) kind: LossKind,
    pub(crate) after: Option<i64>,
    pub(crate) before: Option<i64>,
    pub(crate) count: u64,
}

/// The events of one CPU in order of time.
#[derive(Debug, Default)]
pub(crate) struct OfCpu {
    pub(crate) places: Vec<Place>,
    pub(crate) lost: Vec<Lost>,
}

/// What the records hold.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// By CPU; `None` when the records do not tell it.
    pub(crate) cpus: BTreeMap<Option<u32>, OfCpu>,
    pub(crate) tasks: Vec<(i32, String)>,
    /// How often the kernel stopped sampling for a moment, as it took too long.
    pub(crate) throttled: u64,
    /// Samples without their time.
    pub(crate) untimed: u64,
    /// Places within the records, and what is wrong there.
    pub(crate) damage: Vec<(u64, String)>,
}

/// Damages that are told; more are counted.
const MOST_DAMAGE: usize = 16;

impl Records {
    /// Reads all records. `raw`: the formats of tracepoints are known.
    pub(crate) fn read(head: &Head<'_>, bytes: &[u8], raw: bool) -> Self {
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
                Ok(Some(record)) => {
                    if let Err(what) = records.take(head, &record, raw) {
                        damage(&mut records, record.at, what.into());
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
        records.order();
        records
    }

    /// What perf told of what existed before has no time: it held when the first event came.
    fn order(&mut self) {
        let known = self.cpus.values().flat_map(|of_cpu| &of_cpu.places);
        let first = known.map(|place| place.time).filter(|&time| time != 0).min();
        for of_cpu in self.cpus.values_mut() {
            for place in &mut of_cpu.places {
                if matches!(place.what, What::Sideband { existing: true }) {
                    place.time = first.unwrap_or(0);
                }
            }
            if !of_cpu.places.is_sorted_by_key(|place| place.time) {
                of_cpu.places.sort_by_key(|place| place.time);
            }
        }
    }

    fn take(&mut self, head: &Head<'_>, record: &Found<'_>, raw: bool) -> Result<(), &'static str> {
        let body = Reader::new(record.body, head.order);
        match record.kind {
            kind::SAMPLE => self.sample(head, record, raw)?,
            kind::LOST | kind::LOST_SAMPLES => {
                // u64 id before the number in the first.
                let begin = if record.kind == kind::LOST { 8 } else { 0 };
                let count = body.at(begin).u64().ok_or("a record of losses that is cut short")?;
                let (before, cpu) = trailer(head, record.body);
                let of_cpu = self.cpus.entry(cpu).or_default();
                let after = of_cpu.places.last().map(|place| place.time);
                of_cpu.lost.push(Lost { kind: LossKind::Events, after, before, count });
            }
            kind::THROTTLE => self.throttled += 1,
            kind::COMM | kind::FORK | kind::EXIT | kind::MMAP | kind::MMAP2 | kind::KSYMBOL => {
                if record.kind == kind::COMM {
                    let mut reader = body.at(4);
                    if let (Some(thread), Some(name)) = (reader.u32(), reader.text()) {
                        let name = String::from_utf8_lossy(name).into_owned();
                        self.tasks.push((thread as i32, name));
                    }
                }
                self.sideband(head, record);
            }
            _ => {}
        }
        Ok(())
    }

    /// A record on threads, files or symbols; one of what existed before has neither time nor CPU.
    fn sideband(&mut self, head: &Head<'_>, record: &Found<'_>) {
        let (time, cpu) = trailer(head, record.body);
        let time = time.unwrap_or(0);
        self.cpus.entry(cpu.filter(|_| time != 0)).or_default().places.push(Place {
            time,
            at: (record.at - HEADER) as u64,
            length: (record.body.len() + HEADER) as u16,
            head: 0,
            what: What::Sideband { existing: time == 0 },
        });
    }

    fn sample(
        &mut self,
        head: &Head<'_>,
        record: &Found<'_>,
        raw: bool,
    ) -> Result<(), &'static str> {
        let body = Reader::new(record.body, head.order);
        let at = sample::attribute(body, &head.attributes);
        let at = at.ok_or("a sample of an unknown event")?;
        let attribute = &head.attributes.all[at];
        let parts = sample::parts(body, attribute).ok_or("a sample that is cut short")?;
        self.untimed += u64::from(parts.time.is_none());
        let time = parts.time.unwrap_or(0) as i64;
        let place = match parts.raw {
            Some((begin, bytes)) if raw && attribute.tracepoint => Place {
                time,
                at: (record.at + begin) as u64,
                length: bytes.len() as u16,
                head: (HEADER + begin) as u16,
                what: What::Tracepoint(at as u16),
            },
            _ => Place {
                time,
                at: (record.at - HEADER) as u64,
                length: (record.body.len() + HEADER) as u16,
                head: 0,
                what: What::Sample(at as u16),
            },
        };
        self.cpus.entry(parts.cpu).or_default().places.push(place);
        Ok(())
    }
}

/// Time and CPU at the end of a record that is no sample.
pub(crate) fn trailer(head: &Head<'_>, body: &[u8]) -> (Option<i64>, Option<u32>) {
    let Some(attribute) = trailing(head, body).filter(|each| each.trailer) else {
        return (None, None);
    };
    let parts = [
        SampleFormat::TID,
        SampleFormat::TIME,
        SampleFormat::ID,
        SampleFormat::STREAM_ID,
        SampleFormat::CPU,
        SampleFormat::IDENTIFIER,
    ];
    let bytes = parts.into_iter().filter(|&part| attribute.has(part)).count() * 8;
    let Some(begin) = body.len().checked_sub(bytes) else { return (None, None) };
    let mut reader = Reader::new(body, head.order).at(begin);
    let (mut time, mut cpu) = (None, None);
    for part in parts.into_iter().filter(|&part| attribute.has(part)) {
        match part {
            SampleFormat::TIME => time = reader.u64().map(|time| time as i64),
            SampleFormat::CPU => cpu = reader.u32().filter(|_| reader.u32().is_some()),
            _ => drop(reader.u64()),
        }
    }
    (time, cpu)
}

/// The event whose form the end of a record has: the identifier is its last word.
fn trailing<'a>(head: &'a Head<'_>, body: &[u8]) -> Option<&'a Attribute> {
    let attributes = &head.attributes;
    let id = match attributes.identified() {
        true => Reader::new(body, head.order).at(body.len().checked_sub(8)?).u64(),
        false => None,
    };
    attributes.of(id).or(Some(0)).and_then(|at| attributes.all.get(at))
}
