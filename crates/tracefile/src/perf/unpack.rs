//! Unpacks the records that are compressed.

use std::io::Write;

use crate::bytes::Reader;
use crate::perf::head::Head;
use crate::perf::walk::{HEADER, Walk, kind};

/// What compressed records may become, times their size: zstd of samples gives 3 to 10, of copies of
/// stacks, which are mostly zeros, more than 100.
const MOST_GROWTH: usize = 512;

/// All records, behind those that lie open what the compressed ones hold; `None`: none is compressed,
/// and they can be read where they lie.
pub(crate) fn unpacked(head: &Head<'_>, damage: &mut Vec<(u64, String)>) -> Option<Vec<u8>> {
    let bytes = head.data.1;
    let packed = |kind| matches!(kind, kind::COMPRESSED | kind::COMPRESSED2);
    let mut walk = Walk::new(bytes, head.order);
    loop {
        match walk.next() {
            Ok(Some(record)) if packed(record.kind) => break,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return None,
        }
    }
    let mut open = Vec::new();
    let mut walk = Walk::new(bytes, head.order);
    while let Ok(Some(record)) = walk.next() {
        if !packed(record.kind) && record.follow.is_empty() {
            open.extend_from_slice(&bytes[record.at - HEADER..record.at + record.body.len()]);
        }
    }
    // One stream over all compressed records.
    let mut decoder = zstd::stream::write::Decoder::new(open).ok()?;
    let mut walk = Walk::new(bytes, head.order);
    while let Ok(Some(record)) = walk.next() {
        let body = match record.kind {
            kind::COMPRESSED => record.body,
            kind::COMPRESSED2 => {
                let size = Reader::new(record.body, head.order).u64().unwrap_or(0);
                let rest = &record.body[record.body.len().min(8)..];
                &rest[..rest.len().min(usize::try_from(size).unwrap_or(usize::MAX))]
            }
            _ => continue,
        };
        let place = (head.data.0 + record.at) as u64;
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
