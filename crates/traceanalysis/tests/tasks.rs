//! Threads: preemption, migration, wake-ups, exits and names.

mod common;

use common::{DISK, Names, PREEMPTED, RUNNABLE, SLEEPS, Sequence, ZOMBIE};
use traceanalysis::{flags, wait, why};

const IDLE: (i64, &str) = (0, "swapper/0");
const A: (i64, &str) = (10, "a");
const B: (i64, &str) = (20, "b");

/// Both tracers' names for one story: A is woken, preempted by B, and blocks.
fn preempted(names: Names) -> common::Result {
    let mut trace = Sequence::new(names);
    trace
        .switch(100, 0, B, SLEEPS, IDLE)
        .woken(200, 0, 10, 0)
        .switch(210, 0, IDLE, RUNNABLE, A)
        .woken(250, 0, 20, 0)
        .switch(260, 0, A, PREEMPTED, B)
        .switch(300, 0, B, DISK, A)
        .switch(340, 0, A, SLEEPS, IDLE);
    trace.analyse()
}

#[test]
fn a_preempted_instance_goes_on() {
    for names in [Names::Ftrace, Names::Lttng] {
        let result = preempted(names);
        let [a] = result.instances_of("a")[..] else { panic!("one instance of a") };
        assert_eq!((a.int("ready"), a.int("begin"), a.int("end")), (200, 210, 340));
        assert_eq!(a.int("execution"), 50 + 40);
        assert_eq!((a.int("fragments"), a.int("preemptions"), a.int("migrations")), (2, 1, 0));
        assert_eq!(a.int("flags"), 0);
        assert_eq!(
            result.waits_of("a"),
            [(200, 210, i64::from(wait::WOKEN)), (260, 300, i64::from(wait::PREEMPTED)),]
        );
        let ends: Vec<_> = result.of(&result.fragments, "a").iter().map(|f| f.int("why")).collect();
        assert_eq!(ends, [i64::from(why::PREEMPTED), i64::from(why::BLOCKED)]);
        assert_eq!(
            result.actors.iter().find(|a| a.text("name") == "a").unwrap().int("priority"),
            120
        );
        // Interrupts were not traced and no event tells its context: nobody is named as the cause.
        assert_eq!(a.get("cause"), None);
    }
}

#[test]
fn what_was_running_at_first_runs_since_the_trace_began() {
    let result = preempted(Names::Ftrace);
    let b = result.instances_of("b");
    assert_eq!((b[0].int("begin"), b[0].int("end")), (100, 100));
    assert_eq!(b[0].int("flags"), i64::from(flags::BEGAN_BEFORE));
    assert_eq!(b[1].get("period"), None, "it began before the trace");
    assert_eq!(result.waits_of("b")[0], (100, 250, i64::from(wait::INTERRUPTIBLE)));
    let last = result.waits_of("b").last().copied();
    assert_eq!(last, Some((300, 340, i64::from(wait::UNINTERRUPTIBLE))), "until the trace ends");
    assert_eq!(result.covered(0), 240);
}

#[test]
fn the_cause_is_who_decides_also_when_another_cpu_is_told_by_interrupt() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 10));
    trace.switch(100, 0, A, SLEEPS, IDLE);
    trace.context = Some((0, 0));
    trace.switch(120, 0, IDLE, RUNNABLE, A).switch(120, 1, (0, "swapper/1"), RUNNABLE, B);
    trace.context = Some((0, 20));
    trace.switch(130, 1, B, SLEEPS, (0, "swapper/1"));
    trace.context = Some((0, 10));
    trace.wake(150, 0, "sched_waking", 20, 1);
    trace.context = Some((0x08, 0)); // in an interrupt that has no events
    trace.wake(155, 1, "sched_wakeup", 20, 1);
    trace.context = Some((0, 0));
    trace.switch(160, 1, (0, "swapper/1"), RUNNABLE, B);
    let result = trace.analyse();
    let b = result.instances_of("b")[1];
    assert_eq!((b.int("ready"), b.int("cause_time"), b.int("begin")), (150, 150, 160));
    let cause = &result.instances[b.int("cause") as usize];
    assert_eq!((result.name(cause), cause.int("begin")), ("a", 120));
    assert_eq!(b.int("flags"), i64::from(flags::CUT_BY_END));
}

#[test]
fn an_interrupt_without_events_is_not_taken_for_the_thread_it_interrupts() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 10));
    trace.switch(100, 0, A, SLEEPS, B);
    trace.context = Some((0x08, 20));
    trace.woken(150, 0, 10, 0);
    trace.context = Some((0, 20));
    trace.switch(160, 0, B, PREEMPTED, A);
    let result = trace.analyse();
    assert_eq!(result.instances_of("a")[1].get("cause"), None);
    assert_eq!(result.instances_of("a")[1].int("ready"), 150);
}

#[test]
fn migration_between_fragments_is_counted() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(110, 0, A, RUNNABLE, B)
        .switch(120, 1, (0, "swapper/1"), RUNNABLE, A)
        .switch(150, 1, A, SLEEPS, (0, "swapper/1"));
    let result = trace.analyse();
    let [a] = result.instances_of("a")[..] else { panic!("one instance") };
    assert_eq!((a.int("cpu"), a.int("migrations"), a.int("preemptions")), (0, 1, 1));
    assert_eq!((a.int("execution"), a.int("end")), (40, 150));
    assert_eq!(a.int("flags"), i64::from(flags::BEGAN_BEFORE), "it was runnable before");
    assert_eq!(result.covered(0) + result.covered(1), 100);
}

#[test]
fn a_wake_up_that_overtakes_the_blocking_still_counts() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .wake(190, 1, "sched_waking", 10, 0)
        .switch(200, 0, A, SLEEPS, IDLE)
        .wake(205, 0, "sched_wakeup", 10, 0)
        .switch(220, 0, IDLE, RUNNABLE, A)
        .switch(230, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let a = result.instances_of("a")[1];
    assert_eq!((a.int("ready"), a.int("cause_time"), a.int("begin")), (200, 190, 220));
    assert_eq!(result.waits_of("a")[0], (200, 220, i64::from(wait::WOKEN)));
}

#[test]
fn a_wake_up_of_a_running_thread_means_nothing() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .woken(150, 0, 10, 0)
        .switch(200, 0, A, SLEEPS, IDLE)
        .woken(300, 1, 10, 0)
        .switch(310, 0, IDLE, RUNNABLE, A);
    let result = trace.analyse();
    assert_eq!(result.instances_of("a").len(), 2);
    assert_eq!(result.waits_of("a")[0], (200, 300, i64::from(wait::INTERRUPTIBLE)));
}

#[test]
fn only_switches_are_enough_for_who_runs() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(150, 0, A, SLEEPS, IDLE)
        .switch(400, 0, IDLE, RUNNABLE, A);
    trace.switch(420, 0, A, DISK, IDLE);
    let result = trace.analyse();
    let a = result.instances_of("a");
    assert_eq!(a.len(), 2);
    // When it began to run that was seen first is not known.
    assert_eq!((a[1].get("ready"), a[1].get("period"), a[1].int("flags")), (None, None, 0));
    assert_eq!(result.waits_of("a"), [(150, 400, i64::from(wait::INTERRUPTIBLE))]);
}

#[test]
fn a_thread_id_is_used_again() {
    let mut trace = Sequence::ftrace();
    let child = [("parent_pid", 20), ("child_pid", 10)];
    let names = [("parent_comm", "b"), ("child_comm", "b")];
    trace
        .switch(100, 0, B, RUNNABLE, A)
        .add(110, 0, "sched_process_exit", &[("pid", 10)], &[("comm", "a")])
        .switch(120, 0, A, ZOMBIE, B)
        .add(150, 0, "sched_process_fork", &child, &names)
        .wake(155, 0, "sched_wakeup_new", 10, 0)
        .switch(160, 0, B, PREEMPTED, (10, "b"))
        .add(
            170,
            0,
            "sched_process_exec",
            &[("pid", 10), ("old_pid", 10)],
            &[("filename", "/usr/bin/a-program-with-a-long-name")],
        )
        .switch(180, 0, (10, "a-program-with-"), ZOMBIE, B);
    let result = trace.analyse();
    let lives: Vec<_> = result.actors.iter().filter(|actor| actor.get("tid") == Some(10)).collect();
    assert_eq!(lives.len(), 2);
    assert_eq!((lives[0].text("name"), lives[0].int("last")), ("a", 120));
    assert_eq!((lives[1].text("name"), lives[1].int("first")), ("a-program-with-", 150));
    let second = result.instances_of("a-program-with-");
    assert_eq!((second.len(), second[0].int("ready"), second[0].int("flags")), (1, 155, 0));
    assert!(result.waits_of("a").is_empty(), "it is gone, it does not wait");
}

#[test]
fn names_come_from_elsewhere_when_no_event_has_them() {
    let mut trace = Sequence::ftrace();
    trace.tasks = vec![(10, "known".into())];
    trace.switch(100, 0, (10, ""), SLEEPS, (11, ""));
    let result = trace.analyse();
    let names: Vec<_> = result.actors.iter().map(|actor| actor.text("name")).collect();
    assert_eq!(names, ["known", "thread 11"]);
}

#[test]
fn a_renamed_thread_has_its_last_name() {
    let mut trace = Sequence::ftrace();
    let names = [("oldcomm", "a"), ("newcomm", "worker")];
    trace.switch(100, 0, IDLE, RUNNABLE, A).add(110, 0, "task_rename", &[("pid", 10)], &names);
    assert_eq!(trace.analyse().instances_of("worker").len(), 1);
}

#[test]
fn a_thread_that_yields_is_not_preempted() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, B, RUNNABLE, A)
        .add(110, 0, "sys_enter_sched_yield", &[("__syscall_nr", 24)], &[])
        .switch(120, 0, A, RUNNABLE, B)
        .switch(140, 0, B, SLEEPS, A)
        .add(145, 0, "sys_exit_sched_yield", &[("ret", 0)], &[])
        .switch(150, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let [a] = result.instances_of("a")[..] else { panic!("one instance") };
    assert_eq!((a.int("preemptions"), a.int("fragments")), (0, 2));
    assert_eq!(result.of(&result.fragments, "a")[0].int("why"), i64::from(why::OTHER));
}

#[test]
fn every_cpu_has_an_idle_actor_with_an_instance_each_time() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, A, SLEEPS, IDLE)
        .switch(100, 1, B, SLEEPS, (0, "swapper/1"))
        .switch(200, 0, IDLE, RUNNABLE, A)
        .switch(300, 0, A, SLEEPS, IDLE)
        .switch(400, 0, IDLE, RUNNABLE, A);
    let result = trace.analyse();
    assert_eq!(result.actors.iter().filter(|actor| actor.text("kind") == "idle").count(), 2);
    let idle = result.instances_of("idle/0");
    assert_eq!((idle.len(), idle[0].int("execution"), idle[1].int("period")), (2, 100, 200));
    assert_eq!(idle[0].int("preemptions"), 0);
    let other = result.instances_of("idle/1")[0];
    assert_eq!((other.int("end"), other.int("flags")), (400, i64::from(flags::CUT_BY_END)));
    assert!(result.of(&result.waits, "idle/0").is_empty());
}

#[test]
fn a_cpu_without_switches_shows_its_thread_by_any_event() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 10));
    trace.switch(100, 0, A, SLEEPS, IDLE);
    trace.context = Some((0, 77));
    trace.irq(200, 3, 9, "nic").irq_exit(210, 3, 9);
    trace.context = Some((0, 0));
    trace.switch(300, 0, IDLE, RUNNABLE, A);
    let result = trace.analyse();
    let busy = result.instances_of("thread 77")[0];
    assert_eq!((busy.int("begin"), busy.int("end"), busy.int("execution")), (100, 300, 190));
    assert_eq!(busy.int("flags"), i64::from(flags::BEGAN_BEFORE | flags::CUT_BY_END));
}

#[test]
fn a_missing_switch_is_seen_by_the_thread_of_the_next_event() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 10));
    trace.switch(100, 0, A, SLEEPS, IDLE);
    trace.context = Some((0, 0));
    trace.woken(150, 0, 20, 0);
    trace.context = Some((0, 20)); // an event of a type that means nothing here
    trace.add(160, 0, "workqueue_execute_start", &[("work", 1)], &[]);
    trace.add(170, 0, "sys_enter_read", &[("fd", 1)], &[]);
    trace.switch(200, 0, B, SLEEPS, IDLE);
    let result = trace.analyse();
    let [b] = result.instances_of("b")[..] else { panic!("one instance") };
    assert_eq!((b.int("ready"), b.int("begin"), b.int("end")), (150, 160, 200));
    assert_eq!(b.int("flags"), i64::from(flags::CROSSES_LOSS));
    assert_eq!(result.name(&result.syscalls[0]), "b");
    assert_eq!(result.instances_of("idle/0")[0].int("end"), 150);
}

#[test]
fn a_thread_is_never_on_two_cpus() {
    let other = (0, "swapper/1");
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, A, SLEEPS, B)
        .switch(110, 1, A, RUNNABLE, other) // it was switched to unseen, here and below
        .switch(120, 1, B, SLEEPS, A)
        .switch(130, 0, IDLE, RUNNABLE, B)
        .switch(140, 0, B, SLEEPS, A)
        .switch(150, 1, A, SLEEPS, other)
        .switch(160, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let marked = i64::from(flags::CROSSES_LOSS);
    assert!(result.instances_of("b").iter().any(|b| b.int("flags") & marked != 0));
}
