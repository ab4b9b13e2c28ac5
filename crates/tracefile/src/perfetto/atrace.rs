//! Android's slices: texts that programs write into the kernel's trace (`B|PID|NAME` and the like).
//!
//! ```text
//! B|process|name      E|process             a slice of the thread
//! S|process|name|id   F|process|name|id     an operation that no thread runs alone
//! G|process|track|name|id   H|process|track|id   the same on a track with a name
//! I|process|name      N|process|track|name  a moment of the thread, of a track
//! C|process|name|value                      a counter
//! ```

use std::collections::HashMap;

use crate::slices::{Builder, NO_TEXT, Owner, Span};

/// The message of the kernel that holds such texts, and its field.
pub(super) const PRINT: u32 = 3;
pub(super) const PRINT_TEXT: u32 = 2;

/// What such a text says.
#[derive(Debug, PartialEq, Eq)]
enum Mark<'a> {
    Begin(i64, &'a str),
    /// Old ones, and Flutter's, tell no process.
    End(Option<i64>),
    AsyncBegin(i64, &'a str, i64),
    AsyncEnd(i64, &'a str, i64),
    TrackBegin(i64, &'a str, &'a str, i64),
    TrackEnd(i64, &'a str, i64),
    Instant(i64, &'a str),
    TrackInstant(i64, &'a str, &'a str),
    Counter(i64, &'a str, i64),
}

impl<'a> Mark<'a> {
    /// `None`: any other text.
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim_end_matches(['\n', '\0']);
        let (kind, rest) = text.split_once('|').unwrap_or((text, ""));
        let (process, rest) = rest.split_once('|').unwrap_or((rest, ""));
        let process = process.parse::<u32>().ok().map(i64::from);
        if kind == "E" {
            return Some(Self::End(process));
        }
        let process = process?;
        if kind == "B" {
            return Some(Self::Begin(
                process,
                if rest.is_empty() { "[empty slice name]" } else { rest },
            ));
        }
        let mut fields = rest.split('|');
        let first = fields.next().filter(|field| !field.is_empty())?;
        let mut named = || fields.next().filter(|field| !field.is_empty());
        let number = |field: &str| field.parse::<i64>().ok();
        Some(match kind {
            "I" => Self::Instant(process, first),
            "N" => Self::TrackInstant(process, first, named()?),
            "S" => Self::AsyncBegin(process, first, number(named()?)?),
            "F" => Self::AsyncEnd(process, first, number(named()?)?),
            "C" => Self::Counter(process, first, number(named()?)?),
            "G" => {
                let name = named()?;
                Self::TrackBegin(process, first, name, number(named()?)?)
            }
            "H" => {
                // With the name of the slice before the number, or without.
                let own = named()?;
                Self::TrackEnd(process, first, number(named().unwrap_or(own))?)
            }
            _ => return None,
        })
    }
}

/// Such texts, in the order of the file: time, thread, text.
#[derive(Default)]
pub(super) struct Atrace {
    told: Vec<(i64, i64, String)>,
}

impl Atrace {
    /// Takes a text that a thread wrote into the kernel's trace.
    pub(super) fn take(&mut self, text: &[u8], thread: i64, time: i64) {
        // Most other texts begin otherwise.
        let marks = text.len() == 1 || text.get(1).is_some_and(|&byte| b"|\n\0".contains(&byte));
        if marks && text.first().is_some_and(|first| b"BESFGHINC".contains(first)) {
            self.told.push((time, thread, String::from_utf8_lossy(text).into_owned()));
        }
    }

    /// Gives the slices, instants and counters: bundles of several CPUs are in no order of time.
    pub(super) fn finish(mut self, builder: &mut Builder) {
        self.told.sort_by_key(|(time, ..)| *time);
        let mut open = Open::default();
        // A thread is of one process before it tells which, too.
        for (_, thread, text) in &self.told {
            if let Some(Mark::Begin(process, _) | Mark::Instant(process, _)) = Mark::read(text)
                && process != 0
            {
                open.processes.entry(*thread).or_insert(process);
            }
        }
        for (time, thread, text) in &self.told {
            if let Some(mark) = Mark::read(text) {
                open.take(mark, *thread, *time, builder);
            }
        }
    }
}

/// What holds at a time.
#[derive(Default)]
struct Open {
    /// The process of each thread, as its texts told it last.
    processes: HashMap<i64, i64>,
    /// Operations that go on, by process, track and number: which one it is, and how many slices of
    /// it lie within each other.
    operations: HashMap<(i64, u32, i64), (u64, u32)>,
    begun: u64,
}

impl Open {
    fn take(&mut self, mark: Mark<'_>, thread: i64, time: i64, builder: &mut Builder) {
        match mark {
            Mark::Begin(process, name) => {
                let name = builder.text(name);
                let owner = self.thread(thread, Some(process));
                builder.begin(owner, time, name, NO_TEXT, Span::default());
            }
            Mark::End(process) => {
                if process.is_some() || self.processes.contains_key(&thread) {
                    let owner = self.thread(thread, process);
                    builder.end(owner, time, None, Span::default());
                }
            }
            Mark::Instant(process, name) => {
                let name = (builder.text(name), NO_TEXT);
                let owner = self.thread(thread, Some(process));
                builder.instant(owner, time, b'i', name, Span::default());
            }
            Mark::AsyncBegin(process, name, id) => {
                let name = builder.text(name);
                // Some programs begin an operation again before it ends, and mean the first.
                if !self.operations.contains_key(&(process, name, id)) {
                    let owner = self.begun(process, name, id);
                    builder.begin(owner, time, name, NO_TEXT, Span::default());
                }
            }
            Mark::TrackBegin(process, track, name, id) => {
                let (track, name) = (builder.text(track), builder.text(name));
                let owner = self.begun(process, track, id);
                builder.begin(owner, time, name, NO_TEXT, Span::default());
            }
            Mark::AsyncEnd(process, track, id) | Mark::TrackEnd(process, track, id) => {
                let track = builder.text(track);
                if let Some(owner) = self.ended(process, track, id) {
                    builder.end(owner, time, None, Span::default());
                }
            }
            Mark::TrackInstant(process, track, name) => {
                let (track, name) = (builder.text(track), builder.text(name));
                let owner = Owner::Named(process, track);
                builder.instant(owner, time, b'n', (name, NO_TEXT), Span::default());
            }
            Mark::Counter(process, name, value) => {
                builder.counter(Some(process), name, time, [("value", value as f64)]);
            }
        }
    }

    fn thread(&mut self, thread: i64, process: Option<i64>) -> Owner {
        // Interrupts tell process 0 in the name of whom they interrupt.
        if let Some(process) = process.filter(|&process| process != 0) {
            self.processes.insert(thread, process);
        }
        Owner::Thread(self.processes.get(&thread).copied().unwrap_or(thread), thread)
    }

    fn begun(&mut self, process: i64, track: u32, id: i64) -> Owner {
        let begun = &mut self.begun;
        let (number, depth) = self.operations.entry((process, track, id)).or_insert_with(|| {
            *begun += 1;
            (*begun, 0)
        });
        *depth = depth.saturating_add(1);
        Owner::Operation(process, track, *number)
    }

    /// None: it began before the trace did.
    fn ended(&mut self, process: i64, track: u32, id: i64) -> Option<Owner> {
        let (number, depth) = self.operations.get_mut(&(process, track, id))?;
        let owner = Owner::Operation(process, track, *number);
        *depth -= 1;
        if *depth == 0 {
            self.operations.remove(&(process, track, id));
        }
        Some(owner)
    }
}
