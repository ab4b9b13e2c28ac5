//! What a sample of an event says, and the functions in which it was taken.

use linux_perf_event_reader::SampleFormat;

use crate::ByteOrder;
use crate::bytes::Reader;
use crate::perf::attributes::{Attribute, Attributes, read};
use crate::perf::user_stack::{UserPart, words_of};

/// The parts of a sample that are read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) ip: Option<u64>,
    /// Process and thread.
    pub(crate) thread: Option<(u32, u32)>,
    pub(crate) time: Option<u64>,
    pub(crate) address: Option<u64>,
    pub(crate) cpu: Option<u32>,
    pub(crate) period: Option<u64>,
    /// Words of 8 bytes.
    pub(crate) chain: &'a [u8],
    /// What a tracepoint wrote, and where in the body it begins.
    pub(crate) raw: Option<(usize, &'a [u8])>,
    pub(crate) user: UserPart<'a>,
}

/// The kind of event of a sample: its identifier stands first, or where the form has it.
pub(crate) fn attribute(body: Reader<'_>, attributes: &Attributes) -> Option<usize> {
    let first = attributes.all.first()?;
    if attributes.identified() {
        return attributes.of(body.clone().u64());
    }
    if !first.has(SampleFormat::ID) {
        return attributes.of(None);
    }
    let before = [SampleFormat::IP, SampleFormat::TID, SampleFormat::TIME, SampleFormat::ADDR];
    let words = before.into_iter().filter(|&part| first.has(part)).count();
    attributes.of(Some(body.at(words * 8).u64()?))
}

/// Reads a sample's body; `None`: it is cut short before the end of its tracepoint's raw data.
pub(crate) fn parts<'a>(mut reader: Reader<'a>, attribute: &Attribute) -> Option<Parts<'a>> {
    let has = |part| attribute.has(part);
    let mut parts = Parts::default();
    if has(SampleFormat::IDENTIFIER) {
        reader.u64()?;
    }
    if has(SampleFormat::IP) {
        parts.ip = Some(reader.u64()?);
    }
    if has(SampleFormat::TID) {
        parts.thread = Some((reader.u32()?, reader.u32()?));
    }
    if has(SampleFormat::TIME) {
        parts.time = Some(reader.u64()?);
    }
    if has(SampleFormat::ADDR) {
        parts.address = Some(reader.u64()?);
    }
    if has(SampleFormat::ID) {
        reader.u64()?;
    }
    if has(SampleFormat::STREAM_ID) {
        reader.u64()?;
    }
    if has(SampleFormat::CPU) {
        parts.cpu = Some(reader.u32()?);
        reader.u32()?;
    }
    if has(SampleFormat::PERIOD) {
        parts.period = Some(reader.u64()?);
    }
    if has(SampleFormat::READ) {
        let reads = |part| u64::from(attribute.read & part != 0);
        let times = reads(read::TIME_ENABLED) + reads(read::TIME_RUNNING);
        let value = 1 + reads(read::ID) + reads(read::LOST);
        // A group has its number of values first.
        let words = match attribute.read & read::GROUP != 0 {
            true => reader.u64()?.checked_mul(value)?.checked_add(times)?,
            false => value + times,
        };
        words_of(&mut reader, words)?;
    }
    if has(SampleFormat::CALLCHAIN) {
        let words = reader.u64()?;
        parts.chain = words_of(&mut reader, words)?;
    }
    if has(SampleFormat::RAW) {
        let length = reader.u32()?;
        let begin = reader.position();
        parts.raw = Some((begin, reader.take(length as usize)?));
    }
    parts.user = UserPart::read(&mut reader, attribute);
    Some(parts)
}

/// Whose code an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Kernel,
    User,
    /// A guest's kernel or program, or the hypervisor: their symbols are not this kernel's.
    Foreign,
}

impl Mode {
    /// Of the flags of a record.
    pub(crate) fn of(flags: u16) -> Option<(Self, &'static str)> {
        Some(match flags & 7 {
            1 => (Self::Kernel, "kernel"),
            2 => (Self::User, "user"),
            3 => (Self::Foreign, "hypervisor"),
            4 => (Self::Foreign, "guest kernel"),
            5 => (Self::Foreign, "guest user"),
            _ => return None,
        })
    }
}

/// Words of a chain from here on say whose code follows.
const CONTEXTS: u64 = (-4095i64) as u64;

fn context(word: u64) -> Option<Mode> {
    match (word as i64).wrapping_neg() {
        128 => Some(Mode::Kernel),
        // 640 stands for a chain that is written later.
        512 | 640 => Some(Mode::User),
        32 | 2048 | 2176 | 2560 => Some(Mode::Foreign),
        _ => None,
    }
}

/// The addresses of a chain with whose code each is in, the innermost first. `mode` is that of the
/// sample, whose `ip` stands alone where there is no chain.
pub(crate) fn frames(
    chain: &[u8],
    order: ByteOrder,
    mode: Option<Mode>,
    ip: Option<u64>,
) -> impl Iterator<Item = (Mode, u64)> {
    let mut mode = mode;
    let mut reader = Reader::new(chain, order);
    let alone = ip.filter(|_| !addresses(chain, order)).zip(mode).map(|(ip, mode)| (mode, ip));
    let chained = std::iter::from_fn(move || {
        loop {
            let word = reader.u64()?;
            if word < CONTEXTS {
                // Behind what is not known nothing can be attributed.
                return Some((mode?, word));
            }
            mode = context(word);
        }
    });
    alone.into_iter().chain(chained)
}

fn addresses(chain: &[u8], order: ByteOrder) -> bool {
    let mut reader = Reader::new(chain, order);
    std::iter::from_fn(|| reader.u64()).any(|word| word < CONTEXTS)
}
