//! Version 6: one block after the other, without an index.

use std::borrow::Cow;
use std::path::Path;

use crate::bytes::Reader;
use crate::dat::head::{self, Blob, Buffer, CpuData, Head};
use crate::dat::options::{End, Options, id};
use crate::{ByteOrder, Error, Result};

/// Reads everything behind the page size.
pub(crate) fn read<'a>(
    head: &mut Head<'a>,
    mut reader: Reader<'a>,
    file: &'a [u8],
    page: u32,
    path: &Path,
) -> Result<()> {
    let cut = |at: usize, what: &str| {
        Error::damaged(path, at as u64, format!("the file ends in {what}, before any event"))
    };
    let at = reader.position();
    head.header_page = Some(Cow::Borrowed(
        head::header_info(&mut reader).map_err(|what| Error::damaged(path, at as u64, what))?,
    ));
    let mut formats = Vec::new();
    let mut keep = |system, text| formats.push((system, Cow::Borrowed(text)));
    let whole =
        head::ftrace_formats(&mut reader, &mut keep) && head::event_formats(&mut reader, &mut keep);
    if !whole {
        return Err(cut(reader.position(), "the event formats"));
    }
    head.formats = formats;
    let size = reader.u32().ok_or_else(|| cut(reader.position(), "the kernel symbols"))?;
    let at = reader.position();
    reader.take(size as usize).ok_or_else(|| cut(at, "the kernel symbols"))?;
    head.symbols = Some(Blob { range: at..reader.position(), unpacked: None, prefixed: false });
    let rest = (|| {
        let size = reader.u32()?;
        let at = reader.position();
        reader.take(size as usize)?;
        let printk = at..reader.position();
        let size = reader.u64()?;
        let cmdlines = reader.take(usize::try_from(size).ok()?)?;
        Some((printk, cmdlines, reader.u32()?))
    })();
    let (printk, cmdlines, cpus) =
        rest.ok_or_else(|| cut(reader.position(), "the command lines or before them"))?;
    head.printk = Some(Blob { range: printk, unpacked: None, prefixed: false });
    head.cmdlines = Cow::Borrowed(cmdlines);
    let mut data = word(&mut reader, &mut head.options, head.order, path)?;
    head.options.cpu_count = head.options.cpu_count.or(Some(cpus));
    buffer(head, &mut data, String::new(), cpus, page);
    for (option, place) in std::mem::take(&mut head.options.places) {
        instance(head, option, &place, file, cpus, page, path)?;
    }
    Ok(())
}

/// The 10-byte word behind the head, with options before it if there are any. Returns the reader
/// behind `flyrecord`.
fn word<'a>(
    reader: &mut Reader<'a>,
    options: &mut Options,
    order: ByteOrder,
    path: &Path,
) -> Result<Reader<'a>> {
    for _ in 0..2 {
        let at = reader.position() as u64;
        match reader.take(10) {
            Some(b"options  \0") => {
                if sequential(options, reader, order) == End::Cut {
                    return Err(Error::damaged(path, at, "the file ends in the options"));
                }
            }
            Some(b"flyrecord\0") => return Ok(*reader),
            Some(b"latency  \0") => {
                let what = "a trace.dat of a latency tracer (text, not ring-buffer pages; \
                            `trace-cmd report` prints it)";
                return Err(Error::unsupported(path, what));
            }
            Some(other) => {
                let what = format!("{:?} is no kind of data", String::from_utf8_lossy(other));
                return Err(Error::damaged(path, at, what));
            }
            None => return Err(Error::damaged(path, at, "the file ends before its data")),
        }
    }
    let at = reader.position() as u64;
    Err(Error::damaged(path, at, "options twice"))
}

/// Options of version 6 end with the id 0 alone: no size follows it.
fn sequential(options: &mut Options, reader: &mut Reader<'_>, order: ByteOrder) -> End {
    loop {
        let next = (|| {
            let id = reader.u16()?;
            if id == id::DONE {
                return Some(None);
            }
            let size = reader.u32()?;
            Some(Some((id, reader.take(size as usize)?)))
        })();
        match next {
            Some(Some((id, data))) => options.take(id, data, order),
            Some(None) => return End::Done { next: 0 },
            None => return End::Cut,
        }
    }
}

/// Offset and size of each CPU's pages.
fn buffer(head: &mut Head<'_>, reader: &mut Reader<'_>, name: String, cpus: u32, page: u32) {
    let mut buffer = Buffer { name, clock: head.options.clock.clone(), page, cpus: Vec::new() };
    for cpu in 0..cpus {
        let at = reader.position() as u64;
        let Some((offset, size)) = (|| Some((reader.u64()?, reader.u64()?)))() else {
            head.damage.push((at, format!("the file ends before the place of CPU {cpu}'s data")));
            break;
        };
        buffer.cpus.push(CpuData { cpu: Some(cpu), offset, size });
    }
    head.buffers.push(buffer);
}

/// Another instance: option BUFFER holds a u64 offset and its name; there stand options, a word and
/// the table as for the first.
fn instance(
    head: &mut Head<'_>,
    option: u16,
    place: &[u8],
    file: &[u8],
    cpus: u32,
    page: u32,
    path: &Path,
) -> Result<()> {
    let mut reader = Reader::new(place, head.order);
    let fields = (|| Some((reader.u64()?, reader.text()?)))();
    let (Some((offset, name)), id::BUFFER) = (fields, option) else {
        return Ok(());
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut own = Options::default();
    let mut reader = Reader::new(file, head.order).at(at);
    match word(&mut reader, &mut own, head.order, path) {
        Ok(mut reader) => {
            buffer(head, &mut reader, name, own.cpu_count.unwrap_or(cpus), page);
        }
        Err(error) => head.damage.push((offset, format!("instance {name}: {error}"))),
    }
    Ok(())
}
