//! The events of a trace in order of time, a slice of time at a time: only what is asked for is
//! decoded, and memory does not grow with the trace.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use memchr::memmem;
use rayon::prelude::*;
use tracefile::{Damage, Decoded, Index, Loss, Options, Result, Selection, Trace};

use crate::cells::Column;
use crate::chunk::{Chunk, Filter, LONGEST, Made};
use crate::direct::{Direct, Spare};
use crate::head::{Cpus, Heads};
use crate::lines::{BlockText, Lines, is_plain};
use crate::texts::{Batches, Moment, Texts};
use crate::threads::{Threads, UNKNOWN};

/// Chooses threads by their names.
pub type Choose<'a> = &'a dyn Fn(&Threads) -> HashSet<i32>;

/// Bytes of the trace that are decoded together, of long listings.
const SLICE: u64 = 6 << 20;
/// And at first, where only some events are wanted.
const FIRST_SLICE: u64 = 1 << 20;
/// Events whose texts are made together.
const PART: usize = 1 << 14;
/// Parts that are made until they are taken.
const PARTS: usize = 16;

/// A listing that goes on through a trace.
pub struct Listing {
    trace: Arc<Trace>,
    texts: Arc<Texts>,
    filter: Filter,
    threads: Threads,
    times: Range<i64>,
    made: Made,
    /// What makes the lines where the trace has records that can be read one by one.
    direct: Option<Direct>,
    /// Bytes of the next slice, and bytes of the trace in a nanosecond; `None`: all at once.
    slice: Option<(u64, f64)>,
    /// What was lost in the part that was listed so far.
    pub losses: Vec<Loss>,
    /// What could not be decoded of it.
    pub damage: Vec<Damage>,
    /// Whether any part was listed.
    begun: bool,
    /// What was decoded and is not listed yet.
    rest: Option<Rest>,
    spare: Spare,
    cpus: Cpus,
    /// What stands between time and text of a line, by type; and whether it is plain ASCII.
    before: Vec<(BlockText, bool)>,
}

/// Decoded events that are listed from a place on.
struct Rest {
    decoded: Decoded,
    index: Index,
    /// The threads that ran, where events do not tell their own.
    running: Vec<i32>,
    at: usize,
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
        (made, few): (Made, bool),
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
        let direct = Direct::new(&trace, &texts, &filter, &threads, times.clone(), (made, few));
        let cpus = Cpus::new(trace.info());
        let before = trace.info().events.iter().map(|event| {
            let text = [b": ", event.name.as_bytes(), b": "].concat();
            (BlockText::new(&text), is_plain(&text))
        });
        let before = before.collect();
        let length = (i128::from(span.1) - i128::from(span.0) + 1) as f64;
        let density = trace.bytes() as f64 / length;
        let slice = trace.sliceable().then_some((if few { FIRST_SLICE } else { SLICE }, density));
        Ok(Self {
            trace,
            texts,
            filter,
            threads,
            times,
            made,
            spare: direct.as_ref().map(|direct| Arc::clone(direct.spare())).unwrap_or_default(),
            direct,
            slice,
            losses: Vec::new(),
            damage: Vec::new(),
            begun: false,
            rest: None,
            cpus,
            before,
        })
    }

    /// The next events in a few chunks, perhaps none; `None` at the end.
    ///
    /// # Errors
    /// Those of [`Trace::decode`].
    pub fn advance(&mut self) -> Result<Option<Vec<Chunk>>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(self.chunks(rest)));
        }
        if self.times.is_empty() {
            return Ok(None);
        }
        let first = !std::mem::replace(&mut self.begun, true);
        if let Some(direct) = &mut self.direct {
            let Some((chunk, seen)) = direct.next() else { return Ok(None) };
            if first {
                self.losses.clone_from(&self.trace.info().losses);
                self.damage.clone_from(&self.trace.info().damage);
            }
            self.losses.extend(seen.losses);
            self.damage.extend(seen.damage);
            return Ok(Some(vec![chunk]));
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
        // What was known when the trace was opened is told with each slice.
        let known = self.trace.info();
        let skip = |known: usize| if first { 0 } else { known };
        self.losses.extend(decoded.losses.drain(..).skip(skip(known.losses.len())));
        self.damage.extend(decoded.damage.drain(..).skip(skip(known.damage.len())));
        let index = decoded.index.take().unwrap_or_default();
        let rest = self.followed(decoded, index);
        Ok(Some(self.chunks(rest)))
    }

    /// Where texts of chunks go that are done with: their memory is used again, as writing to new
    /// memory costs more than making the texts.
    pub fn spare(&self) -> Arc<Mutex<Vec<Lines>>> {
        Arc::clone(&self.spare)
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

    /// Takes over who runs and what threads are called.
    fn followed(&mut self, decoded: Decoded, index: Index) -> Rest {
        for table in &decoded.tables {
            self.threads.learn_names(table.event, &table.batches);
        }
        let mut running = Vec::new();
        if let Some((number, _)) = self.threads.switches() {
            let table = decoded.tables.iter().find(|table| table.event == number);
            let batches = table.map_or(&[][..], |table| &table.batches);
            running = self.threads.follow(batches, &index);
        }
        Rest { decoded, index, running, at: 0 }
    }

    fn chunks(&mut self, mut rest: Rest) -> Vec<Chunk> {
        let (index, thread) = (&rest.index, &rest.running);
        let tables: HashMap<usize, &[_]> = rest
            .decoded
            .tables
            .iter()
            .filter(|table| !table.batches.is_empty())
            .map(|table| (table.event, table.batches.as_slice()))
            .collect();
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
            self.part(index, range, &by_event, thread)
        };
        let end = index.len().min(rest.at + PARTS * PART);
        let chunks = (rest.at..end).into_par_iter().step_by(PART).map(part).collect();
        rest.at = end;
        if end < rest.index.len() {
            self.rest = Some(rest);
        }
        chunks
    }

    fn part(
        &self,
        index: &Index,
        range: Range<usize>,
        ready: &[Option<&Ready<'_>>],
        running: &[i32],
    ) -> Chunk {
        let spare = self.spare.lock().expect("nothing panics while it is held").pop();
        let mut lines = spare.unwrap_or_default().emptied();
        let mut chunk = Chunk::default();
        let is_line = self.made == Made::Line;
        let mut heads = Heads::default();
        let mut other = Vec::new();
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
            let begin = lines.len();
            let mut plain = true;
            if is_line {
                let of = (thread, cpu, index.time[at]);
                plain = heads.write(&mut lines, self.threads.names(), &self.cpus, of);
                let before = &self.before[usize::from(event)];
                lines.room(before.0.len());
                lines.text(&before.0);
                plain &= before.1;
            }
            let of_event = lines.len();
            let moment = Moment { time: index.time[at], thread };
            let (event_number, place) = (usize::from(event), (batch, inside));
            let texts = &self.texts;
            plain &=
                texts.write_line(&mut lines, event_number, &of.texts, place, moment, &mut other);
            if finder.as_ref().is_some_and(|finder| finder.find(&lines[of_event..]).is_none()) {
                lines.truncate(begin);
                continue;
            }
            if is_line {
                let length = lines.len() - begin;
                if length > LONGEST || (!plain && !is_plain(&lines[begin..])) {
                    chunk.doubtful.push((begin, lines.len()));
                }
                lines.room(1);
                lines.byte(b'\n');
            } else {
                chunk.time.push(index.time[at]);
                chunk.cpu.push(cpu);
                chunk.thread.push(thread);
                chunk.event.push(event);
            }
            chunk.ends.push(lines.len());
        }
        chunk.text = lines;
        chunk
    }
}

/// A type's events of a slice, ready to be written.
struct Ready<'a> {
    texts: Batches<'a>,
    /// The column that tells the thread, of each batch.
    threads: Vec<Option<arrow_array::ArrayRef>>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A small recording is the same text from its records and from columns, as lines and without
    /// what stands before them, and by any filter.
    #[test]
    fn records_give_the_text_that_columns_give() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/traces/small.dat");
        let trace = Arc::new(tracefile::open(&path).unwrap());
        let span = trace.span().unwrap().unwrap();
        let listed = |filter: &Filter, made, few, direct: bool| {
            let texts = Arc::new(Texts::new(Arc::clone(&trace)));
            let (filter, times) = (filter.clone(), span.0..span.1 + 1);
            let trace = Arc::clone(&trace);
            let mut listing =
                Listing::new(trace, texts, filter, span, times, (made, few), None).unwrap();
            assert!(listing.direct.is_some());
            if !direct {
                listing.direct = None;
            }
            let (mut text, mut ends, mut rest) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(chunks) = listing.advance().unwrap() {
                for chunk in chunks {
                    ends.extend(chunk.ends.iter().map(|end| end + text.len()));
                    text.extend_from_slice(&chunk.text);
                    if made == Made::Text {
                        rest.push((chunk.time, chunk.cpu, chunk.thread, chunk.event));
                    }
                    listing.spare().lock().unwrap().push(chunk.text);
                }
            }
            let rest = rest.into_iter().flat_map(|(time, cpu, thread, event)| {
                let both = time.into_iter().zip(cpu).zip(thread.into_iter().zip(event));
                both.collect::<Vec<_>>()
            });
            (String::from_utf8(text).unwrap(), ends, rest.collect::<Vec<_>>())
        };
        let events = |name: &str| {
            let all = trace.info().events.iter().enumerate();
            all.filter(|(_, event)| event.name.starts_with(name)).map(|(at, _)| at).collect()
        };
        let every = Filter::default();
        let all = listed(&every, Made::Text, false, true).2;
        let thread = all[all.len() / 2].1.0;
        for filter in [
            every.clone(),
            Filter { events: Some(events("sched_")), ..Filter::default() },
            Filter { threads: Some([thread].into()), ..Filter::default() },
            Filter { cpus: Some([0].into()), ..Filter::default() },
            Filter { text: Some("pid=".into()), ..Filter::default() },
        ] {
            for (made, few) in [(Made::Line, false), (Made::Line, true), (Made::Text, false)] {
                let direct = listed(&filter, made, few, true);
                assert!(direct.1.len() > 1, "{filter:?}");
                assert_eq!(direct, listed(&filter, made, few, false), "{filter:?}");
            }
        }
    }
}
