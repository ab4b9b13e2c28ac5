//! Real CTF 1.8 traces against the answers of an independent decoder.

mod common;

use std::collections::BTreeMap;

use tracefile::{Index, Options, Selection};

/// Names in expected.json, and directories.
const TRACES: [(&str, &str); 7] = [
    ("many-threads", "many-threads"),
    ("lttng-tracefile-rotation", "lttng-tracefile-rotation"),
    ("ros2", "ros2"),
    ("vm-small", "small"),
    ("vm-big", "big"),
    ("vm-huge", "huge"),
    ("dpdk_service_cores", "dpdk_service_cores"),
];

fn nanoseconds(seconds: &str) -> i64 {
    seconds.replace('.', "").parse().expect("seconds with nine decimals")
}

#[test]
fn all_figures_agree() {
    let Some(expected) = common::expected() else { return };
    for (name, directory) in TRACES {
        let Some(path) = common::real(directory) else { continue };
        let expected = &expected[name];
        let trace = tracefile::open(&path).unwrap();
        let decoded =
            trace.decode(&Selection::everything(), &Options { index: true, times: None }).unwrap();
        let info = trace.info();
        assert_eq!(decoded.damage, [], "{name}");
        assert_eq!(decoded.events, expected["events"].as_u64().unwrap(), "{name}");

        let epoch = info.clock.epoch_offset_ns.expect("LTTng and DPDK know the epoch");
        let (first, last) = decoded.span.unwrap();
        let seconds = |key: &str| nanoseconds(expected[key].as_str().unwrap());
        assert_eq!(first + epoch, seconds("first_s"), "{name}");
        assert_eq!(last + epoch, seconds("last_s"), "{name}");

        let index = decoded.index.as_ref().unwrap();
        assert!(index.time.is_sorted(), "{name}");
        assert_eq!(index.len() as u64, decoded.events, "{name}");
        let mut per_cpu: BTreeMap<String, u64> = BTreeMap::new();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (&cpu, &event) in index.cpu.iter().zip(&index.event) {
            assert_ne!(cpu, Index::NO_CPU, "{name}");
            *per_cpu.entry(cpu.to_string()).or_default() += 1;
            *counts.entry(info.events[usize::from(event)].name.clone()).or_default() += 1;
        }
        let pairs = |key: &str| -> BTreeMap<String, u64> {
            let object = expected[key].as_object().unwrap();
            object.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
        };
        assert_eq!(counts, pairs("counts"), "{name}");
        // DPDK prints its CPUs in hexadecimal, of which the other decoder's figures kept the 0.
        if name != "dpdk_service_cores" {
            assert_eq!(per_cpu, pairs("per_cpu"), "{name}");
        }

        let sum: i128 = common::table(&trace, &decoded, "sched_switch").map_or(0, |batch| {
            let column = common::column(&batch, "next_tid");
            (0..batch.num_rows()).map(|row| common::integer(column, row)).sum()
        });
        let next = expected["sum_sched_switch_next_tid"].as_i64().unwrap();
        assert_eq!(sum, i128::from(next), "{name}");
    }
}

#[test]
fn streaming_gives_the_same_rows_as_decoding_at_once() {
    let Some(path) = common::real("many-threads") else { return };
    let trace = tracefile::open(&path).unwrap();
    let mut rows = BTreeMap::<String, usize>::new();
    let decoded = trace
        .stream(&Selection::everything(), 1 << 16, &mut |event, batch| {
            *rows.entry(event.name.clone()).or_default() += batch.num_rows();
            Ok(())
        })
        .unwrap();
    assert_eq!(rows.values().sum::<usize>() as u64, decoded.events);
    assert_eq!(rows["sched_switch"], 28325);
}

#[test]
fn files_that_a_stream_was_rotated_over_are_one_stream() {
    let Some(path) = common::real("lttng-tracefile-rotation") else { return };
    let trace = tracefile::open(&path).unwrap();
    let streams = &trace.info().streams;
    let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["mychan_0", "mychan_1", "mychan_2", "mychan_3"]);
    let files: Vec<usize> = streams.iter().map(|stream| stream.files.len()).collect();
    assert_eq!(files, [3, 3, 3, 2]);
    let cpus: Vec<_> = streams.iter().map(|stream| stream.cpu).collect();
    assert_eq!(cpus, [Some(0), Some(1), Some(2), Some(3)]);
}
