//! Passes over the headers of records.

use crate::ByteOrder;
use crate::bytes::Reader;

/// Types of records, as the kernel and perf number them.
pub(crate) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const THROTTLE: u32 = 5;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const KSYMBOL: u32 = 17;
    pub(crate) const ATTRIBUTE: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// Bytes of a record's header: u32 type, u16 flags, u16 size with the header.
pub(crate) const HEADER: usize = 8;

/// A record: its type and flags, where its body is among the records, the body, and what follows the
/// record without being one.
pub(crate) struct Found<'a> {
    pub(crate) kind: u32,
    pub(crate) flags: u16,
    pub(crate) at: usize,
    pub(crate) body: &'a [u8],
    pub(crate) follow: &'a [u8],
}

/// Passes over the records' headers.
pub(crate) struct Walk<'a> {
    reader: Reader<'a>,
    order: ByteOrder,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { reader: Reader::new(bytes, order), order }
    }

    /// The next record, or where and why it cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Found<'a>>, (usize, String)> {
        let at = self.reader.position();
        if self.reader.clone().u8().is_none() {
            return Ok(None);
        }
        let cut = || (at, "the file ends in a record".to_owned());
        let head = (|| Some((self.reader.u32()?, self.reader.u16()?, self.reader.u16()?)))();
        let (kind, flags, size) = head.ok_or_else(cut)?;
        let Some(size) = usize::from(size).checked_sub(HEADER) else {
            return Err((at, format!("a record of {size} bytes: the rest is left out")));
        };
        let body = self.reader.take(size).ok_or_else(cut)?;
        let mut reader = Reader::new(body, self.order);
        // Followed by as many bytes as its first number says.
        let follow = match kind {
            kind::AUXTRACE => reader.u64().unwrap_or(0),
            // Android's simpleperf writes them into the record.
            kind::TRACING_DATA => match reader.u32() {
                Some(told) if told as usize > body.len() - 4 => u64::from(told),
                _ => 0,
            },
            _ => 0,
        };
        let follow = self.reader.take(usize::try_from(follow).unwrap_or(usize::MAX));
        let follow = follow.ok_or_else(cut)?;
        Ok(Some(Found { kind, flags, at: at + HEADER, body, follow }))
    }
}
