//! What lost events do to what comes out.

mod common;

use common::{PREEMPTED, RUNNABLE, SLEEPS, Sequence};
use traceanalysis::{Loss, flags, why};

const IDLE: (i64, &str) = (0, "swapper/0");
const A: (i64, &str) = (10, "a");
const B: (i64, &str) = (20, "b");

fn loss(cpu: u16, begin: Option<i64>, end: Option<i64>) -> Loss {
    Loss { cpu: Some(cpu), begin, end }
}

#[test]
fn a_loss_cuts_what_ran_and_marks_it() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(220), Some(400))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .irq(210, 0, 9, "nic")
        .irq_exit(220, 1, 9)
        .irq_exit(430, 0, 9)
        .switch(450, 0, B, SLEEPS, A)
        .switch(500, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let nic = result.of(&result.instances, "nic");
    let nic = nic.iter().find(|i| i.int("begin") == 210).unwrap();
    assert_eq!((nic.int("end"), nic.int("flags")), (220, i64::from(flags::CROSSES_LOSS)));
    let a = result.instances_of("a");
    assert_eq!(a.len(), 1, "nothing says that it blocked");
    assert_eq!(a[0].int("flags"), i64::from(flags::BEGAN_BEFORE | flags::CROSSES_LOSS));
    assert_eq!(result.of(&result.fragments, "a")[0].int("why"), i64::from(why::OTHER));
    // B runs since the loss is over, within it an interrupt that began in the loss.
    let b = result.instances_of("b")[0];
    assert_eq!((b.int("begin"), b.int("end"), b.int("execution")), (400, 450, 20));
    assert_ne!(b.int("flags") & i64::from(flags::CROSSES_LOSS), 0);
    let cover: i64 = result.covered(0);
    assert_eq!(cover, (220 - 100) + (500 - 400), "nothing is booked where events are missing");
}

#[test]
fn a_loss_on_another_cpu_marks_nothing_here() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(1, Some(120), Some(180))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(100, 1, (0, "swapper/1"), RUNNABLE, B)
        .switch(200, 0, A, SLEEPS, IDLE)
        .switch(210, 1, B, SLEEPS, (0, "swapper/1"));
    let result = trace.analyse();
    assert_eq!(result.instances_of("a")[0].int("flags"), i64::from(flags::BEGAN_BEFORE));
    let marked = i64::from(flags::BEGAN_BEFORE | flags::CROSSES_LOSS);
    assert_eq!(result.instances_of("b")[0].int("flags"), marked);
}

#[test]
fn who_waits_for_a_cpu_that_loses_events_is_marked() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(150), Some(300))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(120, 0, A, PREEMPTED, B)
        .switch(310, 1, (0, "swapper/1"), RUNNABLE, A)
        .switch(350, 1, A, SLEEPS, (0, "swapper/1"));
    let a = &trace.analyse();
    let [a] = a.instances_of("a")[..] else { panic!("one instance") };
    assert_ne!(a.int("flags") & i64::from(flags::CROSSES_LOSS), 0);
    assert_eq!((a.int("fragments"), a.int("migrations")), (2, 1));
}

#[test]
fn events_between_losses_count_and_are_marked() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(100), Some(500))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(200, 0, B, PREEMPTED, A)
        .switch(300, 0, A, SLEEPS, B)
        .switch(600, 0, B, SLEEPS, A);
    let result = trace.analyse();
    let spans: Vec<_> = result
        .of(&result.fragments, "a")
        .iter()
        .map(|fragment| (fragment.int("begin"), fragment.int("end")))
        .collect();
    assert_eq!(spans, [(100, 100), (200, 300), (600, 600)]);
    let b = result.instances_of("b");
    assert!(b.iter().all(|b| b.int("flags") & i64::from(flags::CROSSES_LOSS) != 0));
}

#[test]
fn what_was_lost_before_the_trace_hides_who_ran() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, None, Some(150))];
    trace
        .add(100, 1, "sched_process_exit", &[("pid", 99)], &[("comm", "x")])
        .switch(200, 0, A, SLEEPS, B);
    let result = trace.analyse();
    let a = result.instances_of("a")[0];
    assert_eq!((a.int("begin"), a.int("end")), (150, 200));
    let marked = i64::from(flags::BEGAN_BEFORE | flags::CROSSES_LOSS);
    assert_eq!(a.int("flags"), marked);
}

#[test]
fn a_loss_at_an_unknown_time_marks_all_of_its_cpu() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![Loss { cpu: None, begin: None, end: None }];
    trace.switch(100, 0, IDLE, RUNNABLE, A).switch(200, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let marked = i64::from(flags::CROSSES_LOSS);
    assert!(result.instances.iter().all(|i| i.int("flags") & marked != 0));
    assert_eq!(result.covered(0), 100);
}

#[test]
fn a_thread_woken_while_its_cpu_lost_events_begins_anew() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(150), Some(200))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .woken(220, 1, 10, 0)
        .switch(250, 0, IDLE, RUNNABLE, A)
        .switch(260, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let a = result.instances_of("a");
    assert_eq!(a.len(), 2);
    assert_eq!((a[0].int("end"), a[1].int("ready"), a[1].int("begin")), (150, 220, 250));
    assert_eq!(a[1].int("flags"), 0);
}

/// A system call of a thread, and its return.
fn call(trace: &mut Sequence, time: i64, cpu: u16, tid: i64) {
    trace.context = Some((0, tid));
    trace.add(time, cpu, "sys_enter_read", &[("fd", 3)], &[]);
    trace.add(time + 1, cpu, "sys_exit_read", &[("ret", 0)], &[]);
}

fn spans_of(result: &common::Result, name: &str) -> Vec<(i64, i64, i64)> {
    let fragments = result.of(&result.fragments, name);
    fragments.iter().map(|of| (of.int("cpu"), of.int("begin"), of.int("end"))).collect()
}

#[test]
fn a_system_call_tells_of_a_switch_that_is_missing() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 0));
    trace.switch(100, 0, IDLE, RUNNABLE, A);
    call(&mut trace, 120, 0, 10);
    call(&mut trace, 200, 0, 20);
    call(&mut trace, 210, 0, 20);
    trace.context = Some((0, 20));
    trace.switch(300, 0, B, SLEEPS, IDLE);
    let result = trace.analyse();
    assert_eq!(spans_of(&result, "a"), [(0, 100, 121)]);
    assert_eq!(spans_of(&result, "b"), [(0, 200, 300)]);
    let calls = result.of(&result.syscalls, "b");
    assert_eq!(calls.iter().map(|c| c.int("begin")).collect::<Vec<_>>(), [200, 210]);
    assert!(calls.iter().all(|call| call.int("end") == call.int("begin") + 1));
}

#[test]
fn a_thread_that_turns_up_elsewhere_left_after_its_last_system_call() {
    let mut trace = Sequence::ftrace();
    trace.context = Some((0, 0));
    trace.switch(100, 0, IDLE, RUNNABLE, A);
    call(&mut trace, 150, 0, 10);
    call(&mut trace, 180, 0, 10);
    trace.context = Some((0, 0));
    trace.switch(200, 1, (0, "swapper/1"), RUNNABLE, A);
    trace.context = Some((0, 10));
    trace.switch(250, 1, A, SLEEPS, (0, "swapper/1"));
    let result = trace.analyse();
    assert_eq!(spans_of(&result, "a"), [(0, 100, 181), (1, 200, 250)]);
    // And the CPU that it left is known again as soon as something happens there.
    call(&mut trace, 300, 0, 20);
    let result = trace.analyse();
    assert_eq!(result.fragments.iter().filter(|f| f.int("begin") == 300).count(), 1);
}

#[test]
fn a_loss_after_the_last_switch_cuts_what_ran() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(200), None)];
    trace.switch(100, 0, IDLE, RUNNABLE, A);
    trace.add(300, 1, "other", &[("x", 1)], &[]);
    let result = trace.analyse();
    assert_eq!(spans_of(&result, "a"), [(0, 100, 200)]);
    let marked = i64::from(flags::CROSSES_LOSS);
    assert_ne!(result.instances_of("a")[0].int("flags") & marked, 0);
}

#[test]
fn a_call_is_not_joined_with_the_return_of_a_later_one_behind_a_loss() {
    let call = |name: &str| (format!("sys_enter_{name}"), format!("sys_exit_{name}"));
    let (enter, exit) = call("read");
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(0, Some(210), Some(300)), loss(1, Some(420), Some(480))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .add(210, 0, &enter, &[("__syscall_nr", 0)], &[])
        .add(300, 0, &exit, &[("__syscall_nr", 0), ("ret", 1)], &[])
        .add(400, 0, &enter, &[("__syscall_nr", 0)], &[])
        .add(500, 0, &exit, &[("__syscall_nr", 0), ("ret", 2)], &[])
        .add(600, 1, "sched_process_exit", &[("pid", 99)], &[("comm", "x")])
        .switch(700, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let calls = result.of(&result.syscalls, "a");
    let ends: Vec<_> = calls.iter().map(|call| call.get("end")).collect();
    assert_eq!(ends, [None, Some(500)], "a loss elsewhere does not matter to who runs");
}

#[test]
fn a_switch_that_is_missing_between_others_says_nothing_of_a_thread_that_waits() {
    let mut trace = Sequence::ftrace();
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(200, 0, A, PREEMPTED, B)
        // B left unseen, and C runs.
        .switch(500, 0, (30, "c"), SLEEPS, B)
        .switch(600, 0, B, SLEEPS, A)
        .switch(700, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let waits: Vec<_> = result
        .of(&result.waits, "a")
        .iter()
        .map(|wait| (wait.int("begin"), wait.int("end"), wait.int("flags")))
        .collect();
    assert_eq!(waits[0], (200, 600, 0), "all of its own switches are there");
}

#[test]
fn what_is_known_of_a_wait_before_and_after_a_loss_stays() {
    let mut trace = Sequence::ftrace();
    trace.losses = vec![loss(1, Some(300), Some(400))];
    trace
        .switch(100, 0, IDLE, RUNNABLE, A)
        .switch(110, 1, (0, "swapper/1"), RUNNABLE, B)
        .switch(200, 0, A, SLEEPS, IDLE)
        .switch(450, 1, B, SLEEPS, (0, "swapper/1"))
        .wake(600, 0, "sched_wakeup", 10, 0)
        .switch(610, 0, IDLE, RUNNABLE, A)
        .switch(700, 0, A, SLEEPS, IDLE);
    let result = trace.analyse();
    let waits: Vec<_> = result
        .of(&result.waits, "a")
        .iter()
        .map(|wait| (wait.int("begin"), wait.int("end"), wait.int("flags")))
        .collect();
    let marked = i64::from(flags::CROSSES_LOSS);
    assert_eq!(waits[..2], [(200, 300, marked), (400, 600, marked)]);
    assert_eq!(waits[2], (600, 610, 0));
}
