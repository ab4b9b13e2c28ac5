//! The answers of an independent decoder (trace-cmd) for the real traces.

mod common;

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use serde_json::Value;
use tracefile::{Decoded, Options, Selection, Trace};

fn nanoseconds(seconds: &Value) -> i64 {
    let (whole, part) = seconds.as_str().unwrap().split_once('.').unwrap();
    whole.parse::<i64>().unwrap() * 1_000_000_000 + part.parse::<i64>().unwrap()
}

fn check(trace: &Trace, decoded: &Decoded, expected: &Value) {
    assert_eq!(decoded.damage, []);
    assert_eq!(decoded.losses, []);
    assert_eq!(decoded.events, expected["events"].as_u64().unwrap());
    let span = (nanoseconds(&expected["first_s"]), nanoseconds(&expected["last_s"]));
    assert_eq!(decoded.span, Some(span));
    let mut counts = BTreeMap::new();
    let mut per_cpu = BTreeMap::new();
    for table in &decoded.tables {
        for batch in &table.batches {
            let name = trace.info().events[table.event].name.clone();
            *counts.entry(name).or_insert(0) += batch.num_rows() as u64;
            let cpu = batch["cpu"].as_primitive::<arrow_array::types::UInt16Type>().value(0);
            *per_cpu.entry(format!("{cpu:03}")).or_insert(0) += batch.num_rows() as u64;
        }
    }
    let figures =
        |value: &Value| -> BTreeMap<String, u64> { serde_json::from_value(value.clone()).unwrap() };
    assert_eq!(counts, figures(&expected["counts"]));
    assert_eq!(per_cpu, figures(&expected["per_cpu"]));
    let place = trace.info().events.iter().position(|event| event.name == "sched_switch");
    let switches = decoded.tables.iter().find(|table| Some(table.event) == place).unwrap();
    let sum: i64 = switches
        .batches
        .iter()
        .flat_map(|batch| batch["next_pid"].as_primitive::<Int32Type>().values().to_vec())
        .map(i64::from)
        .sum();
    assert_eq!(sum, expected["sum_sched_switch_next_pid"].as_i64().unwrap());
}

fn agrees(file: &str, name: &str) {
    let (Some(path), Some(expected)) = (common::real(file), common::expected()) else { return };
    let trace = tracefile::open(&path).unwrap();
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    check(&trace, &decoded, &expected[name]);
    let index = decoded.index.unwrap();
    assert_eq!(index.len() as u64, decoded.events);
    assert!(index.time.is_sorted());
}

#[test]
fn version_7() {
    agrees("f100k.dat", "f100k");
}

#[test]
fn version_6() {
    agrees("f100k-v6.dat", "f100k");
}

#[test]
fn compressed() {
    agrees("f100k-zstd.dat", "f100k");
}

#[test]
fn with_absolute_stamps_and_large_records() {
    agrees("f1m.dat", "f1m");
}

#[test]
fn ten_million_events() {
    agrees("f10m.dat", "f10m");
}

#[test]
fn streaming_gives_the_same_rows() {
    let (Some(path), Some(expected)) = (common::real("f1m.dat"), common::expected()) else {
        return;
    };
    let trace = tracefile::open(&path).unwrap();
    let mut rows = 0;
    let mut batches = 0;
    let selection = Selection::everything();
    let decoded = trace
        .stream(&selection, 16 << 20, &mut |_, batch| {
            rows += batch.num_rows() as u64;
            batches += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(rows, expected["f1m"]["events"].as_u64().unwrap());
    assert_eq!(decoded.events, rows);
    assert!(batches > 200, "one batch of each type would not be bounded");
}

#[test]
fn symbols_are_found_by_address() {
    let Some(path) = common::real("f100k.dat") else { return };
    let trace = tracefile::open(&path).unwrap();
    let wakeup = Selection::nothing().event("hrtimer_expire_entry", Some(&["function"]));
    let decoded = trace.decode(&wakeup, &Options::default()).unwrap();
    let column = &decoded.tables[0].batches[0]["function"];
    let address = column.as_primitive::<arrow_array::types::UInt64Type>().value(0);
    assert_eq!(trace.symbol(address).as_deref(), Some("tick_nohz_handler"));
    assert_eq!(trace.symbol(address + 4).as_deref(), Some("tick_nohz_handler+0x4"));
    assert_eq!(trace.symbol(0), None);
}
