//! An opened file in units: ranges of a CPU's pages, and how one is decoded.
//!
//! Every page has an absolute time stamp, so that a CPU's pages can be cut anywhere between them.

use std::ops::Range;
use std::sync::OnceLock;

use crate::dat::block::{Buckets, Left};
use crate::dat::compress::{self, Chunk, Codec};
use crate::dat::events::Events;
use crate::dat::head::{Blob, Buffer, Head};
use crate::dat::host_clock::{HostClock, Shift};
use crate::dat::layout::Record;
use crate::dat::options::Cycles;
use crate::dat::page::{self, PageLayout};
use crate::dat::symbols::Symbols;
use crate::decode::{Outcome, Rows, Unit};
use crate::map::Mapped;
use crate::select::Chosen;
use crate::{ByteOrder, Damage, Info, Loss, LossKind, Stream};

/// An opened trace.dat.
pub(crate) struct TraceDat {
    pub(crate) file: Mapped,
    pub(crate) info: Info,
    pub(crate) events: Events,
    pub(crate) layout: PageLayout,
    pub(crate) codec: Codec,
    pub(crate) time: Time,
    pub(crate) units: Vec<Unit>,
    /// Where each unit's pages are.
    pub(crate) pages: Vec<Pages>,
    pub(crate) blob: Option<Blob>,
    pub(crate) printk: Option<Blob>,
    pub(crate) symbols: OnceLock<Option<Symbols>>,
}

/// From stored stamps to nanoseconds.
#[derive(Debug)]
pub(crate) struct Time {
    pub(crate) cycles: Option<Cycles>,
    pub(crate) shift_ns: i64,
    pub(crate) host: Option<HostClock>,
}

/// The same for the stamps of one CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamps<'a> {
    host: Shift<'a>,
    cycles: Option<Cycles>,
    shift_ns: i64,
}

impl Time {
    pub(crate) fn of(&self, cpu: Option<u16>) -> Stamps<'_> {
        let host = self.host.as_ref().map_or(Shift::NONE, |host| host.of(cpu));
        Stamps { host, cycles: self.cycles, shift_ns: self.shift_ns }
    }
}

impl Stamps<'_> {
    #[inline]
    pub(crate) fn nanoseconds(self, stamp: u64) -> i64 {
        let stamp = self.host.moved(stamp);
        let time = self.cycles.map_or(stamp, |cycles| cycles.nanoseconds(stamp));
        (time as i64).wrapping_add(self.shift_ns)
    }
}

/// Bytes of pages in a unit: small enough that one busy CPU still keeps all threads at work.
const UNIT: usize = 8 << 20;
/// Bytes of pages whose records are sorted by type before they become columns: they stay in the
/// cache of a core between the two.
const BLOCK: usize = 128 << 10;
/// Damages of one kind that a unit tells of; more are counted.
const MOST_DAMAGE: usize = 16;

/// The pages of a unit.
pub(crate) struct Pages {
    page: usize,
    data: Data,
}

enum Data {
    Plain(Range<usize>),
    Packed(Vec<Chunk>),
}

impl Pages {
    /// The size of each, in bytes.
    pub(crate) fn page(&self) -> usize {
        self.page
    }

    /// Where they are in the file; `None`: compressed.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        match &self.data {
            Data::Plain(range) => Some(range.clone()),
            Data::Packed(_) => None,
        }
    }
}

/// What the buffers were cut into.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) streams: Vec<Stream>,
    pub(crate) units: Vec<Unit>,
    pub(crate) pages: Vec<Pages>,
    pub(crate) damage: Vec<Damage>,
}

/// Cuts the pages of all buffers into units.
pub(crate) fn cut(
    file: &Mapped,
    head: &Head<'_>,
    layout: &PageLayout,
    buffers: &[Buffer],
) -> Parts {
    let mut parts = Parts::default();
    // What the CPUs' data may have together: a file whose buffers lie over each other is hostile.
    let mut left = file.len();
    for buffer in buffers {
        for data in &buffer.cpus {
            let stream = parts.streams.len();
            let cpu = data.cpu.and_then(|cpu| u16::try_from(cpu).ok());
            let place = match data.cpu {
                Some(cpu) => format!("cpu {cpu}"),
                None => "all CPUs".into(),
            };
            let name = match buffer.name.as_str() {
                "" => place,
                instance => format!("{instance}: {place}"),
            };
            let mut damage = |offset: u64, what: String| {
                let (file, stream) = (file.path().to_owned(), Some(stream));
                parts.damage.push(Damage { file, offset, stream, what: format!("{name}: {what}") });
            };
            let page = buffer.page as usize;
            let mut bytes = data.size;
            if page <= layout.data {
                damage(data.offset, format!("a page size of {page} bytes"));
                bytes = 0;
            }
            let begin = usize::try_from(data.offset).unwrap_or(usize::MAX).min(file.len());
            let have = file.len() - begin;
            let claimed = usize::try_from(bytes).unwrap_or(usize::MAX);
            if claimed > have && head.codec == Codec::None {
                let what = format!("the file ends {} bytes before its data do", claimed - have);
                damage(file.len() as u64, what);
            }
            let mut units = Vec::new();
            if claimed.min(have) > left {
                damage(data.offset, "its data lie over those of other CPUs: left out".into());
            } else if head.codec == Codec::None {
                left -= claimed.min(have);
                units = runs(begin..begin + claimed.min(have), page);
            } else if claimed > 0 {
                // The size that the file tells does not count the count of chunks.
                let table = compress::chunks(&file[..begin + left.min(have)], begin, head.order);
                left -= table.end - begin;
                if let Some((at, what)) = table.cut {
                    damage(at as u64, what);
                }
                units = groups(table.chunks);
            }
            parts.streams.push(Stream { name, cpu, files: vec![file.path().to_owned()], bytes });
            for (data, bytes) in units {
                parts.units.push(Unit { stream, cpu, bytes: bytes as u64 });
                parts.pages.push(Pages { page, data });
            }
        }
    }
    parts
}

/// Cuts pages as they are in the file into units.
fn runs(range: Range<usize>, page: usize) -> Vec<(Data, usize)> {
    if range.is_empty() {
        return Vec::new();
    }
    let each = (UNIT / page).max(1) * page;
    let starts = range.clone().step_by(each);
    starts
        .map(|at| {
            let until = at.saturating_add(each).min(range.end);
            (Data::Plain(at..until), until - at)
        })
        .collect()
}

/// Puts chunks together to units.
fn groups(chunks: Vec<Chunk>) -> Vec<(Data, usize)> {
    let mut units = Vec::new();
    let mut group = Vec::new();
    let (mut size, mut packed) = (0, 0);
    for chunk in chunks {
        size += chunk.size;
        packed += chunk.packed.len();
        group.push(chunk);
        if size >= UNIT {
            units.push((Data::Packed(std::mem::take(&mut group)), packed));
            (size, packed) = (0, 0);
        }
    }
    if !group.is_empty() {
        units.push((Data::Packed(group), packed));
    }
    units
}

/// Times between which the events of a unit are: its first page's stamp, and that of the page behind
/// it. Of compressed pages neither is known.
pub(crate) fn span(trace: &TraceDat, at: usize) -> (Option<i64>, Option<i64>) {
    let begin = |at: usize| match &trace.pages.get(at)?.data {
        Data::Plain(range) => {
            let stamp = page::stamp(&trace.file[range.clone()], &trace.layout)?;
            Some(trace.time.of(trace.units[at].cpu).nanoseconds(stamp))
        }
        Data::Packed(_) => None,
    };
    let follows = trace.units.get(at + 1).is_some_and(|next| next.stream == trace.units[at].stream);
    (begin(at), if follows { begin(at + 1) } else { None })
}

/// Decodes a unit.
pub(crate) fn decode(trace: &TraceDat, at: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
    let pages = &trace.pages[at];
    let mut work = Work {
        trace,
        stream: trace.units[at].stream,
        clock: trace.time.of(trace.units[at].cpu),
        chosen,
        rows,
        buckets: Buckets::new(&trace.events),
        bytes: match &pages.data {
            Data::Plain(range) => range.len(),
            Data::Packed(chunks) => chunks.iter().map(|chunk| chunk.size).sum::<usize>().min(UNIT),
        },
        outcome: Outcome::default(),
        last: None,
        damages: 0,
    };
    match &pages.data {
        Data::Plain(range) => work.pages(&trace.file[range.clone()], range.start, true, pages.page),
        Data::Packed(chunks) => {
            let mut unpacked = Vec::new();
            for chunk in chunks {
                let place = chunk.packed.start;
                match chunk.unpack(&trace.file, trace.codec, &mut unpacked) {
                    Ok(()) => work.pages(&unpacked, place, false, pages.page),
                    Err(what) => work.damage(place, format!("{what}: its pages are left out")),
                }
            }
        }
    }
    if let Some(more) = work.damages.checked_sub(MOST_DAMAGE).filter(|&more| more > 0)
        && let Some(last) = work.outcome.damage.last_mut()
    {
        last.what.push_str(&format!(" (and {more} more in this part of the file)"));
    }
    work.outcome
}

struct Work<'a, 'r> {
    trace: &'a TraceDat,
    stream: usize,
    clock: Stamps<'a>,
    chosen: &'a Chosen,
    rows: &'a mut Rows<'r>,
    buckets: Buckets,
    /// Bytes of pages in the unit.
    bytes: usize,
    outcome: Outcome,
    /// Time of the last event so far.
    last: Option<i64>,
    damages: usize,
}

impl Work<'_, '_> {
    /// Decodes pages that lie at `place` in the file; compressed ones all count as lying there.
    fn pages(&mut self, bytes: &[u8], place: usize, plain: bool, page: usize) {
        let each = (BLOCK / page).max(1) * page;
        for (number, block) in bytes.chunks(each).enumerate() {
            let place = if plain { place + number * each } else { place };
            match self.trace.layout.order {
                ByteOrder::Little => self.block::<false>(block, place, plain, page),
                ByteOrder::Big => self.block::<true>(block, place, plain, page),
            }
            let (events, order) = (&self.trace.events, self.trace.layout.order);
            let blocks = self.bytes.div_ceil(each);
            self.buckets.gather(events, self.chosen, block, order, blocks, self.rows);
        }
    }

    /// Sorts the records of a block by type.
    fn block<const BIG: bool>(&mut self, block: &[u8], place: usize, plain: bool, page: usize) {
        let (layout, events, clock) = (&self.trace.layout, &self.trace.events, self.clock);
        let stamp = |number: usize| {
            let bytes = block.get(number * page..)?;
            page::stamp(bytes, layout).map(|stamp| clock.nanoseconds(stamp))
        };
        for (number, bytes) in block.chunks(page).enumerate() {
            // What lies before or behind the times that are asked for needs no walk.
            if let Some(times) = self.chosen.times()
                && (stamp(number).is_some_and(|begin| begin >= times.end)
                    || stamp(number + 1).is_some_and(|end| end < times.start))
            {
                continue;
            }
            let begin = number * page;
            let (mut count, mut first, mut last) = (0u64, i64::MAX, i64::MIN);
            let (mut short, mut shortest) = (0u64, None);
            let end = page::walk::<BIG>(bytes, layout, |stamp, at, length| {
                let time = clock.nanoseconds(stamp);
                count += 1;
                first = first.min(time);
                last = last.max(time);
                let record = Record { time, at: (begin + at) as u32, length: length as u32 };
                match self.buckets.push::<BIG>(events, self.chosen, block, record) {
                    Ok(event) => self.rows.note(event, time),
                    Err(Left::NotChosen) => {}
                    Err(Left::Short(event)) => {
                        short += 1;
                        shortest = event;
                    }
                }
            });
            let at = if plain { place + begin } else { place };
            if let Some(lost) = end.lost {
                let stamp = page::stamp(bytes, layout).map(|stamp| clock.nanoseconds(stamp));
                self.outcome.losses.push(Loss {
                    stream: self.stream,
                    kind: LossKind::Events,
                    begin: self.last,
                    end: stamp,
                    count: lost.count,
                });
            }
            if let Some(broken) = end.broken {
                let inside = if plain { broken.at } else { 0 };
                let what = format!("{}: the rest of the page is left out", broken.what);
                self.damage(at + inside, what);
            }
            if short > 0 {
                let name =
                    shortest.map_or("of unknown type", |event| &self.trace.info.events[event].name);
                let what = format!("{short} records shorter than their format ({name}): left out");
                self.damage(at, what);
            }
            if count > 0 {
                self.last = Some(last);
                self.outcome.events += count;
                let (a, b) = self.outcome.span.unwrap_or((first, last));
                self.outcome.span = Some((a.min(first), b.max(last)));
            }
        }
    }

    fn damage(&mut self, at: usize, what: String) {
        self.damages += 1;
        if self.outcome.damage.len() < MOST_DAMAGE {
            self.outcome.damage.push(Damage {
                file: self.trace.file.path().to_owned(),
                offset: at as u64,
                stream: Some(self.stream),
                what,
            });
        }
    }
}
