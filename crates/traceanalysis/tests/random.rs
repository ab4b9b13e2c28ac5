//! Any events in any order, with any losses: what must hold of every result still does.

mod common;

use common::{DISK, Names, PREEMPTED, RUNNABLE, SLEEPS, Sequence, ZOMBIE};
use traceanalysis::Loss;

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
