//! The pages (sub-buffers) of the kernel's ring buffer.
//!
//! A page is a u64 time stamp, `commit` (a kernel long: bytes of data, and flags), and records: a u32
//! header of 5 bits type or length and 27 bits time since the record before, then the data. Where
//! these stand is told by the `header_page` text of the traced kernel.

use crate::ByteOrder;
use crate::dat::format;

/// Where the parts of a page are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLayout {
    pub(crate) order: ByteOrder,
    pub(crate) stamp: usize,
    pub(crate) commit: usize,
    /// Size of the kernel's long: of `commit`, and of the count of lost events.
    pub(crate) long: usize,
    /// Where the records begin.
    pub(crate) data: usize,
    /// Bytes of a whole page as the text has it; a buffer may have been set to another size.
    pub(crate) size: usize,
}

impl PageLayout {
    /// Reads the `header_page` text.
    ///
    /// # Errors
    /// What is missing in it.
    pub(crate) fn parse(text: &str, order: ByteOrder) -> Result<Self, String> {
        let (mut stamp, mut commit, mut data) = (None, None, None);
        for line in text.lines().map(str::trim).filter(|line| line.starts_with("field")) {
            let field = format::field(line, 8).ok_or_else(|| format!("the line {line:?}"))?;
            match field.name {
                "timestamp" => stamp = Some(field),
                "commit" => commit = Some(field),
                "data" => data = Some(field),
                // `overwrite` repeats commit's offset: it is not stored on its own.
                _ => {}
            }
        }
        let stamp = stamp.ok_or("no field timestamp")?;
        let commit = commit.ok_or("no field commit")?;
        let data = data.ok_or("no field data")?;
        if stamp.size != 8 || !matches!(commit.size, 4 | 8) {
            return Err(format!("timestamp of {}, commit of {} bytes", stamp.size, commit.size));
        }
        let begin = data.offset as usize;
        let (stamp, long, commit) =
            (stamp.offset as usize, commit.size as usize, commit.offset as usize);
        if begin < stamp + 8 || begin < commit + long {
            return Err("the data begin within the page's head".into());
        }
        Ok(Self { order, stamp, commit, long, data: begin, size: begin + data.size as usize })
    }
}

/// Lost events before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    /// `None`: the kernel did not store how many.
    pub(crate) count: Option<u64>,
}

/// A page that could not be walked to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Where in the page.
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// What a page says beside its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageEnd {
    pub(crate) lost: Option<Lost>,
    pub(crate) broken: Option<Broken>,
}

/// Events were lost before the page; their number stands behind the data, if the next bit says so.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// The bits of `commit` that are a size.
const SIZE: u64 = (1 << 27) - 1;
/// The bits of a time stamp that an absolute stamp does not have.
const STAMP_TOP: u64 = 0x1f << 59;

const PADDING: u32 = 29;
const EXTEND: u32 = 30;
const ABSOLUTE: u32 = 31;

/// The time stamp of a page, when it is whole enough to have one.
pub(crate) fn stamp(page: &[u8], layout: &PageLayout) -> Option<u64> {
    let bytes = page.get(layout.stamp..layout.stamp + 8)?.try_into().ok()?;
    Some(match layout.order {
        ByteOrder::Little => u64::from_le_bytes(bytes),
        ByteOrder::Big => u64::from_be_bytes(bytes),
    })
}

/// Calls `record` with time, offset in the page and length of each data record.
///
/// Lengths are rounded up to the 4 bytes of the format. A page that is damaged gives its records up
/// to the damage.
#[inline]
pub(crate) fn walk<const BIG: bool>(
    page: &[u8],
    layout: &PageLayout,
    mut record: impl FnMut(u64, usize, usize),
) -> PageEnd {
    let broken = |lost, at, what: String| PageEnd { lost, broken: Some(Broken { at, what }) };
    let Some(mut time) = stamp(page, layout).filter(|_| page.len() >= layout.data) else {
        return broken(None, 0, format!("{} bytes are less than a page's head", page.len()));
    };
    let commit = match layout.long {
        4 => u64::from(u32_at::<BIG>(page, layout.commit)),
        _ => u64_at::<BIG>(page, layout.commit),
    };
    let end = layout.data + (commit & SIZE) as usize;
    let lost = (commit & MISSED != 0).then(|| Lost { count: missed::<BIG>(page, layout, commit) });
    // What a page cut short still has is decoded, as far as whole records go.
    let have = end.min(page.len());
    let page_data = &page[..have];
    let mut at = layout.data;
    while at < have {
        if have - at < 4 {
            break;
        }
        let head = u32_at::<BIG>(page_data, at);
        let (kind, delta) = match BIG {
            false => (head & 31, head >> 5),
            true => (head >> 27, head & ((1 << 27) - 1)),
        };
        let delta = u64::from(delta);
        if (1..=28).contains(&kind) {
            let length = kind as usize * 4;
            if have - at < 4 + length {
                break;
            }
            time = time.wrapping_add(delta);
            record(time, at + 4, length);
            at += 4 + length;
            continue;
        }
        if kind == PADDING && delta == 0 {
            return PageEnd { lost, broken: None };
        }
        if have - at < 8 {
            break;
        }
        let word = u32_at::<BIG>(page_data, at + 4);
        match kind {
            EXTEND => {
                time = time.wrapping_add((u64::from(word) << 27) + delta);
                at += 8;
            }
            ABSOLUTE => {
                time = absolute((u64::from(word) << 27) + delta, time);
                at += 8;
            }
            PADDING => {
                time = time.wrapping_add(delta);
                at += 4 + (word as usize).min(have).next_multiple_of(4);
            }
            _ => {
                // The word counts itself.
                if word < 4 {
                    return broken(lost, at, format!("a record of {word} bytes"));
                }
                let length = (word as usize - 4).min(have).next_multiple_of(4);
                if have - at < 8 + length {
                    break;
                }
                time = time.wrapping_add(delta);
                record(time, at + 8, length);
                at += 8 + length;
            }
        }
    }
    if end > page.len() {
        let what = format!("{} bytes of data in a page of {}", commit & SIZE, page.len());
        return broken(lost, at, what);
    }
    if at != have {
        return broken(lost, at, "a record that goes beyond the page's data".into());
    }
    PageEnd { lost, broken: None }
}

fn missed<const BIG: bool>(page: &[u8], layout: &PageLayout, commit: u64) -> Option<u64> {
    let at = layout.data + (commit & SIZE) as usize;
    if commit & MISSED_STORED == 0 || at + layout.long > page.len() {
        return None;
    }
    Some(match layout.long {
        4 => u64::from(u32_at::<BIG>(page, at)),
        _ => u64_at::<BIG>(page, at),
    })
}

/// An absolute stamp has 59 bits: the rest is taken from the time before it, one more when the 59
/// bits have wrapped since. Without any of these bits set it stands as it is.
fn absolute(stamp: u64, before: u64) -> u64 {
    let top = before & STAMP_TOP;
    let time = stamp | top;
    match top != 0 && time < before {
        true => time.wrapping_add(1 << 59),
        false => time,
    }
}

/// Reads a u16; the caller has checked that it is there, otherwise this panics.
#[inline]
pub(crate) fn u16_at<const BIG: bool>(bytes: &[u8], at: usize) -> u16 {
    let taken = bytes[at..at + 2].try_into().expect("2 bytes");
    if BIG { u16::from_be_bytes(taken) } else { u16::from_le_bytes(taken) }
}

/// Reads a u32; the caller has checked that it is there, otherwise this panics.
#[inline]
pub(crate) fn u32_at<const BIG: bool>(bytes: &[u8], at: usize) -> u32 {
    let taken = bytes[at..at + 4].try_into().expect("4 bytes");
    if BIG { u32::from_be_bytes(taken) } else { u32::from_le_bytes(taken) }
}

#[inline]
fn u64_at<const BIG: bool>(bytes: &[u8], at: usize) -> u64 {
    let taken = bytes[at..at + 8].try_into().expect("8 bytes");
    if BIG { u64::from_be_bytes(taken) } else { u64::from_le_bytes(taken) }
}
