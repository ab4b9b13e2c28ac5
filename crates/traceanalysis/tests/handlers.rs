//! Interrupt handlers and softirqs: nesting, causes, chains to threads.

mod common;

use common::{Names, PREEMPTED, RUNNABLE, SLEEPS, Sequence};
use traceanalysis::flags;

const IDLE: (i64, &str) = (0, "swapper/0");
const A: (i64, &str) = (10, "a");
const IRQ_THREAD: (i64, &str) = (30, "irq/9-nic");
const NET_RX: i64 = 3;

#[test]
fn time_goes_to_the_innermost() {
    for names in [Names::Ftrace, Names::Lttng] {
        let mut trace = Sequence::new(names);
        trace
            .switch(100, 0, IDLE, RUNNABLE, A)
            .irq(110, 0, 9, "nic")
            .softirq(112, 0, "raise", NET_RX)
            .irq_exit(115, 0, 9)
            .softirq(120, 0, "entry", NET_RX)
            .irq(130, 0, 9, "nic")
            .irq(132, 0, 5, "nested")
            .irq_exit(135, 0, 5)
            .irq_exit(138, 0, 9)
            .softirq(150, 0, "exit", NET_RX)
            .switch(200, 0, A, SLEEPS, IDLE);
        let result = trace.analyse();
        let a = result.instances_of("a")[0];
        assert_eq!(a.int("execution"), 100 - 5 - 30);
        let softirq = result.instances_of("NET_RX")[0];
        assert_eq!((softirq.int("execution"), softirq.int("end")), (30 - 8, 150));
        assert_eq!((softirq.int("ready"), softirq.int("cause_time")), (112, 112));
        let raiser = &result.instances[softirq.int("cause") as usize];
        assert_eq!((result.name(raiser), raiser.int("begin")), ("nic", 110));
        let nic = result.instances_of("nic");
        assert_eq!((nic[0].int("execution"), nic[1].int("execution")), (5, 8 - 3));
        assert_eq!((nic[0].get("period"), nic[1].int("period")), (None, 20));
        assert_eq!(result.instances_of("nested")[0].int("execution"), 3);
        let actor = &result.actors[nic[0].int("actor") as usize];
        assert_eq!((actor.text("kind"), actor.int("number")), ("irq", 9));
        let actor = &result.actors[softirq.int("actor") as usize];
        assert_eq!((actor.text("kind"), actor.int("number")), ("softirq", NET_RX));
        assert_eq!(result.covered(0), 100);
    }
}

#[test]
fn the_period_of_an_interrupt_is_that_of_its_cpu() {
    // The tick of two CPUs, each every 4 ms, the second one 1.3 ms behind the first.
    let mut trace = Sequence::ftrace();
    for tick in 0..5 {
        for (cpu, behind) in [(0, 0), (1, 1_300_000)] {
            let at = 1_000_000_000 + tick * 4_000_000 + behind;
            trace.irq(at, cpu, 9, "arch_timer").irq_exit(at + 500, cpu, 9);
        }
    }
    let result = trace.analyse();
    for cpu in 0..2 {
        let here = result.instances_of("arch_timer").into_iter().filter(|i| i.int("cpu") == cpu);
        let periods: Vec<_> = here.map(|instance| instance.get("period")).collect();
        assert_eq!(periods[0], None, "CPU {cpu}");
        assert!(periods[1..].iter().all(|period| *period == Some(4_000_000)), "{periods:?}");
    }
}

/// The name and the instance's beginning of each cause, from an instance back.
fn chain(result: &common::Result, name: &str) -> Vec<(String, i64)> {
    let mut instance = *result.instances_of(name).last().unwrap();
    let mut chain = vec![];
    while let Some(cause) = instance.get("cause") {
        instance = &result.instances[cause as usize];
        chain.push((result.name(instance).to_owned(), instance.int("begin")));
    }
    chain
}

#[test]
fn a_threaded_interrupt_is_a_chain_of_causes() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, A, SLEEPS, IDLE)
        .irq(200, 0, 9, "nic")
        .woken(204, 0, 30, 0)
        .irq_exit(206, 0, 9)
        .switch(210, 0, IDLE, RUNNABLE, IRQ_THREAD)
        .woken(230, 0, 10, 0)
        .switch(240, 0, IRQ_THREAD, SLEEPS, A)
        .switch(260, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    assert_eq!(chain(&result, "a"), [("irq/9-nic".to_owned(), 210), ("nic".to_owned(), 200)]);
    let thread = result.instances_of("irq/9-nic")[0];
    assert_eq!(result.actors[thread.int("actor") as usize].text("kind"), "task");
    assert_eq!((thread.int("ready"), thread.int("begin")), (204, 210));
}

/// As the kernel does it: the handler returns with "wake the thread", then the thread is woken, still
/// in the interrupt.
#[test]
fn the_thread_of_an_interrupt_is_woken_behind_its_handler() {
    for names in [Names::Ftrace, Names::Lttng] {
        let mut trace = Sequence::new(names);
        let ran = |flags: i64, tid: i64| (names == Names::Ftrace).then_some((flags, tid));
        // Once it has run, its name is known.
        trace.context = ran(0, 0);
        trace.switch(50, 0, IDLE, RUNNABLE, IRQ_THREAD);
        trace.context = ran(0, 30);
        trace.switch(60, 0, IRQ_THREAD, SLEEPS, A);
        trace.context = ran(0, 10);
        trace.switch(100, 0, A, SLEEPS, IDLE);
        trace.context = ran(0x08, 0);
        trace.irq(200, 0, 9, "nic").irq_exit(206, 0, 9).woken(207, 0, 30, 0);
        // Nothing else that is woken there is caused by it.
        trace.woken(208, 0, 10, 0);
        trace.context = ran(0, 0);
        trace.switch(210, 0, IDLE, RUNNABLE, IRQ_THREAD);
        trace.context = ran(0, 30);
        trace.switch(240, 0, IRQ_THREAD, SLEEPS, A);
        trace.context = ran(0, 10);
        trace.switch(260, 0, A, SLEEPS, IDLE);
        // Behind a switch the interrupt is over.
        trace.context = ran(0x08, 0);
        trace.woken(300, 0, 30, 0);
        trace.context = ran(0, 0);
        trace.switch(310, 0, IDLE, RUNNABLE, IRQ_THREAD);
        let result = trace.analyse();
        let threads = result.instances_of("irq/9-nic");
        let nic = result.instances_of("nic")[0];
        let cause = threads[1].get("cause").map(|cause| &result.instances[cause as usize]);
        assert_eq!(cause.map(|cause| cause.int("begin")), Some(nic.int("begin")));
        assert_eq!(threads[2].get("cause"), None);
        assert_eq!(result.instances_of("a").last().unwrap().get("cause"), None);
    }
}

/// On real-time kernels softirqs of an interrupt wait for ksoftirqd, which is woken when it is over.
#[test]
fn ksoftirqd_is_woken_for_what_raised_its_softirq() {
    let ksoftirqd = (14, "ksoftirqd/0");
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 0));
    trace.switch(50, 0, IDLE, RUNNABLE, ksoftirqd);
    trace.context = Some((0, 14));
    trace.switch(100, 0, ksoftirqd, SLEEPS, IDLE);
    trace.context = Some((0x08, 0));
    trace.irq(200, 0, 9, "nic").softirq(202, 0, "raise", NET_RX).irq_exit(204, 0, 9);
    trace.woken(205, 0, 14, 0);
    trace.context = Some((0, 0));
    trace.switch(210, 0, IDLE, RUNNABLE, ksoftirqd);
    trace.context = Some((0, 14));
    trace.switch(240, 0, ksoftirqd, SLEEPS, IDLE);
    assert_eq!(chain(&trace.analyse(), "ksoftirqd/0"), [("nic".to_owned(), 200)]);
}

/// There timers have a thread of their own, which other softirqs do not wake.
#[test]
fn ktimers_is_woken_for_what_raised_a_timers_softirq() {
    for (vector, expected) in [(8, vec![("timer".to_owned(), 200)]), (NET_RX, vec![])] {
        let ktimers = (15, "ktimers/0");
        let mut trace = Sequence::ftrace();
        trace.context = Some((0, 0));
        trace.switch(50, 0, IDLE, RUNNABLE, ktimers);
        trace.context = Some((0, 15));
        trace.switch(100, 0, ktimers, SLEEPS, IDLE);
        trace.context = Some((0x08, 0));
        trace.irq(200, 0, 11, "timer").softirq(202, 0, "raise", vector).irq_exit(204, 0, 11);
        trace.woken(205, 0, 15, 0);
        trace.context = Some((0, 0));
        trace.switch(210, 0, IDLE, RUNNABLE, ktimers);
        trace.context = Some((0, 15));
        trace.switch(240, 0, ktimers, SLEEPS, IDLE);
        assert_eq!(chain(&trace.analyse(), "ktimers/0"), expected);
    }
}

#[test]
fn an_interrupt_reaches_a_task_by_its_softirq() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, A, SLEEPS, IDLE)
        .irq(200, 0, 9, "nic")
        .softirq(203, 0, "raise", NET_RX)
        .irq_exit(204, 0, 9)
        .softirq(206, 0, "entry", NET_RX)
        .woken(210, 0, 10, 0)
        .softirq(215, 0, "exit", NET_RX)
        .switch(220, 0, IDLE, RUNNABLE, A);
    let result = trace.analyse();
    assert_eq!(chain(&result, "a"), [("NET_RX".to_owned(), 206), ("nic".to_owned(), 200)]);
}

#[test]
fn softirqs_of_ksoftirqd_are_nested_in_it() {
    let ksoftirqd = (14, "ksoftirqd/0");
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, ksoftirqd, SLEEPS, IDLE)
        .irq(200, 0, 9, "nic")
        .softirq(202, 0, "raise", NET_RX)
        .woken(203, 0, 14, 0)
        .irq_exit(204, 0, 9)
        .switch(210, 0, IDLE, RUNNABLE, ksoftirqd)
        .softirq(212, 0, "entry", NET_RX)
        .softirq(232, 0, "exit", NET_RX)
        .switch(240, 0, ksoftirqd, SLEEPS, IDLE);
    let result = trace.analyse();
    let thread = result.instances_of("ksoftirqd/0").last().copied().unwrap();
    assert_eq!((thread.int("execution"), thread.int("end")), (10, 240));
    assert_eq!(chain(&result, "NET_RX"), [("nic".to_owned(), 200)]);
    assert_eq!(chain(&result, "ksoftirqd/0"), [("nic".to_owned(), 200)]);
}

#[test]
fn a_softirq_that_is_preempted_stays_with_its_thread() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, IRQ_THREAD)
        .softirq(110, 0, "entry", NET_RX)
        .switch(120, 0, IRQ_THREAD, PREEMPTED, A)
        .softirq(125, 0, "entry", 1)
        .softirq(128, 0, "exit", 1)
        .switch(150, 0, A, SLEEPS, IRQ_THREAD)
        .softirq(155, 0, "exit", NET_RX)
        .switch(160, 0, IRQ_THREAD, SLEEPS, IDLE);
    let result = trace.analyse();
    let softirq = result.instances_of("NET_RX")[0];
    assert_eq!((softirq.int("begin"), softirq.int("end")), (110, 155));
    assert_eq!((softirq.int("execution"), softirq.int("fragments")), (10 + 5, 2));
    assert_eq!((softirq.int("preemptions"), softirq.int("flags")), (1, 0));
    assert_eq!(result.instances_of("irq/9-nic")[0].int("execution"), 10 + 5);
    assert_eq!(result.instances_of("a")[0].int("execution"), 30 - 3);
    assert_eq!(result.covered(0), 60);
}

#[test]
fn a_timer_without_a_visible_interrupt_stands_for_it() {
    let mut trace = Sequence::ftrace();
    let timer = [("hrtimer", 0xf00), ("now", 1000), ("function", 0xf)];
    trace.context = Some((0, 10));
    trace.switch(100, 0, IDLE, RUNNABLE, A);
    trace.context = Some((0x08, 10));
    trace.add(150, 0, "hrtimer_expire_entry", &timer, &[]).woken(152, 0, 30, 0).add(
        155,
        0,
        "hrtimer_expire_exit",
        &[("hrtimer", 0xf00)],
        &[],
    );
    trace.context = Some((0, 10));
    trace.switch(160, 0, A, PREEMPTED, IRQ_THREAD);
    let result = trace.analyse();
    assert_eq!(chain(&result, "irq/9-nic"), [("hrtimer".to_owned(), 150)]);
    assert_eq!(result.instances_of("a")[0].int("execution"), 60 - 5);
}

#[test]
fn a_timer_within_a_visible_interrupt_is_part_of_it() {
    let timer = [("hrtimer", 0xf00), ("now", 1000), ("function", 0xf)];
    let mut trace = Sequence::new(Names::Lttng);
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .add(140, 0, "x86_irq_vectors_local_timer_entry", &[("vector", 236)], &[])
        .add(150, 0, "timer_hrtimer_expire_entry", &timer, &[])
        .woken(152, 0, 30, 0)
        .add(155, 0, "timer_hrtimer_expire_exit", &[("hrtimer", 0xf00)], &[])
        .add(159, 0, "x86_irq_vectors_local_timer_exit", &[("vector", 236)], &[])
        .switch(160, 0, A, PREEMPTED, IRQ_THREAD);
    let result = trace.analyse();
    assert_eq!(chain(&result, "irq/9-nic"), [("local_timer".to_owned(), 140)]);
    assert!(result.instances_of("hrtimer").is_empty());
    assert_eq!(result.instances_of("local_timer")[0].int("execution"), 19);
}

#[test]
fn a_trace_that_begins_in_the_middle_of_everything() {
    let mut trace = Sequence::ftrace();
    trace
        .add(100, 1, "sched_process_exit", &[("pid", 99)], &[("comm", "x")])
        .irq_exit(110, 0, 9) // an interrupt, in a softirq, in a thread
        .irq(115, 0, 9, "nic")
        .irq_exit(120, 0, 9)
        .softirq(130, 0, "exit", NET_RX)
        .irq_exit(140, 0, 7) // its entry cannot have been before the trace
        .switch(150, 0, A, SLEEPS, IDLE)
        .softirq(150, 0, "entry", 1)
        .softirq(150, 0, "exit", 1);
    let result = trace.analyse();
    let softirq = result.instances_of("NET_RX")[0];
    assert_eq!((softirq.int("begin"), softirq.int("end")), (100, 130));
    assert_eq!(softirq.int("execution"), 30 - 10 - 5);
    assert_eq!(softirq.int("flags"), i64::from(flags::BEGAN_BEFORE));
    let irqs: Vec<_> = result
        .instances
        .iter()
        .filter(|i| result.actors[i.int("actor") as usize].text("kind") == "irq")
        .collect();
    assert_eq!(irqs.len(), 2);
    assert_eq!(result.instances_of("a")[0].int("execution"), 50 - 30);
    assert_eq!(result.covered(0), 50);
}

#[test]
fn a_trace_that_ends_in_the_middle_of_everything() {
    let mut trace = Sequence::ftrace();
    trace
        .woken(100, 0, 10, 0)
        .switch(100, 0, IDLE, RUNNABLE, A)
        .softirq(110, 0, "entry", NET_RX)
        .softirq(111, 1, "exit", NET_RX)
        .irq(120, 0, 9, "nic")
        .irq(120, 1, 9, "nic")
        .irq_exit(130, 1, 9);
    let result = trace.analyse();
    for name in ["a", "NET_RX", "nic"] {
        let instance = result.of(&result.instances, name);
        let cut = instance.iter().find(|i| i.int("cpu") == 0).unwrap();
        assert_eq!(cut.int("flags"), i64::from(flags::CUT_BY_END), "{name}");
        assert_eq!(cut.int("execution"), 10, "{name}");
    }
}

#[test]
fn entries_without_exits_in_the_trace_are_no_handlers() {
    let mut trace = Sequence::ftrace();
    trace.irq(100, 0, 9, "nic").irq(200, 0, 9, "nic");
    assert!(trace.analyse().instances.is_empty());
}

#[test]
fn an_exit_that_was_not_seen_ends_with_the_outer_one() {
    let mut trace = Sequence::ftrace();
    trace
        .softirq(100, 0, "entry", NET_RX)
        .irq(110, 0, 9, "nic")
        .softirq(120, 0, "exit", NET_RX)
        .irq_exit(130, 1, 9);
    let result = trace.analyse();
    let nic = result.instances_of("nic")[0];
    assert_eq!((nic.int("end"), nic.int("flags")), (120, i64::from(flags::CROSSES_LOSS)));
    assert_eq!(result.instances_of("NET_RX")[0].int("flags"), 0);
}

#[test]
fn interrupts_alone_are_enough_for_handlers() {
    let mut trace = Sequence::ftrace();
    trace.irq(100, 0, 9, "nic").irq_exit(130, 0, 9).irq(200, 0, 9, "nic").irq_exit(240, 0, 9);
    let result = trace.analyse();
    let nic = result.instances_of("nic");
    assert_eq!((nic[1].int("execution"), nic[1].int("period")), (40, 100));
    assert_eq!(result.actors.len(), 1);
}
