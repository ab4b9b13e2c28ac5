//! Stamps of many clocks on the one of the trace, by the snapshots in which the file has them.

use std::collections::HashMap;

use super::wire::{Fields, last};

pub(super) const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
pub(super) const BOOTTIME: u64 = 6;
/// Clocks from here on belong to one writer (a sequence of packets).
const OF_SEQUENCE: u64 = 64;
const OF_SEQUENCE_END: u64 = 128;

/// A clock of a writer.
#[derive(Debug, Clone, Copy)]
struct Own {
    incremental: bool,
    multiplier: i64,
    /// Its own time now, in ns.
    now: i64,
    /// What the trace's clock is ahead.
    ahead: i64,
}

/// What the snapshots say.
#[derive(Default)]
pub(super) struct Clocks {
    /// By clock: its time and how far the trace's is ahead, in order of its time.
    ahead: HashMap<u64, Vec<(i64, i64)>>,
    own: HashMap<(u64, u64), Own>,
    /// The clock of the trace.
    pub(super) main: u64,
    pub(super) unknown: u64,
}

impl Clocks {
    /// Chooses the trace's clock and lines the others up: time since boot, where some snapshot has it.
    pub(super) fn new(snapshots: &[&[u8]]) -> Self {
        let told: Vec<HashMap<u64, i64>> = snapshots.iter().map(|one| clocks_of(one)).collect();
        let has = |clock| told.iter().any(|one| one.contains_key(&clock));
        let main = if has(BOOTTIME) || !has(MONOTONIC) { BOOTTIME } else { MONOTONIC };
        let mut ahead: HashMap<u64, Vec<(i64, i64)>> = HashMap::new();
        for one in &told {
            let Some(&now) = one.get(&main) else { continue };
            for (&clock, &time) in one.iter().filter(|(clock, _)| **clock < OF_SEQUENCE) {
                ahead.entry(clock).or_default().push((time, now.wrapping_sub(time)));
            }
        }
        ahead.values_mut().for_each(|times| times.sort_unstable());
        Self { ahead, own: HashMap::new(), main, unknown: 0 }
    }

    /// Nanoseconds from the Unix epoch to the trace clock's zero.
    pub(super) fn epoch(&self) -> Option<i64> {
        self.ahead.get(&REALTIME)?.first().map(|&(_, ahead)| ahead.wrapping_neg())
    }

    /// A snapshot of a writer's own clocks, in the order of the file.
    pub(super) fn snapshot(&mut self, sequence: u64, snapshot: &[u8]) {
        let told = clocks_of(snapshot);
        let common = told.iter().find(|(clock, _)| **clock == self.main);
        let common = common.or_else(|| told.iter().find(|(clock, _)| **clock < OF_SEQUENCE));
        let now = common.and_then(|(&clock, &time)| self.common(clock, time));
        for (_, value) in Fields::of(snapshot).filter(|(number, _)| *number == 1) {
            let number = |field| last(value.bytes(), field).and_then(|value| value.number());
            let Some(clock) = number(1).filter(|c| (OF_SEQUENCE..OF_SEQUENCE_END).contains(c))
            else {
                continue;
            };
            let multiplier = number(4).map_or(1, |by| by as i64).max(1);
            let time = (number(2).unwrap_or(0) as i64).wrapping_mul(multiplier);
            let own = Own {
                incremental: number(3).is_some_and(|value| value != 0),
                multiplier,
                now: time,
                ahead: now.map_or(0, |now| now.wrapping_sub(time)),
            };
            self.own.insert((sequence, clock), own);
        }
    }

    /// The time on the trace's clock of a stamp of a packet.
    pub(super) fn time(&mut self, sequence: u64, clock: u64, stamp: u64) -> i64 {
        if let Some(own) = self.own.get_mut(&(sequence, clock)) {
            let time = (stamp as i64).wrapping_mul(own.multiplier);
            let time = if own.incremental { own.now.wrapping_add(time) } else { time };
            own.now = time;
            return time.wrapping_add(own.ahead);
        }
        match self.common(clock, stamp as i64) {
            Some(time) => time,
            None => {
                self.unknown += 1;
                stamp as i64
            }
        }
    }

    fn common(&self, clock: u64, time: i64) -> Option<i64> {
        if clock == self.main || clock == 0 {
            return Some(time);
        }
        let known = self.ahead.get(&clock)?;
        let at = known.partition_point(|&(of, _)| of <= time).max(1) - 1;
        known.get(at).map(|&(_, ahead)| time.wrapping_add(ahead))
    }
}

/// The clocks of a snapshot, in ns.
fn clocks_of(snapshot: &[u8]) -> HashMap<u64, i64> {
    let mut told = HashMap::new();
    for (_, value) in Fields::of(snapshot).filter(|(number, _)| *number == 1) {
        let number = |field| last(value.bytes(), field).and_then(|value| value.number());
        if let (Some(clock), Some(time)) = (number(1), number(2)) {
            told.insert(clock, (time as i64).wrapping_mul(number(4).map_or(1, |by| by as i64)));
        }
    }
    told
}
