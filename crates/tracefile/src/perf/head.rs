//! The head of a perf.data: where its records are, the attributes of its events, and its features.
//!
//! Sections are found here and not by a library's reader, because every offset and size is held
//! against the file before it is used. A file that perf wrote into a pipe has all of it in records.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::bytes::Reader;
use crate::perf::attributes::Attributes;
use crate::perf::features::{self, bit};
use crate::perf::walk::{Walk, kind};
use crate::{ByteOrder, Error, Result};

/// The first bytes of the format, as each byte order writes them; and of that before Linux 3.6,
/// which are the same in both orders.
pub(crate) const MAGICS: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"PERFFILE"];

/// Bytes of the head of a file that was written into a pipe.
const PIPE_HEAD: usize = 16;

/// What precedes and follows the records.
pub(crate) struct Head<'a> {
    pub(crate) order: ByteOrder,
    /// Offset and bytes of the records.
    pub(crate) data: (usize, &'a [u8]),
    pub(crate) attributes: Attributes,
    /// Where the formats of tracepoints are in the file, where there are any.
    pub(crate) tracing_data: Option<Range<usize>>,
    pub(crate) environment: Vec<(String, String)>,
    /// By the paths of files.
    pub(crate) build_ids: HashMap<String, Vec<u8>>,
    pub(crate) clock: &'static str,
    /// Nanoseconds from the clock's zero to the Unix epoch.
    pub(crate) epoch_ns: Option<i64>,
    pub(crate) damage: Vec<(u64, String)>,
}

impl<'a> Head<'a> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn read(file: &'a [u8], path: &Path) -> Result<Self> {
        let order = order(file);
        let mut reader = Reader::new(file, order).at(8);
        let cut = |what: &str| Error::damaged(path, file.len() as u64, what);
        if reader.u64() == Some(PIPE_HEAD as u64) {
            return piped(file, path, order);
        }
        let told = (|| {
            let attribute = reader.u64()?;
            let attributes = (reader.u64()?, reader.u64()?);
            let data = (reader.u64()?, reader.u64()?);
            reader.take(16)?;
            // Those of other programs than perf stand in the bits from 128 on.
            let features = [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
            Some((attribute, attributes, data, features))
        })();
        let (attribute, attributes, data, features) =
            told.ok_or_else(|| cut("the file ends in its head"))?;
        let all =
            section(file, attributes).ok_or_else(|| cut("the file ends in its attributes"))?;
        let mut kinds = kinds(file, &file[all], attribute, order)
            .map_err(|what| Error::damaged(path, attributes.0, what))?;
        let sections = sections(file, data, features, order);
        let place = |bit| sections.iter().find(|(id, _)| *id == bit).map(|(_, at)| at.clone());
        let find = |bit| place(bit).map(|at| &file[at]);
        let tracing_data = place(bit::TRACING_DATA).or_else(|| first_record(file, data.0, order));
        let mut damage = Vec::new();
        if tracing_data.is_none() && features[0] & (1 << bit::TRACING_DATA) != 0 {
            let what = "the file ends before the formats of its events, which stand last";
            if kinds.all.iter().all(|kind| kind.tracepoint) {
                return Err(cut(what));
            }
            damage.push((file.len() as u64, format!("{what}: tracepoints have no fields")));
        }
        let begin = usize::try_from(data.0).unwrap_or(usize::MAX).min(file.len());
        let have = file.len() - begin;
        let mut told = usize::try_from(data.1).unwrap_or(usize::MAX);
        if told == 0 && have > 0 && features == [0; 4] {
            // perf writes the size when it ends.
            told = have;
            damage.push((16 + 24, "perf record was killed: what it writes last is missing".into()));
        } else if told > have {
            damage.push((file.len() as u64, "the file ends before its records do".into()));
        }
        kinds.name_events(&find(bit::META_INFO).map_or_else(HashMap::new, features::named_events));
        kinds.name(find(bit::EVENT_DESC).map_or(vec![], |of| features::event_names(of, order)));
        Ok(Self {
            order,
            data: (begin, &file[begin..begin + told.min(have)]),
            clock: kinds.clock(),
            attributes: kinds,
            tracing_data,
            environment: features::environment(order, find),
            build_ids: find(bit::BUILD_ID)
                .map_or_else(HashMap::new, |of| features::build_ids(of, order)),
            epoch_ns: find(bit::CLOCK_DATA).and_then(|of| features::epoch(of, order)),
            damage,
        })
    }
}

/// The same of a file that was written into a pipe, whose records tell it before the first sample.
fn piped<'a>(file: &'a [u8], path: &Path, order: ByteOrder) -> Result<Head<'a>> {
    let data = &file[PIPE_HEAD..];
    let mut attributes = Attributes::default();
    let mut found: HashMap<u32, &[u8]> = HashMap::new();
    let mut build_ids = HashMap::new();
    let mut tracing_data = None;
    let mut walk = Walk::new(data, order);
    let mut names = Vec::new();
    while let Ok(Some(record)) = walk.next() {
        let mut reader = Reader::new(record.body, order);
        match record.kind {
            kind::ATTRIBUTE => {
                let size = reader.at(4).u32().unwrap_or(0) as usize;
                let (attribute, rest) = record
                    .body
                    .split_at_checked(size)
                    .ok_or_else(|| Error::damaged(path, record.at as u64, "a cut attribute"))?;
                let mut ids = Reader::new(rest, order);
                attributes
                    .add(attribute, std::iter::from_fn(|| ids.u64()), order)
                    .map_err(|what| Error::damaged(path, record.at as u64, what))?;
            }
            kind::EVENT_UPDATE => {
                // u64 what is told, u64 identifier, a text where that is the name.
                let (what, id) = (reader.u64(), reader.u64());
                if let (Some(2), Some(id)) = (what, id) {
                    names.push((id, features::text_of(&record.body[16..])));
                }
            }
            kind::FEATURE => {
                let bit = reader.u64().and_then(|bit| u32::try_from(bit).ok());
                found.extend(bit.map(|bit| (bit, &record.body[8..])));
            }
            kind::BUILD_ID => build_ids.extend(features::build_id(record.flags, record.body)),
            kind::TRACING_DATA => {
                let (before, of) = match record.body.get(4..) {
                    Some(inside) if record.follow.is_empty() => (4, inside),
                    _ => (record.body.len(), record.follow),
                };
                let begin = PIPE_HEAD + record.at + before;
                tracing_data = Some(begin..begin + of.len());
            }
            _ => {}
        }
    }
    let find = |bit| found.get(&bit).copied();
    attributes.name(find(bit::EVENT_DESC).map_or(vec![], |of| features::event_names(of, order)));
    names.into_iter().for_each(|(id, name)| attributes.name_of(id, name));
    let attributes =
        attributes.checked().map_err(|what| Error::damaged(path, PIPE_HEAD as u64, what))?;
    Ok(Head {
        order,
        data: (PIPE_HEAD, data),
        clock: attributes.clock(),
        attributes,
        tracing_data,
        environment: features::environment(order, find),
        build_ids,
        epoch_ns: find(bit::CLOCK_DATA).and_then(|of| features::epoch(of, order)),
        damage: Vec::new(),
    })
}

/// Where Android's simpleperf has the formats of events: in a record, before all others.
fn first_record(file: &[u8], data: u64, order: ByteOrder) -> Option<Range<usize>> {
    let data = usize::try_from(data).ok()?;
    let mut walk = Walk::new(file.get(data..)?, order);
    let record = walk.next().ok()??;
    let told = Reader::new(record.body, order).u32()? as usize;
    let begin = data + record.at + 4;
    let inside = record.kind == kind::TRACING_DATA && told <= record.body.len() - 4;
    (inside && told > 0).then(|| begin..begin + told)
}

/// The order of bytes; of the old format, in which the size of the head is a small number.
fn order(file: &[u8]) -> ByteOrder {
    let head = Reader::new(file, ByteOrder::Little).at(8).u64().unwrap_or(0);
    let old = file.starts_with(MAGICS[2]) && head <= u64::from(u32::MAX);
    if old || file.starts_with(MAGICS[0]) { ByteOrder::Little } else { ByteOrder::Big }
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
        let mut place = Reader::new(ids, order);
        let ids = place.u64().zip(place.u64()).and_then(|place| section(file, place));
        let mut ids = Reader::new(&file[ids.unwrap_or_default()], order);
        attributes.add(attribute, std::iter::from_fn(|| ids.u64()), order)?;
    }
    attributes.checked()
}

/// Places of the features stand behind the records, in the order of their bits.
fn sections(
    file: &[u8],
    data: (u64, u64),
    features: [u64; 4],
    order: ByteOrder,
) -> Vec<(u32, Range<usize>)> {
    let at = data.0.checked_add(data.1).and_then(|at| usize::try_from(at).ok());
    let mut reader = Reader::new(file, order).at(at.unwrap_or(file.len()));
    let bits = (0..256u32).filter(|bit| features[*bit as usize / 64] >> (bit % 64) & 1 == 1);
    let places = bits.map_while(|bit| Some((bit, reader.u64().zip(reader.u64())?)));
    places.filter_map(|(bit, place)| Some((bit, section(file, place)?))).collect()
}
