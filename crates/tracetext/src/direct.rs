//! Lines straight from the records of a trace, in parts that are made ahead of whoever takes them.
//!
//! ```text
//! Slices ─→ a part for each thread, and a few more ─→ read: records in order of time ─→ Program
//!   in order, as parts are taken                          types without: columns, Texts ─┘
//! ```

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use arrow_array::RecordBatch;
use memchr::memmem;
use tracefile::{FieldPlace, Record, Records, Seen, Slice, Slices, Trace};

use crate::chunk::{Chunk, Filter, LONGEST, Made};
use crate::head::{Cpus, Heads};
use crate::lines::{Lines, is_plain};
use crate::placed::Width;
use crate::program::{Program, Surroundings};
use crate::texts::{Batches, Moment, Texts};
use crate::threads::{Threads, UNKNOWN};

/// Bytes of the trace that a thread reads for one part: what they become stays in its cache.
const PART: usize = 256 << 10;
/// The same of the first part, where only some events are wanted.
const FIRST_PART: usize = 32 << 10;
/// And at least of each CPU, as the pages at the ends of a part are read twice.
const PART_OF_CPU: usize = 48 << 10;

/// Parts that are being made, in their order.
pub(crate) struct Direct {
    making: Arc<Making>,
    slices: Slices,
    /// Locked by nobody: only so that a listing may be looked at by several threads.
    waiting: VecDeque<Mutex<Receiver<thread::Result<Part>>>>,
    /// Bytes of the next part and of later ones, and how many may be made at a time.
    bytes: usize,
    most: usize,
    ahead: usize,
}

/// Lines, and what was seen besides them.
pub(crate) type Part = (Chunk, Seen);

/// What all threads share.
struct Making {
    trace: Arc<Trace>,
    texts: Arc<Texts>,
    filter: Filter,
    made: Made,
    names: HashMap<i32, String>,
    /// By type.
    chosen: Vec<bool>,
    kinds: Vec<OnceLock<Kind>>,
    cpus: Cpus,
    spare: Spare,
    tools: Mutex<Vec<Tools>>,
}

/// Memory of chunks that are done with: writing to new memory costs more than the texts.
pub(crate) type Spare = Arc<Mutex<Vec<Lines>>>;

/// How events of a type are written.
struct Kind {
    program: Option<Program>,
    /// Where the thread is.
    thread: Option<(usize, Width)>,
    /// What stands between time and text of a line.
    before: Vec<u8>,
}

/// What a thread uses again for the next part.
#[derive(Default)]
struct Tools {
    records: Vec<Record>,
    heads: Heads,
    text: Vec<u8>,
}

impl Direct {
    /// `None` where the trace's records cannot be read this way, or threads are only known from
    /// earlier events.
    pub(crate) fn new(
        trace: &Arc<Trace>,
        texts: &Arc<Texts>,
        filter: &Filter,
        threads: &Threads,
        times: Range<i64>,
        (made, few): (Made, bool),
    ) -> Option<Self> {
        let records = trace.records().filter(|_| threads.switches().is_none())?;
        let wanted = |cpu| filter.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
        let slices = records.slices(times, wanted);
        let info = trace.info();
        let chosen = |event: usize| filter.events.as_ref().is_none_or(|of| of.contains(&event));
        let making = Making {
            trace: Arc::clone(trace),
            texts: Arc::clone(texts),
            filter: filter.clone(),
            made,
            names: threads.all().map(|(thread, name)| (thread, name.to_owned())).collect(),
            chosen: (0..info.events.len()).map(chosen).collect(),
            kinds: info.events.iter().map(|_| OnceLock::new()).collect(),
            cpus: Cpus::new(info),
            spare: Spare::default(),
            tools: Mutex::default(),
        };
        let most = PART.max(slices.lanes() * PART_OF_CPU);
        let (bytes, ahead) = if few { (FIRST_PART, 1) } else { (most, usize::MAX) };
        let making = Arc::new(making);
        Some(Self { making, slices, waiting: VecDeque::new(), bytes, most, ahead })
    }

    /// The next part; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Part> {
        let ahead = self.ahead.min(2 * rayon::current_num_threads() + 2);
        while self.waiting.len() < ahead {
            let records = self.making.trace.records().expect("looked at by `new`");
            let Some(slice) = self.slices.next(records, self.bytes) else { break };
            let (give, take) = sync_channel(1);
            let making = Arc::clone(&self.making);
            rayon::spawn(move || {
                let part = catch_unwind(AssertUnwindSafe(|| making.part(&slice)));
                // Nobody waits for it any more where the listing has ended.
                let _ = give.send(part);
            });
            self.waiting.push_back(Mutex::new(take));
            self.bytes = (self.bytes * 2).min(self.most);
        }
        self.ahead = self.ahead.saturating_mul(2);
        let next = self.waiting.pop_front()?.into_inner().expect("nobody locks it");
        let part = next.recv().expect("a part is always sent");
        Some(part.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Where memory of chunks goes that are done with.
    pub(crate) fn spare(&self) -> &Spare {
        &self.making.spare
    }
}

impl Making {
    fn part(&self, slice: &Slice) -> Part {
        let tools = self.tools.lock().expect("nothing panics while it is held").pop();
        let mut tools = tools.unwrap_or_default();
        let spare = self.spare.lock().expect("nothing panics while it is held").pop();
        let all = self.trace.records().expect("looked at by `new`");
        tools.records.clear();
        let seen = all.read(slice, &self.chosen, &mut tools.records);
        let text = spare.unwrap_or_default().emptied();
        let chunk = self.chunk(all, Chunk { text, ..Chunk::default() }, &mut tools);
        self.tools.lock().expect("nothing panics while it is held").push(tools);
        (chunk, seen)
    }

    fn chunk(&self, all: Records<'_>, mut chunk: Chunk, tools: &mut Tools) -> Chunk {
        let Tools { records, heads, text } = tools;
        let columns = self.columns(all, records);
        let mut batches: HashMap<u16, (Batches<'_>, usize)> = columns
            .iter()
            .map(|(event, batch)| {
                let batches = self.texts.batches(usize::from(*event), std::slice::from_ref(batch));
                (*event, (batches, 0))
            })
            .collect();
        let finder = self.filter.text.as_ref().map(|text| memmem::Finder::new(text.as_bytes()));
        let of = Surroundings { symbols: self.trace.as_ref(), long: self.texts.long() };
        let is_line = self.made == Made::Line;
        let lines = &mut chunk.text;
        for record in records.iter() {
            let data = all.data(record);
            let kind = self.kind(all, record.event);
            let thread = kind.thread.map_or(UNKNOWN, |(at, width)| width.read(data, at) as i32);
            // A row is passed over in its table, too.
            let table = match kind.program {
                Some(_) => None,
                None => batches.get_mut(&record.event).map(|(batches, next)| {
                    *next += 1;
                    (&*batches, *next - 1)
                }),
            };
            if self.filter.threads.as_ref().is_some_and(|threads| !threads.contains(&thread)) {
                continue;
            }
            let begin = lines.len();
            let mut plain = true;
            if is_line {
                let of = (thread, record.cpu, record.time);
                plain = heads.write(lines, &self.names, &self.cpus, of);
            }
            let head = lines.len() + kind.before.len();
            match (&kind.program, table) {
                (Some(program), _) => {
                    lines.room(program.most());
                    plain &= program.write(lines, data, &of);
                }
                (None, table) => {
                    text.clear();
                    let moment = Moment { time: record.time, thread };
                    if let Some((batches, row)) = table {
                        self.texts.write(text, usize::from(record.event), batches, row, moment);
                    }
                    lines.bytes(&kind.before);
                    lines.bytes(text);
                    plain &= is_plain(&kind.before) && is_plain(text);
                }
            }
            lines.end_line(head);
            if finder.as_ref().is_some_and(|finder| finder.find(&lines[head..]).is_none()) {
                lines.truncate(begin);
                continue;
            }
            if is_line {
                if !plain || lines.len() - begin > LONGEST {
                    let line = &lines[begin..];
                    if line.len() > LONGEST || !is_plain(line) {
                        chunk.doubtful.push((begin, lines.len()));
                    }
                }
                lines.room(1);
                lines.byte(b'\n');
            } else {
                chunk.time.push(record.time);
                chunk.cpu.push(record.cpu);
                chunk.thread.push(thread);
                chunk.event.push(record.event);
            }
            chunk.ends.push(lines.len());
        }
        chunk
    }

    /// The records as columns that are of types without a program.
    fn columns(&self, all: Records<'_>, records: &[Record]) -> Vec<(u16, RecordBatch)> {
        let mut by_event: HashMap<u16, Vec<Record>> = HashMap::new();
        for record in records {
            if self.kind(all, record.event).program.is_none() {
                by_event.entry(record.event).or_default().push(*record);
            }
        }
        let batch = |(event, of): (u16, Vec<Record>)| {
            let fields = self.texts.fields(usize::from(event));
            (event, all.batch(usize::from(event), &fields, &of))
        };
        by_event.into_iter().map(batch).collect()
    }

    #[inline]
    fn kind(&self, all: Records<'_>, event: u16) -> &Kind {
        self.kinds[usize::from(event)].get_or_init(|| self.compiled(all, usize::from(event)))
    }

    #[cold]
    fn compiled(&self, all: Records<'_>, event: usize) -> Kind {
        let of = &self.trace.info().events[event];
        let place =
            |name: &str| all.place(event, of.fields.iter().position(|field| field.name == name)?);
        let thread = match self.texts.thread_field(event).and_then(|name| place(&name)) {
            Some(FieldPlace::Number { at, size, signed }) => Some((at, Width::new(size, signed))),
            _ => None,
        };
        let before = match self.made {
            Made::Line => [b": ", of.name.as_bytes(), b": "].concat(),
            Made::Text => Vec::new(),
        };
        Kind { program: self.texts.program(event, &before, place), thread, before }
    }
}
