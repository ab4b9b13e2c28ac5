//! Real traces, when they are there.

#![allow(dead_code)] // Each test uses some of it.

mod left_out;

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, types};
use tracefile::{Decoded, Trace};

pub use left_out::left_out;

/// An unpacked real trace; `None`, with a word about it, when there is none.
pub fn real(name: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("BENCHVISE_TRACES") else {
        left_out("data", &format!("{name}: BENCHVISE_TRACES is not set"));
        return None;
    };
    let path = PathBuf::from(directory).join(name);
    if !path.exists() {
        left_out("data", &format!("{name} is not in BENCHVISE_TRACES"));
        return None;
    }
    Some(path)
}

/// The answers of an independent decoder for the real traces: in their directory, or beside their
/// archives, in `shared/data/traces` beside the checkout.
pub fn expected() -> Option<serde_json::Value> {
    let Some(directory) = std::env::var_os("BENCHVISE_TRACES").map(PathBuf::from) else {
        left_out("data", "expected.json: BENCHVISE_TRACES is not set");
        return None;
    };
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces");
    let places = [directory, beside].map(|place| place.join("expected.json"));
    let Some(text) = places.iter().find_map(|path| std::fs::read(path).ok()) else {
        left_out("data", "expected.json");
        return None;
    };
    Some(serde_json::from_slice(&text).expect("expected.json is JSON"))
}

/// The rows of an event type in one batch; `None` when it has none.
pub fn table(trace: &Trace, decoded: &Decoded, event: &str) -> Option<RecordBatch> {
    let known = trace.info().events.iter().position(|known| known.name == event)?;
    let table = decoded.tables.iter().find(|table| table.event == known)?;
    let rows: usize = table.batches.iter().map(RecordBatch::num_rows).sum();
    (rows > 0).then(|| {
        let columns = (0..table.schema.fields().len()).map(|at| {
            let parts: Vec<&dyn Array> =
                table.batches.iter().map(|batch| batch.column(at).as_ref()).collect();
            concat(&parts)
        });
        RecordBatch::try_new(table.schema.clone(), columns.collect()).expect("same rows in each")
    })
}

fn concat(parts: &[&dyn Array]) -> ArrayRef {
    let data: Vec<_> = parts.iter().map(|part| part.to_data()).collect();
    let mut all = arrow_data::transform::MutableArrayData::new(data.iter().collect(), false, 0);
    for (at, part) in parts.iter().enumerate() {
        all.try_extend(at, 0, part.len()).expect("fits into one array");
    }
    arrow_array::make_array(all.freeze())
}

/// A value of an integer column.
pub fn integer(column: &ArrayRef, row: usize) -> i128 {
    use arrow_schema::DataType as D;
    match column.data_type() {
        D::Int8 => column.as_primitive::<types::Int8Type>().value(row).into(),
        D::Int16 => column.as_primitive::<types::Int16Type>().value(row).into(),
        D::Int32 => column.as_primitive::<types::Int32Type>().value(row).into(),
        D::Int64 => column.as_primitive::<types::Int64Type>().value(row).into(),
        D::UInt8 => column.as_primitive::<types::UInt8Type>().value(row).into(),
        D::UInt16 => column.as_primitive::<types::UInt16Type>().value(row).into(),
        D::UInt32 => column.as_primitive::<types::UInt32Type>().value(row).into(),
        D::UInt64 => column.as_primitive::<types::UInt64Type>().value(row).into(),
        D::Boolean => column.as_boolean().value(row).into(),
        other => panic!("{other} is no integer"),
    }
}

/// A column by name.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name} in {}", batch.schema()))
}

/// The values of an integer column of an event's table.
pub fn integers(trace: &Trace, decoded: &Decoded, event: &str, name: &str) -> Vec<i128> {
    table(trace, decoded, event).map_or(vec![], |batch| {
        let column = column(&batch, name);
        (0..batch.num_rows()).map(|row| integer(column, row)).collect()
    })
}

/// The rows of an event's table as text: time, cpu and fields with a space between; `-` is null.
pub fn rows(trace: &Trace, decoded: &Decoded, event: &str) -> Vec<String> {
    table(trace, decoded, event).map_or(vec![], |batch| {
        let row = |row| batch.columns().iter().map(|c| text(c, row)).collect::<Vec<_>>().join(" ");
        (0..batch.num_rows()).map(row).collect()
    })
}

fn text(column: &ArrayRef, row: usize) -> String {
    use arrow_schema::DataType as D;
    if column.is_null(row) {
        return "-".into();
    }
    match column.data_type() {
        D::Utf8 => format!("{:?}", column.as_string::<i32>().value(row)),
        D::Binary => format!("{:02x?}", column.as_binary::<i32>().value(row)),
        D::Float32 => column.as_primitive::<types::Float32Type>().value(row).to_string(),
        D::Float64 => column.as_primitive::<types::Float64Type>().value(row).to_string(),
        D::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items: Vec<String> = (0..items.len()).map(|at| text(&items, at)).collect();
            format!("[{}]", items.join(" "))
        }
        D::Struct(_) => {
            let members = column.as_struct();
            let named = members.columns().iter().zip(members.column_names());
            let named: Vec<String> =
                named.map(|(member, name)| format!("{name}={}", text(member, row))).collect();
            format!("{{{}}}", named.join(" "))
        }
        _ => integer(column, row).to_string(),
    }
}
