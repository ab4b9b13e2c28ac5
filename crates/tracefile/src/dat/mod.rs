//! trace.dat: trace-cmd's file of the kernel's own ring-buffer pages.
//!
//! ```text
//! head (v6: blocks in a row, v7: sections) ─→ format texts ─→ event types, layouts
//!   └ buffers: one per instance, each CPU's pages ─→ units of some megabytes
//! pages ─→ records in order of time, for those who want no columns
//! unit ─→ pages ─→ records by event type (a block at a time) ─→ columns, field by field
//! ```

pub(crate) mod block;
mod compress;
pub(crate) mod events;
pub(crate) mod format;
pub(crate) mod head;
mod host_clock;
pub(crate) mod labels;
pub(crate) mod layout;
mod options;
pub(crate) mod page;
pub(crate) mod records;
pub(crate) mod symbols;
mod unit;
mod v6;
mod v7;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use crate::dat::events::Events;
use crate::dat::head::{Blob, Head};
use crate::dat::options::{Cycles, Options};
use crate::dat::page::PageLayout;
use crate::dat::symbols::Symbols;
use crate::dat::unit::Time;
pub(crate) use crate::dat::unit::TraceDat;
use crate::decode::{Outcome, Rows, Source, Unit};
use crate::map::Mapped;
use crate::select::Chosen;
use crate::{ByteOrder, Clock, Damage, Error, Format, Info, Loss, LossKind, Result};

/// The first bytes of the format.
pub(crate) use crate::dat::head::MAGIC;

/// Opens a mapped file that begins with [`MAGIC`].
pub(crate) fn open(file: Mapped) -> Result<TraceDat> {
    let path = file.path().to_owned();
    let mut head = read_head(&file, &path)?;
    let damaged = |what: &str| Error::damaged(&path, 0, what);
    let header_page = head.header_page.take().ok_or_else(|| {
        let why = head.damage.first().map(|(at, what)| format!(" (byte {at}: {what})"));
        damaged(&format!("no format of the pages{}", why.unwrap_or_default()))
    })?;
    let layout = PageLayout::parse(&format::readable(&header_page), head.order)
        .map_err(|what| damaged(&format!("header_page: {what}")))?;
    let (events, types) = Events::parse(&head.formats, layout.long as u8, &mut head.notes);
    let buffers = std::mem::take(&mut head.buffers);
    let parts = unit::cut(&file, &head, &layout, &buffers);
    let clock = clock(&head, buffers.first().and_then(|buffer| buffer.clock.clone()));
    notes(&mut head, &clock);
    let info = Info {
        format: if head.version == 6 { Format::TraceDat6 } else { Format::TraceDat7 },
        byte_order: head.order,
        environment: environment(&head, &layout),
        clock,
        losses: losses(&head.options, &parts.streams),
        streams: parts.streams,
        events: types,
        tasks: head::tasks(&head.cmdlines),
        damage: std::mem::take(&mut head.damage)
            .into_iter()
            .map(|(offset, what)| Damage { file: path.clone(), offset, stream: None, what })
            .chain(parts.damage)
            .collect(),
        notes: std::mem::take(&mut head.notes),
    };
    let time = Time {
        cycles: head.options.cycles,
        shift_ns: head.options.shift_ns,
        host: head.options.host_clock.take(),
    };
    let (codec, blob, printk) = (head.codec, head.symbols.take(), head.printk.take());
    Ok(TraceDat {
        info,
        events,
        layout,
        codec,
        time,
        units: parts.units,
        pages: parts.pages,
        blob,
        printk,
        symbols: OnceLock::new(),
        file,
    })
}

/// Reads everything but the pages.
///
/// # Errors
/// [`Error::Damaged`] when it ends before there is anything to decode, [`Error::Unsupported`] for
/// versions and compressions that are not known, and for text instead of pages.
fn read_head<'a>(file: &'a [u8], path: &Path) -> Result<Head<'a>> {
    let (mut head, reader, page) = Head::begin(file, path)?;
    match head.version {
        6 => v6::read(&mut head, reader, file, page, path)?,
        _ => v7::read(&mut head, reader, file, page, path)?,
    }
    Ok(head)
}

impl TraceDat {
    /// The text of a block that is only read when it is needed.
    fn text(&self, blob: &Blob) -> Option<Cow<'_, [u8]>> {
        let prefix = if blob.prefixed { 4 } else { 0 };
        match blob.bytes(&self.file, self.codec).ok()? {
            Cow::Borrowed(bytes) => bytes.get(prefix..).map(Cow::Borrowed),
            Cow::Owned(bytes) => bytes.get(prefix..).map(|text| Cow::Owned(text.to_vec())),
        }
    }
}

impl Source for TraceDat {
    fn info(&self) -> &Info {
        &self.info
    }

    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome {
        unit::decode(self, unit, chosen, rows)
    }

    fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        let symbols =
            self.symbols.get_or_init(|| Some(Symbols::parse(&self.text(self.blob.as_ref()?)?)));
        symbols.as_ref()?.name(address)
    }

    fn printk_formats(&self) -> Vec<(u64, String)> {
        let text = self.printk.as_ref().and_then(|blob| self.text(blob));
        symbols::printk_formats(&text.unwrap_or_default())
    }

    fn span(&self, unit: usize) -> (Option<i64>, Option<i64>) {
        unit::span(self, unit)
    }
}

fn clock(head: &Head<'_>, of_buffer: Option<String>) -> Clock {
    let name = of_buffer.or_else(|| head.options.clock.clone());
    Clock {
        name: name.unwrap_or_else(|| "unknown".into()),
        frequency_hz: match head.options.cycles {
            Some(Cycles { multiplier, shift }) => {
                let hz = (1_000_000_000u128 << shift) / u128::from(multiplier.max(1));
                u64::try_from(hz).unwrap_or(u64::MAX)
            }
            None => 1_000_000_000,
        },
        epoch_offset_ns: head.options.epoch_offset_ns(),
        uuid: clock_id(&head.options).map(|id| format!("{id:#x}")),
    }
}

/// The recording by whose clock times count, which guests and hosts, or boards, have in common.
fn clock_id(options: &Options) -> Option<u64> {
    options.host_clock.as_ref().map(|host| host.trace_id).or(options.trace_id)
}

/// Remarks on what a reader could take wrongly.
fn notes(head: &mut Head<'_>, clock: &Clock) {
    let notes = &mut head.notes;
    match clock.name.as_str() {
        "local" => notes.push(
            "the clock is named local, whose stamps of different CPUs may disagree by \
             microseconds; files put together with `trace-cmd restore` have this name whatever \
             the clock was"
                .into(),
        ),
        "counter" => notes.push("the clock counts events: times are no nanoseconds".into()),
        "x86-tsc" | "ppc-tb" | "uptime" if head.options.cycles.is_none() => {
            let unit = if clock.name == "uptime" { "jiffies" } else { "cycles" };
            notes.push(format!("the clock {} counts {unit}: times are no nanoseconds", clock.name));
        }
        _ => {}
    }
    if let Some(host) = &head.options.host_clock {
        let (least, most) = host.offsets();
        notes.push(format!(
            "times are moved to the clock of the recording {:#x}, by {least} to {most} ns",
            host.trace_id
        ));
    }
    if head.options.shift_ns != 0 && head.options.epoch_offset_ns() != Some(0) {
        notes.push(format!("times are moved by {} ns, as recorded", head.options.shift_ns));
    }
    for statistics in &head.options.statistics {
        if let Some(count) = statistic(statistics, "overrun").filter(|&count| count > 0) {
            let cpu = statistic(statistics, "CPU").unwrap_or(0);
            notes.push(format!(
                "CPU {cpu}: the kernel counted {count} events that were overwritten before they \
                 were read"
            ));
        }
    }
}

/// `NAME: NUMBER` of a CPU's statistics.
fn statistic(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    line?.trim().parse().ok()
}

/// Events that the kernel dropped instead of overwriting older ones. (Overwritten ones are told by
/// the pages, with their place in time.)
fn losses(options: &Options, streams: &[crate::Stream]) -> Vec<Loss> {
    let mut losses = Vec::new();
    for text in &options.statistics {
        let count = ["dropped events", "commit overrun"].map(|name| statistic(text, name));
        let count = count.into_iter().flatten().fold(0, u64::saturating_add);
        let cpu = statistic(text, "CPU").and_then(|cpu| u16::try_from(cpu).ok());
        let stream = streams.iter().position(|stream| cpu.is_some() && stream.cpu == cpu);
        if let (Some(stream), 1..) = (stream, count) {
            let count = Some(count);
            losses.push(Loss { stream, kind: LossKind::Events, begin: None, end: None, count });
        }
    }
    losses
}

fn environment(head: &Head<'_>, layout: &PageLayout) -> Vec<(String, String)> {
    let options = &head.options;
    let mut pairs: Vec<(&str, String)> = vec![("domain", "kernel".into())];
    pairs.push(("tracer_name", "ftrace".into()));
    if let Some(uname) = &options.uname {
        // `Linux HOST RELEASE MACHINE`, as trace-cmd writes it.
        let words: Vec<&str> = uname.split_whitespace().collect();
        if let [system, host, release, machine] = words[..] {
            pairs.push(("sysname", system.into()));
            pairs.push(("hostname", host.into()));
            pairs.push(("kernel_release", release.into()));
            pairs.push(("machine", machine.into()));
        } else {
            pairs.push(("uname", uname.clone()));
        }
    }
    if let Some(count) = options.cpu_count {
        pairs.push(("cpu_count", count.to_string()));
    }
    pairs.extend(options.writer.iter().map(|text| ("recorder", text.clone())));
    pairs.extend(options.trace_id.map(|id| ("trace_id", format!("{id:#x}"))));
    pairs.extend(options.boot.iter().map(|text| ("last_boot", text.clone())));
    pairs.extend(options.guests.iter().map(|text| ("guest", text.clone())));
    pairs.push(("kernel_long_bytes", layout.long.to_string()));
    pairs.push(("user_long_bytes", head.user_long.to_string()));
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// See [`crate::walk_page`].
pub(crate) fn walk_page(bytes: &[u8]) -> usize {
    let Some((&kind, page)) = bytes.split_first() else { return 0 };
    let (order, long) = (kind & 1 != 0, if kind & 2 == 0 { 8 } else { 4 });
    let layout = PageLayout {
        order: if order { ByteOrder::Big } else { ByteOrder::Little },
        stamp: 0,
        commit: 8,
        long,
        data: 8 + long,
        size: page.len(),
    };
    let mut records = 0;
    let count = |_, at: usize, length: usize| {
        assert!(at + length <= page.len(), "a record beyond its page");
        records += 1;
    };
    match order {
        false => page::walk::<false>(page, &layout, count),
        true => page::walk::<true>(page, &layout, count),
    };
    records
}
