//! System calls, block devices and timers.

mod common;

use common::{Names, RUNNABLE, SLEEPS, Sequence};
use traceanalysis::schemas;

const IDLE: (i64, &str) = (0, "swapper/0");
const A: (i64, &str) = (10, "a");
const B: (i64, &str) = (20, "b");

#[test]
fn a_system_call_is_its_threads_over_switches() {
    for (names, entry, exit) in [
        (Names::Ftrace, "sys_enter_", "sys_exit_"),
        (Names::Lttng, "syscall_entry_", "syscall_exit_"),
    ] {
        let mut trace = Sequence::new(names);
        trace
            .add(100, 0, &format!("{exit}poll"), &[("ret", 1)], &[]) // began before
            .add(105, 0, &format!("{entry}read"), &[("fd", 1)], &[])
            .switch(110, 0, A, SLEEPS, B)
            .add(120, 0, &format!("{entry}write"), &[("fd", 1)], &[])
            .add(130, 0, &format!("{exit}write"), &[("ret", 7)], &[])
            .switch(140, 0, B, SLEEPS, A)
            .add(150, 0, &format!("{exit}read"), &[("ret", -11)], &[])
            .add(160, 0, &format!("{entry}poll"), &[("fds", 1)], &[]);
        let result = trace.analyse();
        let calls: Vec<_> = result
            .syscalls
            .iter()
            .map(|c| {
                let name = (result.name(c), c.text("name"));
                (name, c.int("begin"), c.get("end"), c.get("result"))
            })
            .collect();
        assert_eq!(
            calls,
            [
                (("a", "read"), 105, Some(150), Some(-11)),
                (("b", "write"), 120, Some(130), Some(7)),
                (("a", "poll"), 160, None, None),
            ]
        );
    }
}

#[test]
fn system_calls_by_number_have_that_as_name() {
    let mut trace = Sequence::ftrace();
    trace.switch(90, 0, IDLE, RUNNABLE, A).add(100, 0, "sys_enter", &[("id", 202)], &[]).add(
        110,
        0,
        "sys_exit",
        &[("id", 202), ("ret", 0)],
        &[],
    );
    let result = trace.analyse();
    assert_eq!(
        (result.syscalls[0].text("name"), result.syscalls[0].int("end")),
        ("syscall 202", 110)
    );
}

/// LTTng before 2.6: entries by name, and one event for all returns.
#[test]
fn a_return_without_a_name_is_of_the_call_that_the_thread_is_in() {
    let mut trace = Sequence::new(Names::Lttng);
    trace
        .switch(90, 0, IDLE, RUNNABLE, A)
        .add(100, 0, "exit_syscall", &[("ret", 1)], &[]) // began before
        .add(105, 0, "sys_read", &[("fd", 1)], &[])
        .switch(110, 0, A, SLEEPS, B)
        .add(120, 0, "compat_sys_write", &[("fd", 1)], &[])
        .add(130, 0, "exit_syscall", &[("ret", 7)], &[])
        .switch(140, 0, B, SLEEPS, A)
        .add(150, 0, "exit_syscall", &[("ret", -11)], &[])
        .add(160, 0, "sys_exit", &[("error_code", 0)], &[]);
    let result = trace.analyse();
    let calls: Vec<_> = result
        .syscalls
        .iter()
        .map(|c| (result.name(c), c.text("name"), c.int("begin"), c.get("end"), c.get("result")))
        .collect();
    assert_eq!(
        calls,
        [
            ("a", "read", 105, Some(150), Some(-11)),
            ("b", "write", 120, Some(130), Some(7)),
            ("a", "exit", 160, None, None),
        ]
    );
}

fn request(sector: i64, sectors: i64) -> Vec<(&'static str, i64)> {
    vec![("dev", 0xfe00000), ("sector", sector), ("nr_sector", sectors)]
}

#[test]
fn a_request_is_followed_to_its_completion() {
    let mut trace = Sequence::ftrace();
    let kind = [("rwbs", "WS")];
    trace
        .add(100, 0, "block_rq_complete", &request(999, 8), &kind) // issued before the trace
        .add(110, 0, "block_rq_insert", &request(8, 8), &kind)
        .add(120, 0, "block_rq_issue", &request(8, 16), &kind) // has been merged meanwhile
        .add(125, 0, "block_rq_issue", &request(64, 8), &kind)
        .add(130, 1, "block_rq_complete", &request(8, 8), &kind) // in two parts
        .add(140, 1, "block_rq_complete", &request(16, 8), &kind)
        .add(150, 1, "block_rq_issue", &request(200, 16), &kind)
        .add(160, 1, "block_rq_complete", &request(200, 8), &kind); // never wholly
    let rows = trace.analyse().block;
    let times =
        |at: usize| (rows[at].get("queued"), rows[at].get("issued"), rows[at].get("completed"));
    assert_eq!(rows.len(), 3);
    assert_eq!(times(0), (Some(110), Some(120), Some(140)));
    assert_eq!((rows[0].int("bytes"), rows[0].text("kind")), (16 * 512, "WS"));
    assert_eq!(times(1), (None, Some(125), None));
    assert_eq!(times(2), (None, Some(150), None));
}

/// A flush has no place: it is issued at sector 0 and completes at -1; then what asked for it does.
#[test]
fn a_flush_ends_when_it_completes_and_not_with_what_asked_for_it() {
    let mut trace = Sequence::ftrace();
    let (flush, asked) = ([("rwbs", "FF")], [("rwbs", "FWS")]);
    trace
        .add(100, 0, "block_rq_issue", &request(0, 0), &flush)
        .add(110, 0, "block_rq_issue", &request(0, 8), &[("rwbs", "WS")])
        .add(130, 0, "block_rq_complete", &request(0, 8), &[("rwbs", "WS")])
        .add(150, 0, "block_rq_complete", &request(-1, 0), &flush)
        .add(151, 0, "block_rq_complete", &request(0, 0), &asked)
        .add(200, 0, "block_rq_issue", &request(0, 0), &flush)
        .add(205, 0, "block_rq_complete", &request(0, 0), &asked) // of another queue
        .add(220, 0, "block_rq_complete", &request(-1, 0), &flush)
        .add(300, 0, "block_rq_issue", &request(0, 0), &flush)
        .add(310, 1, "block_rq_issue", &request(0, 0), &flush) // which completes first?
        .add(320, 0, "block_rq_complete", &request(-1, 0), &flush)
        .add(330, 0, "block_rq_complete", &request(-1, 0), &flush)
        .add(400, 0, "block_rq_issue", &request(0, 0), &flush)
        .add(410, 0, "block_rq_requeue", &request(0, 0), &flush)
        .add(420, 0, "block_rq_issue", &request(0, 0), &flush)
        .add(450, 0, "block_rq_complete", &request(-1, 0), &flush);
    let rows = trace.analyse().block;
    let times: Vec<_> = rows.iter().map(|r| (r.int("issued"), r.get("completed"))).collect();
    let known = [(100, Some(150)), (110, Some(130)), (200, Some(220))];
    assert_eq!(times, [&known[..], &[(300, None), (310, None), (400, Some(450))]].concat());
}

#[test]
fn lttngs_bits_become_letters() {
    let mut trace = Sequence::new(Names::Lttng);
    for (at, bits) in [1 | 1 << 5, 1 << 2 | 1 << 3, 1 << 8 | 1 << 9, 0].into_iter().enumerate() {
        let mut fields = request(at as i64, 8);
        fields.push(("rwbs", bits));
        fields.push(("bytes", 4096));
        trace.add(100 + at as i64, 0, "block_rq_issue", &fields, &[]);
    }
    let rows = trace.analyse().block;
    let kinds: Vec<_> = rows.iter().map(|row| row.text("kind")).collect();
    assert_eq!(kinds, ["WS", "RA", "FF", "N"]);
    assert_eq!(rows[0].int("bytes"), 4096);
}

#[test]
fn timers_are_late_by_their_own_clock() {
    for prefix in ["", "timer_"] {
        let mut trace = Sequence::ftrace();
        trace.symbols = vec![(0xf1, "tick_nohz_handler".into())];
        let name = |event: &str| format!("{prefix}hrtimer_{event}");
        let start = |address: i64, expires: i64| {
            [
                ("hrtimer", address),
                ("function", 0xf1),
                ("expires", expires),
                ("softexpires", expires - 50),
            ]
        };
        trace
            .add(100, 0, &name("start"), &start(1, 5000), &[])
            .add(100, 0, &name("start"), &start(2, 6000), &[])
            .add(105, 0, &name("cancel"), &[("hrtimer", 2)], &[])
            .add(200, 0, &name("expire_entry"), &[("hrtimer", 1), ("now", 5030)], &[])
            .add(207, 0, &name("expire_exit"), &[("hrtimer", 1)], &[])
            .add(300, 1, &name("expire_entry"), &[("hrtimer", 2), ("now", 6000)], &[]);
        let rows = trace.analyse().timers;
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].text("kind"), rows[0].text("name")), ("tick", "tick_nohz_handler"));
        assert_eq!((rows[0].int("ran"), rows[0].int("ended")), (200, 207));
        assert_eq!((rows[0].int("lateness"), rows[0].int("softexpires")), (30, 4950));
        assert_eq!((rows[1].text("kind"), rows[1].get("lateness")), ("hrtimer", None));
        assert_eq!(rows[1].get("ended"), None);
    }
}

#[test]
fn timers_of_the_wheel_are_late_in_jiffies() {
    let mut trace = Sequence::ftrace();
    trace
        .add(100, 0, "timer_start", &[("timer", 7), ("expires", 1000)], &[])
        .add(200, 0, "timer_expire_entry", &[("timer", 7), ("now", 1002), ("function", 3)], &[])
        .add(210, 0, "timer_expire_exit", &[("timer", 7)], &[]);
    let rows = trace.analyse().timers;
    assert_eq!((rows[0].int("late_jiffies"), rows[0].get("lateness")), (2, None));
    assert_eq!((rows[0].text("kind"), rows[0].int("function")), ("timer", 3));
}

/// Kernels that trace what takes a timer off its queue to run it as a cancellation, as LTTng's traces
/// have it and all have it of the wheel.
#[test]
fn what_is_taken_off_the_queue_to_run_is_late_by_its_own_clock_too() {
    let mut trace = Sequence::ftrace();
    let start = [("hrtimer", 1), ("expires", 5000)];
    trace
        .add(100, 0, "hrtimer_start", &start, &[])
        .add(200, 0, "hrtimer_cancel", &[("hrtimer", 1)], &[])
        .add(201, 0, "hrtimer_expire_entry", &[("hrtimer", 1), ("now", 5030)], &[])
        .add(210, 0, "timer_start", &[("timer", 7), ("expires", 1000)], &[])
        .add(300, 0, "timer_cancel", &[("timer", 7)], &[])
        .add(301, 0, "timer_expire_entry", &[("timer", 7), ("now", 1003)], &[])
        .add(400, 0, "hrtimer_start", &start, &[])
        .add(410, 0, "hrtimer_cancel", &[("hrtimer", 1)], &[])
        .add(420, 0, "hrtimer_start", &[("hrtimer", 1), ("expires", 6000)], &[])
        .add(430, 0, "hrtimer_expire_entry", &[("hrtimer", 1), ("now", 6001)], &[]);
    let rows = trace.analyse().timers;
    let late: Vec<_> = rows.iter().map(|r| (r.get("lateness"), r.get("late_jiffies"))).collect();
    assert_eq!(late, [(Some(30), None), (None, Some(3)), (Some(1), None)]);
}

#[test]
fn a_tickless_span_ends_when_the_cpu_leaves_idle() {
    let mut trace = Sequence::ftrace();
    trace
        .add(100, 0, "tick_stop", &[("success", 0), ("dependency", 4)], &[])
        .add(110, 0, "tick_stop", &[("success", 1), ("dependency", 0)], &[])
        .switch(120, 1, A, SLEEPS, (0, "swapper/1"))
        .switch(150, 0, IDLE, RUNNABLE, A)
        .switch(160, 0, A, SLEEPS, IDLE)
        .add(170, 0, "tick_stop", &[("success", 1), ("dependency", 0)], &[]);
    let rows = trace.analyse().ticks;
    let spans: Vec<_> = rows.iter().map(|row| (row.int("begin"), row.get("end"))).collect();
    assert_eq!(spans, [(110, Some(150)), (170, None)]);
}

#[test]
fn without_events_there_is_nothing() {
    let result = Sequence::ftrace().analyse();
    assert!(result.actors.is_empty() && result.timers.is_empty() && result.instances.is_empty());
}

#[test]
fn each_table_stands_under_its_own_name() {
    let mut trace = Sequence::ftrace();
    trace.switch(100, 0, A, SLEEPS, B);
    let named = traceanalysis::analyse(&trace.input()).into_named();
    let schemas = [
        ("actors", schemas::actors()),
        ("instances", schemas::instances()),
        ("fragments", schemas::fragments()),
        ("waits", schemas::waits()),
        ("syscalls", schemas::syscalls()),
        ("block", schemas::block()),
        ("timers", schemas::timers()),
        ("ticks", schemas::ticks()),
    ];
    let named: Vec<_> = named.map(|(name, table)| (name, table.schema())).collect();
    assert_eq!(named, schemas);
}
