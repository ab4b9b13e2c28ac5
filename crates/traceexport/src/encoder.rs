//! One event type: from a row of its table to the bytes of its message.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ListArray, RecordBatch, StringArray};
use arrow_schema::DataType;
use traceanalysis::EventTable;

use crate::events::{EVENTS, OTHER_EVENTS, OTHER_FIELDS};
use crate::wire::{bytes, integer, varint};

const GENERIC: u32 = 327;
const SYS_ENTER: u32 = 329;
const SYS_EXIT: u32 = 330;
/// Columns that stand in every table and in `FtraceEvent` itself, or say nothing to a reader.
const COMMON: [&str; 5] = ["time", "cpu", "common_flags", "common_preempt_count", "common_pid"];

/// How a field is written.
enum Place {
    /// A field of a message that is known.
    Known { number: u32, text: bool },
    /// A `GenericFtraceEvent.Field`: its name, encoded.
    Generic(Vec<u8>),
}

/// What messages of an event type look like.
pub(crate) struct Encoder<'a> {
    /// The number within `FtraceEvent`.
    pub(crate) number: u32,
    /// What stands before the fields: the name of a generic event.
    head: Vec<u8>,
    batches: Vec<Batch<'a>>,
    /// The first row of each batch, and their sum.
    starts: Vec<u32>,
}

struct Batch<'a> {
    columns: Vec<(Place, Values<'a>)>,
    pid: Option<Values<'a>>,
    next: Option<Values<'a>>,
    previous: Option<Values<'a>>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(event: &'a EventTable) -> Self {
        let name = OTHER_EVENTS.iter().find(|(theirs, _)| *theirs == event.name);
        let name = name.map_or(event.name.as_str(), |(_, ours)| ours);
        let known = EVENTS.iter().find(|(known, ..)| *known == name);
        let columns = event.batches.first().map(RecordBatch::schema);
        let has = |column| columns.as_ref().is_some_and(|s| s.column_with_name(column).is_some());
        let (number, fields) = match known {
            Some(&(_, number, fields)) => (number, Some(fields)),
            None if name.starts_with("sys_enter") && (has("__syscall_nr") || has("id")) => {
                (SYS_ENTER, Some("__syscall_nr:1 id:1 *:2"))
            }
            None if name.starts_with("sys_exit") && (has("__syscall_nr") || has("id")) => {
                (SYS_EXIT, Some("__syscall_nr:1 id:1 ret:2"))
            }
            None => (GENERIC, None),
        };
        let mut head = Vec::new();
        if fields.is_none() {
            bytes(&mut head, 1, event.name.as_bytes());
        }
        let mut starts = vec![0];
        for batch in &event.batches {
            starts.push(starts[starts.len() - 1] + batch.num_rows() as u32);
        }
        let batches = event.batches.iter().map(|batch| Batch::new(batch, fields)).collect();
        Self { number, head, batches, starts }
    }

    /// Whether its events have no message of their own.
    pub(crate) fn is_generic(&self) -> bool {
        self.number == GENERIC
    }

    /// The batch that holds a row, beginning at the one that held the row before it.
    pub(crate) fn batch_of(&self, row: u32, last: usize) -> usize {
        let holds = |at: usize| {
            self.starts.get(at).is_some_and(|&first| first <= row)
                && self.starts.get(at + 1).is_some_and(|&end| row < end)
        };
        if holds(last) {
            return last;
        }
        self.starts.partition_point(|&first| first <= row) - 1
    }

    /// The thread that ran: as the event says, else as the switches say.
    pub(crate) fn pid(&self, batch: usize, row: u32, current: &mut Option<i64>) -> Option<i64> {
        let at = (row - self.starts[batch]) as usize;
        let batch = &self.batches[batch];
        let number =
            |values: &Option<Values>| values.as_ref().and_then(|values| values.integer(at));
        let pid = number(&batch.pid).or_else(|| number(&batch.previous)).or(*current);
        if let Some(next) = number(&batch.next) {
            *current = Some(next);
        }
        pid
    }

    /// Appends the message of a row.
    pub(crate) fn put(&self, batch: usize, row: u32, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
        let at = (row - self.starts[batch]) as usize;
        out.extend_from_slice(&self.head);
        for (place, values) in &self.batches[batch].columns {
            if values.is_null(at) {
                continue;
            }
            match place {
                Place::Known { number, .. } => values.put_known(*number, at, out),
                Place::Generic(name) => {
                    scratch.clear();
                    scratch.extend_from_slice(name);
                    if values.put_generic(at, scratch) {
                        bytes(out, 2, scratch);
                    }
                }
            }
        }
    }
}

impl<'a> Batch<'a> {
    fn new(batch: &'a RecordBatch, fields: Option<&str>) -> Self {
        let schema = batch.schema();
        let find = |name: &str| {
            let at = schema.index_of(name).ok()?;
            Values::new(batch.column(at).as_ref())
        };
        let mut columns = Vec::new();
        for (at, field) in schema.fields().iter().enumerate() {
            if COMMON.contains(&field.name().as_str()) {
                continue;
            }
            let Some(values) = Values::new(batch.column(at).as_ref()) else { continue };
            let place = match fields {
                None => {
                    let mut name = Vec::new();
                    bytes(&mut name, 1, field.name().as_bytes());
                    Some(Place::Generic(name))
                }
                Some(fields) => place_of(field.name(), fields).filter(
                    |place| matches!(place, Place::Known { text, .. } if *text == values.is_text()),
                ),
            };
            columns.extend(place.map(|place| (place, values)));
        }
        let switch = find("next_pid").or_else(|| find("next_tid")).is_some();
        let of_switch = |ftrace: &str, lttng: &str| {
            if switch { find(ftrace).or_else(|| find(lttng)) } else { None }
        };
        Self {
            columns,
            pid: find("common_pid"),
            next: of_switch("next_pid", "next_tid"),
            previous: of_switch("prev_pid", "prev_tid"),
        }
    }
}

/// The place of a column in a message whose fields are `name:number`, with `s` for texts; `*`
/// takes every integer that no other field takes.
fn place_of(column: &str, fields: &str) -> Option<Place> {
    let name = OTHER_FIELDS.iter().find(|(theirs, _)| *theirs == column);
    let name = name.map_or(column, |(_, ours)| ours);
    let mut rest = None;
    for field in fields.split(' ') {
        let (known, number) = field.split_once(':')?;
        let text = number.ends_with('s');
        let place = Place::Known { number: number.trim_end_matches('s').parse().ok()?, text };
        if known == name || known == column {
            return Some(place);
        }
        if known == "*" {
            rest = Some(place);
        }
    }
    rest
}

/// The values of a column that can be written.
enum Values<'a> {
    Signed(Box<dyn Fn(usize) -> i64 + Send + Sync + 'a>, &'a dyn Array),
    Unsigned(Box<dyn Fn(usize) -> u64 + Send + Sync + 'a>, &'a dyn Array),
    Text(&'a StringArray),
    List(&'a ListArray),
}

macro_rules! reader {
    ($array:expr, $type:ty, $as:ty) => {{
        let values: &'a [_] = $array.as_primitive::<$type>().values();
        Box::new(move |at: usize| values[at] as $as)
    }};
}

impl<'a> Values<'a> {
    /// Structures, floats and bytes have no place in Perfetto's messages.
    fn new(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int8 => Self::Signed(reader!(array, Int8Type, i64), array),
            DataType::Int16 => Self::Signed(reader!(array, Int16Type, i64), array),
            DataType::Int32 => Self::Signed(reader!(array, Int32Type, i64), array),
            DataType::Int64 => Self::Signed(reader!(array, Int64Type, i64), array),
            DataType::UInt8 => Self::Unsigned(reader!(array, UInt8Type, u64), array),
            DataType::UInt16 => Self::Unsigned(reader!(array, UInt16Type, u64), array),
            DataType::UInt32 => Self::Unsigned(reader!(array, UInt32Type, u64), array),
            DataType::UInt64 => Self::Unsigned(reader!(array, UInt64Type, u64), array),
            DataType::Boolean => {
                let values = array.as_boolean();
                Self::Unsigned(Box::new(move |at| u64::from(values.value(at))), array)
            }
            DataType::Utf8 => Self::Text(array.as_string::<i32>()),
            DataType::List(of) if of.data_type().is_integer() => Self::List(array.as_list::<i32>()),
            _ => return None,
        })
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    #[inline]
    fn is_null(&self, at: usize) -> bool {
        match self {
            Self::Signed(_, array) | Self::Unsigned(_, array) => array.is_null(at),
            Self::Text(array) => array.is_null(at),
            Self::List(array) => array.is_null(at),
        }
    }

    fn integer(&self, at: usize) -> Option<i64> {
        match self {
            _ if self.is_null(at) => None,
            Self::Signed(read, _) => Some(read(at)),
            Self::Unsigned(read, _) => Some(read(at) as i64),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    #[inline]
    fn put_known(&self, number: u32, at: usize, out: &mut Vec<u8>) {
        match self {
            Self::Signed(read, _) => integer(out, number, read(at) as u64),
            Self::Unsigned(read, _) => integer(out, number, read(at)),
            Self::Text(values) => bytes(out, number, values.value(at).as_bytes()),
            // A repeated field: one after the other.
            Self::List(values) => {
                for value in elements(&values.value(at)) {
                    integer(out, number, value as u64);
                }
            }
        }
    }

    /// Appends the value of a generic field; false when it has none.
    fn put_generic(&self, at: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Text(values) => bytes(out, 3, values.value(at).as_bytes()),
            Self::Signed(read, _) => integer(out, 4, read(at) as u64),
            Self::Unsigned(read, _) => integer(out, 5, read(at)),
            Self::List(values) => {
                let shown: Vec<_> =
                    elements(&values.value(at)).iter().map(i128::to_string).collect();
                bytes(out, 3, shown.join(" ").as_bytes());
            }
        }
        true
    }
}

fn elements(array: &dyn Array) -> Vec<i128> {
    let Some(values) = Values::new(array) else { return Vec::new() };
    (0..array.len())
        .map(|at| match &values {
            Values::Signed(read, _) => i128::from(read(at)),
            Values::Unsigned(read, _) => i128::from(read(at)),
            Values::Text(_) | Values::List(_) => 0,
        })
        .collect()
}

/// Appends a whole event to a bundle.
pub(crate) fn event(
    bundle: &mut Vec<u8>,
    message: &mut Vec<u8>,
    time: i64,
    pid: Option<i64>,
    number: u32,
    payload: &[u8],
) {
    message.clear();
    integer(message, 1, time as u64);
    if let Some(pid) = pid {
        integer(message, 2, u64::from(pid as u32));
    }
    bytes(message, number, payload);
    varint(bundle, 2 << 3 | 2);
    varint(bundle, message.len() as u64);
    bundle.extend_from_slice(message);
}
