//! Decodes a trace with all its fields, analyses it, and says how long each took and what came out:
//! `cargo run --release -p traceanalysis --example analyse -- FILE [TABLE]`

use std::path::Path;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use traceanalysis::{Input, analyse};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the file to analyse");
    let shown = arguments.next();
    let trace = tracefile::open(Path::new(&file)).unwrap_or_else(|error| panic!("{error}"));
    let begin = Instant::now();
    let decoded = trace
        .decode(&tracefile::Selection::everything(), &tracefile::Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let events = decoded.events;
    println!("decode   {:8.3} s  {events} events", begin.elapsed().as_secs_f64());
    let input = Input::of(&trace, decoded);
    for _ in 0..3 {
        let (begin, cpu) = (Instant::now(), cpu_seconds());
        let tables = analyse(&input);
        println!(
            "analyse  {:8.3} s, {:.2} s of CPU",
            begin.elapsed().as_secs_f64(),
            cpu_seconds() - cpu
        );
        drop(tables);
    }
    for (name, table) in analyse(&input).into_named() {
        println!(
            "{name:10} {:9} rows {:5} MB",
            table.num_rows(),
            table.get_array_memory_size() >> 20
        );
        if shown.as_deref() == Some(name) {
            for row in 0..table.num_rows() {
                let cells = table.columns().iter().map(|column| cell(column, row));
                println!("{}", cells.collect::<Vec<_>>().join("\t"));
            }
        }
    }
}

fn cell(column: &ArrayRef, row: usize) -> String {
    macro_rules! first_of {
        ($($of:ty),*) => {
            $(if let Some(values) = column.as_primitive_opt::<$of>() {
                return values.value(row).to_string();
            })*
        };
    }
    if column.is_null(row) {
        return "-".to_owned();
    }
    first_of!(Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
    column.as_string::<i32>().value(row).to_owned()
}

/// User and system time of this process so far; ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
