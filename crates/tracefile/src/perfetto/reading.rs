//! Packets of all data sources in the order of the file: each to the part that reads its kind.

use std::collections::{BTreeMap, HashMap};

use super::clocks::Clocks;
use super::counters::Polled;
use super::frames::Frames;
use super::kernel::KernelEvents;
use super::track_events::{Sequence, Tracks};
use super::wire::{Fields, first, last, number, text};
use crate::Result;
use crate::places::Home;
use crate::slices::Builder;

/// What was read of the packets so far.
pub(super) struct Reading {
    pub(super) clocks: Clocks,
    pub(super) kernel: KernelEvents,
    sequences: HashMap<u64, Sequence>,
    pub(super) tracks: Tracks,
    pub(super) frames: Frames,
    polled: Polled,
    pub(super) builder: Builder,
    /// Names of threads by process and thread.
    pub(super) tasks: BTreeMap<(i64, i64), String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) symbols: HashMap<u64, String>,
    left_out: BTreeMap<&'static str, u64>,
}

impl Reading {
    /// `packets` are all of the file, as snapshots of clocks and descriptions of tracks hold for what
    /// stands before them too.
    pub(super) fn new<'a>(packets: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut snapshots = Vec::new();
        let (mut tracks, mut builder) = (Tracks::default(), Builder::default());
        for (field, value) in packets.flat_map(Fields::of) {
            match field {
                6 => snapshots.push(value.bytes()),
                60 => tracks.describe(value.bytes(), &mut builder),
                _ => {}
            }
        }
        Self {
            clocks: Clocks::new(&snapshots),
            kernel: KernelEvents::default(),
            sequences: HashMap::new(),
            tracks,
            frames: Frames::default(),
            polled: Polled::default(),
            builder,
            tasks: BTreeMap::new(),
            environment: Vec::new(),
            symbols: HashMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// What was left out or repaired.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = [
            (self.kernel.far_cpus, "bundles of CPUs beyond 65,535 are left out"),
            (self.kernel.unreadable, "events of the kernel have no message that can be read"),
            (self.polled.lists, "lists of free pages and slabs of sys_stats are left out"),
            (
                self.clocks.unknown,
                "stamps of clocks that no snapshot lines up: they are taken as they are",
            ),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let left_out = self.left_out.iter().map(|(what, count)| (*count, *what));
        left_out.chain(counted).map(|(count, what)| format!("{count} {what}")).collect()
    }

    /// Reads a packet, which stands in `bytes` (what its `home` is).
    pub(super) fn packet(&mut self, packet: &[u8], bytes: &[u8], home: Home) -> Result<()> {
        let id = number(packet, 10).unwrap_or(0);
        self.sequence(id, packet);
        let sequence = self.sequences.entry(id).or_default();
        let usable = sequence.valid || number(packet, 13).unwrap_or(0) & 2 == 0;
        let clock = number(packet, 58).or(sequence.clock).unwrap_or(self.clocks.main);
        let time = number(packet, 8).map(|stamp| self.clocks.time(id, clock, stamp));
        for (field, value) in Fields::of(packet) {
            let message = value.bytes();
            match field {
                1 => self.kernel.bundle(message, bytes, home)?,
                2 => self.processes(message),
                7 | 9 => self.poll(field, message, time),
                11 => {
                    let sequence = self.sequences.entry(id).or_default();
                    let read =
                        usable && self.tracks.event(message, time, sequence, &mut self.builder);
                    if !read {
                        self.leave_out("track events are left out: what they refer to is missing");
                    }
                }
                12 => self.intern_symbols(message),
                43 => {
                    if let (Some(process), Some(name)) = (number(message, 1), last(message, 6)) {
                        self.builder.processes.insert(process as i64, text(name));
                    }
                }
                44 => {
                    if let (Some(process), Some(thread), Some(name)) =
                        (number(message, 1), number(message, 2), last(message, 5))
                    {
                        let key = (process as i64, thread as i64);
                        self.builder.threads.insert(key, text(name));
                    }
                }
                45 => self.system(message),
                76 => {
                    let details = &mut self.tracks.details;
                    let taken = time.is_some_and(|time| self.frames.take(message, time, details));
                    if !taken {
                        self.leave_out("frames are left out: time, process or number is missing");
                    }
                }
                66 => self.leave_out("packets of perf_sample are left out"),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes what a packet says of its writer, for it and the next ones.
    fn sequence(&mut self, id: u64, packet: &[u8]) {
        let fresh = number(packet, 13).unwrap_or(0) & 1 != 0;
        let lost = number(packet, 42).unwrap_or(0) != 0;
        if lost {
            self.leave_out("times a writer lost packets: slices beside these may lack ends");
        }
        let sequence = self.sequences.entry(id).or_default();
        if fresh || number(packet, 41).unwrap_or(0) != 0 {
            *sequence = Sequence::default();
            sequence.valid = true;
        }
        if lost {
            sequence.valid = fresh;
        }
        for (field, value) in Fields::of(packet) {
            match field {
                6 => self.clocks.snapshot(id, value.bytes()),
                12 | 59 | 44 => sequence.keep(field, value),
                _ => {}
            }
        }
    }

    fn intern_symbols(&mut self, interned: &[u8]) {
        for (_, symbol) in Fields::of(interned).filter(|(field, _)| *field == 26) {
            let symbol = symbol.bytes();
            if let (Some(number), Some(name)) = (number(symbol, 1), last(symbol, 2)) {
                self.symbols.insert(number, text(name));
            }
        }
    }

    fn poll(&mut self, field: u32, stats: &[u8], time: Option<i64>) {
        match time {
            None => self.leave_out("packets of polled values have no time and are left out"),
            Some(time) if field == 9 => self.polled.processes(stats, time, &mut self.builder),
            Some(time) => self.polled.system(stats, time, &mut self.builder),
        }
    }

    fn system(&mut self, info: &[u8]) {
        for (field, value) in Fields::of(info) {
            match field {
                1 => {
                    for (field, value) in Fields::of(value.bytes()) {
                        let name = match field {
                            1 => "sysname",
                            2 => "kernel_version",
                            3 => "kernel_release",
                            4 => "machine",
                            _ => continue,
                        };
                        self.environment.push((name.into(), text(value)));
                    }
                }
                2 => self.environment.push(("android_build".into(), text(value))),
                4 => self.environment.push(("tracer_version".into(), text(value))),
                17 => self.environment.push(("hostname".into(), text(value))),
                _ => {}
            }
        }
    }

    /// Names of processes and threads.
    fn processes(&mut self, tree: &[u8]) {
        for (field, value) in Fields::of(tree) {
            let message = value.bytes();
            let id = |field| number(message, field).map(|id| i64::from(id as i32));
            match field {
                1 => {
                    let command = first(message, 3).map(text);
                    if let (Some(process), Some(command)) = (id(1), command) {
                        let name = command.rsplit('/').next().unwrap_or(&command).to_owned();
                        self.tasks.entry((process, process)).or_insert_with(|| name.clone());
                        self.builder.processes.entry(process).or_insert(name);
                    }
                }
                2 => {
                    if let (Some(thread), Some(name)) = (id(1), last(message, 2)) {
                        let process = id(3).unwrap_or(thread);
                        self.tasks.insert((process, thread), text(name));
                    }
                }
                _ => {}
            }
        }
    }
}
