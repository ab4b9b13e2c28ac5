//! The events of a trace in order of time, a slice of time at a time: only what is asked for is
//! decoded, and memory does not grow with the trace.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use memchr::memmem;
use rayon::prelude::*;
use tracefile::{Damage, Decoded, Index, Loss, Options, Result, Selection, Trace};

use crate::cells::Column;
use crate::conversion::{decimal, padded};
use crate::texts::{Batches, Moment, Texts};
use crate::threads::{Threads, UNKNOWN};

/// Which events are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The types, by their numbers; `None`: all.
    pub events: Option<HashSet<usize>>,
    /// The threads; `None`: all.
    pub threads: Option<HashSet<i32>>,
    /// The CPUs; `None`: all.
    pub cpus: Option<HashSet<u16>>,
    /// Only events whose text has this in it.
    pub text: Option<String>,
}

/// Chooses threads by their names.
pub type Choose<'a> = &'a dyn Fn(&Threads) -> HashSet<i32>;

/// Bytes of the trace that are decoded together, of long listings.
const SLICE: u64 = 6 << 20;
/// And at first, where only some events are wanted.
const FIRST_SLICE: u64 = 1 << 20;
/// Events whose texts are made together.
const PART: usize = 1 << 14;
/// Bytes of a text that are shown.
const LONGEST: usize = 10_000;

/// A listing that goes on through a trace.
pub struct Listing {
    trace: Arc<Trace>,
    texts: Arc<Texts>,
    filter: Filter,
    threads: Threads,
    times: Range<i64>,
    /// Bytes of the next slice, and bytes of the trace in a nanosecond; `None`: all at once.
    slice: Option<(u64, f64)>,
    /// What was lost in the part that was listed so far.
    pub losses: Vec<Loss>,
    /// What could not be decoded of it.
    pub damage: Vec<Damage>,
    /// Memory of chunks that are done with: writing to new memory costs more than the texts.
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Some events as columns of equal length.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Nanoseconds of the trace's clock.
    pub time: Vec<i64>,
    /// [`Index::NO_CPU`] where it is not known.
    pub cpu: Vec<u16>,
    /// -1 where it is not known.
    pub thread: Vec<i32>,
    /// The type.
    pub event: Vec<u16>,
    /// Where each text ends in `text`.
    pub ends: Vec<usize>,
    /// All texts, or lines. What is no UTF-8 in the trace was replaced.
    pub text: Vec<u8>,
    /// Lines that a terminal must not be given as they are: what is not plain ASCII, and very long
    /// ones.
    pub doubtful: Vec<(usize, usize)>,
}

/// What is made of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// The text of its fields.
    Text,
    /// A line: thread, CPU, seconds, event, fields.
    Line,
}

impl Listing {
    /// Of the events at some times of a trace; `few` when only the first ones are wanted.
    /// `named` is called with the threads of the trace where the filter depends on their names.
    ///
    /// # Errors
    /// Those of [`Trace::decode`].
    pub fn new(
        trace: Arc<Trace>,
        texts: Arc<Texts>,
        mut filter: Filter,
        span: (i64, i64),
        times: Range<i64>,
        few: bool,
        named: Option<Choose<'_>>,
    ) -> Result<Self> {
        let mut threads = Threads::new(trace.info());
        if named.is_some() || threads.switches().is_some() && times.start > span.0 {
            threads.read_ahead(&trace, times.start)?;
        }
        if let Some(named) = named {
            threads.read_names(&trace)?;
            let more = named(&threads);
            filter.threads.get_or_insert_default().extend(more);
        }
        let length = (i128::from(span.1) - i128::from(span.0) + 1) as f64;
        let density = trace.bytes() as f64 / length;
        let slice = trace.sliceable().then_some((if few { FIRST_SLICE } else { SLICE }, density));
        Ok(Self {
            trace,
            texts,
            filter,
            threads,
            times,
            slice,
            losses: Vec::new(),
            damage: Vec::new(),
            spare: Mutex::default(),
        })
    }

    /// The next events in a few chunks, perhaps none; `None` at the end.
    ///
    /// # Errors
    /// Those of [`Trace::decode`].
    pub fn advance(&mut self, made: Made) -> Result<Option<Vec<Chunk>>> {
        if self.times.is_empty() {
            return Ok(None);
        }
        let mut slice = self.times.clone();
        if let Some((bytes, density)) = &mut self.slice {
            let length = (*bytes as f64 / *density).max(1.0) as i64;
            slice.end = slice.start.saturating_add(length).min(self.times.end);
            *bytes = (*bytes * 2).min(SLICE);
        }
        self.times.start = slice.end;
        let options = Options { index: true, times: Some(slice) };
        let mut decoded = self.trace.decode(&self.selection(), &options)?;
        self.losses.append(&mut decoded.losses);
        self.damage.append(&mut decoded.damage);
        let index = decoded.index.take().unwrap_or_default();
        Ok(Some(self.chunks(&decoded, &index, made)))
    }

    /// Takes the memory of a chunk back that is done with.
    pub fn done(&self, chunk: Chunk) {
        let mut text = chunk.text;
        text.clear();
        self.spare.lock().expect("nothing panics while it is held").push(text);
    }

    /// The threads as far as they are known by now.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    fn chosen(&self, event: usize) -> bool {
        self.filter.events.as_ref().is_none_or(|events| events.contains(&event))
    }

    fn selection(&self) -> Selection {
        let events = self.trace.info().events.iter().enumerate();
        let switches = self.threads.switches();
        events.fold(Selection::nothing(), |selection, (at, event)| {
            let mut fields = if self.chosen(at) { self.texts.fields(at) } else { Vec::new() };
            fields.extend(self.threads.field(at).map(str::to_owned));
            fields.extend(self.threads.name_field(at).map(str::to_owned));
            match switches {
                Some((number, needed)) if number == at => fields.extend(needed.iter().cloned()),
                _ if !self.chosen(at) => return selection,
                _ => {}
            }
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            selection.event(&event.name, Some(&fields))
        })
    }

    fn chunks(&mut self, decoded: &Decoded, index: &Index, made: Made) -> Vec<Chunk> {
        let tables: HashMap<usize, &[_]> = decoded
            .tables
            .iter()
            .filter(|table| !table.batches.is_empty())
            .map(|table| (table.event, table.batches.as_slice()))
            .collect();
        tables.iter().for_each(|(&event, batches)| self.threads.learn_names(event, batches));
        let mut thread = Vec::new();
        if let Some((number, _)) = self.threads.switches() {
            let batches = tables.get(&number).copied().unwrap_or_default();
            let events = (0..index.len()).map(|at| (index.cpu[at], index.event[at], index.row[at]));
            thread.reserve(index.len());
            self.threads.follow(batches, events, |running| thread.push(running));
        }
        let ready: HashMap<u16, Ready<'_>> = tables
            .iter()
            .filter(|(event, _)| self.chosen(**event))
            .map(|(&event, &batches)| {
                let field = self.threads.field(event);
                let threads = field.map(|field| {
                    let column =
                        |batch: &'_ arrow_array::RecordBatch| batch.column_by_name(field).cloned();
                    batches.iter().map(column).collect()
                });
                let texts = self.texts.batches(event, batches);
                (event as u16, Ready { texts, threads: threads.unwrap_or_default() })
            })
            .collect();
        let mut by_event: Vec<Option<&Ready<'_>>> = Vec::new();
        by_event.resize_with(self.trace.info().events.len(), || None);
        ready.iter().for_each(|(&event, of)| by_event[usize::from(event)] = Some(of));
        let part = |begin: usize| {
            let range = begin..(begin + PART).min(index.len());
            self.part(index, range, &by_event, &thread, made)
        };
        (0..index.len()).into_par_iter().step_by(PART).map(part).collect()
    }

    fn part(
        &self,
        index: &Index,
        range: Range<usize>,
        ready: &[Option<&Ready<'_>>],
        running: &[i32],
        made: Made,
    ) -> Chunk {
        let spare = self.spare.lock().expect("nothing panics while it is held").pop();
        let mut chunk = Chunk { text: spare.unwrap_or_default(), ..Chunk::default() };
        let names: Vec<&[u8]> =
            self.trace.info().events.iter().map(|event| event.name.as_bytes()).collect();
        let mut labels: HashMap<i32, Vec<u8>> = HashMap::new();
        let threads: Vec<Vec<Option<Column<'_>>>> = ready
            .iter()
            .map(|of| match of {
                Some(of) => {
                    of.threads.iter().map(|c| c.as_ref().map(|c| Column::new(c.as_ref()))).collect()
                }
                None => Vec::new(),
            })
            .collect();
        let finder = self.filter.text.as_ref().map(|text| memmem::Finder::new(text.as_bytes()));
        for at in range {
            let (cpu, event, row) = (index.cpu[at], index.event[at], index.row[at] as usize);
            let Some(of) = ready[usize::from(event)] else { continue };
            if self.filter.cpus.as_ref().is_some_and(|cpus| !cpus.contains(&cpu)) {
                continue;
            }
            let (batch, inside) = of.texts.place(row);
            let own = threads[usize::from(event)].get(batch).and_then(Option::as_ref);
            let thread = match own {
                Some(column) => column.get(inside).int().map_or(UNKNOWN, |thread| thread as i32),
                None => running.get(at).copied().unwrap_or(UNKNOWN),
            };
            if self.filter.threads.as_ref().is_some_and(|threads| !threads.contains(&thread)) {
                continue;
            }
            let begin = chunk.text.len();
            if made == Made::Line {
                let label = labels.entry(thread).or_insert_with(|| self.label(thread));
                head(&mut chunk.text, label, cpu, index.time[at], names[usize::from(event)]);
            }
            let text = chunk.text.len();
            let moment = Moment { time: index.time[at], thread };
            self.texts.write(&mut chunk.text, usize::from(event), &of.texts, row, moment);
            if finder.as_ref().is_some_and(|finder| finder.find(&chunk.text[text..]).is_none()) {
                chunk.text.truncate(begin);
                continue;
            }
            if made == Made::Line {
                let line = &chunk.text[begin..];
                // Without an end before the last byte: many are looked at together.
                let is_plain = line.iter().fold(true, |plain, c| plain & (32..127).contains(c));
                if line.len() > LONGEST || !is_plain {
                    chunk.doubtful.push((begin, chunk.text.len()));
                }
                chunk.text.push(b'\n');
            }
            chunk.time.push(index.time[at]);
            chunk.cpu.push(cpu);
            chunk.thread.push(thread);
            chunk.event.push(event);
            chunk.ends.push(chunk.text.len());
        }
        chunk
    }

    fn label(&self, thread: i32) -> Vec<u8> {
        let label = match thread {
            UNKNOWN => "?".to_owned(),
            _ => format!("{}-{thread}", self.threads.name(thread).unwrap_or("<...>")),
        };
        format!("{label:>22}").into_bytes()
    }
}

/// Writes what stands before the fields of an event.
fn head(line: &mut Vec<u8>, label: &[u8], cpu: u16, time: i64, event: &[u8]) {
    line.extend_from_slice(label);
    match cpu {
        Index::NO_CPU => line.extend_from_slice(b" [ ? ] "),
        cpu => {
            line.extend_from_slice(b" [");
            padded(line, u64::from(cpu), if cpu < 1000 { 3 } else { 5 });
            line.extend_from_slice(b"] ");
        }
    }
    if time < 0 {
        line.push(b'-');
    }
    let time = time.unsigned_abs();
    decimal(line, time / 1_000_000_000);
    line.push(b'.');
    padded(line, time % 1_000_000_000, 9);
    line.extend_from_slice(b": ");
    line.extend_from_slice(event);
    line.extend_from_slice(b": ");
}

impl Chunk {
    /// Keeps only the first events.
    pub fn cut(&mut self, most: usize) {
        self.time.truncate(most);
        self.cpu.truncate(most);
        self.thread.truncate(most);
        self.event.truncate(most);
        self.ends.truncate(most);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        self.doubtful.retain(|&(_, end)| end <= self.text.len());
    }
}

/// A type's events of a slice, ready to be written.
struct Ready<'a> {
    texts: Batches<'a>,
    /// The column that tells the thread, of each batch.
    threads: Vec<Option<arrow_array::ArrayRef>>,
}
