//! Options: {u16 id, u32 size, data} up to id 0. Both versions number them alike.

use crate::ByteOrder;
use crate::bytes::Reader;
use crate::dat::host_clock::HostClock;

/// What the options say.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Nanoseconds from the clock's zero to the Unix epoch (`--date`; stored in microseconds).
    pub(crate) epoch_ns: Option<i64>,
    /// Nanoseconds that the recording asked to add to every stamp (`--ts-offset`).
    pub(crate) shift_ns: i64,
    /// Texts of `per_cpu/cpuN/stats`.
    pub(crate) statistics: Vec<String>,
    pub(crate) clock: Option<String>,
    pub(crate) uname: Option<String>,
    pub(crate) writer: Option<String>,
    pub(crate) cpu_count: Option<u32>,
    pub(crate) trace_id: Option<u64>,
    pub(crate) cycles: Option<Cycles>,
    pub(crate) boot: Option<String>,
    pub(crate) guests: Vec<String>,
    /// Its stamps are to be moved to the clock of another recording: it is a guest's, or of one of
    /// several boards.
    pub(crate) host_clock: Option<HostClock>,
    /// Ids and data of the options that stand for places in the file: buffers and sections.
    pub(crate) places: Vec<(u16, Vec<u8>)>,
    /// Ids that are not known.
    pub(crate) unknown: Vec<u16>,
}

/// How cycles become nanoseconds: (cycles × multiplier) >> shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cycles {
    pub(crate) multiplier: u32,
    pub(crate) shift: u32,
}

impl Cycles {
    pub(crate) fn nanoseconds(self, cycles: u64) -> u64 {
        ((u128::from(cycles) * u128::from(self.multiplier)) >> self.shift) as u64
    }
}

/// 9 September 2001, in nanoseconds since the epoch.
const YEAR_2001_NS: i64 = 1_000_000_000_000_000_000;

/// How a list of options ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With option DONE, which holds the offset of the next section (0: none).
    Done { next: u64 },
    /// With the bytes.
    Cut,
}

/// Options by number. The sections that version 7 adds have the number of their section.
pub(crate) mod id {
    pub(crate) const DONE: u16 = 0;
    pub(crate) const DATE: u16 = 1;
    pub(crate) const CPUSTAT: u16 = 2;
    pub(crate) const BUFFER: u16 = 3;
    pub(crate) const TRACECLOCK: u16 = 4;
    pub(crate) const UNAME: u16 = 5;
    pub(crate) const HOOK: u16 = 6;
    pub(crate) const OFFSET: u16 = 7;
    pub(crate) const CPUCOUNT: u16 = 8;
    pub(crate) const VERSION: u16 = 9;
    pub(crate) const PROCMAPS: u16 = 10;
    pub(crate) const TRACEID: u16 = 11;
    pub(crate) const TIME_SHIFT: u16 = 12;
    pub(crate) const GUEST: u16 = 13;
    pub(crate) const TSC2NSEC: u16 = 14;
    pub(crate) const STRINGS: u16 = 15;
    pub(crate) const HEADER_INFO: u16 = 16;
    pub(crate) const FTRACE_EVENTS: u16 = 17;
    pub(crate) const EVENT_FORMATS: u16 = 18;
    pub(crate) const KALLSYMS: u16 = 19;
    pub(crate) const PRINTK: u16 = 20;
    pub(crate) const CMDLINES: u16 = 21;
    pub(crate) const BUFFER_TEXT: u16 = 22;
    pub(crate) const LAST_BOOT_INFO: u16 = 24;
    pub(crate) const MODULES_FILE: u16 = 25;
}

impl Options {
    /// Reads the options of version 7, up to DONE or to the end of the bytes.
    pub(crate) fn read(&mut self, reader: &mut Reader<'_>, order: ByteOrder) -> End {
        loop {
            let next = (|| {
                let (id, size) = (reader.u16()?, reader.u32()?);
                Some((id, reader.take(size as usize)?))
            })();
            let Some((id, data)) = next else { return End::Cut };
            if id == id::DONE {
                let next = Reader::new(data, order).u64().unwrap_or(0);
                return End::Done { next };
            }
            self.take(id, data, order);
        }
    }

    /// Nanoseconds to add to the times of the result for the time since the epoch.
    ///
    /// Recorders also write it as a shift of every stamp. No other reason moves a clock by decades.
    pub(crate) fn epoch_offset_ns(&self) -> Option<i64> {
        self.epoch_ns.or_else(|| (self.shift_ns >= YEAR_2001_NS).then_some(0))
    }

    pub(crate) fn take(&mut self, id: u16, data: &[u8], order: ByteOrder) {
        let mut reader = Reader::new(data, order);
        match id {
            // In microseconds, written as C would: 0x... or decimal.
            id::DATE => self.epoch_ns = number(data).and_then(|us| us.checked_mul(1000)),
            id::OFFSET => {
                self.shift_ns = self.shift_ns.wrapping_add(number(data).unwrap_or(0));
            }
            id::CPUSTAT => self.statistics.push(text(data)),
            id::TRACECLOCK => self.clock = Some(chosen(&text(data))),
            id::UNAME => self.uname = Some(text(data)),
            id::VERSION => self.writer = Some(text(data)),
            id::CPUCOUNT => self.cpu_count = reader.u32(),
            id::TRACEID => self.trace_id = reader.u64(),
            id::TIME_SHIFT => self.host_clock = HostClock::read(reader, order),
            id::GUEST => self.guests.push(text(data)),
            id::LAST_BOOT_INFO => self.boot = Some(text(data)),
            id::TSC2NSEC => {
                if let (Some(multiplier), Some(shift @ 0..=127)) = (reader.u32(), reader.u32()) {
                    self.cycles = (multiplier > 0).then_some(Cycles { multiplier, shift });
                }
            }
            id::BUFFER | id::STRINGS..=id::MODULES_FILE => self.places.push((id, data.to_vec())),
            // What was asked of the recorder, and the address maps of traced programs.
            id::HOOK | id::PROCMAPS => {}
            other => self.unknown.push(other),
        }
    }
}

fn text(data: &[u8]) -> String {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).trim().to_owned()
}

/// An integer as C's `strtoll` reads it with base 0.
fn number(data: &[u8]) -> Option<i64> {
    let text = text(data);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// The chosen one of the kernel's list of clocks: `[local] global counter ...`.
fn chosen(clocks: &str) -> String {
    let inner = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(clocks, |(name, _)| name).trim().to_owned()
}
