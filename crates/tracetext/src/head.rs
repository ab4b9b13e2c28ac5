//! What stands before the text of an event in a line: thread, CPU, seconds.

use std::collections::HashMap;

use tracefile::{Index, Info};

use crate::chunk::{cpu_text, label};
use crate::lines::{BlockText, Lines, is_plain};

/// What stands between thread and time, by CPU; at the end that of no CPU.
pub(crate) struct Cpus(Vec<BlockText>);

impl Cpus {
    pub(crate) fn new(info: &Info) -> Self {
        let most = info.streams.iter().filter_map(|stream| stream.cpu).max().unwrap_or(0);
        let cpus = (0..=most).chain([Index::NO_CPU]);
        Self(cpus.map(|cpu| BlockText::new(&cpu_text(cpu))).collect())
    }
}

/// Threads and seconds of earlier lines.
#[derive(Default)]
pub(crate) struct Heads {
    labels: Labels,
    second: Second,
}

impl Heads {
    /// Writes thread, CPU and time; returns whether that is plain ASCII.
    #[inline]
    pub(crate) fn write(
        &mut self,
        lines: &mut Lines,
        names: &HashMap<i32, String>,
        cpus: &Cpus,
        (thread, cpu, time): (i32, u16, i64),
    ) -> bool {
        let (label, is_plain, length) = self.labels.of(thread, names);
        lines.room(HEAD + length);
        lines.text(label);
        match cpus.0.get(usize::from(cpu)) {
            Some(text) if usize::from(cpu) < cpus.0.len() - 1 => lines.text(text),
            _ if cpu == Index::NO_CPU => lines.text(&cpus.0[cpus.0.len() - 1]),
            _ => lines.bytes(&cpu_text(cpu)),
        }
        let plain = *is_plain;
        self.second.write(lines, time);
        plain
    }
}

/// What stands for each thread, filled up.
#[derive(Default)]
struct Labels {
    known: HashMap<i32, usize>,
    labels: Vec<(BlockText, bool, usize)>,
    /// By the low bits of a thread's number: the last one that was asked for.
    recent: Vec<(i64, usize)>,
}

/// Low bits of threads' numbers.
const RECENT: usize = 1 << 10;

/// A second of time, and how it is written.
#[derive(Default)]
struct Second {
    begin: Option<i64>,
    text: BlockText,
}

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Bytes before the text of an event without its thread: CPU, time.
const HEAD: usize = 64;

impl Labels {
    #[inline]
    fn of(&mut self, thread: i32, names: &HashMap<i32, String>) -> &(BlockText, bool, usize) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, (i64::MAX, 0));
        }
        let slot = thread as usize % RECENT;
        let (of, at) = self.recent[slot];
        if of == i64::from(thread) {
            return &self.labels[at];
        }
        let labels = &mut self.labels;
        let at = *self.known.entry(thread).or_insert_with(|| {
            let label = label(thread, names.get(&thread).map(String::as_str));
            labels.push((BlockText::new(&label), is_plain(&label), label.len()));
            labels.len() - 1
        });
        self.recent[slot] = (i64::from(thread), at);
        &self.labels[at]
    }
}

impl Second {
    /// Writes a time in seconds, for which there must be room.
    #[inline]
    fn write(&mut self, lines: &mut Lines, time: i64) {
        let within = self.begin.and_then(|begin| time.checked_sub(begin));
        let within = match within.filter(|within| (0..SECOND).contains(within)) {
            Some(within) => within as u32,
            None => self.other(time),
        };
        lines.text(&self.text);
        lines.nine_digits(within);
    }

    #[cold]
    fn other(&mut self, time: i64) -> u32 {
        let magnitude = time.unsigned_abs();
        let sign = if time < 0 { "-" } else { "" };
        self.text = BlockText::new(format!("{sign}{}.", magnitude / SECOND as u64).as_bytes());
        // Before 0 the digits count backwards.
        self.begin = (time >= 0).then(|| time - time % SECOND);
        (magnitude % SECOND as u64) as u32
    }
}
