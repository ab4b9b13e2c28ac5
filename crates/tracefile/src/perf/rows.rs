//! From samples, and from what perf tells of threads, files and symbols, to rows of tables.

use std::borrow::Cow;
use std::collections::HashMap;

use linux_perf_event_reader::SampleFormat;

use crate::bytes::Reader;
use crate::columns::Column;
use crate::perf::attributes::Attribute;
use crate::perf::sample::{self, Mode};
use crate::perf::user_stack::UserPart;
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

/// A stack's columns, which stand last.
pub(crate) fn stack_fields() -> impl Iterator<Item = Field> {
    let of = ColumnType::List(std::sync::Arc::new(ColumnType::Unsigned(64)));
    STACKS.into_iter().map(move |name| number(name, of.clone(), 16))
}

/// The type of an event's samples.
pub(crate) fn sample_type(name: &str, attribute: &Attribute) -> EventType {
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
    fields.extend(stack_fields());
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
    attribute: &Attribute,
    order: ByteOrder,
    fields: &[usize],
    columns: &mut [Column],
) {
    let parts = sample::parts(record.body, attribute).unwrap_or_default();
    let mode = Mode::of(record.flags);
    let stacks = 5 + usize::from(attribute.has(SampleFormat::ADDR));
    for (&field, column) in fields.iter().zip(columns) {
        let value = match field {
            0 => parts.thread.map(|(_, thread)| Value::Number(u64::from(thread))),
            1 => parts.thread.map(|(process, _)| Value::Number(u64::from(process))),
            2 => parts.ip.map(Value::Number),
            3 => mode.map(|(_, name)| Value::Text(name.into())),
            4 => parts.period.or(attribute.period).map(Value::Number),
            _ if field < stacks => parts.address.map(Value::Number),
            _ => {
                let mode = mode.map(|(mode, _)| mode);
                let chain = Chain { words: parts.chain, mode, ip: parts.ip, user: parts.user };
                push_stack(&chain, order, field - stacks, column);
                continue;
            }
        };
        push(column, value.as_ref());
    }
}

/// What a sample tells of its stack.
#[derive(Default)]
pub(crate) struct Chain<'a> {
    /// Words of 8 bytes.
    pub(crate) words: &'a [u8],
    /// Those of the sample, whose `ip` stands alone where there is no word.
    pub(crate) mode: Option<Mode>,
    pub(crate) ip: Option<u64>,
    pub(crate) user: UserPart<'a>,
}

/// Pushes one of the stacks of a chain, null where it has no function.
pub(crate) fn push_stack(chain: &Chain<'_>, order: ByteOrder, which: usize, column: &mut Column) {
    let frames = sample::frames(chain.words, order, chain.mode, chain.ip)
        .filter(|(mode, _)| MODES.get(which) == Some(mode))
        .map(|(_, address)| address);
    let mut addresses: Vec<u64> = frames.collect();
    if MODES.get(which) == Some(&Mode::User) {
        addresses = chain.user.stack(addresses, order);
    }
    if addresses.is_empty() {
        column.null();
        return;
    }
    addresses.into_iter().for_each(|address| column.items().unsigned(address));
    column.end_list();
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
        _ => mapping(record, build_ids),
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

/// u32 process, thread; u64 address, length, offset; in the second form 24 bytes with the file's
/// number or build-id, u32 protection, u32 flags; path.
fn mapping<'a>(
    record: &Record<'a>,
    build_ids: &'a HashMap<String, Vec<u8>>,
) -> Vec<Option<Value<'a>>> {
    let mut reader = record.body;
    let (process, thread) = (word(&mut reader), word(&mut reader));
    let (start, length, offset) = (wide(&mut reader), wide(&mut reader), wide(&mut reader));
    let mut executable = record.flags & DATA_OR_EXEC == 0;
    let mut build_id: &[u8] = &[];
    let (mut device, mut inode) = (None, None);
    if record.kind == kind::MMAP2 {
        let identity = reader.take(24).unwrap_or_default();
        if record.flags & HAS_BUILD_ID != 0 && identity.len() == 24 {
            build_id = &identity[4..4 + usize::from(identity[0]).min(20)];
        } else {
            let mut identity = record.body.at(reader.position() - identity.len());
            let numbers = identity.u32().zip(identity.u32());
            device = numbers.map(|(major, minor)| Value::Text(format!("{major}:{minor}").into()));
            inode = wide(&mut identity);
        }
        executable = reader.u32().is_some_and(|protection| protection & EXECUTABLE != 0);
        reader.u32();
    }
    let path = reader.text().map_or(Cow::Borrowed(""), String::from_utf8_lossy);
    if build_id.is_empty() {
        // The kernel is mapped as [kernel.kallsyms]_text, and known as [kernel.kallsyms].
        let known = path.split_inclusive(']').next().filter(|_| path.starts_with("[kernel"));
        build_id = build_ids.get(known.unwrap_or(&path)).map_or(&[], Vec::as_slice);
    }
    vec![
        thread,
        process,
        start,
        length,
        offset,
        Some(Value::Truth(executable)),
        Mode::of(record.flags).map(|(_, name)| Value::Text(name.into())),
        Some(Value::Text(path)),
        Some(Value::Bytes(build_id)).filter(|_| !build_id.is_empty()),
        device,
        inode,
    ]
}
