//! Sums of real traces of which the events are not decoded that change nothing about who runs.
//! Needs the traces (BENCHVISE_TRACES).

#[path = "../../tracefile/tests/common/left_out.rs"]
mod left_out;

use std::path::{Path, PathBuf};

use left_out::left_out;
use traceanalysis::{Input, Pass, leaves_out, needed, usage};
use tracefile::{Decoded, Options};

fn trace(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("BENCHVISE_TRACES").map(|traces| Path::new(&traces).join(name));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        left_out("data", &format!("{name} is not in BENCHVISE_TRACES"));
    }
    path
}

/// By type how many events there are, decoded or passed over.
fn counts(decoded: &Decoded) -> Vec<u64> {
    let mut counts = decoded.passed.clone();
    for table in &decoded.tables {
        counts[table.event] += table.batches.iter().map(|of| of.num_rows() as u64).sum::<u64>();
    }
    counts
}

#[test]
fn what_is_left_out_of_traces_of_lttng_changes_no_sum() {
    for name in ["small/kernel", "many-threads", "lttng-tracefile-rotation/kernel"] {
        let Some(path) = trace(name) else { continue };
        let trace = tracefile::open(&path).unwrap();
        assert!(leaves_out(trace.info()), "{name}");
        let decode = |pass| {
            let chosen = needed(trace.info(), pass);
            trace.decode(&chosen, &Options::default()).unwrap()
        };
        let (every, fewer) = (decode(Pass::Scheduling), decode(Pass::Usage));
        assert_eq!(counts(&every), counts(&fewer), "{name}");
        assert!(every.passed.iter().all(|&passed| passed == 0), "{name}");
        let passed: u64 = fewer.passed.iter().sum();
        assert!(passed > fewer.events / 8, "{name}: of {} only {passed}", fewer.events);
        let told = |of: &Decoded| (of.events, of.span, of.cpus, of.losses.clone());
        assert_eq!(told(&every), told(&fewer), "{name}");
        let cpus = every.cpus;
        let every = usage(&Input::of(&trace, every)).unwrap();
        let fewer = usage(&Input { cpus, left_out: true, ..Input::of(&trace, fewer) }).unwrap();
        assert!(every.usage.num_rows() > 10, "{name}");
        assert_eq!((every.actors, every.usage), (fewer.actors, fewer.usage), "{name}");
    }
}

#[test]
fn events_that_note_their_thread_are_all_needed() {
    for name in ["f100k.dat", "f100k-v6.dat"] {
        let Some(path) = trace(name) else { continue };
        let trace = tracefile::open(&path).unwrap();
        assert!(!leaves_out(trace.info()), "{name}");
        let decoded =
            trace.decode(&needed(trace.info(), Pass::Usage), &Options::default()).unwrap();
        assert_eq!(decoded.tables.len(), trace.info().events.len(), "{name}");
    }
}
