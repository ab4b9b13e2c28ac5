//! Version 7: sections anywhere in the file, found through a chain of option sections.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use crate::bytes::Reader;
use crate::dat::compress::Codec;
use crate::dat::head::{self, Blob, Buffer, CpuData, Head};
use crate::dat::options::{End, id};
use crate::{Error, Result};

/// Bytes of a section's header: u16 id, u16 flags, u32 string id, u64 size.
const HEADER: usize = 16;
const COMPRESSED: u16 = 1;

struct Section {
    id: u16,
    blob: Blob,
    /// Whether the file ends within it.
    cut: bool,
}

/// Reads everything behind the page size.
pub(crate) fn read<'a>(
    head: &mut Head<'a>,
    mut reader: Reader<'a>,
    file: &'a [u8],
    page: u32,
    path: &Path,
) -> Result<()> {
    let at = reader.position() as u64;
    let fields = (|| Some((reader.text()?, reader.text()?, reader.u64()?)))();
    let Some((codec, _version, first)) = fields else {
        return Err(Error::damaged(path, at, "the file ends in its head"));
    };
    head.codec = Codec::named(codec).ok_or_else(|| {
        let name = String::from_utf8_lossy(codec);
        Error::unsupported(path, format!("compression {name} (known: none, zlib, zstd)"))
    })?;
    let last = options(head, file, first);
    let places = std::mem::take(&mut head.options.places);
    let mut formats = Vec::new();
    for (option, data) in &places {
        match *option {
            id::BUFFER => buffer(head, data),
            id::BUFFER_TEXT if places.iter().all(|(other, _)| *other != id::BUFFER) => {
                let what = "a trace.dat of a latency tracer (text, not ring-buffer pages; \
                            `trace-cmd report` prints it)";
                return Err(Error::unsupported(path, what));
            }
            id::BUFFER_TEXT => {
                head.notes.push("an instance with a latency tracer's text is left out".into());
            }
            _ => section_of(head, *option, data, file, &mut formats),
        }
    }
    head.formats = formats;
    if head.buffers.is_empty() {
        recover(head, file, last, page);
    }
    Ok(())
}

/// Follows the chain of options. Returns where it ended.
fn options(head: &mut Head<'_>, file: &[u8], first: u64) -> u64 {
    let mut seen = HashSet::new();
    let mut next = first;
    let mut end = first;
    while next != 0 {
        if !seen.insert(next) {
            head.damage.push((next, "the chain of options comes back to this place".into()));
            break;
        }
        let section = match section(head, file, next) {
            Ok(section) if section.id == id::DONE => section,
            Ok(section) => {
                let what = format!("options expected, not a section of id {}", section.id);
                head.damage.push((next, what));
                break;
            }
            Err(what) => {
                head.damage.push((next, format!("options: {what}")));
                break;
            }
        };
        end = section.blob.range.end as u64;
        let bytes = match section.blob.bytes(file, head.codec) {
            Ok(bytes) => bytes,
            Err(what) => {
                head.damage.push((next, format!("options: {what}")));
                break;
            }
        };
        let order = head.order;
        match head.options.read(&mut Reader::new(&bytes, order), order) {
            End::Done { next: following } => next = following,
            End::Cut => {
                head.damage.push((next, "options that do not end".into()));
                break;
            }
        }
    }
    end
}

fn section(head: &Head<'_>, file: &[u8], offset: u64) -> std::result::Result<Section, String> {
    let beyond = || format!("the file ends before byte {offset} or in the section there");
    let at = usize::try_from(offset).map_err(|_| beyond())?;
    let mut reader = Reader::new(file, head.order).at(at);
    if at > file.len() {
        return Err(beyond());
    }
    let header = (|| Some((reader.u16()?, reader.u16()?, reader.u32()?, reader.u64()?)))();
    let (id, flags, _name, size) = header.ok_or_else(beyond)?;
    let begin = at + HEADER;
    let have = file.len() - begin;
    let claimed = usize::try_from(size).unwrap_or(usize::MAX);
    let cut = claimed > have;
    let range = begin..begin + claimed.min(have);
    let blob = match flags & COMPRESSED {
        0 => Blob { range, unpacked: None, prefixed: false },
        _ => {
            let sizes = (|| Some((reader.u32()? as usize, reader.u32()? as usize)))();
            let (packed, unpacked) = sizes.ok_or_else(beyond)?;
            let begin = reader.position();
            if packed > file.len() - begin {
                return Err(beyond());
            }
            Blob { range: begin..begin + packed, unpacked: Some(unpacked), prefixed: false }
        }
    };
    Ok(Section { id, cut: cut && blob.unpacked.is_none(), blob })
}

/// A section that an option tells of.
fn section_of<'a>(
    head: &mut Head<'a>,
    option: u16,
    data: &[u8],
    file: &'a [u8],
    formats: &mut Vec<(String, Cow<'a, [u8]>)>,
) {
    let wanted = [
        (id::HEADER_INFO, "the page header's format"),
        (id::FTRACE_EVENTS, "the formats of ftrace's own events"),
        (id::EVENT_FORMATS, "the event formats"),
        (id::KALLSYMS, "the kernel symbols"),
        (id::PRINTK, "the formats of trace_printk"),
        (id::CMDLINES, "the names of tasks"),
    ];
    let Some((_, what)) = wanted.into_iter().find(|(id, _)| *id == option) else { return };
    let Some(offset) = Reader::new(data, head.order).u64() else {
        head.damage.push((0, format!("option {option} without a place: no {what}")));
        return;
    };
    let section = match section(head, file, offset) {
        Ok(section) => section,
        Err(why) => return head.damage.push((offset, format!("{what}: {why}"))),
    };
    if section.cut {
        head.damage.push((offset, format!("{what}: the file ends within")));
    }
    let lazy = match option {
        id::KALLSYMS => &mut head.symbols,
        id::PRINTK => &mut head.printk,
        _ => return taken(head, option, offset, what, section, file, formats),
    };
    *lazy = Some(Blob { prefixed: true, ..section.blob });
}

/// Reads a section that is needed at once.
fn taken<'a>(
    head: &mut Head<'a>,
    option: u16,
    offset: u64,
    what: &str,
    section: Section,
    file: &'a [u8],
    formats: &mut Vec<(String, Cow<'a, [u8]>)>,
) {
    let bytes = match section.blob.bytes(file, head.codec) {
        Ok(bytes) => bytes,
        Err(why) => return head.damage.push((offset, format!("{what}: {why}"))),
    };
    if let Err(why) = take(head, option, bytes, formats)
        && !section.cut
    {
        head.damage.push((offset, format!("{what}: {why}")));
    }
}

/// Takes a section's contents over; what precedes an error in it is kept.
fn take<'a>(
    head: &mut Head<'a>,
    option: u16,
    bytes: Cow<'a, [u8]>,
    formats: &mut Vec<(String, Cow<'a, [u8]>)>,
) -> std::result::Result<(), String> {
    let order = head.order;
    match option {
        id::HEADER_INFO => {
            let text = head::header_info(&mut Reader::new(&bytes, order))?.to_vec();
            head.header_page = Some(Cow::Owned(text));
        }
        id::CMDLINES => {
            let mut reader = Reader::new(&bytes, order);
            let size = usize::try_from(reader.u64().ok_or("no size")?).unwrap_or(usize::MAX);
            let have = bytes.len() - reader.position();
            head.cmdlines = Cow::Owned(reader.take(size.min(have)).unwrap_or_default().to_vec());
            if size > have {
                return Err("cut short".into());
            }
        }
        _ => {
            // Formats of uncompressed files are parsed where they lie.
            let whole = match &bytes {
                Cow::Borrowed(bytes) => texts(option, Reader::new(bytes, order), |system, text| {
                    formats.push((system, Cow::Borrowed(text)));
                }),
                Cow::Owned(bytes) => texts(option, Reader::new(bytes, order), |system, text| {
                    formats.push((system, Cow::Owned(text.to_vec())));
                }),
            };
            if !whole {
                return Err("cut short".into());
            }
        }
    }
    Ok(())
}

fn texts<'b>(option: u16, mut reader: Reader<'b>, each: impl FnMut(String, &'b [u8])) -> bool {
    match option {
        id::FTRACE_EVENTS => head::ftrace_formats(&mut reader, each),
        _ => head::event_formats(&mut reader, each),
    }
}

/// Option BUFFER: u64 offset of the section, instance name, clock name, u32 page size, u32 number of
/// CPUs, each u32 CPU, u64 offset, u64 size.
fn buffer(head: &mut Head<'_>, data: &[u8]) {
    let mut reader = Reader::new(data, head.order);
    let fields = (|| {
        let section = reader.u64()?;
        let name = String::from_utf8_lossy(reader.text()?).into_owned();
        let clock = String::from_utf8_lossy(reader.text()?).into_owned();
        Some((section, name, clock, reader.u32()?, reader.u32()?))
    })();
    let Some((section, name, clock, page, count)) = fields else {
        head.damage.push((0, "a BUFFER option that is cut short: its instance is left out".into()));
        return;
    };
    let clock = (!clock.is_empty()).then_some(clock);
    let mut buffer = Buffer { name, clock, page, cpus: Vec::new() };
    for _ in 0..count {
        let Some((cpu, offset, size)) = (|| Some((reader.u32()?, reader.u64()?, reader.u64()?)))()
        else {
            let what = format!("a BUFFER option tells {count} CPUs and has {}", buffer.cpus.len());
            head.damage.push((section, what));
            break;
        };
        buffer.cpus.push(CpuData { cpu: Some(cpu), offset, size });
    }
    head.buffers.push(buffer);
}

/// The option that tells of the pages stands behind them: a file that was cut short has lost it. The
/// pages begin in the section behind the last options; those of all CPUs follow each other.
fn recover(head: &mut Head<'_>, file: &[u8], from: u64, page: u32) {
    if head.codec != Codec::None || page == 0 {
        return;
    }
    let mut next = from;
    // Sections lie close to each other; a hostile file cannot make this longer than itself.
    while let Ok(section) = section(head, file, next) {
        if section.id == id::BUFFER {
            let begin = (section.blob.range.start as u64).next_multiple_of(u64::from(page));
            let size = (file.len() as u64).saturating_sub(begin);
            let what = "the table of the CPUs' data is lost: the pages are read one after the \
                        other, without their CPU"
                .to_owned();
            head.damage.push((next, what));
            head.buffers.push(Buffer {
                name: String::new(),
                clock: None,
                page,
                cpus: vec![CpuData { cpu: None, offset: begin, size }],
            });
            return;
        }
        next = section.blob.range.end as u64;
    }
}
