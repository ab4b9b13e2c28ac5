//! What an analysis is given.

use std::collections::{BTreeSet, HashMap};

use arrow_array::RecordBatch;
use tracefile::Info;

use crate::columns::{Ints, Rows};

/// Names of the values of a field: (first value, last value, name).
pub type Labels = Vec<(i128, i128, String)>;

/// The events of one type, as `tracefile` decodes them.
#[derive(Debug, Clone, Default)]
pub struct EventTable {
    /// The event's name: `sched_switch`.
    pub name: String,
    /// Columns `time`, `cpu` and the fields, in the order that the index's `row` counts.
    pub batches: Vec<RecordBatch>,
    /// Names of values, by field (`prev_state`, `vec`).
    pub labels: HashMap<String, Labels>,
    /// How the trace says that it is printed; may be empty.
    pub print_format: String,
}

impl EventTable {
    /// Whether the trace has such events.
    pub(crate) fn has_rows(&self) -> bool {
        self.batches.iter().any(|batch| batch.num_rows() > 0)
    }
}

/// Events are missing in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The CPU; `None`: any of them.
    pub cpu: Option<u16>,
    /// After this time; `None`: since before the trace.
    pub begin: Option<i64>,
    /// Before this time; `None`: until after the trace.
    pub end: Option<i64>,
}

impl Loss {
    /// The same of a loss of a stream.
    pub fn of(info: &Info, loss: &tracefile::Loss) -> Self {
        Self {
            cpu: info.streams.get(loss.stream).and_then(|stream| stream.cpu),
            begin: loss.begin,
            end: loss.end,
        }
    }
}

/// A decoded trace, from a decoder or from a cache.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// By the number that the index's `event` has. Types that were not decoded have no batches.
    pub events: Vec<EventTable>,
    /// Columns `time`, `cpu`, `event`, `row`, in order of time.
    pub index: Vec<RecordBatch>,
    /// What is missing.
    pub losses: Vec<Loss>,
    /// Names of threads that the trace keeps apart from its events.
    pub tasks: Vec<(i32, String)>,
    /// Names of kernel functions by address, in any order; may be empty.
    pub symbols: Vec<(u64, String)>,
    /// What is known of where the trace was recorded (`kernel_release`, ...).
    pub environment: Vec<(String, String)>,
    /// Times of the first and last event of the trace, also of types that were not decoded;
    /// `None`: those of the index.
    pub span: Option<(i64, i64)>,
    /// One more than the highest CPU of any event of the trace, also of types that were not decoded;
    /// 0: that of the index.
    pub cpus: usize,
    /// Whether events were left out that change nothing about who runs, as [`crate::needed`] does
    /// for [`crate::Pass::Usage`].
    pub left_out: bool,
}

impl Input {
    /// The input for what `tracefile` has decoded, with the index.
    pub fn of(trace: &tracefile::Trace, decoded: tracefile::Decoded) -> Self {
        let info = trace.info();
        let mut batches: HashMap<usize, Vec<RecordBatch>> =
            decoded.tables.into_iter().map(|table| (table.event, table.batches)).collect();
        let index = decoded.index.map(|index| index.into_batch()).into_iter().collect();
        let losses = decoded.losses.iter().map(|loss| Loss::of(info, loss)).collect();
        let batches = |number, _: &str| batches.remove(&number).unwrap_or_default();
        let mut input = Self::described(info, batches, index, losses, decoded.span);
        input.name_functions(trace);
        input
    }

    /// The input of a trace whose events are had as tables: `batches` is given the number and the
    /// name of each type, and gives those of its events.
    pub fn described(
        info: &Info,
        mut batches: impl FnMut(usize, &str) -> Vec<RecordBatch>,
        index: Vec<RecordBatch>,
        losses: Vec<Loss>,
        span: Option<(i64, i64)>,
    ) -> Self {
        let events = info.events.iter().enumerate().map(|(number, event)| EventTable {
            name: event.name.clone(),
            batches: batches(number, &event.name),
            labels: event
                .fields
                .iter()
                .filter(|field| !field.labels.is_empty())
                .map(|field| {
                    let labels = field.labels.iter();
                    let labels = labels.map(|l| (l.first, l.last, l.name.clone())).collect();
                    (field.name.clone(), labels)
                })
                .collect(),
            print_format: event.print_format.clone(),
        });
        Self {
            events: events.collect(),
            index,
            losses,
            tasks: info.tasks.clone(),
            symbols: Vec::new(),
            environment: info.environment.clone(),
            span,
            cpus: 0,
            left_out: false,
        }
    }

    /// Takes the names of the functions that timers run from the trace.
    pub fn name_functions(&mut self, trace: &tracefile::Trace) {
        let named = |address| Some((address, trace.symbol(address)?));
        self.symbols = self.functions().into_iter().filter_map(named).collect();
    }

    /// The addresses of functions that timers run: those of which `symbols` may tell the names.
    fn functions(&self) -> Vec<u64> {
        let timers = self.events.iter().filter(|event| event.name.contains("timer_"));
        let mut addresses = BTreeSet::new();
        for event in timers {
            let place = Rows::new(&event.batches);
            if let Some(functions) = Ints::of(&event.batches, "function") {
                addresses.extend(place.all().map(|place| functions.get(place) as u64));
            }
        }
        addresses.into_iter().collect()
    }
}
