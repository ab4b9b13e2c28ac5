//! What is listed: which events, and what is made of each.

use std::collections::HashSet;

use tracefile::Index;

use crate::conversion::padded;
use crate::lines::Lines;
use crate::threads::UNKNOWN;

/// Which events are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The types, by their numbers; `None`: all.
    pub events: Option<HashSet<usize>>,
    /// The threads; `None`: all.
    pub threads: Option<HashSet<i32>>,
    /// The CPUs; `None`: all.
    pub cpus: Option<HashSet<u16>>,
    /// Only events whose text has this in it.
    pub text: Option<String>,
}

/// Some events as columns of equal length.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Nanoseconds of the trace's clock. Of lines, which have it, this and the next three may be
    /// empty.
    pub time: Vec<i64>,
    /// [`Index::NO_CPU`] where it is not known.
    pub cpu: Vec<u16>,
    /// -1 where it is not known.
    pub thread: Vec<i32>,
    /// The type.
    pub event: Vec<u16>,
    /// Where each text ends in `text`.
    pub ends: Vec<usize>,
    /// All texts, or lines. What is no UTF-8 in the trace was replaced.
    pub text: Lines,
    /// Lines that a terminal must not be given as they are: what is not plain ASCII, and very long
    /// ones.
    pub doubtful: Vec<(usize, usize)>,
}

/// What is made of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// The text of its fields.
    Text,
    /// A line: thread, CPU, seconds, event, fields.
    Line,
}

impl Chunk {
    /// Keeps only the first events.
    pub fn cut(&mut self, most: usize) {
        self.time.truncate(most);
        self.cpu.truncate(most);
        self.thread.truncate(most);
        self.event.truncate(most);
        self.ends.truncate(most);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        self.doubtful.retain(|&(_, end)| end <= self.text.len());
    }
}

/// Bytes of a text that are shown.
pub(crate) const LONGEST: usize = 10_000;

/// What a line has for a thread.
pub(crate) fn label(thread: i32, name: Option<&str>) -> Vec<u8> {
    let label = match thread {
        UNKNOWN => "?".to_owned(),
        _ => format!("{}-{thread}", name.unwrap_or("<...>")),
    };
    format!("{label:>22}").into_bytes()
}

/// What stands between the thread and the time.
pub(crate) fn cpu_text(cpu: u16) -> Vec<u8> {
    if cpu == Index::NO_CPU {
        return b" [ ? ] ".to_vec();
    }
    let mut text = b" [".to_vec();
    padded(&mut text, u64::from(cpu), if cpu < 1000 { 3 } else { 5 });
    text.extend_from_slice(b"] ");
    text
}
