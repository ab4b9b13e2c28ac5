//! From the tables of an analysis to the rows of the timeline.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_buffer::ScalarBuffer;
use rayon::prelude::*;

use crate::columns::{Missing, numbers};
use crate::forest::{Content, Forest, Kind, Row};
use crate::lane::disjoint;
use crate::overview::Overview;
use crate::spans::{Growing, Span};
use crate::state::{self, runs};

impl Forest {
    /// The timeline of an analysed trace.
    ///
    /// `actors`, `instances`, `fragments`, `waits`: tables of [`traceanalysis::Tables`]; `index`: all
    /// events in order of time; `span`: times of the first and last event, in nanoseconds of the
    /// trace's clock.
    ///
    /// # Errors
    /// [`Missing`] when one is not such a table.
    pub fn build(
        actors: &[RecordBatch],
        instances: &[RecordBatch],
        fragments: &[RecordBatch],
        waits: &[RecordBatch],
        index: &[RecordBatch],
        span: (i64, i64),
    ) -> Result<Self, Missing> {
        let kinds = kinds(actors)?;
        let ran = Ran::new(&kinds, fragments, span.0)?;
        let waited = Waited::new(waits, span.0)?;
        let span_counts = ran.cpus();
        let ((cpus, overview), (others, begun)) = rayon::join(
            || rayon::join(|| cpus(&ran), || Overview::of_events(index, &span_counts, span)),
            || rayon::join(|| others(&kinds, &ran, &waited), || Begun::count(&kinds, instances)),
        );
        let (mut overview, begun) = (overview?, begun?);
        let lanes = cpus.into_iter().chain(of_events_alone(&span_counts, &overview)).chain(others);
        let lanes: Vec<Lane> = lanes.collect();
        // Some lanes are as long as all others together: each is dealt out by itself.
        let mut filled: Vec<(Row, Content)> =
            lanes.into_par_iter().with_max_len(1).map(|lane| finished(lane, &begun)).collect();
        // Handlers of an actor stay together, in order of CPUs.
        let mut of_actor: HashMap<(Kind, Option<u32>), i64> = HashMap::new();
        for (row, _) in &filled {
            *of_actor.entry((row.kind, row.actor)).or_default() += row.ran;
        }
        filled.sort_by_key(|(row, _)| {
            let ran = if row.kind == Kind::Cpu { 0 } else { of_actor[&(row.kind, row.actor)] };
            (row.kind, -ran, row.actor, row.cpu)
        });
        let of_cpus = filled.iter().filter(|(row, _)| row.kind == Kind::Cpu);
        overview.take(of_cpus.filter_map(|(row, content)| Some((row.cpu?, &content.spans))));
        let (rows, contents) = filled.into_iter().unzip();
        Ok(Self::new(rows, contents, overview))
    }
}

type Lane = (Kind, Option<u32>, Option<u16>, Growing);

fn finished((kind, actor, cpu, spans): Lane, begun: &Begun) -> (Row, Content) {
    let instances = begun.of(kind, actor, cpu);
    let spans = disjoint(spans.into());
    let ran = spans.iter().filter(|s| runs(s.state)).map(|s| s.end - s.begin).sum();
    let first = spans.begin.first().copied().unwrap_or_default();
    let last = spans.end.last().copied().unwrap_or_default();
    (Row { kind, actor, cpu, instances, ran, first, last }, Content::new(spans))
}

/// Something of each handler and CPU.
struct OfHandlers<T>(Vec<Vec<(u16, T)>>);

impl<T: Default> OfHandlers<T> {
    /// `actors`: how many there are of all kinds.
    fn new(actors: usize) -> Self {
        Self((0..actors).map(|_| Vec::new()).collect())
    }

    #[inline]
    fn at(&mut self, actor: u32, cpu: u16) -> &mut T {
        let of = &mut self.0[actor as usize];
        let place = of.binary_search_by_key(&cpu, |&(cpu, _)| cpu).unwrap_or_else(|place| {
            of.insert(place, (cpu, T::default()));
            place
        });
        &mut of[place].1
    }
}

/// How many instances began: on each CPU, of each actor, and of handlers by both.
struct Begun {
    cpus: Vec<u64>,
    actors: Vec<u64>,
    handlers: OfHandlers<u64>,
}

impl Begun {
    fn count(kinds: &[u8], instances: &[RecordBatch]) -> Result<Self, Missing> {
        let mut cpus = vec![0; 1 << 16];
        let mut actors = vec![0; kinds.len()];
        let mut handlers = OfHandlers::new(kinds.len());
        for batch in instances {
            let of = numbers::<UInt32Type>(batch, "actor")?;
            for (&actor, &cpu) in of.iter().zip(&numbers::<UInt16Type>(batch, "cpu")?) {
                cpus[usize::from(cpu)] += 1;
                if let Some(count) = actors.get_mut(actor as usize) {
                    *count += 1;
                    if is_handler(kinds[actor as usize]) {
                        *handlers.at(actor, cpu) += 1;
                    }
                }
            }
        }
        Ok(Self { cpus, actors, handlers })
    }

    /// Those of a row.
    fn of(&self, kind: Kind, actor: Option<u32>, cpu: Option<u16>) -> u64 {
        match (kind, actor, cpu) {
            (Kind::Cpu, _, Some(cpu)) => self.cpus[usize::from(cpu)],
            (Kind::Thread, Some(actor), _) => self.actors[actor as usize],
            (_, Some(actor), Some(cpu)) => {
                let of = &self.handlers.0[actor as usize];
                of.binary_search_by_key(&cpu, |&(cpu, _)| cpu).map_or(0, |place| of[place].1)
            }
            _ => 0,
        }
    }
}

fn is_handler(state: u8) -> bool {
    matches!(state, state::IRQ | state::SOFTIRQ)
}

/// The state that each actor is in when it has a CPU.
fn kinds(actors: &[RecordBatch]) -> Result<Vec<u8>, Missing> {
    let mut states = Vec::new();
    for batch in actors {
        let kinds = batch.column_by_name("kind").and_then(|column| column.as_string_opt::<i32>());
        let kinds = kinds.ok_or_else(|| Missing("there is no column kind of text".into()))?;
        states.extend(kinds.iter().map(|kind| match kind {
            Some("idle") => state::IDLE,
            Some("irq") => state::IRQ,
            Some("softirq") => state::SOFTIRQ,
            _ => state::RUNNING,
        }));
    }
    Ok(states)
}

#[inline]
fn span(begin: i64, end: i64, origin: i64, actor: u32, state: u8) -> Span {
    let begin = begin.saturating_sub(origin);
    Span { begin, end: end.saturating_sub(origin).max(begin), actor, state }
}

/// The table `fragments`.
struct Ran<'a> {
    kinds: &'a [u8],
    origin: i64,
    batches: Vec<RanColumns>,
}

struct RanColumns {
    actor: ScalarBuffer<u32>,
    cpu: ScalarBuffer<u16>,
    begin: ScalarBuffer<i64>,
    end: ScalarBuffer<i64>,
}

impl<'a> Ran<'a> {
    fn new(kinds: &'a [u8], fragments: &[RecordBatch], origin: i64) -> Result<Self, Missing> {
        let columns = |batch| {
            Ok(RanColumns {
                actor: numbers::<UInt32Type>(batch, "actor")?,
                cpu: numbers::<UInt16Type>(batch, "cpu")?,
                begin: numbers::<Int64Type>(batch, "begin")?,
                end: numbers::<Int64Type>(batch, "end")?,
            })
        };
        let batches = fragments.iter().map(columns).collect::<Result<_, Missing>>()?;
        Ok(Self { kinds, origin, batches })
    }

    /// How many spans there are on each CPU.
    fn cpus(&self) -> Vec<usize> {
        count(self.batches.iter().flat_map(|batch| batch.cpu.iter().map(|&cpu| usize::from(cpu))))
    }

    fn actors(&self) -> impl Iterator<Item = u32> {
        self.batches.iter().flat_map(|batch| batch.actor.iter().copied())
    }

    /// The spans with their CPUs, in order of their ends.
    fn spans(&self) -> impl Iterator<Item = (u16, Span)> {
        self.batches.iter().flat_map(|batch| {
            (0..batch.actor.len()).map(|at| {
                let actor = batch.actor[at];
                let state = self.kinds.get(actor as usize).copied().unwrap_or(state::RUNNING);
                (batch.cpu[at], span(batch.begin[at], batch.end[at], self.origin, actor, state))
            })
        })
    }
}

/// The table `waits`.
struct Waited {
    origin: i64,
    batches: Vec<WaitedColumns>,
}

struct WaitedColumns {
    actor: ScalarBuffer<u32>,
    begin: ScalarBuffer<i64>,
    end: ScalarBuffer<i64>,
    state: ScalarBuffer<u8>,
}

impl Waited {
    fn new(waits: &[RecordBatch], origin: i64) -> Result<Self, Missing> {
        let columns = |batch| {
            Ok(WaitedColumns {
                actor: numbers::<UInt32Type>(batch, "actor")?,
                begin: numbers::<Int64Type>(batch, "begin")?,
                end: numbers::<Int64Type>(batch, "end")?,
                state: numbers::<UInt8Type>(batch, "state")?,
            })
        };
        Ok(Self { origin, batches: waits.iter().map(columns).collect::<Result<_, Missing>>()? })
    }

    fn actors(&self) -> impl Iterator<Item = u32> {
        self.batches.iter().flat_map(|batch| batch.actor.iter().copied())
    }

    /// In order of their ends.
    fn spans(&self) -> impl Iterator<Item = Span> {
        self.batches.iter().flat_map(|batch| {
            (0..batch.actor.len()).map(|at| {
                let state = state::of_wait(batch.state[at]);
                span(batch.begin[at], batch.end[at], self.origin, batch.actor[at], state)
            })
        })
    }
}

fn count(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = Vec::new();
    for number in numbers {
        if counts.len() <= number {
            counts.resize(number + 1, 0);
        }
        counts[number] += 1;
    }
    counts
}

fn cpus(ran: &Ran<'_>) -> Vec<Lane> {
    let mut lanes: Vec<Growing> = ran.cpus().into_iter().map(Growing::with_capacity).collect();
    ran.spans().for_each(|(cpu, span)| lanes[usize::from(cpu)].push(span));
    let used = (0..).zip(lanes).filter(|(_, spans)| !spans.is_empty());
    used.map(|(cpu, spans)| (Kind::Cpu, None, Some(cpu), spans)).collect()
}

/// The lanes of CPUs of which nothing but events is known: what ran there was not recorded. That of
/// `u16::MAX` has the events whose CPU is not known.
fn of_events_alone(ran: &[usize], overview: &Overview) -> impl Iterator<Item = Lane> {
    let cpus = overview.cpus().iter().copied();
    let alone = cpus.filter(|&cpu| ran.get(usize::from(cpu)).is_none_or(|&spans| spans == 0));
    alone.map(|cpu| (Kind::Cpu, None, Some(cpu), Growing::default()))
}

/// The lanes of handlers and threads.
fn others(kinds: &[u8], ran: &Ran<'_>, waited: &Waited) -> Vec<Lane> {
    let is_thread = |actor: u32| kinds.get(actor as usize) == Some(&state::RUNNING);
    let actors = ran.actors().chain(waited.actors()).filter(|&actor| is_thread(actor));
    let counts = count(actors.map(|actor| actor as usize));
    let mut threads: Vec<Growing> = counts.into_iter().map(Growing::with_capacity).collect();
    let mut handlers: OfHandlers<Growing> = OfHandlers::new(kinds.len());
    let mut waits = waited.spans().filter(|span| is_thread(span.actor)).peekable();
    for (cpu, span) in ran.spans() {
        match span.state {
            state::IRQ | state::SOFTIRQ => {
                handlers.at(span.actor, cpu).push(span);
            }
            state::RUNNING if is_thread(span.actor) => {
                // Both are in order of their ends: so each lane is, and its spans follow each other.
                let key = |span: &Span| (span.end, span.begin);
                while let Some(wait) = waits.next_if(|wait| key(wait) < key(&span)) {
                    threads[wait.actor as usize].push(wait);
                }
                threads[span.actor as usize].push(span);
            }
            _ => {}
        }
    }
    waits.for_each(|wait| threads[wait.actor as usize].push(wait));
    let handler = |(actor, of): (u32, Vec<(u16, Growing)>)| {
        let is_irq = kinds.get(actor as usize) == Some(&state::IRQ);
        let kind = if is_irq { Kind::Irq } else { Kind::Softirq };
        of.into_iter().map(move |(cpu, spans)| (kind, Some(actor), Some(cpu), spans))
    };
    let used = (0..).zip(threads).filter(|(_, spans)| !spans.is_empty());
    let thread = |(actor, spans)| (Kind::Thread, Some(actor), None, spans);
    (0..).zip(handlers.0).flat_map(handler).chain(used.map(thread)).collect()
}
