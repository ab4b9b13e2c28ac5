//! From units of a trace to tables: what all formats share.
//!
//! A format cuts its streams into *units* that decode on their own (packets of CTF, pages of
//! trace.dat). Units decode in parallel, each into its own columns; then the batches of every event
//! type are put one after the other, and the order in time is merged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt16Array};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use rayon::prelude::*;

use crate::columns::{self, Column};
use crate::index::{self, Index, Order};
use crate::select::Chosen;
use crate::{Damage, Error, EventType, Info, Loss, Result, Selection};

/// A format's decoder of an opened trace.
pub(crate) trait Source: Send + Sync {
    fn info(&self) -> &Info;

    /// The parts that decode on their own, by stream, and in order of time within each.
    fn units(&self) -> &[Unit];

    /// Decodes one unit: for each chosen event [`Rows::begin`], then one value to each of the
    /// columns that it returns, in order. Damage ends a unit or is passed over; it is never an error.
    fn decode(&self, unit: usize, chosen: &Chosen, rows: &mut Rows) -> Outcome;

    /// The name of what is at or last before a kernel address and how far before, when the trace has
    /// a table of them.
    fn symbol(&self, _address: u64) -> Option<(&str, u64)> {
        None
    }

    /// The format strings of `trace_printk` by their addresses.
    fn printk_formats(&self) -> Vec<(u64, String)> {
        Vec::new()
    }

    /// Times before and after which a unit has no event, where that is known without decoding it.
    fn span(&self, _unit: usize) -> (Option<i64>, Option<i64>) {
        (None, None)
    }
}

/// A part of a stream. At most 512 MB, so that offsets within a column fit into 32 bits.
pub(crate) struct Unit {
    pub(crate) stream: usize,
    pub(crate) cpu: Option<u16>,
    /// Bytes of the file, for waves and for estimates.
    pub(crate) bytes: u64,
}

/// The largest unit that a format may make.
pub(crate) const MOST_UNIT_BYTES: u64 = 512 << 20;

/// What was seen on the way through a unit.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Losses; one without a beginning is given the time of the stream's event before this unit.
    pub(crate) losses: Vec<Loss>,
    pub(crate) damage: Vec<Damage>,
    /// Remarks on faults of the producer that cost no events: time that goes back, and the like.
    pub(crate) notes: Vec<String>,
    /// All events of the unit, chosen or not.
    pub(crate) events: u64,
    /// By type those that are not chosen, in formats that count them: (type, how many).
    pub(crate) passed: Vec<(usize, u64)>,
    /// Times of the first and last event, chosen or not.
    pub(crate) span: Option<(i64, i64)>,
}

/// The rows of one unit.
pub(crate) struct Rows<'a> {
    info: &'a Info,
    chosen: &'a Chosen,
    tables: Vec<Option<Box<Growing>>>,
    pub(crate) order: Order,
    ordered: bool,
}

struct Growing {
    time: Vec<i64>,
    columns: Vec<Column>,
}

impl<'a> Rows<'a> {
    fn new(info: &'a Info, chosen: &'a Chosen, ordered: bool) -> Self {
        let mut tables = Vec::new();
        tables.resize_with(info.events.len(), || None);
        Self { info, chosen, tables, order: Order::default(), ordered }
    }

    /// A new row for an event that is chosen; the caller pushes one value to each column.
    #[inline]
    pub(crate) fn begin(&mut self, event: usize, time: i64) -> &mut [Column] {
        if self.ordered {
            self.order.push(time, event as u16);
        }
        if self.tables[event].is_none() {
            self.tables[event] = Some(self.growing(event));
        }
        let table = self.tables[event].as_mut().expect("made above");
        table.time.push(time);
        &mut table.columns
    }

    /// The times and columns of a chosen event, for formats that read the records of a type
    /// together, column by column; [`Rows::note`] puts each into the order of time.
    pub(crate) fn table(&mut self, event: usize) -> (&mut Vec<i64>, &mut [Column]) {
        if self.tables[event].is_none() {
            self.tables[event] = Some(self.growing(event));
        }
        let table = self.tables[event].as_mut().expect("made above");
        (&mut table.time, &mut table.columns)
    }

    /// Notes that the next event in order of time is of this type, see [`Rows::table`].
    #[inline]
    pub(crate) fn note(&mut self, event: usize, time: i64) {
        if self.ordered {
            self.order.push(time, event as u16);
        }
    }

    #[cold]
    fn growing(&self, event: usize) -> Box<Growing> {
        let fields = &self.info.events[event].fields;
        let chosen = self.chosen.fields(event).unwrap_or_default();
        let columns = chosen.iter().map(|&at| Column::new(&fields[at].column, 0)).collect();
        Box::new(Growing { time: Vec::new(), columns })
    }

    /// Takes back the row that was begun last: its event is cut short.
    pub(crate) fn abandon(&mut self, event: usize) {
        if let Some(table) = &mut self.tables[event] {
            table.time.pop();
            let length = table.time.len();
            table.columns.iter_mut().for_each(|column| column.truncate(length));
            if self.ordered {
                self.order.pop();
            }
        }
    }

    fn finish(
        mut self,
        cpu: Option<u16>,
        schemas: &[SchemaRef],
    ) -> (Vec<(usize, RecordBatch)>, Order) {
        let mut batches = Vec::new();
        self.order.shrink();
        for (event, table) in self.tables.into_iter().enumerate() {
            if let Some(mut table) = table.filter(|table| !table.time.is_empty()) {
                let count = table.time.len();
                table.time.shrink_to_fit();
                let cpu = match cpu {
                    Some(cpu) => UInt16Array::from_value(cpu, count),
                    None => UInt16Array::new_null(count),
                };
                let time: ArrayRef = Arc::new(Int64Array::from(table.time));
                let columns = [time, Arc::new(cpu)]
                    .into_iter()
                    .chain(table.columns.into_iter().map(Column::finish))
                    .collect();
                let options = RecordBatchOptions::new().with_row_count(Some(count));
                let batch = RecordBatch::try_new_with_options(
                    Arc::clone(&schemas[event]),
                    columns,
                    &options,
                );
                batches.push((event, batch.expect("columns are made from the schema's fields")));
            }
        }
        (batches, self.order)
    }
}

/// How to decode.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether the order of all chosen events in time is made too: 16 bytes an event.
    pub index: bool,
    /// Only events at these times are decoded, and only what has to be read for them is seen:
    /// events, span and losses of the result are those of that part.
    pub times: Option<Range<i64>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { index: true, times: None }
    }
}

/// The events of one type.
#[derive(Debug, Clone)]
pub struct Table {
    /// The type, an index into [`Info::events`].
    pub event: usize,
    /// `time` (Int64, nanoseconds of the trace's clock), `cpu` (UInt16), then the chosen fields.
    pub schema: SchemaRef,
    /// By stream, and in order of time within each.
    pub batches: Vec<RecordBatch>,
}

/// What decoding gives.
#[derive(Debug)]
pub struct Decoded {
    /// One for each chosen event type, also for those without events.
    pub tables: Vec<Table>,
    /// The chosen events in order of time, when asked for.
    pub index: Option<Index>,
    /// What is missing, in order of streams.
    pub losses: Vec<Loss>,
    /// What could not be decoded.
    pub damage: Vec<Damage>,
    /// Remarks: those of [`Info::notes`], and what was seen on the way.
    pub notes: Vec<String>,
    /// All events that were seen, chosen or not.
    pub events: u64,
    /// By type how many of them are not chosen; 0 in formats that do not count those (all but CTF).
    pub passed: Vec<u64>,
    /// One more than the highest CPU that had any of them.
    pub cpus: usize,
    /// Times of the first and last of them.
    pub span: Option<(i64, i64)>,
}

/// How many events a trace has.
#[derive(Debug)]
pub struct Counted {
    /// What else decoding gives, without tables.
    pub decoded: Decoded,
    /// By type, as the place in [`Info::events`].
    pub types: Vec<u64>,
    /// By CPU, of those that have any; `None`: not known.
    pub cpus: BTreeMap<Option<u16>, u64>,
}

/// The Arrow schema of an event type's table, with the chosen fields.
fn schema(event: &EventType, chosen: &[usize]) -> SchemaRef {
    let own = chosen.iter().map(|&at| &event.fields[at]).map(|field| {
        ArrowField::new(&field.name, columns::arrow_type(&field.column), field.nullable)
    });
    let common = [
        ArrowField::new("time", DataType::Int64, false),
        ArrowField::new("cpu", DataType::UInt16, true),
    ];
    Arc::new(Schema::new(common.into_iter().chain(own).collect::<Vec<_>>()))
}

/// A decoded unit.
struct Part {
    stream: usize,
    cpu: Option<u16>,
    batches: Vec<(usize, RecordBatch)>,
    order: Order,
    outcome: Outcome,
}

struct Work<'a> {
    source: &'a dyn Source,
    chosen: Chosen,
    schemas: Vec<SchemaRef>,
    ordered: bool,
}

impl<'a> Work<'a> {
    fn new(
        source: &'a dyn Source,
        selection: &Selection,
        ordered: bool,
        times: Option<Range<i64>>,
    ) -> Result<Self> {
        let info = source.info();
        if info.events.len() > usize::from(u16::MAX) {
            return Err(Error::TooMuch(format!("{} event types", info.events.len())));
        }
        let chosen = selection.resolve(info, times);
        let schemas = info.events.iter().enumerate();
        let schemas =
            schemas.map(|(at, e)| schema(e, chosen.fields(at).unwrap_or_default())).collect();
        Ok(Self { source, chosen, schemas, ordered })
    }

    /// Whether a unit may have events at the times that are chosen.
    fn meets(&self, at: usize) -> bool {
        let Some(times) = self.chosen.times() else { return true };
        let (begin, end) = self.source.span(at);
        begin.is_none_or(|begin| begin < times.end) && end.is_none_or(|end| times.start <= end)
    }

    fn part(&self, at: usize) -> Part {
        let unit = &self.source.units()[at];
        let mut rows = Rows::new(self.source.info(), &self.chosen, self.ordered);
        let outcome = self.source.decode(at, &self.chosen, &mut rows);
        let (batches, order) = rows.finish(unit.cpu, &self.schemas);
        Part { stream: unit.stream, cpu: unit.cpu, batches, order, outcome }
    }

    fn result(&self) -> Decoded {
        let tables = self.schemas.iter().enumerate();
        Decoded {
            tables: tables
                .filter(|(event, _)| self.chosen.fields(*event).is_some())
                .map(|(event, schema)| Table { event, schema: schema.clone(), batches: vec![] })
                .collect(),
            index: None,
            losses: self.source.info().losses.clone(),
            damage: self.source.info().damage.clone(),
            notes: self.source.info().notes.clone(),
            events: 0,
            passed: vec![0; self.schemas.len()],
            cpus: 0,
            span: None,
        }
    }
}

/// Times of the last event of each stream so far, for losses that began in an earlier unit.
struct Ends(Vec<Option<i64>>);

impl Ends {
    fn add(&mut self, result: &mut Decoded, part: &mut Part) {
        let outcome = std::mem::take(&mut part.outcome);
        let before = &mut self.0[part.stream];
        result.losses.extend(outcome.losses.into_iter().map(|mut loss| {
            loss.begin = loss.begin.or(*before);
            loss
        }));
        result.damage.extend(outcome.damage);
        result.notes.extend(outcome.notes);
        result.events += outcome.events;
        for (event, count) in outcome.passed {
            result.passed[event] += count;
        }
        if let Some(cpu) = part.cpu.filter(|_| outcome.events > 0) {
            result.cpus = result.cpus.max(usize::from(cpu) + 1);
        }
        if let Some((first, last)) = outcome.span {
            *before = Some(last);
            let (a, b) = result.span.unwrap_or((first, last));
            result.span = Some((a.min(first), b.max(last)));
        }
    }
}

/// How many events there are, see [`crate::Trace::count`].
pub(crate) fn counted(source: &dyn Source) -> Result<Counted> {
    let names = source.info().events.iter().map(|event| event.name.as_str());
    let every = names.fold(Selection::nothing(), |chosen, name| chosen.event(name, Some(&[])));
    let work = Work::new(source, &every, false, None)?;
    // Of each unit only the numbers stay.
    let count = |at| {
        let mut part = work.part(at);
        let rows = std::mem::take(&mut part.batches);
        let rows = rows.into_iter().map(|(event, batch)| (event, batch.num_rows() as u64));
        (part, rows.collect::<Vec<_>>())
    };
    let units = (0..source.units().len()).into_par_iter().with_max_len(1);
    let parts: Vec<(Part, Vec<(usize, u64)>)> = units.map(count).collect();
    let mut decoded = work.result();
    decoded.tables.clear();
    let mut types = vec![0; source.info().events.len()];
    let mut cpus = BTreeMap::new();
    let mut ends = Ends(vec![None; source.info().streams.len()]);
    for (mut part, rows) in parts {
        ends.add(&mut decoded, &mut part);
        for (event, count) in rows {
            types[event] += count;
            *cpus.entry(part.cpu).or_default() += count;
        }
    }
    Ok(Counted { decoded, types, cpus })
}

/// Everything in memory, see [`crate::Trace::decode`].
pub(crate) fn all(
    source: &dyn Source,
    selection: &Selection,
    options: &Options,
) -> Result<Decoded> {
    let work = Work::new(source, selection, options.index, options.times.clone())?;
    let units: Vec<usize> = (0..source.units().len()).filter(|&at| work.meets(at)).collect();
    let mut parts: Vec<Part> =
        units.into_par_iter().with_max_len(1).map(|at| work.part(at)).collect();
    let mut result = work.result();
    let mut ends = Ends(vec![None; source.info().streams.len()]);
    parts.iter_mut().for_each(|part| ends.add(&mut result, part));
    if options.index {
        let orders = parts.iter_mut().map(|p| (p.stream, p.cpu, std::mem::take(&mut p.order)));
        result.index = Some(index::merge(orders.collect(), source.info().events.len())?);
    }
    let mut places = vec![usize::MAX; source.info().events.len()];
    for (place, table) in result.tables.iter().enumerate() {
        places[table.event] = place;
    }
    for (event, batch) in parts.into_iter().flat_map(|part| part.batches) {
        result.tables[places[event]].batches.push(batch);
    }
    Ok(result)
}

/// A bounded part of the file at a time, see [`crate::Trace::stream`].
pub(crate) fn in_waves(
    source: &dyn Source,
    selection: &Selection,
    wave_bytes: u64,
    sink: &mut dyn FnMut(&EventType, RecordBatch) -> Result<()>,
) -> Result<Decoded> {
    let work = Work::new(source, selection, false, None)?;
    let mut result = work.result();
    let mut ends = Ends(vec![None; source.info().streams.len()]);
    let units = source.units();
    let mut next = 0;
    while next < units.len() {
        let mut end = next;
        let mut bytes = 0;
        while end < units.len() && (end == next || bytes + units[end].bytes <= wave_bytes) {
            bytes += units[end].bytes;
            end += 1;
        }
        let mut parts: Vec<Part> =
            (next..end).into_par_iter().with_max_len(1).map(|at| work.part(at)).collect();
        for part in &mut parts {
            ends.add(&mut result, part);
        }
        for (event, batch) in parts.into_iter().flat_map(|part| part.batches) {
            sink(&source.info().events[event], batch)?;
        }
        next = end;
    }
    Ok(result)
}

/// Times of the first and last event of the trace, without decoding what lies between.
pub(crate) fn span(source: &dyn Source) -> Result<Option<(i64, i64)>> {
    let work = Work::new(source, &Selection::nothing(), false, None)?;
    let units = source.units();
    let mut first: Vec<Option<(i64, i64)>> = vec![None; source.info().streams.len()];
    let mut last = first.clone();
    let ahead = 0..units.len();
    for (ends, order) in [
        (&mut first, ahead.clone().collect::<Vec<_>>()),
        (&mut last, ahead.rev().collect::<Vec<_>>()),
    ] {
        for at in order {
            let end = &mut ends[units[at].stream];
            if end.is_none() {
                *end = work.part(at).outcome.span;
            }
        }
    }
    let begin = first.iter().flatten().map(|span| span.0).min();
    Ok(begin.zip(last.iter().flatten().map(|span| span.1).max()))
}
