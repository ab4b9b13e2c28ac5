//! LTTng's index files: where packets begin. They are hints: packets are found by their own sizes,
//! and the index only helps on behind a place that is damaged.

use std::path::Path;

use crate::ByteOrder;
use crate::bytes::Reader;

const MAGIC: u32 = 0xC1F1_DCC1;

/// Offsets of packets in bytes, ascending; none when there is no index or it is no index.
pub(super) fn offsets(stream: &Path) -> Vec<u64> {
    let (Some(directory), Some(name)) = (stream.parent(), stream.file_name()) else {
        return Vec::new();
    };
    let mut file = name.to_os_string();
    file.push(".idx");
    std::fs::read(directory.join("index").join(file)).map_or_else(|_| vec![], |bytes| parse(&bytes))
}

fn parse(bytes: &[u8]) -> Vec<u64> {
    let mut reader = Reader::new(bytes, ByteOrder::Big);
    let mut word = || reader.u32();
    let (Some(MAGIC), Some(_), Some(_), Some(length)) = (word(), word(), word(), word()) else {
        return Vec::new();
    };
    if length < 8 {
        return Vec::new();
    }
    let entries = bytes[16..].chunks_exact(length as usize);
    let mut offsets: Vec<u64> =
        entries.filter_map(|entry| Reader::new(entry, ByteOrder::Big).u64()).collect();
    offsets.sort_unstable();
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_length_that_the_head_says() {
        for length in [56u32, 72] {
            let mut bytes: Vec<u8> = [MAGIC, 1, 1, length].map(u32::to_be_bytes).concat();
            for offset in [0u64, 4096] {
                bytes.extend(offset.to_be_bytes());
                bytes.resize(bytes.len() + length as usize - 8, 0);
            }
            assert_eq!(parse(&bytes), [0, 4096]);
            assert_eq!(parse(&bytes[..bytes.len() - 1]), [0]);
        }
        assert!(parse(&[0; 72]).is_empty());
        // An entry length of 0.
        let head: Vec<u8> = [MAGIC, 1, 1, 0].map(u32::to_be_bytes).concat();
        assert!(parse(&[head, vec![0; 72]].concat()).is_empty());
    }
}
