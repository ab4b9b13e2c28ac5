//! What a perf.data says of its recording: features, each a section of the file or a record of a pipe.

use std::collections::HashMap;

use crate::ByteOrder;
use crate::bytes::Reader;

/// Bits of the features that are read.
pub(crate) mod bit {
    pub(crate) const TRACING_DATA: u32 = 1;
    pub(crate) const BUILD_ID: u32 = 2;
    pub(crate) const HOSTNAME: u32 = 3;
    pub(crate) const OSRELEASE: u32 = 4;
    pub(crate) const VERSION: u32 = 5;
    pub(crate) const ARCH: u32 = 6;
    pub(crate) const NRCPUS: u32 = 7;
    pub(crate) const EVENT_DESC: u32 = 12;
    pub(crate) const CLOCK_DATA: u32 = 29;
    /// Of Android's simpleperf.
    pub(crate) const META_INFO: u32 = 129;
}

/// Events whose names are read.
const MOST_EVENTS: u32 = 1 << 16;
/// Set in a record's flags where the length of a build-id stands behind it.
const HAS_SIZE: u16 = 1 << 15;

/// What is known of the recording, as pairs of name and value.
pub(crate) fn environment<'a>(
    order: ByteOrder,
    find: impl Fn(u32) -> Option<&'a [u8]>,
) -> Vec<(String, String)> {
    let mut pairs = vec![
        ("domain".to_owned(), "kernel".to_owned()),
        ("tracer_name".to_owned(), "perf".to_owned()),
    ];
    let texts = [
        (bit::HOSTNAME, "hostname"),
        (bit::OSRELEASE, "kernel_release"),
        (bit::ARCH, "machine"),
        (bit::VERSION, "recorder"),
    ];
    for (bit, name) in texts {
        // u32 length of the padded text, the text.
        let text = find(bit).and_then(|bytes| Reader::new(bytes, order).at(4).text());
        if let Some(text) = text {
            pairs.push((name.to_owned(), String::from_utf8_lossy(text).into_owned()));
        }
    }
    // u32 CPUs online behind those available.
    if let Some(count) = find(bit::NRCPUS).and_then(|b| Reader::new(b, order).at(4).u32()) {
        pairs.push(("cpu_count".to_owned(), count.to_string()));
    }
    pairs
}

/// u32 version, u32 clock, u64 nanoseconds since the epoch, u64 nanoseconds of the clock then.
pub(crate) fn epoch(bytes: &[u8], order: ByteOrder) -> Option<i64> {
    let mut reader = Reader::new(bytes, order).at(8);
    let (wall, clock) = (reader.u64()?, reader.u64()?);
    i64::try_from(i128::from(wall) - i128::from(clock)).ok()
}

/// The names of events in the order of their attributes: u32 events, u32 bytes of an attribute; of
/// each its attribute, u32 identifiers, a text after its u32 length, the identifiers.
pub(crate) fn event_names(bytes: &[u8], order: ByteOrder) -> Vec<String> {
    let mut reader = Reader::new(bytes, order);
    let (events, size) = (reader.u32().unwrap_or(0), reader.u32().unwrap_or(0));
    let mut name = || {
        reader.take(size as usize)?;
        let ids = reader.u32()?;
        let length = reader.u32()?;
        let text = reader.take(length as usize)?;
        reader.take((ids as usize).checked_mul(8)?)?;
        Some(text_of(text))
    };
    (0..events.min(MOST_EVENTS)).map_while(|_| name()).collect()
}

/// Names of events by type and configuration, as simpleperf writes them: texts, each a key and its
/// value; that of `event_type_info` has a line `NAME,TYPE,CONFIGURATION` for each event.
pub(crate) fn named_events(bytes: &[u8]) -> HashMap<(u32, u64), String> {
    let mut texts = bytes.split(|&byte| byte == 0);
    let mut pairs = std::iter::from_fn(|| Some((texts.next()?, texts.next()?)));
    let lines =
        pairs.find(|(key, _)| *key == b"event_type_info").map_or(&[][..], |(_, value)| value);
    let event = |line: &str| {
        let (rest, configuration) = line.rsplit_once(',')?;
        let (name, kind) = rest.rsplit_once(',')?;
        Some(((kind.parse().ok()?, configuration.parse().ok()?), name.to_owned()))
    };
    String::from_utf8_lossy(lines).lines().take(MOST_EVENTS as usize).filter_map(event).collect()
}

/// Build-ids by the paths of files: records of i32 process, 24 bytes with the identity, a path.
pub(crate) fn build_ids(bytes: &[u8], order: ByteOrder) -> HashMap<String, Vec<u8>> {
    let mut ids = HashMap::new();
    let mut reader = Reader::new(bytes, order);
    let mut record = || {
        reader.u32()?;
        let (flags, size) = (reader.u16()?, reader.u16()?);
        build_id(flags, reader.take(usize::from(size).checked_sub(8)?)?)
    };
    while let Some((path, id)) = record() {
        ids.insert(path, id);
    }
    ids
}

/// Path and build-id of the body of one such record.
pub(crate) fn build_id(flags: u16, body: &[u8]) -> Option<(String, Vec<u8>)> {
    let (id, path) = body.get(4..)?.split_at_checked(24)?;
    let length = if flags & HAS_SIZE != 0 { usize::from(id[20]).min(20) } else { 20 };
    Some((text_of(path), id[..length].to_vec()))
}

/// A text up to its NUL.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
