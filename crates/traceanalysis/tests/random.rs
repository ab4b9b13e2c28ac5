//! Any events in any order, with any losses: what must hold of every result still does.

mod common;

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use common::{DISK, Names, PREEMPTED, RUNNABLE, Row, SLEEPS, Sequence, ZOMBIE, rows};
use traceanalysis::{Loss, NoUsage, SchedulingTables, flags, scheduling, usage, why};

/// Numbers that look random and are the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 1) as i64 % most
    }
}

fn sequence(seed: u64) -> Sequence {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let names = if seed.is_multiple_of(2) { Names::Ftrace } else { Names::Lttng };
    let mut trace = Sequence::new(names);
    let contexts = seed.is_multiple_of(4);
    let id = if names == Names::Lttng { "tid" } else { "pid" };
    let mut time = 1000;
    for _ in 0..random.below(300) {
        time += random.below(10);
        let (cpu, tid) = (random.below(3) as u16, random.below(5));
        if contexts {
            trace.context = Some(([0, 0, 8, 16][random.below(4) as usize], random.below(5)));
        }
        match random.below(16) {
            0..=4 => {
                let states = [RUNNABLE, SLEEPS, DISK, ZOMBIE, PREEMPTED];
                let state = states[random.below(5) as usize];
                trace.switch(time, cpu, (tid, "x"), state, (random.below(5), "y"));
            }
            5 => {
                trace.wake(time, cpu, "sched_waking", tid, random.below(4) as u16);
            }
            6 => {
                trace.wake(time, cpu, "sched_wakeup", tid, random.below(4) as u16);
            }
            7 => {
                trace.irq(time, cpu, random.below(2), "nic");
            }
            8 => {
                trace.irq_exit(time, cpu, random.below(2));
            }
            9..=11 => {
                let what = ["raise", "entry", "exit"][random.below(3) as usize];
                trace.softirq(time, cpu, what, random.below(20));
            }
            12 => {
                let event = ["entry", "exit"][random.below(2) as usize];
                let timer = [("hrtimer", 1), ("now", time), ("function", 2)];
                trace.add(time, cpu, &format!("hrtimer_expire_{event}"), &timer, &[]);
            }
            13 => {
                let event = ["sys_enter_read", "sys_exit_read"][random.below(2) as usize];
                trace.add(time, cpu, event, &[("ret", 0)], &[]);
            }
            14 => {
                let (parent, child) = (format!("parent_{id}"), format!("child_{id}"));
                let names = [("parent_comm", "x"), ("child_comm", "x")];
                let ids = [(parent.as_str(), tid), (child.as_str(), random.below(5))];
                trace.add(time, cpu, "sched_process_fork", &ids, &names);
            }
            _ => {
                let old = format!("old_{id}");
                let ids = [(id, tid), (old.as_str(), random.below(5))];
                trace.add(time, cpu, "sched_process_exec", &ids, &[("filename", "/bin/z")]);
            }
        }
    }
    for _ in 0..random.below(4) {
        let mut at = || Some(1000 + random.below(1500)).filter(|time| time % 5 != 0);
        let (begin, end) = (at(), at());
        let end = end.map(|end| end.max(begin.unwrap_or(end)));
        let cpu = Some(random.below(3) as u16).filter(|_| !seed.is_multiple_of(3));
        trace.losses.push(Loss { cpu, begin, end });
    }
    trace
}

#[test]
fn what_must_hold_holds() {
    for seed in 0..1000 {
        let result = std::panic::catch_unwind(|| sequence(seed).analyse());
        assert!(result.is_ok(), "seed {seed}");
    }
}

/// What tables of every span add up to, by actor and CPU: execution, fragments, those that took time,
/// switches, instances, those that were woken, those that cross a loss.
fn added_up(tables: &SchedulingTables) -> BTreeMap<(i64, i64), [i64; 7]> {
    let (instances, mut sums) = (rows(&tables.instances), BTreeMap::<_, [i64; 7]>::new());
    let lossy = |row: &Row| row.int("flags") & i64::from(flags::CROSSES_LOSS) != 0;
    for row in rows(&tables.fragments) {
        let why = row.int("why") as u8;
        let guessed = why == why::OTHER && lossy(&instances[row.int("instance") as usize]);
        let sum = sums.entry((row.int("actor"), row.int("cpu"))).or_default();
        sum[0] += row.int("execution");
        sum[1] += 1;
        sum[2] += i64::from(row.int("execution") > 0);
        sum[3] += i64::from(!guessed && why != why::END_OF_TRACE);
    }
    for row in &instances {
        let sum = sums.entry((row.int("actor"), row.int("cpu"))).or_default();
        sum[4] += 1;
        sum[5] += i64::from(row.get("ready").is_some());
        sum[6] += i64::from(lossy(row));
    }
    sums
}

#[test]
fn usage_is_what_the_tables_add_up_to() {
    const SUMS: [&str; 7] =
        ["execution", "fragments", "ran", "switched", "begun", "woken", "lossy"];
    let (mut doubtful, mut outside) = (0, 0);
    for seed in 0..1000 {
        let input = sequence(seed).input();
        let (tables, sums) = (scheduling(&input), usage(&input));
        let Ok(sums) = sums else {
            let first = input.index[0]["time"].as_primitive::<Int64Type>().value(0);
            let fragments = rows(&tables.fragments);
            assert!(fragments.iter().any(|row| row.int("begin") < first), "seed {seed}");
            outside += 1;
            continue;
        };
        assert_eq!(tables.actors, sums.actors, "seed {seed}");
        let sums = rows(&sums.usage).into_iter().map(|row| {
            let key = (row.int("actor"), row.int("cpu"));
            (key, SUMS.map(|name| row.int(name)))
        });
        let expected = added_up(&tables);
        doubtful += expected.values().filter(|sum| sum[3] < sum[1]).count();
        assert_eq!(sums.collect::<BTreeMap<_, _>>(), expected, "seed {seed}");
    }
    assert!(doubtful > 100, "few sequences have a switch that was guessed: {doubtful}");
    assert!((1..100).contains(&outside), "{outside} sequences begin before their first event");
}

/// Whether an event changes nothing about who runs.
fn is_other(event: &str) -> bool {
    event.starts_with("sys_")
}

/// Where a missing switch makes it matter when a CPU had its latest event, all events are asked for.
#[test]
fn without_other_events_it_is_the_same_or_all_are_asked_for() {
    let (mut same, mut asked) = (0, 0);
    for seed in (0..800).filter(|seed| seed % 4 != 0) {
        let sequence = sequence(seed);
        let (every, fewer) = (usage(&sequence.input()), usage(&sequence.input_without(is_other)));
        match fewer {
            Err(NoUsage::LeftOut) => asked += 1,
            Err(NoUsage::Outside) => {
                assert_eq!(every.err(), Some(NoUsage::Outside), "seed {seed}");
            }
            Ok(fewer) => {
                let every = every.ok().unwrap_or_else(|| panic!("seed {seed}"));
                assert_eq!((every.actors, every.usage), (fewer.actors, fewer.usage), "seed {seed}");
                same += 1;
            }
        }
    }
    assert!(same > 5 && asked > 100, "{same} {asked}");
}

/// Threads switch to each other as a kernel has it: no switch is missing, whatever losses tell.
#[test]
fn losses_ask_for_no_other_events() {
    let (mut lossy, mut asked) = (0, 0);
    for seed in 1..300_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut trace = Sequence::new(Names::Lttng);
        let (mut time, mut runs) = (1000, [1, 2]);
        for _ in 0..random.below(200) {
            time += 1 + random.below(9);
            let cpu = random.below(2);
            if random.below(2) == 0 {
                trace.add(time, cpu as u16, "sys_enter_read", &[], &[]);
                continue;
            }
            let next = 3 + 2 * random.below(3) + cpu; // those of the CPU
            if next != runs[cpu as usize] {
                let state = [RUNNABLE, SLEEPS][random.below(2) as usize];
                trace.switch(time, cpu as u16, (runs[cpu as usize], "x"), state, (next, "y"));
                runs[cpu as usize] = next;
            }
        }
        for _ in 0..random.below(3) {
            let begin = 1000 + random.below(900);
            let end = Some(begin + 1 + random.below(300));
            trace.losses.push(Loss { cpu: Some(random.below(2) as u16), begin: Some(begin), end });
        }
        lossy += u32::from(!trace.losses.is_empty());
        let (every, fewer) = (usage(&trace.input()), usage(&trace.input_without(is_other)));
        match (every, fewer) {
            (Ok(every), Ok(fewer)) => {
                assert_eq!((every.actors, every.usage), (fewer.actors, fewer.usage), "seed {seed}");
            }
            (_, Err(NoUsage::LeftOut)) => asked += 1,
            (every, fewer) => assert_eq!(every.err(), fewer.err(), "seed {seed}"),
        }
    }
    assert!(lossy > 100 && asked == 0, "{lossy} {asked}");
}
