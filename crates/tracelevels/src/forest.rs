//! All rows with their levels.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::level::{Level, levels};
use crate::overview::Overview;
use crate::spans::Spans;

/// What a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// What runs on a CPU, or its events alone where that was not recorded.
    Cpu,
    /// An interrupt's handler on a CPU.
    Irq,
    /// A softirq on a CPU.
    Softirq,
    /// The states of a thread.
    Thread,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Irq => "irq",
            Self::Softirq => "softirq",
            Self::Thread => "thread",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        [Self::Cpu, Self::Irq, Self::Softirq, Self::Thread].into_iter().find(|k| k.name() == name)
    }
}

/// A row of the timeline. Its place is its number: CPUs, interrupts, softirqs, threads, those that
/// used the CPUs most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What it shows.
    pub kind: Kind,
    /// Whose row it is; `None` for a CPU.
    pub actor: Option<u32>,
    /// Where; `None` for a thread, which may run anywhere, `u16::MAX` for events of no known CPU.
    pub cpu: Option<u16>,
    /// How many instances began: of its actor, of a handler those on that CPU, of a CPU all there.
    pub instances: u64,
    /// For how long (ns) it used a CPU.
    pub ran: i64,
    /// When the first span begins and the last ends.
    pub first: i64,
    /// See `first`.
    pub last: i64,
}

/// What a row has to show.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    /// They do not overlap.
    pub(crate) spans: Spans,
    levels: OnceLock<Vec<Level>>,
}

impl Content {
    /// Its levels are made when they are first asked for.
    pub(crate) fn new(spans: Spans) -> Self {
        Self { spans, levels: OnceLock::new() }
    }

    pub(crate) fn with_levels(spans: Spans, levels: Vec<Level>) -> Self {
        Self { spans, levels: levels.into() }
    }

    /// From the finest to the coarsest.
    pub(crate) fn levels(&self) -> &[Level] {
        self.levels.get_or_init(|| levels(&self.spans))
    }
}

/// The timeline of a trace. All times are nanoseconds since its first event.
#[derive(Debug, Clone)]
pub struct Forest {
    pub(crate) rows: Vec<Row>,
    /// Of each row.
    pub(crate) contents: Vec<Content>,
    pub(crate) overview: Overview,
    /// Held by who makes levels: another who needs the same would wait on a CPU that could make some.
    making: Arc<Mutex<()>>,
}

impl Forest {
    /// Its rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn new(rows: Vec<Row>, contents: Vec<Content>, overview: Overview) -> Self {
        Self { rows, contents, overview, making: Arc::default() }
    }

    /// Makes the levels of rows that have none yet, on all CPUs. They are made when a row is first
    /// drawn: a first picture shows few rows, and does not wait for the others.
    pub(crate) fn prepare<'a>(&self, contents: impl Iterator<Item = &'a Content> + Clone) {
        let missing = || contents.clone().filter(|content| content.levels.get().is_none());
        if missing().next().is_none() {
            return;
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Some are as much work as all others together: each is dealt out by itself.
        let missing: Vec<&Content> = missing().collect();
        missing.into_par_iter().with_max_len(1).for_each(|content| {
            content.levels();
        });
    }

    /// The whole trace at a glance.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }
}
