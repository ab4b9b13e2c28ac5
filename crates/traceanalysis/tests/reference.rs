//! Real traces, against what simple and slow computations make of the text that trace-cmd and
//! babeltrace2 print. Needs the traces (BENCHVISE_TRACES) and these programs.

mod common;
#[path = "../../tracefile/tests/common/left_out.rs"]
mod left_out;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Row;
use left_out::left_out;
use traceanalysis::{Input, analyse, flags, wait};

/// A line of text: an event.
struct Line {
    time: i64,
    cpu: i64,
    event: String,
    fields: HashMap<String, String>,
}

impl Line {
    fn int(&self, field: &str) -> i64 {
        let text =
            self.fields.get(field).unwrap_or_else(|| panic!("{} has no {field}", self.event));
        text.parse().unwrap_or_else(|_| panic!("{field} of {} is {text}", self.event))
    }
}

fn trace(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("BENCHVISE_TRACES").map(|traces| Path::new(&traces).join(name));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        left_out("data", &format!("{name} is not in BENCHVISE_TRACES"));
    }
    path
}

fn printed(program: &str, arguments: &[&str], path: &Path) -> Option<String> {
    match Command::new(program).args(arguments).arg(path).output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            left_out("package", program);
            None
        }
    }
}

/// `COMM-PID  [CPU]  S.NS: EVENT:  FIELDS`
fn of_trace_cmd(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| {
            let (head, rest) = line.split_once("]  ")?;
            let cpu = head.rsplit_once('[')?.1.parse().ok()?;
            let (time, rest) = rest.split_once(": ")?;
            let (seconds, nanoseconds) = time.split_once('.')?;
            let time =
                seconds.parse::<i64>().ok()? * 1_000_000_000 + nanoseconds.parse::<i64>().ok()?;
            let (event, rest) = rest.split_once(':')?;
            let mut fields: HashMap<String, String> = rest
                .split_whitespace()
                .filter_map(|word| word.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            if event == "sched_switch" {
                // PREV:PID [PRIO] STATE ==> NEXT:PID [PRIO]
                let (prev, next) = rest.split_once(" ==> ")?;
                let (prev, state) = prev.rsplit_once(' ')?;
                let pid = |of: &str| Some(of.rsplit_once(" [")?.0.rsplit_once(':')?.1.to_owned());
                fields.insert("prev".into(), pid(prev)?);
                fields.insert("next".into(), pid(next)?);
                fields.insert("runnable".into(), i64::from(state.starts_with('R')).to_string());
            }
            Some(Line { time, cpu, event: event.to_owned(), fields })
        })
        .collect()
}

/// `[CYCLES] (+DELTA) HOST EVENT: { cpu_id = CPU }, { FIELDS }`
fn of_babeltrace(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| {
            let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
            let (head, rest) = rest.split_once(": { ")?;
            let event = head.rsplit_once(' ')?.1;
            let mut fields: HashMap<String, String> = rest
                .split([',', '{', '}'])
                .filter_map(|field| field.split_once(" = "))
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect();
            // As ftrace has them.
            let event = ["irq_softirq_", "timer_hrtimer_", "x86_irq_vectors_"]
                .iter()
                .find(|&prefix| event.starts_with(prefix))
                .map_or(event, |prefix| &event[prefix.find('_').expect("it has one") + 1..])
                .trim_start_matches("irq_vectors_");
            if event == "sched_switch" {
                let runnable = matches!(fields["prev_state"].as_str(), "0" | "256");
                fields.insert("runnable".into(), i64::from(runnable).to_string());
                let (prev, next) = (fields["prev_tid"].clone(), fields["next_tid"].clone());
                fields.insert("prev".into(), prev);
                fields.insert("next".into(), next);
            }
            if let Some(tid) = fields.get("tid").cloned() {
                fields.insert("pid".into(), tid);
            }
            let cpu = fields.get("cpu_id")?.parse().ok()?;
            Some(Line { time: time.parse().ok()?, cpu, event: event.to_owned(), fields })
        })
        .collect()
}

fn tables(path: &Path) -> common::Result {
    let trace = tracefile::open(path).unwrap();
    let everything = tracefile::Selection::everything();
    let decoded = trace.decode(&everything, &tracefile::Options::default()).unwrap();
    let result = common::Result::new(analyse(&Input::of(&trace, decoded)));
    result.check();
    result
}

/// (number, begin, end) of all pairs of an entry and the next exit of the same number on its CPU.
fn pairs(lines: &[Line], entry: &str, exit: &str, number: &str) -> BTreeSet<(i64, i64, i64, i64)> {
    let mut open = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for line in lines {
        let key = |line: &Line| (line.cpu, if number.is_empty() { 0 } else { line.int(number) });
        if line.event == entry {
            open.insert(key(line), line.time);
        } else if line.event == exit
            && let Some(begin) = open.remove(&key(line))
        {
            pairs.insert((line.cpu, key(line).1, begin, line.time));
        }
    }
    pairs
}

fn whole(row: &Row) -> bool {
    row.int("flags") & i64::from(flags::BEGAN_BEFORE | flags::CUT_BY_END) == 0
}

fn handlers_agree(lines: &[Line], result: &common::Result) {
    for (kind, entry, exit, number) in [
        ("irq", "irq_handler_entry", "irq_handler_exit", "irq"),
        ("softirq", "softirq_entry", "softirq_exit", "vec"),
    ] {
        let printed = pairs(lines, entry, exit, number);
        let ours: BTreeSet<_> = result
            .instances
            .iter()
            .filter(|row| whole(row))
            .filter_map(|row| {
                let actor = &result.actors[row.int("actor") as usize];
                let number = actor.get("number").filter(|_| actor.text("kind") == kind)?;
                Some((row.int("cpu"), number, row.int("begin"), row.int("end")))
            })
            .collect();
        assert!(ours == printed, "{kind}: {} of ours, {} printed", ours.len(), printed.len());
        println!("{}: {} instances agree", kind, ours.len());
    }
}

/// Softirqs were raised by the first raise since they ran last.
fn raises_agree(lines: &[Line], result: &common::Result) {
    let mut raised = BTreeMap::new();
    let mut expected = BTreeSet::new();
    for line in lines {
        match line.event.as_str() {
            "softirq_raise" => {
                raised.entry((line.cpu, line.int("vec"))).or_insert(line.time);
            }
            "softirq_entry" => {
                let ready = raised.remove(&(line.cpu, line.int("vec")));
                expected.insert((line.cpu, line.int("vec"), line.time, ready));
            }
            _ => {}
        }
    }
    let ours: BTreeSet<_> = result
        .instances
        .iter()
        .filter(|row| row.int("flags") & i64::from(flags::BEGAN_BEFORE) == 0)
        .filter_map(|row| {
            let actor = &result.actors[row.int("actor") as usize];
            let vector = actor.get("number").filter(|_| actor.text("kind") == "softirq")?;
            Some((row.int("cpu"), vector, row.int("begin"), row.get("ready")))
        })
        .collect();
    assert!(ours == expected, "{} raises, {} expected", ours.len(), expected.len());
}

/// Spans between the switches of a CPU, with what is left of each without handlers.
fn runs_agree(lines: &[Line], result: &common::Result) -> usize {
    let mut busy: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for (entry, exit, number) in [
        ("irq_handler_entry", "irq_handler_exit", "irq"),
        ("softirq_entry", "softirq_exit", "vec"),
        ("hrtimer_expire_entry", "hrtimer_expire_exit", ""),
        ("local_timer_entry", "local_timer_exit", ""),
        ("reschedule_entry", "reschedule_exit", ""),
    ] {
        for (cpu, _, begin, end) in pairs(lines, entry, exit, number) {
            busy.entry(cpu).or_default().push((begin, end));
        }
    }
    for spans in busy.values_mut() {
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64)> = vec![];
        for &(begin, end) in spans.iter() {
            match merged.last_mut() {
                Some(last) if begin < last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        *spans = merged;
    }
    let ours: BTreeMap<(i64, i64, i64), (i64, i64)> = result
        .fragments
        .iter()
        .filter_map(|row| {
            let tid = result.actors[row.int("actor") as usize].get("tid")?;
            Some(((row.int("cpu"), row.int("begin"), row.int("end")), (tid, row.int("execution"))))
        })
        .collect();
    let mut since: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut compared = 0;
    for line in lines.iter().filter(|line| line.event == "sched_switch") {
        if let Some((tid, begin)) = since.insert(line.cpu, (line.int("next"), line.time))
            && tid == line.int("prev")
        {
            let none = vec![];
            let spans = busy.get(&line.cpu).unwrap_or(&none);
            let from = spans.partition_point(|&(_, end)| end <= begin);
            let taken: i64 = spans[from..]
                .iter()
                .take_while(|span| span.0 < line.time)
                .map(|span| span.1.min(line.time) - span.0.max(begin))
                .sum();
            let key = (line.cpu, begin, line.time);
            assert_eq!(ours.get(&key), Some(&(tid, line.time - begin - taken)), "{key:?}");
            compared += 1;
        }
    }
    println!("runs: {compared} agree");
    compared
}

/// From the wake-up of a thread that has left the CPU until it is switched to.
fn wake_ups_agree(lines: &[Line], result: &common::Result) {
    let mut asleep: BTreeMap<i64, bool> = BTreeMap::new();
    let mut woken: BTreeMap<i64, i64> = BTreeMap::new();
    let mut expected = BTreeSet::new();
    for line in lines {
        match line.event.as_str() {
            "sched_waking" if asleep.get(&line.int("pid")) == Some(&true) => {
                woken.entry(line.int("pid")).or_insert(line.time);
            }
            "sched_switch" => {
                let (prev, next) = (line.int("prev"), line.int("next"));
                asleep.insert(prev, line.int("runnable") == 0);
                if let Some(time) = woken.remove(&next) {
                    expected.insert((next, time, line.time));
                }
                asleep.insert(next, false);
            }
            _ => {}
        }
    }
    let ours: BTreeSet<_> = result
        .waits
        .iter()
        .filter(|row| row.int("state") == i64::from(wait::WOKEN))
        .map(|row| {
            let tid = result.actors[row.int("actor") as usize].int("tid");
            (tid, row.int("begin"), row.int("end"))
        })
        .collect();
    let missing: Vec<_> = expected.difference(&ours).collect();
    println!("wake-ups: {} of {} agree", expected.len() - missing.len(), expected.len());
    // Those that the trace does not show whole (a switch is missing) end earlier with us.
    let known = |&&(tid, begin, end): &&(i64, i64, i64)| {
        ours.iter().any(|&(t, b, e)| t == tid && b == begin && e < end)
    };
    let unknown: Vec<_> = missing.iter().filter(|missing| !known(missing)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn an_ftrace_trace() {
    let Some(path) = trace("f100k.dat") else { return };
    let Some(text) = printed("trace-cmd", &["report", "-t", "-i"], &path) else { return };
    let (lines, result) = (of_trace_cmd(&text), tables(&path));
    assert_eq!(lines.len(), 63_578);
    handlers_agree(&lines, &result);
    raises_agree(&lines, &result);
    // 442 of its 2,788 switches are not followed by one from the thread that they switch to.
    assert_eq!(runs_agree(&lines, &result), 2_788 - 2 - 442);
    wake_ups_agree(&lines, &result);
    assert!(result.syscalls.is_empty() && result.ticks.is_empty());
}

#[test]
fn an_lttng_trace() {
    let Some(path) = trace("small/kernel") else { return };
    let Some(text) = printed("babeltrace2", &["--clock-cycles"], &path) else { return };
    let (lines, result) = (of_babeltrace(&text), tables(&path));
    assert_eq!(lines.len(), 58_862);
    handlers_agree(&lines, &result);
    raises_agree(&lines, &result);
    assert_eq!(runs_agree(&lines, &result), 3_819 - 2);
    wake_ups_agree(&lines, &result);
}
