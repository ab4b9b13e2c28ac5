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
