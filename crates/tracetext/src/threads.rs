//! Which thread an event happened in: by the field that ftrace puts into each event, or that LTTng's
//! contexts add; else by the switches of its CPU.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use tracefile::{EventType, Index, Info, Options, Result, Scope, Selection, Trace};

use crate::cells::{Column, Value};

/// The fields of `sched_switch` that say who runs.
#[derive(Debug, Clone)]
struct Switch {
    event: usize,
    /// Previous and next thread, previous and next name.
    fields: [String; 4],
}

/// Names of threads, and who runs on each CPU.
pub struct Threads {
    names: HashMap<i32, String>,
    /// Of each type, the field that tells the thread.
    own: Vec<Option<String>>,
    /// Of each type that has one of them, the field that tells the thread's name.
    named_by: Vec<Option<String>>,
    switch: Option<Switch>,
    /// Whether names are learned from switches: the trace has no table of them.
    learn: bool,
    running: HashMap<u16, i32>,
}

/// Stands for a thread that is not known.
pub(crate) const UNKNOWN: i32 = -1;

impl Threads {
    pub(crate) fn new(info: &Info) -> Self {
        let mut names: HashMap<i32, String> = info.tasks.iter().cloned().collect();
        names.insert(0, "<idle>".into());
        let own: Vec<_> = info.events.iter().map(thread_field).collect();
        let named_by = info.events.iter().zip(&own);
        let named_by =
            named_by.map(|(event, own)| own.as_ref().and_then(|_| name_field(event))).collect();
        let switch = info.events.iter().position(|event| event.name == "sched_switch");
        let switch = switch.and_then(|event| switch_fields(event, &info.events[event]));
        Self { names, own, named_by, switch, learn: info.tasks.is_empty(), running: HashMap::new() }
    }

    /// The field that tells the thread of a type's events.
    pub(crate) fn field(&self, event: usize) -> Option<&str> {
        self.own[event].as_deref()
    }

    /// The field that tells the name of the thread of a type's events.
    pub(crate) fn name_field(&self, event: usize) -> Option<&str> {
        self.named_by[event].as_deref()
    }

    /// What has to be decoded of switches to know who runs, or what threads are called, where that
    /// is needed.
    pub(crate) fn switches(&self) -> Option<(usize, &[String; 4])> {
        let switch = self.switch.as_ref()?;
        // ftrace's types without the field are those that no event is of.
        let who = self.own.iter().any(Option::is_none) && self.own[switch.event].is_none();
        (who || self.learn).then_some((switch.event, &switch.fields))
    }

    /// Reads the names that events of the whole trace tell of their own threads.
    pub(crate) fn read_names(&mut self, trace: &Trace) -> Result<()> {
        let info = trace.info();
        let chosen = (0..info.events.len()).fold(Selection::nothing(), |chosen, event| {
            match (self.field(event), self.name_field(event)) {
                (Some(thread), Some(name)) => {
                    chosen.event(&info.events[event].name, Some(&[thread, name]))
                }
                _ => chosen,
            }
        });
        for table in trace.decode(&chosen, &Options { index: false, times: None })?.tables {
            self.learn_names(table.event, &table.batches);
        }
        Ok(())
    }

    /// Takes over the names that events tell of their own threads.
    pub(crate) fn learn_names(&mut self, event: usize, batches: &[RecordBatch]) {
        let (Some(thread), Some(name)) = (&self.own[event], &self.named_by[event]) else { return };
        for batch in batches {
            let (Some(threads), Some(names)) =
                (batch.column_by_name(thread), batch.column_by_name(name))
            else {
                continue;
            };
            let (threads, names) = (Column::new(threads.as_ref()), Column::new(names.as_ref()));
            let mut latest = (UNKNOWN, String::new());
            for row in 0..batch.num_rows() {
                let Value::Text(name) = names.get(row) else { continue };
                let Some(thread) = threads.get(row).int().map(|thread| thread as i32) else {
                    continue;
                };
                // Most events are of the thread of the one before.
                if name.is_empty() || thread <= 0 || latest.0 == thread && latest.1 == name {
                    continue;
                }
                latest = (thread, name.into_owned());
                self.names.insert(thread, latest.1.clone());
            }
        }
    }

    /// Reads the switches of the whole trace: names of threads, and who ran at a time.
    pub(crate) fn read_ahead(&mut self, trace: &Trace, time: i64) -> Result<()> {
        let Some(switch) = self.switch.clone() else { return Ok(()) };
        let info = trace.info();
        let fields: Vec<&str> = switch.fields.iter().map(String::as_str).collect();
        let chosen = Selection::nothing().event(&info.events[switch.event].name, Some(&fields));
        let decoded = trace.decode(&chosen, &Options { index: true, times: None })?;
        let batches = decoded.tables.into_iter().find(|table| table.event == switch.event);
        let batches = batches.map(|table| table.batches).unwrap_or_default();
        let reader = SwitchReader::new(&batches);
        let Some(index) = decoded.index else { return Ok(()) };
        for at in 0..index.len() {
            let [previous, next] = reader.threads(index.row[at] as usize);
            for (thread, name) in reader.names(index.row[at] as usize) {
                if thread != 0 && !name.is_empty() {
                    self.names.entry(thread).or_insert_with(|| name.to_owned());
                }
            }
            if index.time[at] < time {
                self.running.insert(index.cpu[at], next);
            } else {
                self.running.entry(index.cpu[at]).or_insert(previous);
            }
        }
        Ok(())
    }

    /// Takes over the switches of events in order of time, of the batches of their type; gives the
    /// thread that ran when each event happened.
    pub(crate) fn follow(&mut self, batches: &[RecordBatch], index: &Index) -> Vec<i32> {
        let reader = SwitchReader::new(batches);
        let number = self.switch.as_ref().map_or(usize::MAX, |switch| switch.event);
        let mut running: Vec<Option<i32>> = vec![None; usize::from(u16::MAX) + 1];
        self.running.iter().for_each(|(&cpu, &thread)| running[usize::from(cpu)] = Some(thread));
        // Who ran before a CPU's first switch is told by that.
        for (at, &cpu) in index.cpu.iter().enumerate() {
            let running = &mut running[usize::from(cpu)];
            if running.is_none() && usize::from(index.event[at]) == number {
                *running = Some(reader.threads(index.row[at] as usize)[0]);
            }
        }
        let mut before = Vec::with_capacity(index.len());
        for (at, &cpu) in index.cpu.iter().enumerate() {
            let running = &mut running[usize::from(cpu)];
            before.push(running.unwrap_or(UNKNOWN));
            if usize::from(index.event[at]) == number {
                let row = index.row[at] as usize;
                *running = Some(reader.threads(row)[1]);
                if self.learn {
                    for (thread, name) in reader.names(row) {
                        if thread != 0 && self.names.get(&thread).is_none_or(|of| of != name) {
                            self.names.insert(thread, name.to_owned());
                        }
                    }
                }
            }
        }
        let running = running.into_iter().enumerate();
        self.running = running.filter_map(|(cpu, thread)| Some((cpu as u16, thread?))).collect();
        before
    }

    /// What a thread is called; the empty text where that is not known.
    pub fn name(&self, thread: i32) -> Option<&str> {
        self.names.get(&thread).map(String::as_str)
    }

    /// The names of all threads that have one.
    pub(crate) fn names(&self) -> &HashMap<i32, String> {
        &self.names
    }

    /// All threads with a name.
    pub fn all(&self) -> impl Iterator<Item = (i32, &str)> {
        self.names.iter().map(|(&thread, name)| (thread, name.as_str()))
    }
}

/// The field that tells the thread of a type's events.
pub(crate) fn thread_field(event: &EventType) -> Option<String> {
    let outside = |name: &str| {
        event.fields.iter().find(|field| field.scope != Scope::Payload && field.name == name)
    };
    let field = outside("common_pid").or_else(|| outside("tid")).or_else(|| outside("vtid"));
    field.map(|field| field.name.clone())
}

/// LTTng's context; where the event itself has a field of that name, it is called otherwise.
fn name_field(event: &EventType) -> Option<String> {
    let is_it = |name: &str| name == "procname" || name.ends_with(".procname");
    let field = event.fields.iter().find(|f| f.scope != Scope::Payload && is_it(&f.name));
    field.map(|field| field.name.clone())
}

fn switch_fields(event: usize, of: &EventType) -> Option<Switch> {
    let has = |name: &str| of.fields.iter().any(|field| field.name == name);
    let id = ["tid", "pid"].into_iter().find(|id| has(&format!("next_{id}")))?;
    let fields =
        [format!("prev_{id}"), format!("next_{id}"), "prev_comm".into(), "next_comm".into()];
    fields.iter().all(|name| has(name)).then_some(Switch { event, fields })
}

/// The columns of decoded switches.
struct SwitchReader<'a> {
    starts: Vec<usize>,
    batches: Vec<Vec<Column<'a>>>,
}

impl<'a> SwitchReader<'a> {
    fn new(batches: &'a [RecordBatch]) -> Self {
        let mut starts = Vec::new();
        let mut rows = 0;
        let mut columns = Vec::new();
        for batch in batches {
            let named = |names: [&str; 2]| {
                names
                    .iter()
                    .find_map(|name| batch.column_by_name(name))
                    .map(|c| Column::new(c.as_ref()))
            };
            let of = [
                named(["prev_tid", "prev_pid"]),
                named(["next_tid", "next_pid"]),
                named(["prev_comm", "prev_comm"]),
                named(["next_comm", "next_comm"]),
            ];
            starts.push(rows);
            rows += batch.num_rows();
            columns.push(of.into_iter().flatten().collect());
        }
        Self { starts, batches: columns }
    }

    fn place(&self, row: usize) -> Option<(&[Column<'a>], usize)> {
        let batch = self.starts.partition_point(|&start| start <= row).checked_sub(1)?;
        let columns = &self.batches[batch];
        (columns.len() == 4).then(|| (columns.as_slice(), row - self.starts[batch]))
    }

    /// The threads that ran before and after.
    fn threads(&self, row: usize) -> [i32; 2] {
        let Some((columns, row)) = self.place(row) else { return [UNKNOWN; 2] };
        [0, 1].map(|at| columns[at].get(row).int().map_or(UNKNOWN, |thread| thread as i32))
    }

    fn names(&self, row: usize) -> [(i32, &str); 2] {
        let threads = self.threads(row);
        let place = self.place(row);
        let name = |at: usize| place.and_then(|(c, row)| c[at].text(row)).unwrap_or_default();
        [(threads[0], name(2)), (threads[1], name(3))]
    }
}
