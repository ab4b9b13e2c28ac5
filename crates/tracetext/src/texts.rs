//! The text of each event: by its print format, by a format string of `trace_printk`, as a stack of
//! functions, or by the names of its fields.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use tracefile::{ByteOrder, EventType, Field, FieldPlace, Trace};

use crate::cells::Column;
use crate::conversion::{self, Piece};
use crate::expression::Row;
use crate::lines::{Lines, is_plain};
use crate::named::NamedField;
use crate::packed::{self, Arguments};
use crate::parse::{self, PrintFormat};
use crate::pointer::{self, Distance};
use crate::printer::Printer;
use crate::program::Program;
use crate::threads;

/// How events of a type become texts.
enum Kind {
    Format(PrintFormat),
    /// `bprint`: the address of a format string, and packed arguments.
    Packed,
    /// `bputs`: the address of a text.
    Constant,
    /// `kernel_stack`, `user_stack`.
    Stack,
    Named,
}

struct OfType {
    kind: Kind,
    /// The columns that it reads.
    fields: Vec<String>,
    named: Vec<NamedField>,
    /// Columns of stacks, which are written behind the text, and whether they are the kernel's.
    stacks: Vec<(String, bool)>,
    /// The column of the process, of perf's own events: a tracepoint's `pid` is any that it names.
    process: Option<String>,
}

/// The columns of stacks that samples have, the innermost first; and whether they are the kernel's.
const STACKS: [(&str, bool); 3] =
    [("kernel_stack", true), ("foreign_stack", false), ("user_stack", false)];

/// Where a stack that wants names was taken; the functions are addresses, the innermost first.
#[derive(Debug, Clone, Copy)]
pub struct StackPlace<'a> {
    /// The column that it stands in: `kernel_stack`, `user_stack`, `foreign_stack`.
    pub column: &'a str,
    /// `None` where the event does not tell it.
    pub process: Option<i32>,
    /// Nanoseconds of the trace's clock, and the thread: -1 where it is not known.
    pub moment: Moment,
    /// Addresses.
    pub addresses: &'a [u64],
}

/// When an event happened, and in which thread.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Nanoseconds of the trace's clock.
    pub time: i64,
    /// -1 where it is not known.
    pub thread: i32,
}

/// Gives each function of a stack a name; `None` where it cannot.
pub type StackNames = Box<dyn Fn(&StackPlace<'_>) -> Option<Vec<String>> + Send + Sync>;

/// How all events of a trace become texts.
pub struct Texts {
    trace: Arc<Trace>,
    types: Vec<OnceLock<OfType>>,
    printk: OnceLock<HashMap<u64, PrintkFormat>>,
    long: u8,
    names: Option<StackNames>,
}

struct PrintkFormat {
    text: String,
    pieces: Option<Vec<Piece>>,
}

/// Columns that a text reads; those that are listed by name, and those of stacks, with the field that
/// each is.
struct BatchColumns<'a> {
    read: Vec<Column<'a>>,
    named: Vec<(usize, Column<'a>)>,
    stacks: Vec<(usize, Column<'a>)>,
    process: Option<Column<'a>>,
}

/// The decoded events of a type: batches of columns, in the order that an index's rows count.
pub struct Batches<'a> {
    /// Row of the table at which each batch begins.
    starts: Vec<usize>,
    batches: &'a [RecordBatch],
    /// Of each batch, the columns that its text reads; then those that are listed by name. Looked
    /// at when the first event of the batch is written: there are many of them.
    columns: Vec<OnceLock<BatchColumns<'a>>>,
}

impl<'a> Batches<'a> {
    pub(crate) fn place(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|&start| start <= row) - 1;
        (batch, row - self.starts[batch])
    }
}

/// The print format of a type. Older kernels say of the tracers' entries that functions are
/// numbers, as the file of formats is no place for names.
fn with_functions(event: &EventType) -> Cow<'_, str> {
    match event.name.as_str() {
        "function" | "funcgraph_entry" | "funcgraph_exit" => {
            event.print_format.replace("%lx", "%ps").into()
        }
        _ => (&event.print_format).into(),
    }
}

impl Texts {
    /// Of a trace that is open. Formats are parsed when the first event of their type is written.
    pub fn new(trace: Arc<Trace>) -> Self {
        let types = trace.info().events.iter().map(|_| OnceLock::new()).collect();
        let long = trace.info().environment.iter().find(|(name, _)| name == "kernel_long_bytes");
        let long = long.and_then(|(_, value)| value.parse().ok()).filter(|&bytes| bytes == 4);
        Self { trace, types, printk: OnceLock::new(), long: long.unwrap_or(8), names: None }
    }

    /// The same with names for the stacks of samples, which the trace itself has not.
    #[must_use]
    pub fn with_names(mut self, names: Option<StackNames>) -> Self {
        self.names = names;
        self
    }

    /// The fields that the texts of a type read.
    pub fn fields(&self, event: usize) -> Vec<String> {
        let of = self.of(event);
        let mut fields = of.fields.clone();
        if matches!(of.kind, Kind::Named) {
            fields = of.named.iter().map(|field| field.name.clone()).collect();
        }
        fields.extend(of.stacks.iter().map(|(name, _)| name.clone()));
        fields.extend(of.process.clone().filter(|process| !fields.contains(process)));
        fields
    }

    /// Decoded events of a type, ready to be written. They need not have all columns.
    pub fn batches<'a>(&self, event: usize, batches: &'a [RecordBatch]) -> Batches<'a> {
        let mut rows = 0;
        let start = |batch: &RecordBatch| {
            rows += batch.num_rows();
            rows - batch.num_rows()
        };
        // Parsed by one thread.
        self.of(event);
        let starts = batches.iter().map(start).collect();
        Batches { starts, batches, columns: batches.iter().map(|_| OnceLock::new()).collect() }
    }

    /// The columns of a batch.
    fn columns<'a, 'b>(
        &self,
        of: &OfType,
        batches: &'b Batches<'a>,
        at: usize,
    ) -> &'b BatchColumns<'a> {
        batches.columns[at].get_or_init(|| {
            let batch = &batches.batches[at];
            let column = |name: &str| Some(Column::new(batch.column_by_name(name)?.as_ref()));
            let read: Option<Vec<Column>> = of.fields.iter().map(|name| column(name)).collect();
            let named = of.named.iter().enumerate();
            let named = named.filter_map(|(at, field)| Some((at, column(&field.name)?)));
            let stacks = of.stacks.iter().enumerate();
            let stacks = stacks.filter_map(|(at, (name, _))| Some((at, column(name)?)));
            BatchColumns {
                read: read.unwrap_or_default(),
                named: named.collect(),
                stacks: stacks.collect(),
                process: of.process.as_deref().and_then(column),
            }
        })
    }

    /// Writes the text of a row of a type's table, which happened at a moment.
    pub fn write(
        &self,
        out: &mut Vec<u8>,
        event: usize,
        batches: &Batches<'_>,
        row: usize,
        moment: Moment,
    ) {
        let of = self.of(event);
        let (batch, row) = batches.place(row);
        let BatchColumns { read: columns, named, stacks, process } =
            self.columns(of, batches, batch);
        let begin = out.len();
        let row = Row { columns, row };
        // Of columns that are not all there nothing but the names can be written.
        let whole = columns.len() == of.fields.len();
        let written = match &of.kind {
            _ if !whole => None,
            Kind::Format(format) => self.printer().formatted(out, format, row),
            Kind::Packed => self.packed(out, row),
            Kind::Constant => self.constant(out, row),
            Kind::Stack => self.stack(out, row),
            Kind::Named => None,
        };
        if written.is_none() {
            out.truncate(begin);
            for (at, (field, column)) in named.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b", " } else { b"" });
                of.named[*field].write(out, column, row.row);
            }
        }
        while out.len() > begin && out.last().is_some_and(|&last| last == b'\n') {
            out.pop();
        }
        if stacks.is_empty() {
            return;
        }
        let process = process.as_ref().and_then(|column| column.get(row.row).int());
        let process = process.map(|process| process as i32);
        self.taken_in(out, of, stacks, row.row, (process, moment));
    }

    /// The same as by [`Self::write`] into lines, at a place of a batch; returns whether the text is
    /// plain ASCII. `other` is memory to use again.
    pub(crate) fn write_line(
        &self,
        lines: &mut Lines,
        event: usize,
        batches: &Batches<'_>,
        (batch, inside): (usize, usize),
        moment: Moment,
        other: &mut Vec<u8>,
    ) -> bool {
        let of = self.of(event);
        let columns = self.columns(of, batches, batch);
        if matches!(of.kind, Kind::Named) && columns.stacks.is_empty() {
            let begin = lines.len();
            let mut plain = true;
            for (at, (field, column)) in columns.named.iter().enumerate() {
                let field = &of.named[*field];
                plain &= field.write_line(lines, at == 0, (column, inside), other);
            }
            lines.end_line(begin);
            return plain;
        }
        other.clear();
        self.write(other, event, batches, batches.starts[batch] + inside, moment);
        lines.bytes(other);
        is_plain(other)
    }

    /// The functions in which a sample was taken, the innermost first.
    fn taken_in(
        &self,
        out: &mut Vec<u8>,
        of: &OfType,
        stacks: &[(usize, Column<'_>)],
        row: usize,
        (process, moment): (Option<i32>, Moment),
    ) {
        let begin = out.len();
        for (at, column) in stacks {
            let Some(items) = column.get(row).items() else { continue };
            let addresses: Vec<u64> = items.into_iter().map(|address| address as u64).collect();
            let (column, kernel) = &of.stacks[*at];
            let place = StackPlace { column, process, moment, addresses: &addresses };
            let names = self.names.as_ref().and_then(|names| names(&place));
            for (number, &address) in addresses.iter().enumerate() {
                out.extend_from_slice(b" => ");
                match names.as_ref().and_then(|names| names.get(number)) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None if *kernel => {
                        pointer::symbol(out, self.trace.as_ref(), address, Distance::Some);
                    }
                    None => out.extend_from_slice(format!("0x{address:x}").as_bytes()),
                }
            }
        }
        if out.len() > begin {
            out.splice(begin..begin, b" <stack trace>".iter().copied());
        }
    }

    /// What writes the events of a type whose fields lie at these places, with a text before;
    /// `None` where only [`Texts::write`] does.
    pub(crate) fn program(
        &self,
        event: usize,
        before: &[u8],
        place: impl Fn(&str) -> Option<FieldPlace>,
    ) -> Option<Program> {
        let of = self.of(event);
        match &of.kind {
            Kind::Format(format) if of.stacks.is_empty() => {
                Program::new(format, before, self.long, place)
            }
            _ => None,
        }
    }

    /// The field that tells the thread of a type's events.
    pub(crate) fn thread_field(&self, event: usize) -> Option<String> {
        threads::thread_field(&self.trace.info().events[event])
    }

    /// The bytes of the kernel's long.
    pub(crate) fn long(&self) -> u8 {
        self.long
    }

    fn printer(&self) -> Printer<'_> {
        Printer { symbols: self.trace.as_ref(), long: self.long }
    }

    fn of(&self, event: usize) -> &OfType {
        self.types[event].get_or_init(|| self.compiled(&self.trace.info().events[event]))
    }

    fn compiled(&self, event: &EventType) -> OfType {
        let known: Vec<&str> = event.fields.iter().map(|field| field.name.as_str()).collect();
        let has = |names: &[&str]| names.iter().all(|name| known.contains(name));
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let stacks = STACKS.iter().filter(|(name, _)| known.contains(name));
        let stacks = stacks.map(|(name, kernel)| ((*name).to_owned(), *kernel)).collect();
        let is_stack = |field: &&Field| STACKS.iter().any(|(name, _)| *name == field.name);
        let others: Vec<Field> =
            event.fields.iter().filter(|field| !is_stack(field)).cloned().collect();
        let named = NamedField::all(&others);
        let (kind, fields) = match event.name.as_str() {
            "bprint" if has(&["ip", "fmt", "buf"]) => (Kind::Packed, own(&["ip", "fmt", "buf"])),
            "bputs" if has(&["ip", "str"]) => (Kind::Constant, own(&["ip", "str"])),
            "kernel_stack" | "user_stack" if has(&["caller"]) => (Kind::Stack, own(&["caller"])),
            _ => match parse::parse(&with_functions(event), &known, self.long) {
                Ok(format) => {
                    let fields = format.fields.clone();
                    (Kind::Format(format), fields)
                }
                Err(_) => (Kind::Named, Vec::new()),
            },
        };
        let process = (event.system == "perf" && known.contains(&"pid")).then(|| "pid".to_owned());
        OfType { kind, fields, named, stacks, process }
    }

    /// `CALLER: TEXT`, as the kernel writes it.
    fn packed(&self, out: &mut Vec<u8>, row: Row<'_>) -> Option<()> {
        self.caller(out, row)?;
        let address = row.columns[1].get(row.row).int()? as u64;
        let format = self.printk().get(&address)?;
        let pieces = format.pieces.as_ref()?;
        let big = self.trace.info().byte_order == ByteOrder::Big;
        let mut bytes = Vec::new();
        for word in row.columns[2].get(row.row).items()? {
            let word = word as u32;
            bytes.extend_from_slice(&if big { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        let mut arguments = Arguments::new(&bytes, self.long, big);
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion) => {
                    let width = arguments.amount(conversion.width)?;
                    let precision = arguments.amount(conversion.precision)?;
                    let value = arguments.value(conversion)?;
                    self.printer().converted(out, conversion, width, precision, &value)?;
                }
            }
        }
        Some(())
    }

    fn constant(&self, out: &mut Vec<u8>, row: Row<'_>) -> Option<()> {
        self.caller(out, row)?;
        let address = row.columns[1].get(row.row).int()? as u64;
        out.extend_from_slice(self.printk().get(&address)?.text.as_bytes());
        Some(())
    }

    fn caller(&self, out: &mut Vec<u8>, row: Row<'_>) -> Option<()> {
        let caller = row.columns[0].get(row.row).int()? as u64;
        pointer::symbol(out, self.trace.as_ref(), caller, Distance::Never);
        out.extend_from_slice(b": ");
        Some(())
    }

    /// The innermost function first, as the kernel lists them.
    fn stack(&self, out: &mut Vec<u8>, row: Row<'_>) -> Option<()> {
        let end = if self.long == 4 { u64::from(u32::MAX) } else { u64::MAX };
        out.extend_from_slice(b"<stack trace>");
        for caller in row.columns[0].get(row.row).items()? {
            let caller = caller as u64;
            if caller == end || caller == 0 {
                break;
            }
            out.extend_from_slice(b" => ");
            pointer::symbol(out, self.trace.as_ref(), caller, Distance::Some);
        }
        Some(())
    }

    fn printk(&self) -> &HashMap<u64, PrintkFormat> {
        self.printk.get_or_init(|| {
            let formats = self.trace.printk_formats().into_iter();
            let read = |text: &str| {
                conversion::pieces(text).ok().filter(|pieces| packed::readable(pieces))
            };
            formats.map(|(at, text)| (at, PrintkFormat { pieces: read(&text), text })).collect()
        })
    }
}
