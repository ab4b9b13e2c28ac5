//! Recordings of some processes only (`set_event_pid`, `trace-cmd record -F`): switches between all
//! others are not in them.

mod common;

use std::collections::HashSet;

use common::{PREEMPTED, Result, SLEEPS, Sequence};
use traceanalysis::{flags, why};

const CPUS: usize = 2;
const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
/// Those that are recorded: the first threads.
const FOLLOWED: usize = 2;

/// Numbers that look random and are the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 1) as usize % most
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Thread {
    Runs,
    Waits,
    Sleeps,
}

/// A scheduler that preempts, blocks, wakes and migrates as chance will; all of its events, and
/// those that a recording of the followed threads has.
fn recordings(seed: u64) -> (Sequence, Sequence) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut all, mut some) = (Sequence::ftrace(), Sequence::ftrace());
    let mut threads = [Thread::Waits; NAMES.len()];
    let mut runs = [0, 1];
    (threads[0], threads[1]) = (Thread::Runs, Thread::Runs);
    let named = |at: usize| (10 + at as i64, NAMES[at]);
    for cpu in 0..CPUS {
        for trace in [&mut all, &mut some] {
            trace.switch(cpu as i64, cpu as u16, (0, "swapper"), PREEMPTED, named(cpu));
        }
    }
    for step in 1..400 {
        let (time, cpu) = (step * 10, random.below(CPUS));
        let other = random.below(NAMES.len());
        match threads[other] {
            Thread::Runs => {}
            Thread::Sleeps => {
                let tid = named(other).0;
                threads[other] = Thread::Waits;
                all.woken(time, cpu as u16, tid, cpu as u16);
                if other < FOLLOWED || runs[cpu] < FOLLOWED {
                    some.woken(time, cpu as u16, tid, cpu as u16);
                }
            }
            Thread::Waits => {
                let from = runs[cpu];
                let blocks = random.below(3) == 0;
                let state = if blocks { SLEEPS } else { PREEMPTED };
                all.switch(time, cpu as u16, named(from), state, named(other));
                if from < FOLLOWED || other < FOLLOWED {
                    some.switch(time, cpu as u16, named(from), state, named(other));
                }
                threads[from] = if blocks { Thread::Sleeps } else { Thread::Waits };
                threads[other] = Thread::Runs;
                runs[cpu] = other;
            }
        }
    }
    (all, some)
}

/// Begin, end and kind of a thread's waits or fragments, without those that the trace's end or begin
/// cut, and of the waits those that are marked as incomplete.
fn told(result: &Result, name: &str, table: &str) -> HashSet<(i64, i64, i64)> {
    let (rows, kind) = match table {
        "waits" => (&result.waits, "state"),
        _ => (&result.fragments, "why"),
    };
    result
        .of(rows, name)
        .iter()
        .filter(|row| table != "waits" || row.int("flags") == 0)
        .map(|row| (row.int("begin"), row.int("end"), row.int(kind)))
        .filter(|&(_, _, kind)| table == "waits" || kind != i64::from(why::END_OF_TRACE))
        .collect()
}

#[test]
fn what_is_followed_is_as_in_the_whole_recording_and_nothing_contradicts_it() {
    let mut unsaid = 0;
    for seed in 0..200 {
        let (all, some) = recordings(seed);
        let (all, some) = (all.analyse(), some.analyse());
        for (at, name) in NAMES.iter().enumerate() {
            let (truth, found) = (told(&all, name, "waits"), told(&some, name, "waits"));
            if at < FOLLOWED {
                assert_eq!(found, truth, "seed {seed}: waits of {name}");
                let fragments = told(&some, name, "fragments");
                assert_eq!(fragments, told(&all, name, "fragments"), "seed {seed}: {name} runs");
                let marked = i64::from(flags::CROSSES_LOSS);
                for instance in some.instances_of(name) {
                    assert_eq!(instance.int("flags") & marked, 0, "seed {seed}: {name}");
                }
            } else {
                let wrong: Vec<_> = found.difference(&truth).collect();
                assert!(wrong.is_empty(), "seed {seed}: {name} did not wait {wrong:?}");
                unsaid += truth.len() - found.len();
            }
        }
    }
    assert!(unsaid > 10_000, "the recordings lack what others did: {unsaid}");
}

/// The kernel leaves a switch out that ends idling, in a recording that lacks switches of others.
#[test]
fn a_switch_from_idling_that_the_kernel_leaves_out_makes_nothing_of_the_thread_unknown() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 0));
    let idle = (0, "swapper/0");
    trace.switch(100, 0, idle, PREEMPTED, (10, "a"));
    for begin in (200..2000).step_by(100) {
        // Others: what ran between them is not recorded.
        trace.context = Some((0, 10));
        trace.switch(begin, 0, (10, "a"), PREEMPTED, (20, "b"));
        trace.context = Some((0, 30));
        trace.switch(begin + 20, 0, (30, "c"), SLEEPS, (10, "a"));
        trace.context = Some((0, 10));
        trace.switch(begin + 30, 0, (10, "a"), SLEEPS, idle);
        trace.context = Some((0, 0));
        trace.wake(begin + 60, 0, "sched_wakeup", 10, 0);
        // No switch from idling; the next event is its own.
        trace.context = Some((0, 10));
        trace.add(begin + 70, 0, "other", &[("x", 1)], &[]);
    }
    let result = trace.analyse();
    let waits: Vec<_> = result.of(&result.waits, "a").iter().map(|w| w.int("begin")).collect();
    for begin in (200..1900).step_by(100) {
        assert!(waits.contains(&begin), "preempted at {begin}");
        assert!(waits.contains(&(begin + 30)), "asleep since {}", begin + 30);
    }
}
