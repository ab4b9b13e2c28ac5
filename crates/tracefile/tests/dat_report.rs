//! Every field of samples of every event type, against the raw fields of `trace-cmd report -R`.

mod common;

use std::collections::HashMap;
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use tracefile::{Options, Selection, Trace};

/// Events of each type that are compared.
const SAMPLES: usize = 40;

/// A line: task, CPU, time, event, its fields.
struct Line<'a> {
    pid: i32,
    cpu: u16,
    time: i64,
    event: &'a str,
    fields: &'a str,
}

fn line(text: &str) -> Option<Line<'_>> {
    let (task, rest) = text.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (event, fields) = rest.split_once(':')?;
    let (seconds, part) = time.split_once('.')?;
    Some(Line {
        pid: task.trim().rsplit_once('-')?.1.parse().ok()?,
        cpu: cpu.parse().ok()?,
        time: seconds.parse::<i64>().ok()? * 1_000_000_000 + part.parse::<i64>().ok()?,
        event,
        fields: fields.trim_start(),
    })
}

/// A number as 64 bits, of a signed column with its sign.
fn number(batch: &RecordBatch, column: usize, row: usize) -> Option<u64> {
    let array = batch.column(column);
    macro_rules! value {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row) as i64 as u64
        };
    }
    Some(match array.data_type() {
        DataType::UInt8 => value!(UInt8Type),
        DataType::UInt16 => value!(UInt16Type),
        DataType::UInt32 => value!(UInt32Type),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row),
        DataType::Int8 => value!(Int8Type),
        DataType::Int16 => value!(Int16Type),
        DataType::Int32 => value!(Int32Type),
        DataType::Int64 => value!(Int64Type),
        DataType::Boolean => u64::from(array.as_boolean().value(row)),
        _ => return None,
    })
}

/// Whether the column's value is what the text says: a number in base 10 or 16, a symbol, or text.
fn same(trace: &Trace, batch: &RecordBatch, column: usize, row: usize, told: &str) -> bool {
    let Some(value) = number(batch, column, row) else {
        return batch.column(column).as_string::<i32>().value(row).trim_end() == told;
    };
    if let Some(hex) = told.strip_prefix("0x") {
        // Numbers of 32 bits are printed without the sign's higher bits.
        let printed = u64::from_str_radix(hex, 16).unwrap();
        return printed == value || hex.len() == 8 && printed == value & 0xffff_ffff;
    }
    let plain = told.parse::<i128>().is_ok_and(|told| told as u64 == value);
    // `%pS` writes the distance also when there is none.
    let told = told.trim_end_matches("+0x0");
    plain || trace.symbol(value).is_some_and(|symbol| symbol == told)
}

/// Compares one row with its line.
fn compare(trace: &Trace, batch: &RecordBatch, row: usize, line: &Line<'_>) {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let own = names.iter().position(|name| *name == "common_pid").unwrap() + 1;
    let printed = |name: &str| format!("{}=", name.trim_start_matches("payload."));
    assert_eq!(number(batch, own - 1, row), Some(line.pid as i64 as u64), "{}", line.fields);
    let mut rest = line.fields;
    for column in own..names.len() {
        let begin = printed(names[column]);
        rest = rest
            .strip_prefix(&begin)
            .unwrap_or_else(|| panic!("{}: no {begin} at {rest:?}", line.event));
        // A value goes up to the name of the next field.
        let end = match names.get(column + 1) {
            Some(next) => rest.find(&format!(" {}", printed(next))).unwrap(),
            None => rest.len(),
        };
        let told = rest[..end].trim_end();
        assert!(
            same(trace, batch, column, row, told),
            "{}: {} is {:?}, told {told:?}",
            line.event,
            names[column],
            number(batch, column, row)
        );
        rest = rest[end..].trim_start();
    }
}

fn agrees(file: &str, least: usize) {
    let Some(path) = common::real(file) else { return };
    let report = Command::new("trace-cmd").args(["report", "-R", "-t"]).arg(&path).output();
    let Some(report) = report.ok().filter(|output| output.status.success()) else {
        common::left_out("package", &format!("trace-cmd that can read {file}"));
        return;
    };
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let mut lines: HashMap<(&str, i64, u16), Line<'_>> = HashMap::new();
    let mut samples: HashMap<&str, usize> = HashMap::new();
    for line in report.lines().filter_map(line) {
        let seen = samples.entry(line.event).or_insert(0);
        *seen += 1;
        // The first ones, and some from the whole length.
        if *seen <= SAMPLES / 2 || seen.is_multiple_of(997) && *seen < 997 * SAMPLES / 2 {
            lines.insert((line.event, line.time, line.cpu), line);
        }
    }
    assert!(samples.len() >= least, "{} event types", samples.len());
    let trace = tracefile::open(&path).unwrap();
    let decoded =
        trace.decode(&Selection::everything(), &Options { index: false, times: None }).unwrap();
    let mut compared = 0;
    for table in &decoded.tables {
        let name = trace.info().events[table.event].name.as_str();
        for batch in &table.batches {
            let times = batch["time"].as_primitive::<Int64Type>().values();
            let cpus = batch["cpu"].as_primitive::<UInt16Type>().values();
            for row in 0..batch.num_rows() {
                if let Some(line) = lines.remove(&(name, times[row], cpus[row])) {
                    compare(&trace, batch, row, &line);
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(lines.len(), 0, "lines without a row");
    println!("{file}: {compared} events of {} types are equal", samples.len());
}

#[test]
fn light_load() {
    agrees("f100k.dat", 48);
}

#[test]
fn storm_of_system_calls() {
    agrees("f1m.dat", 200);
}
