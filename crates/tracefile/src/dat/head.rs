//! What a trace.dat says before its pages: the head that both versions share, and the blocks of text
//! that version 6 holds one after the other and version 7 in sections.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use crate::bytes::Reader;
use crate::dat::compress::Codec;
use crate::dat::options::Options;
use crate::{ByteOrder, Error, Result};

/// The first bytes of every trace.dat.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Everything but the pages.
pub(crate) struct Head<'a> {
    /// 6 or 7.
    pub(crate) version: u8,
    pub(crate) order: ByteOrder,
    /// Size of the *user-space* long of the traced machine: of pointers in its programs.
    pub(crate) user_long: u8,
    pub(crate) codec: Codec,
    /// Texts of the page header, and of the events by system.
    pub(crate) header_page: Option<Cow<'a, [u8]>>,
    pub(crate) formats: Vec<(String, Cow<'a, [u8]>)>,
    /// Not read before somebody asks for a symbol.
    pub(crate) symbols: Option<Blob>,
    /// The format strings of `trace_printk`, not read before an event needs one.
    pub(crate) printk: Option<Blob>,
    pub(crate) cmdlines: Cow<'a, [u8]>,
    pub(crate) options: Options,
    pub(crate) buffers: Vec<Buffer>,
    /// Places of the file that could not be read, and what is missing for it.
    pub(crate) damage: Vec<(u64, String)>,
    pub(crate) notes: Vec<String>,
}

/// One instance's ring buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Empty for the top-level instance.
    pub(crate) name: String,
    pub(crate) clock: Option<String>,
    /// Bytes of a page (sub-buffer).
    pub(crate) page: u32,
    pub(crate) cpus: Vec<CpuData>,
}

/// Where the pages of a CPU are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuData {
    /// `None`: not known, see [`crate::dat::v7`].
    pub(crate) cpu: Option<u32>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Bytes of the file, perhaps compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) range: Range<usize>,
    /// The uncompressed size, when it is compressed.
    pub(crate) unpacked: Option<usize>,
    /// Whether it begins with its own length as a u32.
    pub(crate) prefixed: bool,
}

impl Blob {
    /// The bytes themselves.
    ///
    /// # Errors
    /// What is wrong with compressed ones.
    pub(crate) fn bytes<'a>(
        &self,
        file: &'a [u8],
        codec: Codec,
    ) -> std::result::Result<Cow<'a, [u8]>, String> {
        let stored = file.get(self.range.clone()).ok_or("a section beyond the file's end")?;
        match self.unpacked {
            None => Ok(Cow::Borrowed(stored)),
            Some(size) => codec.section(stored, size).map(Cow::Owned),
        }
    }
}

impl<'a> Head<'a> {
    /// Reads what all versions begin with: the head so far, the reader of what follows, and the size
    /// of a page.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it ends before that, [`Error::Unsupported`] for versions that are not
    /// known.
    pub(crate) fn begin(file: &'a [u8], path: &Path) -> Result<(Self, Reader<'a>, u32)> {
        let cut = |at: usize, what: &str| Error::damaged(path, at as u64, what);
        let mut reader = Reader::new(file, ByteOrder::Little).at(MAGIC.len());
        let version = reader.text().ok_or_else(|| cut(MAGIC.len(), "no version"))?;
        let version = match version {
            b"6" => 6,
            b"7" => 7,
            other => {
                let what = format!("trace.dat version {}", String::from_utf8_lossy(other));
                return Err(Error::unsupported(path, what));
            }
        };
        let at = reader.position();
        let order = match reader.u8() {
            Some(0) => ByteOrder::Little,
            Some(1) => ByteOrder::Big,
            Some(other) => return Err(cut(at, &format!("byte order {other}"))),
            None => return Err(cut(at, "the file ends before the byte order")),
        };
        let mut reader = Reader::new(file, order).at(at + 1);
        let sizes = (|| Some((reader.u8()?, reader.u32()?)))();
        let (user_long, page) =
            sizes.ok_or_else(|| cut(at + 1, "the file ends before the page size"))?;
        let head = Self {
            version,
            order,
            user_long,
            codec: Codec::None,
            header_page: None,
            formats: Vec::new(),
            symbols: None,
            printk: None,
            cmdlines: Cow::Borrowed(&[]),
            options: Options::default(),
            buffers: Vec::new(),
            damage: Vec::new(),
            notes: Vec::new(),
        };
        Ok((head, reader, page))
    }
}

/// `header_page\0`, u64 size and text, `header_event\0`, u64 size and text (which says nothing new).
pub(crate) fn header_info<'a>(reader: &mut Reader<'a>) -> std::result::Result<&'a [u8], String> {
    let mut page = None;
    for name in [&b"header_page"[..], b"header_event"] {
        let at = reader.position();
        match reader.text() {
            Some(found) if found == name => {}
            _ => return Err(format!("no {} at {at}", String::from_utf8_lossy(name))),
        }
        let text = sized(reader).ok_or_else(|| format!("the {} is cut short", at))?;
        page = page.or(Some(text));
    }
    Ok(page.unwrap_or_default())
}

/// u64 size and text.
fn sized<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let size = reader.u64()?;
    reader.take(usize::try_from(size).ok()?)
}

/// The formats of system `ftrace`: u32 count, each u64 size and text.
///
/// Returns whether they are whole; `each` is called with system and text of those that are.
pub(crate) fn ftrace_formats<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(String, &'a [u8]),
) -> bool {
    formats(reader, "ftrace", &mut each).is_some()
}

/// u32 number of systems, each name\0 and the formats as above.
pub(crate) fn event_formats<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(String, &'a [u8]),
) -> bool {
    let mut all = || {
        for _ in 0..reader.u32()? {
            let system = String::from_utf8_lossy(reader.text()?).into_owned();
            formats(reader, &system, &mut each)?;
        }
        Some(())
    };
    all().is_some()
}

fn formats<'a>(
    reader: &mut Reader<'a>,
    system: &str,
    each: &mut impl FnMut(String, &'a [u8]),
) -> Option<()> {
    for _ in 0..reader.u32()? {
        each(system.to_owned(), sized(reader)?);
    }
    Some(())
}

/// Tasks of the saved command lines: `PID NAME` a line.
pub(crate) fn tasks(text: &[u8]) -> Vec<(i32, String)> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, name.trim_end_matches('\0').to_owned()))
    };
    text.lines().filter_map(line).collect()
}
