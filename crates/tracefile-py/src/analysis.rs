//! From Python's tables, which may come from a cache, to the analyses and back.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_pyarrow::{FromPyArrow, Table};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use traceanalysis::{EventTable, Input, Loss};

use crate::{Trace, pyarrow_table};

/// `trace` tells the names of functions; without it timers have addresses only.
#[pyfunction]
#[pyo3(signature = (info, tables, index, losses, span, trace=None))]
pub(crate) fn analyse<'py>(
    py: Python<'py>,
    info: &str,
    tables: &Bound<'py, PyDict>,
    index: &Bound<'py, PyAny>,
    losses: &Bound<'py, PyAny>,
    span: Option<(i64, i64)>,
    trace: Option<&Bound<'py, Trace>>,
) -> PyResult<Bound<'py, PyDict>> {
    let losses = py.import("json")?.call_method1("dumps", (losses,))?.extract::<String>()?;
    let mut input = input(&parsed(info)?, tables, index, &parsed(&losses)?, span)?;
    if let Some(trace) = trace.map(Bound::get) {
        let named = |address| Some((address, trace.0.symbol(address)?));
        input.symbols = input.functions().into_iter().filter_map(named).collect();
    }
    let found = py.detach(|| traceanalysis::analyse(&input));
    let named = PyDict::new(py);
    for (name, batch) in found.into_named() {
        let schema = batch.schema();
        named.set_item(name, pyarrow_table(py, vec![batch], schema)?)?;
    }
    Ok(named)
}

pub(crate) fn parsed(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn input(
    info: &Value,
    tables: &Bound<'_, PyDict>,
    index: &Bound<'_, PyAny>,
    losses: &Value,
    span: Option<(i64, i64)>,
) -> PyResult<Input> {
    let mut events = Vec::new();
    for event in list(&info["events"]) {
        let name = text(&event["name"]);
        let table = tables.get_item(&name)?;
        let batches = table.map(|table| batches(&table)).transpose()?.unwrap_or_default();
        let fields = list(&event["fields"]).filter(|field| list(&field["labels"]).next().is_some());
        let labels: HashMap<_, _> = fields
            .map(|field| (text(&field["name"]), list(&field["labels"]).map(label).collect()))
            .collect();
        events.push(EventTable {
            name,
            batches,
            labels,
            print_format: text(&event["print_format"]),
        });
    }
    let cpus: Vec<Option<u16>> = list(&info["streams"]).map(|s| number(&s["cpu"])).collect();
    let losses = list(losses).map(|loss| Loss {
        cpu: number(&loss["stream"]).and_then(|at: usize| cpus.get(at).copied()?),
        begin: loss["begin"].as_i64(),
        end: loss["end"].as_i64(),
    });
    let environment = info["environment"].as_object().into_iter().flatten();
    Ok(Input {
        events,
        index: batches(index)?,
        losses: losses.collect(),
        tasks: list(&info["tasks"])
            .filter_map(|task| Some((number(&task[0])?, text(&task[1]))))
            .collect(),
        symbols: Vec::new(),
        environment: environment.map(|(name, value)| (name.clone(), text(value))).collect(),
        span,
    })
}

pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    Ok(Table::from_pyarrow_bound(table)?.into_inner().0)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

fn number<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    value.as_i64()?.try_into().ok()
}

fn label(label: &Value) -> (i128, i128, String) {
    let end = |at: usize| {
        let value = &label[at];
        value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).unwrap_or_default()
    };
    (end(0), end(1), text(&label[2]))
}
