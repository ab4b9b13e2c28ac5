//! A short run of what `make fuzz` runs for minutes: every seed, and the seeds with bytes changed,
//! cut, doubled and put together. None may panic, or take memory by a number that it holds.

mod fuzzing;
mod made;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes for an input of some kilobytes: those of the seeds take half a million at most.
const MOST_MEMORY: usize = 4 << 20;

/// Counts what is allocated, and the most there was at once.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's; what is counted changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(taken, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// xorshift64*: the same changes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }
}

fn changed(seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.next(3) {
        let at = random.next(bytes.len());
        match random.next(6) {
            0 => bytes.truncate(at),
            1 => bytes[at..].iter_mut().take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
            2 => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = 0xff),
            3 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0),
            4 => {
                let part = bytes[at..].iter().take(64).copied().collect::<Vec<_>>();
                bytes.splice(at..at, part);
            }
            _ => {
                let from = random.next(other.len());
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn no_seed_and_no_change_to_one_does_harm() {
    const CHANGES: usize = 150;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut largest = Vec::new();
    for target in &fuzzing::TARGETS {
        let before = TAKEN.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let seeds = (target.seeds)();
        for seed in &seeds {
            let text = String::from_utf8_lossy(seed);
            assert!((target.run)(seed) > 0, "{}: no event in a seed: {text}", target.name);
            for number in 0..CHANGES {
                let other = &seeds[random.next(seeds.len())];
                let bytes = changed(seed, other, &mut random);
                let name = target.name;
                let done = catch_unwind(|| (target.run)(&bytes));
                assert!(done.is_ok(), "{name}: change {number} of a seed: {bytes:02x?}");
                let taken = MOST.load(Ordering::Relaxed).saturating_sub(before);
                let bound = taken < MOST_MEMORY;
                assert!(bound, "{name}: change {number} takes {taken} bytes: {bytes:02x?}");
            }
        }
        largest.push((target.name, MOST.load(Ordering::Relaxed).saturating_sub(before)));
    }
    println!("most bytes at once: {largest:?}");
}
