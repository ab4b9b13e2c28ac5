//! From the tables of an analysis to the rows of the time line.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type, UInt16Type, UInt32Type};
use rayon::prelude::*;

use crate::columns::{Missing, numbers};
use crate::forest::{Forest, Kind, Level, Place, Row, Spans};
use crate::lane::{Span, disjoint};
use crate::level::{Entry, levels};
use crate::overview::Overview;
use crate::state::{self, runs};

/// A row with all that belongs to it.
struct Made {
    row: Row,
    spans: Vec<Span>,
    levels: Vec<(u32, Vec<Entry>)>,
}

impl Forest {
    /// The time line of an analysed trace.
    ///
    /// `actors`, `fragments`, `waits`: tables of [`traceanalysis::Tables`]; `index`: all events in
    /// order of time; `span`: times of the first and last event, in nanoseconds of the trace's clock.
    ///
    /// # Errors
    /// [`Missing`] when one is not such a table.
    pub fn build(
        actors: &[RecordBatch],
        fragments: &[RecordBatch],
        waits: &[RecordBatch],
        index: &[RecordBatch],
        span: (i64, i64),
    ) -> Result<Self, Missing> {
        let kinds = kinds(actors)?;
        let (cpus, others) = rayon::join(
            || cpus(&kinds, fragments, span.0),
            || {
                let mut found = handlers(&kinds, fragments, span.0)?;
                found.extend(threads(&kinds, fragments, waits, span.0)?);
                Ok::<_, Missing>(found)
            },
        );
        let mut rows = cpus?;
        rows.extend(others?);
        let mut made: Vec<Made> = rows
            .into_par_iter()
            .map(|(kind, actor, cpu, spans)| finished(kind, actor, cpu, spans))
            .collect();
        // Handlers of an actor stay together, in order of CPUs.
        let mut of_actor: HashMap<(Kind, Option<u32>), i64> = HashMap::new();
        for Made { row, .. } in &made {
            *of_actor.entry((row.kind, row.actor)).or_default() += row.ran;
        }
        made.sort_by_key(|Made { row, .. }| {
            let ran = if row.kind == Kind::Cpu { 0 } else { of_actor[&(row.kind, row.actor)] };
            (row.kind, -ran, row.actor, row.cpu)
        });
        let overview = Overview::build(made.iter().map(|m| (&m.row, &*m.spans)), index, span)?;
        Ok(forest(made, overview))
    }
}

type Lane = (Kind, Option<u32>, Option<u16>, Vec<Span>);

fn finished(kind: Kind, actor: Option<u32>, cpu: Option<u16>, spans: Vec<Span>) -> Made {
    let spans = disjoint(spans);
    let ran = spans.iter().filter(|s| runs(s.state)).map(|s| s.end - s.begin).sum();
    let first = spans.first().map_or(0, |span| span.begin);
    let last = spans.last().map_or(0, |span| span.end);
    let levels = levels(&spans);
    Made { row: Row { kind, actor, cpu, ran, first, last }, spans, levels }
}

/// The state that each actor is in when it has a CPU.
fn kinds(actors: &[RecordBatch]) -> Result<Vec<u8>, Missing> {
    let mut found = Vec::new();
    for batch in actors {
        let kinds = batch.column_by_name("kind").and_then(|column| column.as_string_opt::<i32>());
        let kinds = kinds.ok_or_else(|| Missing("there is no column kind of text".into()))?;
        found.extend(kinds.iter().map(|kind| match kind {
            Some("idle") => state::IDLE,
            Some("irq") => state::IRQ,
            Some("softirq") => state::SOFTIRQ,
            _ => state::RUNNING,
        }));
    }
    Ok(found)
}

/// Gives each span on a CPU with that CPU, in order of their ends.
fn fragments_of(
    kinds: &[u8],
    fragments: &[RecordBatch],
    origin: i64,
    mut receive: impl FnMut(u16, Span),
) -> Result<(), Missing> {
    for batch in fragments {
        let actors = numbers::<UInt32Type>(batch, "actor")?;
        let cpus = numbers::<UInt16Type>(batch, "cpu")?;
        let begins = numbers::<Int64Type>(batch, "begin")?;
        let ends = numbers::<Int64Type>(batch, "end")?;
        for at in 0..batch.num_rows() {
            let actor = actors[at];
            let state = kinds.get(actor as usize).copied().unwrap_or(state::RUNNING);
            receive(cpus[at], span(begins[at], ends[at], origin, actor, state));
        }
    }
    Ok(())
}

#[inline]
fn span(begin: i64, end: i64, origin: i64, actor: u32, state: u8) -> Span {
    let begin = begin.saturating_sub(origin);
    Span { begin, end: end.saturating_sub(origin).max(begin), actor, state }
}

fn cpus(kinds: &[u8], fragments: &[RecordBatch], origin: i64) -> Result<Vec<Lane>, Missing> {
    let mut lanes: Vec<Vec<Span>> = Vec::new();
    fragments_of(kinds, fragments, origin, |cpu, span| {
        let cpu = usize::from(cpu);
        if lanes.len() <= cpu {
            lanes.resize_with(cpu + 1, Vec::new);
        }
        lanes[cpu].push(span);
    })?;
    let used = lanes.into_iter().enumerate().filter(|(_, spans)| !spans.is_empty());
    Ok(used.map(|(cpu, spans)| (Kind::Cpu, None, Some(cpu as u16), spans)).collect())
}

fn handlers(kinds: &[u8], fragments: &[RecordBatch], origin: i64) -> Result<Vec<Lane>, Missing> {
    let mut lanes: HashMap<(u32, u16), Vec<Span>> = HashMap::new();
    fragments_of(kinds, fragments, origin, |cpu, span| {
        if matches!(span.state, state::IRQ | state::SOFTIRQ) {
            lanes.entry((span.actor, cpu)).or_default().push(span);
        }
    })?;
    let lane = |((actor, cpu), spans): ((u32, u16), Vec<Span>)| {
        let kind = if spans[0].state == state::IRQ { Kind::Irq } else { Kind::Softirq };
        (kind, Some(actor), Some(cpu), spans)
    };
    Ok(lanes.into_iter().map(lane).collect())
}

fn threads(
    kinds: &[u8],
    fragments: &[RecordBatch],
    waits: &[RecordBatch],
    origin: i64,
) -> Result<Vec<Lane>, Missing> {
    let mut lanes: Vec<Vec<Span>> = vec![Vec::new(); kinds.len()];
    fragments_of(kinds, fragments, origin, |_, span| {
        if span.state == state::RUNNING
            && let Some(lane) = lanes.get_mut(span.actor as usize)
        {
            lane.push(span);
        }
    })?;
    for batch in waits {
        let actors = numbers::<UInt32Type>(batch, "actor")?;
        let begins = numbers::<Int64Type>(batch, "begin")?;
        let ends = numbers::<Int64Type>(batch, "end")?;
        let states = numbers::<UInt8Type>(batch, "state")?;
        for at in 0..batch.num_rows() {
            let actor = actors[at];
            if kinds.get(actor as usize) == Some(&state::RUNNING) {
                let waited = state::of_wait(states[at]);
                lanes[actor as usize].push(span(begins[at], ends[at], origin, actor, waited));
            }
        }
    }
    let seen = lanes.into_iter().enumerate().filter(|(_, spans)| !spans.is_empty());
    Ok(seen.map(|(actor, spans)| (Kind::Thread, Some(actor as u32), None, spans)).collect())
}

/// All rows one behind the other in columns.
fn forest(made: Vec<Made>, overview: Overview) -> Forest {
    let (mut items, mut entries) = (0, 0);
    let places = made.iter().map(|one| {
        let from = items;
        items += one.spans.len();
        let levels = one.levels.iter().map(|(shift, of)| {
            let from = entries;
            entries += of.len();
            Level { shift: *shift, from, to: entries }
        });
        Place { from, levels: levels.collect(), to: items }
    });
    let places: Vec<Place> = places.collect();
    let spans = || made.iter().flat_map(|one| &one.spans);
    let levels = || made.iter().flat_map(|one| one.levels.iter().flat_map(|(_, of)| of));
    let (items, (spans_of_entries, (count, ran))) = rayon::join(
        || columns(items, spans),
        || {
            let marked = || {
                let mut count = Vec::with_capacity(entries);
                let mut ran = Vec::with_capacity(entries);
                levels().for_each(|entry| {
                    count.push(entry.count);
                    ran.push(entry.ran);
                });
                (count, ran)
            };
            (columns(entries, || levels().map(|entry| &entry.span)), marked())
        },
    );
    Forest {
        rows: made.iter().map(|one| one.row).collect(),
        places,
        items,
        entries: spans_of_entries,
        count: count.into(),
        ran: ran.into(),
        overview,
    }
}

fn columns<'a, I: Iterator<Item = &'a Span>>(length: usize, spans: impl Fn() -> I) -> Spans {
    let mut begin = Vec::with_capacity(length);
    let mut end = Vec::with_capacity(length);
    let mut actor = Vec::with_capacity(length);
    let mut state = Vec::with_capacity(length);
    for span in spans() {
        begin.push(span.begin);
        end.push(span.end);
        actor.push(span.actor);
        state.push(span.state);
    }
    Spans { begin: begin.into(), end: end.into(), actor: actor.into(), state: state.into() }
}
