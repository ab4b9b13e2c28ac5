//! What is believed about threads and CPUs at one time of the pass, and what is gathered.
//!
//! What events do to it stands in `tasks`, `handlers`, `causes` and `corrections`; `pass` brings them.

use crate::actors::Actors;
use crate::bindings::Bindings;
use crate::cpu::Cpu;
use crate::gathered::Gathered;
use crate::input::{EventTable, Input};
use crate::losses::Losses;
use crate::states::States;
use crate::threads::Threads;

/// The state of all CPUs and threads while the events pass, and what is gathered.
pub(crate) struct Scheduling {
    pub(crate) states: States,
    /// Whether it can be told who is the cause of something.
    pub(crate) contexts: bool,
    /// Whether wake-ups are told where they are decided.
    pub(crate) traces_waking: bool,
    pub(crate) traces_switches: bool,
    pub(crate) cpus: Vec<Cpu>,
    /// By CPU: events may be missing anywhere.
    pub(crate) anywhere: Vec<bool>,
    /// Whether events may be missing anywhere on any CPU.
    pub(crate) lost_anywhere: bool,
    /// When events began to be missing on any CPU, in order of time.
    pub(crate) losses: Vec<i64>,
    /// How many of these, from the first, are over.
    pub(crate) losses_over: u32,
    pub(crate) switches: u32,
    /// How often another thread ran than the one that was switched to last, and no loss tells why;
    /// without those that idled.
    pub(crate) mistakes: u32,
    /// Whether a span was cut at the latest event of its CPU.
    pub(crate) asked_for_last: bool,
    /// When the trace begins.
    pub(crate) begin: i64,
    pub(crate) threads: Threads,
    pub(crate) actors: Actors,
    pub(crate) gathered: Gathered,
}

impl Scheduling {
    pub(crate) fn new(
        input: &Input,
        bindings: &Bindings<'_>,
        losses: &Losses,
        span: (i64, i64),
        gathered: Gathered,
    ) -> Self {
        let named = |name: &str| input.events.iter().find(|event| event.name == name);
        Self {
            states: States::new(named("sched_switch"), &input.environment),
            contexts: bindings.contexts,
            traces_waking: named("sched_waking").is_some_and(EventTable::has_rows),
            traces_switches: named("sched_switch").is_some_and(EventTable::has_rows),
            cpus: losses.at_first.iter().map(|&missing| Cpu::new(span.0, missing)).collect(),
            anywhere: losses.anywhere.clone(),
            lost_anywhere: losses.anywhere.contains(&true),
            losses: Vec::new(),
            losses_over: 0,
            switches: 0,
            mistakes: 0,
            asked_for_last: false,
            begin: span.0,
            threads: Threads::default(),
            actors: Actors::new(&input.events, losses),
            gathered,
        }
    }
}
