//! From samples, and from what perf tells of threads, files and symbols, to rows of tables.

use std::borrow::Cow;
use std::collections::HashMap;

use linux_perf_event_reader::SampleFormat;

use crate::bytes::Reader;
use crate::columns::Column;
use crate::perf::attributes::Attribute;
use crate::perf::sample::{self, Mode, Parts};
use crate::perf::unwind::{Change, Mapping, Registers, Walker};
use crate::perf::walk::{HEADER, kind};
use crate::{ByteOrder, ColumnType, EventType, Field};

/// The columns of stacks, the innermost function first.
pub(crate) const STACKS: [&str; 3] = ["kernel_stack", "user_stack", "foreign_stack"];
const MODES: [Mode; 3] = [Mode::Kernel, Mode::User, Mode::Foreign];

/// The event types of what perf tells, in the order of [`sideband`].
const SIDEBAND: [&str; 5] = ["perf_mmap", "perf_comm", "perf_fork", "perf_exit", "perf_ksymbol"];

/// Set where a mapping is none of code, where a name is that of a program that was executed.
const DATA_OR_EXEC: u16 = 1 << 13;
/// Set where a mapping tells the build-id of its file.
const HAS_BUILD_ID: u16 = 1 << 14;
const EXECUTABLE: u32 = 4;

/// A record with its header.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    kind: u32,
    flags: u16,
    body: Reader<'a>,
}

impl<'a> Record<'a> {
    /// Of bytes that begin with a header; those that are shorter are none.
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Option<Self> {
        let mut reader = Reader::new(bytes, order);
        let (kind, flags) = (reader.u32()?, reader.u16()?);
        let bytes = bytes.get(HEADER..)?;
        Some(Self { kind, flags, body: Reader::new(bytes, order) })
    }
}

fn number(name: &str, column: ColumnType, base: u8) -> Field {
    Field { base, ..Field::payload(name, column) }
}

fn common_pid() -> Field {
    Field::common("common_pid", ColumnType::Signed(32), true)
}

/// Bytes of the copy of a program's stack, and how the chain ends that was made of it.
const COPIED: [&str; 2] = ["user_stack_bytes", "user_stack_end"];

/// A stack's columns, which stand last: `copied` where copies of stacks were recorded, `unwound` where
/// chains are made of them.
pub(crate) fn stack_fields(copied: bool, unwound: bool) -> impl Iterator<Item = Field> {
    let of = ColumnType::List(std::sync::Arc::new(ColumnType::Unsigned(64)));
    let stacks = STACKS.into_iter().map(move |name| number(name, of.clone(), 16));
    let bytes = number(COPIED[0], ColumnType::Unsigned(32), 10);
    let end = Field::payload(COPIED[1], ColumnType::Text);
    let copies =
        [bytes, end].into_iter().take(usize::from(copied) + usize::from(copied && unwound));
    stacks.chain(copies)
}

/// The type of an event's samples.
pub(crate) fn sample_type(name: &str, attribute: &Attribute, unwound: bool) -> EventType {
    let mut fields = vec![
        common_pid(),
        number("pid", ColumnType::Signed(32), 10),
        number("ip", ColumnType::Unsigned(64), 16),
        Field::payload("mode", ColumnType::Text),
        number("period", ColumnType::Unsigned(64), 10),
    ];
    if attribute.has(SampleFormat::ADDR) {
        fields.push(number("addr", ColumnType::Unsigned(64), 16));
    }
    fields.extend(stack_fields(attribute.raw_stacks(), unwound));
    event(name, "perf", fields)
}

fn event(name: &str, system: &str, fields: Vec<Field>) -> EventType {
    EventType { name: name.into(), system: system.into(), fields, print_format: String::new() }
}

/// The types of what perf tells.
pub(crate) fn sideband_types() -> impl Iterator<Item = EventType> {
    let pid = |name: &str| number(name, ColumnType::Signed(32), 10);
    let place = |name: &str| number(name, ColumnType::Unsigned(64), 16);
    let truth = |name: &str| Field::payload(name, ColumnType::Bool);
    let text = |name: &str| Field::payload(name, ColumnType::Text);
    let build_id = Field::payload("build_id", ColumnType::Binary);
    let fields = [
        vec![
            common_pid(),
            pid("pid"),
            place("start"),
            place("length"),
            place("offset"),
            truth("executable"),
            text("mode"),
            text("file"),
            build_id,
            text("device"),
            number("inode", ColumnType::Unsigned(64), 10),
            truth("existing"),
        ],
        vec![common_pid(), pid("pid"), text("comm"), truth("exec"), truth("existing")],
        vec![common_pid(), pid("pid"), pid("tid"), pid("parent"), truth("existing")],
        vec![common_pid(), pid("pid"), truth("existing")],
        vec![
            common_pid(),
            place("start"),
            place("length"),
            text("name"),
            truth("removed"),
            truth("existing"),
        ],
    ];
    SIDEBAND.into_iter().zip(fields).map(|(name, fields)| event(name, "perf", fields))
}

/// The place of a record's type among [`sideband_types`].
pub(crate) fn sideband(record: &Record<'_>) -> usize {
    match record.kind {
        kind::COMM => 1,
        kind::FORK => 2,
        kind::EXIT => 3,
        kind::KSYMBOL => 4,
        _ => 0,
    }
}

/// A value of a field.
enum Value<'a> {
    Number(u64),
    Truth(bool),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

fn push(column: &mut Column, value: Option<&Value<'_>>) {
    match value {
        Some(Value::Number(number)) => column.unsigned(*number),
        Some(Value::Truth(truth)) => column.unsigned(u64::from(*truth)),
        Some(Value::Text(text)) => column.bytes(text.as_bytes()),
        Some(Value::Bytes(bytes)) => column.bytes(bytes),
        None => column.null(),
    }
}

/// Pushes the chosen fields of a sample; what is cut short has none of what is behind the cut.
pub(crate) fn push_sample(
    record: &Record<'_>,
    sampled: &Sampled<'_>,
    walker: Option<&mut Walker<'_>>,
    fields: &[usize],
    columns: &mut [Column],
) {
    let parts = sample::parts(record.body, sampled.attribute).unwrap_or_default();
    let mode = Mode::of(record.flags);
    let stacks = 5 + usize::from(sampled.attribute.has(SampleFormat::ADDR));
    let own = fields.partition_point(|&field| field < stacks);
    for (&field, column) in fields[..own].iter().zip(&mut *columns) {
        let value = match field {
            0 => parts.thread.map(|(_, thread)| Value::Number(u64::from(thread))),
            1 => parts.thread.map(|(process, _)| Value::Number(u64::from(process))),
            2 => parts.ip.map(Value::Number),
            3 => mode.map(|(_, name)| Value::Text(name.into())),
            4 => parts.period.or(sampled.attribute.period).map(Value::Number),
            _ => parts.address.map(Value::Number),
        };
        push(column, value.as_ref());
    }
    let mode = mode.map(|(mode, _)| mode);
    let chosen = StackFields { fields: &fields[own..], begin: stacks };
    push_stacks(&parts, mode, sampled, walker, &chosen, &mut columns[own..]);
}

/// What holds of a sample besides its bytes.
pub(crate) struct Sampled<'a> {
    pub(crate) attribute: &'a Attribute,
    pub(crate) time: i64,
    pub(crate) order: ByteOrder,
}

/// Chosen fields of stacks, which begin at one of the event's fields.
pub(crate) struct StackFields<'a> {
    pub(crate) fields: &'a [usize],
    pub(crate) begin: usize,
}

/// Pushes the chosen fields of a sample's stacks, null where a stack has no function.
pub(crate) fn push_stacks(
    parts: &Parts<'_>,
    mode: Option<Mode>,
    sampled: &Sampled<'_>,
    walker: Option<&mut Walker<'_>>,
    chosen: &StackFields<'_>,
    columns: &mut [Column],
) {
    let chain = |which: usize| {
        sample::frames(parts.chain, sampled.order, mode, parts.ip)
            .filter(move |(mode, _)| MODES.get(which) == Some(mode))
            .map(|(_, address)| address)
    };
    let which = |field: &usize| field - chosen.begin;
    let user = |which: usize| MODES.get(which) == Some(&Mode::User) || which == END;
    let mut unwound = None;
    if let (Some(walker), Some(registers)) = (walker, parts.user.registers)
        && chosen.fields.iter().map(which).any(user)
    {
        unwound = walked(walker, registers, parts, sampled, chain(1).count());
    }
    for (which, column) in chosen.fields.iter().map(which).zip(columns) {
        match which {
            BYTES => column.unsigned(parts.user.memory.len() as u64),
            END => match &unwound {
                Some((_, end)) => column.bytes(end.as_bytes()),
                None => column.null(),
            },
            1 => match &unwound {
                Some((addresses, _)) => push_list(addresses.iter().copied(), column),
                None => push_list(
                    parts.user.stack(chain(which).collect(), sampled.order).into_iter(),
                    column,
                ),
            },
            _ => push_list(chain(which), column),
        }
    }
}

/// The places of [`COPIED`] behind the stacks.
const BYTES: usize = STACKS.len();
const END: usize = BYTES + 1;

/// The program's chain, and how it ends; `None` where perf recorded one of `known` functions already.
fn walked(
    walker: &mut Walker<'_>,
    registers: Registers<'_>,
    parts: &Parts<'_>,
    sampled: &Sampled<'_>,
    known: usize,
) -> Option<(Vec<u64>, String)> {
    let (process, _) = parts.thread.filter(|_| known <= 1)?;
    let (chain, end) =
        walker.chain(process, sampled.time, registers, parts.user.memory, sampled.order);
    Some((chain, end.to_string()))
}

fn push_list(addresses: impl Iterator<Item = u64>, column: &mut Column) {
    let mut some = false;
    for address in addresses {
        column.items().unsigned(address);
        some = true;
    }
    if some { column.end_list() } else { column.null() }
}

/// Pushes the chosen fields of what perf tells. `existing`: of what was before the recording began.
pub(crate) fn push_sideband(
    record: &Record<'_>,
    build_ids: &HashMap<String, Vec<u8>>,
    existing: bool,
    fields: &[usize],
    columns: &mut [Column],
) {
    let mut values = match record.kind {
        kind::COMM => comm(record),
        kind::FORK | kind::EXIT => threads(record),
        kind::KSYMBOL => ksymbol(record),
        _ => MappedFile::read(record, build_ids).values(),
    };
    values.push(Some(Value::Truth(existing)));
    for (&field, column) in fields.iter().zip(columns) {
        push(column, values.get(field).and_then(Option::as_ref));
    }
}

fn word<'a>(reader: &mut Reader<'_>) -> Option<Value<'a>> {
    reader.u32().map(|word| Value::Number(u64::from(word)))
}

fn wide<'a>(reader: &mut Reader<'_>) -> Option<Value<'a>> {
    reader.u64().map(Value::Number)
}

fn text<'a>(reader: &mut Reader<'a>) -> Option<Value<'a>> {
    reader.text().map(|text| Value::Text(String::from_utf8_lossy(text)))
}

/// u32 process, u32 thread, name.
fn comm<'a>(record: &Record<'a>) -> Vec<Option<Value<'a>>> {
    let mut reader = record.body;
    let (process, thread) = (word(&mut reader), word(&mut reader));
    let executed = Some(Value::Truth(record.flags & DATA_OR_EXEC != 0));
    vec![thread, process, text(&mut reader), executed]
}

/// u32 process, its parent, thread, its parent.
fn threads<'a>(record: &Record<'a>) -> Vec<Option<Value<'a>>> {
    let mut reader = record.body;
    let mut next = || word(&mut reader);
    let (process, parent, thread, forking) = (next(), next(), next(), next());
    match record.kind {
        kind::FORK => vec![forking, process, thread, parent],
        _ => vec![thread, process],
    }
}

/// u64 address, u32 length, u16 type, u16 flags, name.
fn ksymbol<'a>(record: &Record<'a>) -> Vec<Option<Value<'a>>> {
    let mut reader = record.body;
    let (start, length) = (wide(&mut reader), word(&mut reader));
    reader.u16();
    let removed = reader.u16().map(|flags| Value::Truth(flags & 1 != 0));
    vec![None, start, length, text(&mut reader), removed]
}

/// What is told of a part of a file that a process has in memory.
#[derive(Debug, Default)]
pub(crate) struct MappedFile<'a> {
    thread: Option<u32>,
    pub(crate) process: Option<u32>,
    pub(crate) start: Option<u64>,
    pub(crate) length: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) executable: bool,
    mode: Option<(Mode, &'static str)>,
    pub(crate) path: Cow<'a, str>,
    /// Empty where it is not told.
    pub(crate) build_id: &'a [u8],
    device: Option<(u32, u32)>,
    inode: Option<u64>,
}

impl<'a> MappedFile<'a> {
    /// u32 process, thread; u64 address, length, offset; in the second form 24 bytes with the file's
    /// number or build-id, u32 protection, u32 flags; path.
    pub(crate) fn read(record: &Record<'a>, build_ids: &'a HashMap<String, Vec<u8>>) -> Self {
        let mut reader = record.body;
        let (process, thread) = (reader.u32(), reader.u32());
        let (start, length, offset) = (reader.u64(), reader.u64(), reader.u64());
        let mut file = Self { thread, process, start, length, offset, ..Self::default() };
        file.executable = record.flags & DATA_OR_EXEC == 0;
        file.mode = Mode::of(record.flags);
        if record.kind == kind::MMAP2 {
            let identity = reader.take(24).unwrap_or_default();
            if record.flags & HAS_BUILD_ID != 0 && identity.len() == 24 {
                file.build_id = &identity[4..4 + usize::from(identity[0]).min(20)];
            } else {
                let mut identity = record.body.at(reader.position() - identity.len());
                file.device = identity.u32().zip(identity.u32());
                file.inode = identity.u64();
            }
            file.executable = reader.u32().is_some_and(|protection| protection & EXECUTABLE != 0);
            reader.u32();
        }
        file.path = reader.text().map_or(Cow::Borrowed(""), String::from_utf8_lossy);
        if file.build_id.is_empty() {
            // The kernel is mapped as [kernel.kallsyms]_text, and known as [kernel.kallsyms].
            let known = file.path.split_inclusive(']').next();
            let known = known.filter(|_| file.path.starts_with("[kernel"));
            let known = build_ids.get(known.unwrap_or(&file.path));
            file.build_id = known.map_or(&[], Vec::as_slice);
        }
        file
    }

    pub(crate) fn is_of_program(&self) -> bool {
        self.executable && self.mode.is_some_and(|(mode, _)| mode == Mode::User)
    }

    fn values(self) -> Vec<Option<Value<'a>>> {
        let word = |word: Option<u32>| word.map(|word| Value::Number(u64::from(word)));
        let device = self.device.map(|(major, minor)| format!("{major}:{minor}").into());
        vec![
            word(self.thread),
            word(self.process),
            self.start.map(Value::Number),
            self.length.map(Value::Number),
            self.offset.map(Value::Number),
            Some(Value::Truth(self.executable)),
            self.mode.map(|(_, name)| Value::Text(name.into())),
            Some(Value::Text(self.path)),
            Some(Value::Bytes(self.build_id)).filter(|_| !self.build_id.is_empty()),
            device.map(Value::Text),
            self.inode.map(Value::Number),
        ]
    }
}

/// What happened to the memory of a process, by a record that tells it; `file` gives the number of a
/// file with a path and a build-id.
pub(crate) fn change(
    record: &Record<'_>,
    build_ids: &HashMap<String, Vec<u8>>,
    file: impl FnOnce(&str, &[u8]) -> u32,
) -> Option<(u32, Change)> {
    let mut reader = record.body;
    match record.kind {
        kind::MMAP | kind::MMAP2 => {
            let mapped = MappedFile::read(record, build_ids);
            let (process, start) = (mapped.process?, mapped.start?);
            let end = start.checked_add(mapped.length?).filter(|&end| end > start)?;
            if !mapped.is_of_program() {
                return None;
            }
            let offset = mapped.offset?;
            let file = file(&mapped.path, mapped.build_id);
            Some((process, Change::Mapped(Mapping { start, end, offset, file })))
        }
        kind::FORK => {
            let (process, parent) = (reader.u32()?, reader.u32()?);
            Some((process, Change::Forked { parent }))
        }
        kind::COMM if record.flags & DATA_OR_EXEC != 0 => Some((reader.u32()?, Change::Executed)),
        _ => None,
    }
}
