//! Who acts: threads, one idle actor a CPU, interrupt handlers and softirqs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Int32Array, Int64Array, RecordBatch, StringArray, UInt16Array, UInt32Array};

use crate::bindings::VECTORS;
use crate::input::{EventTable, Labels};
use crate::losses::Losses;
use crate::model::Handler;
use crate::output::schemas;
use crate::periods::{Began, Interruptions, Place};
use crate::states::flags_of;

pub(crate) struct Actor {
    kind: &'static str,
    pub(crate) name: String,
    pub(crate) tid: Option<i32>,
    pub(crate) process: Option<i32>,
    number: Option<i32>,
    cpu: Option<u16>,
    pub(crate) priority: Option<i32>,
    first: i64,
    last: i64,
    /// When the latest instance of its rows began, in order of CPUs: a handler has a row for each
    /// CPU, as the same interrupt of two CPUs is two clocks; a thread has one, on whichever CPU.
    begins: Vec<(Option<u16>, Began)>,
}

impl Actor {
    fn new(kind: &'static str, name: String, now: i64) -> Self {
        Self {
            kind,
            name,
            tid: None,
            process: None,
            number: None,
            cpu: None,
            priority: None,
            first: now,
            last: now,
            begins: Vec::new(),
        }
    }
}

/// All actors; the number of one is its place.
pub(crate) struct Actors {
    all: Vec<Actor>,
    handlers: HashMap<(Handler, Vec<u8>), u32>,
    /// The actor that each kind of handler had last: most often it is the same again.
    recent: HashMap<Handler, u32>,
    softirqs: Labels,
    pub(crate) interruptions: Interruptions,
}

/// The kernel's names in the order of their vectors, where the trace does not give them.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl Actors {
    pub(crate) fn new(events: &[EventTable], losses: &Losses) -> Self {
        let softirq = events.iter().find(|event| event.name.ends_with("softirq_entry"));
        let softirqs = softirq.map_or_else(Labels::new, |event| {
            let labels = event.labels.get("vec").cloned();
            labels.unwrap_or_else(|| flags_of(&event.print_format, "vec"))
        });
        Self {
            all: Vec::new(),
            handlers: HashMap::new(),
            recent: HashMap::new(),
            softirqs,
            interruptions: Interruptions::new(losses),
        }
    }

    pub(crate) fn get_mut(&mut self, actor: u32) -> &mut Actor {
        &mut self.all[actor as usize]
    }

    pub(crate) fn task(&mut self, tid: i32, now: i64) -> u32 {
        let actor = Actor { tid: Some(tid), ..Actor::new("task", String::new(), now) };
        self.push(actor)
    }

    pub(crate) fn idle(&mut self, cpu: u16, now: i64) -> u32 {
        let name = format!("idle/{cpu}");
        self.push(Actor { tid: Some(0), cpu: Some(cpu), ..Actor::new("idle", name, now) })
    }

    pub(crate) fn handler(&mut self, handler: Handler, name: &[u8], now: i64) -> u32 {
        if let Some(&actor) = self.recent.get(&handler)
            && (name.is_empty() || self.all[actor as usize].name.as_bytes() == name)
        {
            return actor;
        }
        let key = (handler, name.to_owned());
        let actor = match self.handlers.get(&key) {
            Some(&actor) => actor,
            None => {
                let actor = self.push(self.new_handler(handler, name, now));
                self.handlers.insert(key, actor);
                actor
            }
        };
        self.recent.insert(handler, actor);
        actor
    }

    fn new_handler(&self, handler: Handler, name: &[u8], now: i64) -> Actor {
        match handler {
            Handler::Irq(irq) => {
                let name = match name {
                    [] => format!("irq {irq}"),
                    name => String::from_utf8_lossy(name).into_owned(),
                };
                Actor { number: Some(irq), ..Actor::new("irq", name, now) }
            }
            Handler::Vector(vector) => {
                Actor::new("irq", VECTORS[usize::from(vector)].to_owned(), now)
            }
            Handler::Hrtimer => Actor::new("irq", "hrtimer".to_owned(), now),
            Handler::Softirq(vector) => {
                let label = self.softirqs.iter().find(|l| l.0 == i128::from(vector));
                let standard = usize::try_from(vector).ok().and_then(|at| SOFTIRQS.get(at));
                let name = match (label, standard) {
                    (Some((.., name)), _) => name.clone(),
                    (None, Some(name)) => (*name).to_owned(),
                    (None, None) => format!("softirq {vector}"),
                };
                Actor { number: Some(vector), ..Actor::new("softirq", name, now) }
            }
        }
    }

    fn push(&mut self, actor: Actor) -> u32 {
        self.all.push(actor);
        (self.all.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn seen(&mut self, actor: u32, now: i64) {
        let last = &mut self.all[actor as usize].last;
        *last = now.max(*last);
    }

    /// The time since the actor's instance before, of a handler that on the same CPU, for one that
    /// begins now; none where another may have begun between them. `is_seen`: its begin is.
    #[inline]
    pub(crate) fn period(
        &mut self,
        actor: u32,
        cpu: u16,
        begin: i64,
        is_seen: bool,
    ) -> Option<i64> {
        let actor = &mut self.all[actor as usize];
        let row = matches!(actor.kind, "irq" | "softirq").then_some(cpu);
        let place = row.or(actor.cpu).map_or(Place::Anywhere, Place::Cpu);
        let began = self.interruptions.began(place, begin, is_seen);
        match actor.begins.binary_search_by_key(&row, |&(of, _)| of) {
            Ok(at) => began.since(&std::mem::replace(&mut actor.begins[at].1, began)),
            Err(at) => {
                actor.begins.insert(at, (row, began));
                None
            }
        }
    }

    /// The table. `names`: of threads that no event has named.
    pub(crate) fn into_batch(mut self, names: &[(i32, String)]) -> RecordBatch {
        let names: HashMap<i32, &str> = names.iter().map(|(tid, name)| (*tid, &**name)).collect();
        for actor in self.all.iter_mut().filter(|actor| actor.name.is_empty()) {
            let name = actor.tid.and_then(|tid| names.get(&tid));
            actor.name = name.map_or_else(
                || actor.tid.map_or_else(String::new, |tid| format!("thread {tid}")),
                |name| (*name).to_owned(),
            );
        }
        let all = &self.all;
        RecordBatch::try_new(
            schemas::actors(),
            vec![
                Arc::new(UInt32Array::from_iter_values(0..all.len() as u32)),
                Arc::new(StringArray::from_iter_values(all.iter().map(|a| a.kind))),
                Arc::new(StringArray::from_iter_values(all.iter().map(|a| &a.name))),
                Arc::new(Int32Array::from_iter(all.iter().map(|a| a.tid))),
                Arc::new(Int32Array::from_iter(all.iter().map(|a| a.process))),
                Arc::new(Int32Array::from_iter(all.iter().map(|a| a.number))),
                Arc::new(UInt16Array::from_iter(all.iter().map(|a| a.cpu))),
                Arc::new(Int32Array::from_iter(all.iter().map(|a| a.priority))),
                Arc::new(Int64Array::from_iter_values(all.iter().map(|a| a.first))),
                Arc::new(Int64Array::from_iter_values(all.iter().map(|a| a.last))),
            ],
        )
        .expect("the columns of the schema")
    }
}
