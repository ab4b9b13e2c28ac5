//! Which files a process had where in memory, over time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Part of a file in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// The file's place among those of the recording.
    pub(crate) file: u32,
}

/// What happened to the memory of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Forked { parent: u32 },
    Executed,
    Mapped(Mapping),
}

/// Time, process, and what happened; ascending.
pub(crate) type Changes = Vec<(i64, u32, Change)>;

/// Mappings that a process can have.
const MOST: usize = 1 << 14;
/// Mappings that are copied for children in all.
const MOST_COPIED: usize = 1 << 24;

/// The mappings of all processes at one moment, which only moves on.
pub(crate) struct Replay<'a> {
    changes: std::slice::Iter<'a, (i64, u32, Change)>,
    /// By where they begin. Children share those of their parent until one of them changes.
    processes: HashMap<u32, Arc<BTreeMap<u64, Mapping>>>,
    copied: usize,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(changes: &'a Changes) -> Self {
        Self { changes: changes.iter(), processes: HashMap::new(), copied: 0 }
    }

    /// Moves on to a time.
    pub(crate) fn advance(&mut self, time: i64) {
        while let Some(&(_, process, change)) =
            self.changes.as_slice().first().filter(|(at, ..)| *at <= time)
        {
            self.changes.next();
            self.take(process, change);
        }
    }

    fn take(&mut self, process: u32, change: Change) {
        match change {
            Change::Forked { parent } => {
                if let Some(mappings) = self.processes.get(&parent).filter(|_| parent != process) {
                    let mappings = Arc::clone(mappings);
                    self.processes.insert(process, mappings);
                }
            }
            Change::Executed => drop(self.processes.remove(&process)),
            Change::Mapped(mapping) => self.map(process, mapping),
        }
    }

    fn map(&mut self, process: u32, mapping: Mapping) {
        let shared = self.processes.entry(process).or_default();
        if Arc::strong_count(shared) > 1 {
            self.copied += shared.len();
            if self.copied > MOST_COPIED {
                *shared = Arc::default();
            }
        }
        let mappings = Arc::make_mut(shared);
        // What lies there goes, up to what is left of it on either side.
        let before = mappings.range(..mapping.start).next_back().map(|(_, &before)| before);
        let within: Vec<Mapping> =
            mappings.range(mapping.start..mapping.end).map(|(_, &within)| within).collect();
        for old in before.into_iter().chain(within).filter(|old| old.end > mapping.start) {
            mappings.remove(&old.start);
            if old.start < mapping.start {
                mappings.insert(old.start, Mapping { end: mapping.start, ..old });
            }
            if old.end > mapping.end {
                let offset = old.offset.wrapping_add(mapping.end - old.start);
                mappings.insert(mapping.end, Mapping { start: mapping.end, offset, ..old });
            }
        }
        if mappings.len() < MOST {
            mappings.insert(mapping.start, mapping);
        }
    }

    /// What a process has at an address.
    pub(crate) fn at(&self, process: u32, address: u64) -> Option<Mapping> {
        let mappings = self.processes.get(&process)?;
        let (_, mapping) = mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some(*mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(start: u64, end: u64, file: u32) -> Change {
        Change::Mapped(Mapping { start, end, offset: 0, file })
    }

    fn at(replay: &Replay<'_>, process: u32, address: u64) -> Option<(u32, u64)> {
        let mapping = replay.at(process, address)?;
        Some((mapping.file, address - mapping.start + mapping.offset))
    }

    #[test]
    fn a_later_mapping_lies_over_the_middle_of_one_before() {
        let changes = vec![(0, 1, mapped(10, 40, 0)), (5, 1, mapped(20, 30, 1))];
        let mut replay = Replay::new(&changes);
        replay.advance(4);
        assert_eq!(at(&replay, 1, 25), Some((0, 15)));
        replay.advance(5);
        let all = [9, 19, 20, 29, 30, 39, 40].map(|address| at(&replay, 1, address));
        let expected =
            [None, Some((0, 9)), Some((1, 0)), Some((1, 9)), Some((0, 20)), Some((0, 29)), None];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_child_has_what_its_parent_had_and_a_program_that_is_executed_nothing() {
        let changes = vec![
            (0, 1, mapped(10, 20, 0)),
            (1, 2, Change::Forked { parent: 1 }),
            (2, 1, mapped(10, 20, 1)),
            (3, 2, Change::Executed),
        ];
        let mut replay = Replay::new(&changes);
        replay.advance(2);
        assert_eq!((at(&replay, 1, 10), at(&replay, 2, 10)), (Some((1, 0)), Some((0, 0))));
        replay.advance(3);
        assert_eq!((at(&replay, 1, 10), at(&replay, 2, 10)), (Some((1, 0)), None));
    }
}
