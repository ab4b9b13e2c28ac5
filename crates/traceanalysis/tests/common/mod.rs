//! Traces made by hand, event by event, and tables read back as plain values.

#![allow(dead_code)] // Each test program uses its part.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array,
    UInt32Array,
};
use traceanalysis::{EventTable, Input, Loss, Tables, analyse};

/// Values of `prev_state`.
pub const RUNNABLE: i64 = 0;
pub const SLEEPS: i64 = 1;
pub const DISK: i64 = 2;
pub const ZOMBIE: i64 = 0x20;
pub const PREEMPTED: i64 = 0x100;

/// Whose names the events have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Ftrace,
    Lttng,
}

#[derive(Default, Clone)]
struct Rows {
    times: Vec<i64>,
    cpus: Vec<u16>,
    ints: BTreeMap<String, Vec<i64>>,
    texts: BTreeMap<String, Vec<String>>,
}

pub struct Sequence {
    names: Names,
    tables: BTreeMap<String, Rows>,
    index: Vec<(i64, u16, String, u32)>,
    pub losses: Vec<Loss>,
    pub tasks: Vec<(i32, String)>,
    pub symbols: Vec<(u64, String)>,
    /// `common_flags` and `common_pid` of the events that follow, in ftrace.
    pub context: Option<(i64, i64)>,
}

impl Sequence {
    pub fn new(names: Names) -> Self {
        Self {
            names,
            tables: BTreeMap::new(),
            index: vec![],
            losses: vec![],
            tasks: vec![],
            symbols: vec![],
            context: None,
        }
    }

    pub fn ftrace() -> Self {
        Self::new(Names::Ftrace)
    }

    /// Any event.
    pub fn add(
        &mut self,
        time: i64,
        cpu: u16,
        name: &str,
        ints: &[(&str, i64)],
        texts: &[(&str, &str)],
    ) -> &mut Self {
        let rows = self.tables.entry(name.to_owned()).or_default();
        self.index.push((time, cpu, name.to_owned(), rows.times.len() as u32));
        rows.times.push(time);
        rows.cpus.push(cpu);
        for &(field, value) in ints {
            rows.ints.entry(field.to_owned()).or_default().push(value);
        }
        if let Some((flags, pid)) = self.context {
            rows.ints.entry("common_flags".to_owned()).or_default().push(flags);
            rows.ints.entry("common_pid".to_owned()).or_default().push(pid);
        }
        for &(field, value) in texts {
            rows.texts.entry(field.to_owned()).or_default().push(value.to_owned());
        }
        self
    }

    fn lttng(&self) -> bool {
        self.names == Names::Lttng
    }

    pub fn switch(
        &mut self,
        time: i64,
        cpu: u16,
        (prev, prev_name): (i64, &str),
        state: i64,
        (next, next_name): (i64, &str),
    ) -> &mut Self {
        let id = if self.lttng() { "tid" } else { "pid" };
        let (of_prev, of_next) = (format!("prev_{id}"), format!("next_{id}"));
        let priority = if self.lttng() { 20 } else { 120 };
        self.add(
            time,
            cpu,
            "sched_switch",
            &[
                (&of_prev, prev),
                ("prev_prio", priority),
                ("prev_state", state),
                (&of_next, next),
                ("next_prio", priority),
            ],
            &[("prev_comm", prev_name), ("next_comm", next_name)],
        )
    }

    /// `sched_waking`, `sched_wakeup` or `sched_wakeup_new`.
    pub fn wake(&mut self, time: i64, cpu: u16, event: &str, tid: i64, target: u16) -> &mut Self {
        let id = if self.lttng() { "tid" } else { "pid" };
        let priority = if self.lttng() { 20 } else { 120 };
        self.add(
            time,
            cpu,
            event,
            &[(id, tid), ("prio", priority), ("target_cpu", i64::from(target))],
            &[("comm", "")],
        )
    }

    /// Both events of a wake-up, on one CPU, at one time.
    pub fn woken(&mut self, time: i64, cpu: u16, tid: i64, target: u16) -> &mut Self {
        self.wake(time, cpu, "sched_waking", tid, target);
        self.wake(time, cpu, "sched_wakeup", tid, target)
    }

    pub fn irq(&mut self, time: i64, cpu: u16, irq: i64, name: &str) -> &mut Self {
        self.add(time, cpu, "irq_handler_entry", &[("irq", irq)], &[("name", name)])
    }

    pub fn irq_exit(&mut self, time: i64, cpu: u16, irq: i64) -> &mut Self {
        self.add(time, cpu, "irq_handler_exit", &[("irq", irq), ("ret", 1)], &[])
    }

    /// `raise`, `entry` or `exit`.
    pub fn softirq(&mut self, time: i64, cpu: u16, what: &str, vector: i64) -> &mut Self {
        let prefix = if self.lttng() { "irq_" } else { "" };
        self.add(time, cpu, &format!("{prefix}softirq_{what}"), &[("vec", vector)], &[])
    }

    pub fn input(&self) -> Input {
        let numbers: BTreeMap<&str, u16> =
            self.tables.keys().enumerate().map(|(at, name)| (name.as_str(), at as u16)).collect();
        let mut index = self.index.clone();
        index.sort_by_key(|&(time, ..)| time);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("time", Arc::new(Int64Array::from_iter_values(index.iter().map(|e| e.0)))),
            ("cpu", Arc::new(UInt16Array::from_iter_values(index.iter().map(|e| e.1)))),
            (
                "event",
                Arc::new(UInt16Array::from_iter_values(index.iter().map(|e| numbers[&*e.2]))),
            ),
            ("row", Arc::new(UInt32Array::from_iter_values(index.iter().map(|e| e.3)))),
        ];
        let index = RecordBatch::try_from_iter(columns).unwrap();
        let events = self.tables.iter().map(|(name, rows)| EventTable {
            name: name.clone(),
            batches: batches(rows),
            ..EventTable::default()
        });
        Input {
            events: events.collect(),
            // In two parts, as a cache may have it.
            index: vec![
                index.slice(0, index.num_rows() / 2),
                index.slice(index.num_rows() / 2, index.num_rows() - index.num_rows() / 2),
            ],
            losses: self.losses.clone(),
            tasks: self.tasks.clone(),
            symbols: self.symbols.clone(),
            environment: vec![("kernel_release".into(), "6.1.0".into())],
            ..Input::default()
        }
    }

    /// The same where events of some names are not decoded.
    pub fn input_without(&self, left_out: impl Fn(&str) -> bool) -> Input {
        let mut kept = Self { losses: self.losses.clone(), ..Self::new(self.names) };
        let mut times: Vec<i64> = self.index.iter().map(|event| event.0).collect();
        times.sort_unstable();
        kept.index = self.index.iter().filter(|event| !left_out(&event.2)).cloned().collect();
        kept.tables = self.tables.clone();
        kept.tables.retain(|name, _| !left_out(name));
        Input {
            span: times.first().copied().zip(times.last().copied()),
            cpus: self.index.iter().map(|event| usize::from(event.1) + 1).max().unwrap_or(0),
            left_out: true,
            ..kept.input()
        }
    }

    pub fn analyse(&self) -> Result {
        let result = Result::new(analyse(&self.input()));
        result.check();
        result
    }
}

/// The table, in batches of 3 rows: real ones have many too.
fn batches(rows: &Rows) -> Vec<RecordBatch> {
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("time".into(), Arc::new(Int64Array::from(rows.times.clone()))),
        ("cpu".into(), Arc::new(UInt16Array::from(rows.cpus.clone()))),
    ];
    for (name, values) in &rows.ints {
        // Widths as the tracers have them.
        let column: ArrayRef = match name.as_str() {
            "common_flags" => {
                Arc::new(UInt8Array::from_iter_values(values.iter().map(|&v| v as u8)))
            }
            "prev_state" | "ret" | "expires" | "softexpires" | "now" | "hrtimer" | "timer"
            | "function" | "sector" | "id" => Arc::new(Int64Array::from(values.clone())),
            _ => Arc::new(Int32Array::from_iter_values(values.iter().map(|&v| v as i32))),
        };
        columns.push((name.clone(), column));
    }
    for (name, values) in &rows.texts {
        columns.push((name.clone(), Arc::new(StringArray::from(values.clone()))));
    }
    let whole = RecordBatch::try_from_iter(columns).unwrap();
    (0..whole.num_rows())
        .step_by(3)
        .map(|at| whole.slice(at, 3.min(whole.num_rows() - at)))
        .collect()
}

/// A row of a table: integers and texts by column; a null is not there.
#[derive(Debug, Clone, Default)]
pub struct Row {
    ints: BTreeMap<String, i64>,
    texts: BTreeMap<String, String>,
}

impl Row {
    /// The value of a column that is not null.
    pub fn int(&self, column: &str) -> i64 {
        self.get(column).unwrap_or_else(|| panic!("{column} is null in {self:?}"))
    }

    pub fn get(&self, column: &str) -> Option<i64> {
        self.ints.get(column).copied()
    }

    pub fn text(&self, column: &str) -> &str {
        self.texts.get(column).map_or("", String::as_str)
    }
}

pub fn rows(table: &RecordBatch) -> Vec<Row> {
    let mut rows = vec![Row::default(); table.num_rows()];
    for (field, column) in table.schema().fields().iter().zip(table.columns()) {
        for (at, row) in rows.iter_mut().enumerate().filter(|&(at, _)| column.is_valid(at)) {
            macro_rules! int {
                ($($of:ty),*) => {
                    $(if let Some(values) = column.as_primitive_opt::<$of>() {
                        row.ints.insert(field.name().clone(), values.value(at) as i64);
                    })*
                };
            }
            int!(Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
            if let Some(values) = column.as_string_opt::<i32>() {
                row.texts.insert(field.name().clone(), values.value(at).to_owned());
            }
        }
    }
    rows
}

pub struct Result {
    pub actors: Vec<Row>,
    pub instances: Vec<Row>,
    pub fragments: Vec<Row>,
    pub waits: Vec<Row>,
    pub syscalls: Vec<Row>,
    pub block: Vec<Row>,
    pub timers: Vec<Row>,
    pub ticks: Vec<Row>,
}

impl Result {
    pub fn new(tables: Tables) -> Self {
        Self {
            actors: rows(&tables.scheduling.actors),
            instances: rows(&tables.scheduling.instances),
            fragments: rows(&tables.scheduling.fragments),
            waits: rows(&tables.scheduling.waits),
            syscalls: rows(&tables.syscalls),
            block: rows(&tables.devices.block),
            timers: rows(&tables.devices.timers),
            ticks: rows(&tables.devices.ticks),
        }
    }

    pub fn name(&self, row: &Row) -> &str {
        self.actors[row.int("actor") as usize].text("name")
    }

    /// Rows of an actor, by its name.
    pub fn of<'a>(&'a self, table: &'a [Row], name: &str) -> Vec<&'a Row> {
        table.iter().filter(|row| self.name(row) == name).collect()
    }

    pub fn instances_of(&self, name: &str) -> Vec<&Row> {
        self.of(&self.instances, name)
    }

    /// (begin, end, state) of an actor's waits.
    pub fn waits_of(&self, name: &str) -> Vec<(i64, i64, i64)> {
        let waits = self.of(&self.waits, name);
        waits.iter().map(|w| (w.int("begin"), w.int("end"), w.int("state"))).collect()
    }

    /// What must hold of every result.
    pub fn check(&self) {
        let kind = |row: &Row| self.actors[row.int("actor") as usize].text("kind").to_owned();
        let mut threads: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        let mut handlers: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        let mut own: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for fragment in &self.fragments {
            let span = (fragment.int("begin"), fragment.int("end"));
            assert!(span.0 <= span.1, "{fragment:?}");
            assert!((0..=span.1 - span.0).contains(&fragment.int("execution")), "{fragment:?}");
            let is_thread = matches!(kind(fragment).as_str(), "task" | "idle");
            let by_cpu = if is_thread { &mut threads } else { &mut handlers };
            by_cpu.entry(fragment.int("cpu")).or_default().push(span);
            if is_thread {
                own.entry(fragment.int("actor")).or_default().push(span);
            }
            let sum = sums.entry(fragment.int("instance")).or_default();
            sum.0 += fragment.int("execution");
            sum.1 += 1;
            let instance = &self.instances[fragment.int("instance") as usize];
            assert_eq!(instance.int("actor"), fragment.int("actor"));
            let within = instance.int("begin") <= span.0 && span.1 <= instance.int("end");
            assert!(within, "{fragment:?} {instance:?}");
        }
        for wait in self.waits.iter() {
            let span = (wait.int("begin"), wait.int("end"));
            assert!(span.0 <= span.1, "{wait:?}");
            own.entry(wait.int("actor")).or_default().push(span);
        }
        // A thread runs or waits, never two at once; a CPU has one thread at a time.
        for spans in threads.values_mut().chain(own.values_mut()) {
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
        }
        // Handlers nest.
        for spans in handlers.values_mut() {
            spans.sort_unstable_by_key(|&(begin, end)| (begin, -end));
            let mut open: Vec<i64> = vec![];
            for &(begin, end) in spans.iter() {
                open.retain(|&outer| outer > begin);
                assert!(open.iter().all(|&outer| end <= outer), "{spans:?}");
                open.push(end);
            }
        }
        for (at, instance) in self.instances.iter().enumerate() {
            let (begin, end) = (instance.int("begin"), instance.int("end"));
            assert!(begin <= end && instance.int("execution") <= end - begin, "{instance:?}");
            assert_eq!(instance.int("instance"), at as i64);
            let (execution, fragments) = sums.get(&(at as i64)).copied().unwrap_or_default();
            assert_eq!(instance.int("execution"), execution, "{instance:?}");
            assert_eq!(instance.int("fragments"), fragments, "{instance:?}");
            assert!(instance.get("ready").is_none_or(|ready| ready <= begin), "{instance:?}");
            if let Some(cause) = instance.get("cause") {
                let cause = &self.instances[cause as usize];
                let time = instance.int("cause_time");
                // The threads of interrupts are woken when the handler has just returned.
                let threads = ["irq/", "ksoftirqd/", "ktimers/"];
                let threaded = threads.iter().any(|t| self.name(instance).starts_with(t));
                let last = if threaded { time } else { cause.int("end") };
                assert!((cause.int("begin")..=last).contains(&time), "{instance:?}");
            }
        }
    }

    /// Time on a CPU that threads and its idle loop are accounted for, of all without losses.
    pub fn covered(&self, cpu: i64) -> i64 {
        let of_cpu = self.fragments.iter().filter(|fragment| fragment.int("cpu") == cpu);
        of_cpu.map(|fragment| fragment.int("execution")).sum()
    }
}
