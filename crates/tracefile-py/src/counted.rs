//! How many events a trace has, for Python.

use std::collections::{BTreeMap, HashMap};

use pyo3::prelude::*;
use tracefile::Info;

use crate::objects;

/// What counting gives.
#[pyclass(frozen, get_all, module = "benchvise.trace.native")]
pub(crate) struct Counted {
    counts: HashMap<String, u64>,
    cpus: BTreeMap<Option<u16>, u64>,
    losses: Py<PyAny>,
    damage: Py<PyAny>,
    notes: Vec<String>,
    events: u64,
    span: Option<(i64, i64)>,
}

impl Counted {
    pub(crate) fn new(py: Python<'_>, info: &Info, counted: tracefile::Counted) -> PyResult<Self> {
        let tracefile::Counted { decoded, types, cpus } = counted;
        let named = info.events.iter().map(|event| event.name.clone()).zip(types);
        Ok(Self {
            counts: named.filter(|&(_, count)| count > 0).collect(),
            cpus,
            losses: objects(py, decoded.losses.iter().map(tracefile::Loss::to_json))?,
            damage: objects(py, decoded.damage.iter().map(tracefile::Damage::to_json))?,
            notes: decoded.notes,
            events: decoded.events,
            span: decoded.span,
        })
    }
}
