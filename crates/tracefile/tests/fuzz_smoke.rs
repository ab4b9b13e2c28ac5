//! A short run of what `make fuzz` runs for minutes: every seed, and the seeds with bytes changed,
//! cut, doubled and put together.

mod fuzzing;
mod made;

use std::panic::catch_unwind;

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
    for target in &fuzzing::TARGETS {
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
            }
        }
    }
}
