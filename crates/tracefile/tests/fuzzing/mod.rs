//! What the fuzzers run, and the seeds that they begin with; a short test runs the same.
//!
//! Everything goes through opening and decoding, as for a file that a user has.

#![allow(dead_code, reason = "each fuzzer uses one target, and the test all")]

mod ctf;
mod dat;
mod perf;
mod programs;

use std::collections::HashMap;

use tracefile::{FieldPlace, Options, Records, Selection, Trace};

/// A way into the decoder.
pub struct Target {
    pub name: &'static str,
    /// Returns how many events there are; panics when something that must hold does not.
    pub run: fn(&[u8]) -> u64,
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: [Target; 10] = [
    Target { name: "ctf_metadata", run: ctf::metadata, seeds: ctf::metadata_seeds },
    Target { name: "ctf2_metadata", run: ctf::metadata, seeds: ctf::metadata2_seeds },
    Target { name: "ctf_packet", run: ctf::packet, seeds: ctf::packet_seeds },
    Target { name: "dat_head", run: dat::head, seeds: dat::head_seeds },
    Target { name: "dat_page", run: dat::pages, seeds: dat::page_seeds },
    Target { name: "chrome_json", run: programs::file, seeds: programs::chrome_seeds },
    Target { name: "perfetto", run: programs::file, seeds: programs::perfetto_seeds },
    Target { name: "ftrace_text", run: programs::file, seeds: programs::text_seeds },
    Target { name: "perf_data", run: perf::file, seeds: perf::file_seeds },
    Target { name: "program_file", run: perf::program, seeds: perf::program_seeds },
];

pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("the name of a target")
}

/// What must hold of any file: an error or a result, and one that is sound.
fn check(opened: tracefile::Result<Trace>) -> u64 {
    let Ok(trace) = opened else { return 0 };
    let _ = trace.info().to_json();
    let Ok(decoded) = trace.decode(&Selection::everything(), &Options { index: true, times: None })
    else {
        return 0;
    };
    let mut rows = HashMap::new();
    for table in &decoded.tables {
        for batch in &table.batches {
            *rows.entry(table.event).or_insert(0) += batch.num_rows();
            for column in batch.columns() {
                column.to_data().validate_full().expect("a column is what its type says");
            }
        }
    }
    let index = decoded.index.expect("it was asked for");
    assert!(index.time.is_sorted(), "the index is in order of time");
    let mut seen = HashMap::new();
    for (&event, &row) in index.event.iter().zip(&index.row) {
        let event = usize::from(event);
        assert!((row as usize) < rows[&event], "the index leads to rows");
        *seen.entry(event).or_insert(0) += 1;
    }
    assert_eq!(seen, rows, "every row is in the index once");
    let mut streamed = HashMap::new();
    let names: HashMap<_, _> =
        trace.info().events.iter().map(|e| e.name.clone()).zip(0..).collect();
    let waves = trace.stream(&Selection::everything(), 1, &mut |event, batch| {
        *streamed.entry(names[&event.name]).or_insert(0) += batch.num_rows();
        Ok(())
    });
    let waves = waves.expect("it can be decoded");
    assert_eq!(streamed, rows, "streaming gives the same rows");
    if let Some(records) = trace.records() {
        check_records(&trace, records, rows.values().sum());
    }
    assert_eq!((waves.events, waves.span), (decoded.events, decoded.span));
    assert_eq!((waves.losses, waves.damage), (decoded.losses, decoded.damage));
    decoded.events
}

/// Records read one by one: none twice, and each with the bytes that its type's fields are in.
fn check_records(trace: &Trace, records: Records<'_>, rows: usize) {
    let every = vec![true; trace.info().events.len()];
    for bytes in [1, 1 << 20] {
        let mut slices = records.slices(i64::MIN..i64::MAX, |_| true);
        let mut count = 0;
        while let Some(slice) = slices.next(records, bytes) {
            let mut found = Vec::new();
            records.read(&slice, &every, &mut found);
            assert!(found.is_sorted_by_key(|record| record.time), "a slice is in order of time");
            for record in &found {
                let event = usize::from(record.event);
                let names: Vec<String> =
                    trace.info().events[event].fields.iter().map(|f| f.name.clone()).collect();
                let batch = records.batch(event, &names, std::slice::from_ref(record));
                assert_eq!(batch.num_rows(), 1);
                for at in 0..names.len() {
                    if let Some(FieldPlace::Number { at, size, .. }) = records.place(event, at) {
                        assert!(at + usize::from(size) <= records.data(record).len());
                    }
                }
            }
            count += found.len();
        }
        assert!(count <= rows, "no record is read twice");
    }
}
