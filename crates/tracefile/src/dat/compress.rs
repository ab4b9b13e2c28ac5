//! The compression of trace.dat version 7: of whole sections, and of each CPU's pages in chunks.

use std::io::Read;
use std::ops::Range;

use crate::ByteOrder;
use crate::bytes::Reader;

/// An algorithm, as the file's head names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Zlib,
    Zstd,
}

/// The largest section: format texts and kernel symbols have some megabytes.
const MOST_SECTION: usize = 256 << 20;
/// The largest chunk: trace-cmd makes them of ten pages.
const MOST_CHUNK: usize = 64 << 20;
/// The most that a byte can become: zstd stores 128 kB of zeros in four. It bounds what a file can
/// make of itself.
const MOST_GROWTH: usize = 1 << 15;

impl Codec {
    /// `None` for a name that is not known.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"none" | b"" => Some(Self::None),
            b"zlib" => Some(Self::Zlib),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Decompresses a section, see [`Codec::unpack`].
    pub(crate) fn section(self, packed: &[u8], size: usize) -> Result<Vec<u8>, String> {
        if size > MOST_SECTION {
            return Err(format!("a section of {size} bytes uncompressed"));
        }
        let mut into = Vec::new();
        self.unpack(packed, size, &mut into).map(|()| into)
    }

    /// Decompresses what says of itself that it becomes `size` bytes. Memory grows with what is
    /// there, not with what is told.
    fn unpack(self, packed: &[u8], size: usize, into: &mut Vec<u8>) -> Result<(), String> {
        into.clear();
        let most = size as u64 + 1;
        let read = match self {
            Self::None => packed.take(most).read_to_end(into),
            Self::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(into),
            Self::Zstd => zstd::stream::read::Decoder::with_buffer(packed)
                .and_then(|decoder| decoder.take(most).read_to_end(into)),
        };
        read.map_err(|error| format!("compressed data: {error}"))?;
        match into.len() == size {
            true => Ok(()),
            false => Err(format!("compressed data of other than the told {size} bytes")),
        }
    }
}

/// A compressed run of whole pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Where in the file.
    pub(crate) packed: Range<usize>,
    /// Its size uncompressed.
    pub(crate) size: usize,
}

impl Chunk {
    /// Decompresses the chunk.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn unpack(
        &self,
        file: &[u8],
        codec: Codec,
        into: &mut Vec<u8>,
    ) -> Result<(), String> {
        let packed = file.get(self.packed.clone()).ok_or("a chunk beyond the file's end")?;
        codec.unpack(packed, self.size, into)
    }
}

/// The chunks of a CPU's pages.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    pub(crate) chunks: Vec<Chunk>,
    /// Where they end.
    pub(crate) end: usize,
    /// Where and why the walk ended early.
    pub(crate) cut: Option<(usize, String)>,
}

/// Walks the table of chunks, which stand one behind the other at `at`: a count, then sizes and data
/// of each.
pub(crate) fn chunks(file: &[u8], at: usize, order: ByteOrder) -> Chunks {
    let mut reader = Reader::new(file, order).at(at);
    let mut table = Chunks { end: at, ..Chunks::default() };
    let Some(count) = reader.u32() else {
        table.cut = Some((at, "no count of compressed chunks".into()));
        return table;
    };
    for number in 0..count {
        let begin = reader.position();
        let next = (|| {
            let (packed, size) = (reader.u32()? as usize, reader.u32()? as usize);
            let data = reader.position();
            reader.take(packed)?;
            Some(Chunk { packed: data..data + packed, size })
        })();
        let Some(chunk) = next else {
            table.cut =
                Some((begin, format!("the data end before chunk {number} of {count} does")));
            break;
        };
        let most = chunk.packed.len().saturating_mul(MOST_GROWTH).min(MOST_CHUNK);
        if chunk.size > most {
            let what = format!("chunk {number} of {count} would be {} bytes", chunk.size);
            table.cut = Some((begin, what));
            break;
        }
        table.end = reader.position();
        table.chunks.push(chunk);
    }
    table
}
