//! The one form in which every format describes itself.

use std::path::PathBuf;
use std::sync::Arc;

/// Which format a trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Common Trace Format 1.8: TSDL metadata.
    Ctf1,
    /// Common Trace Format 2: JSON metadata.
    Ctf2,
    /// trace-cmd's trace.dat, version 6.
    TraceDat6,
    /// trace-cmd's trace.dat, version 7.
    TraceDat7,
    /// perf.data with tracepoint samples.
    PerfData,
    /// ftrace's text.
    FtraceText,
    /// Chrome's JSON, the trace event format.
    ChromeJson,
    /// Perfetto's protocol buffers.
    Perfetto,
}

/// The order of the bytes of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

/// The clock behind every time stamp of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// As the trace names it: `monotonic`, `local`, ... It may be wrong; nothing is inferred from it.
    pub name: String,
    /// Cycles per second of the stored values. Times in the result are always nanoseconds.
    pub frequency_hz: u64,
    /// Nanoseconds from the Unix epoch to the clock's zero; `None` when the trace does not say.
    pub epoch_offset_ns: Option<i64>,
    /// The clock's identity: traces with the same may be compared in time.
    pub uuid: Option<String>,
}

/// One sequence of events in order of time: a CTF data stream, or a CPU of a trace.dat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The name a person would know it by: a file name, or `cpu 0`.
    pub name: String,
    /// The CPU, when all its events are of one.
    pub cpu: Option<u16>,
    /// The files that hold it.
    pub files: Vec<PathBuf>,
    /// Bytes of event data.
    pub bytes: u64,
}

/// Where a field stands in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The packet's context, the same for all events of the packet.
    Packet,
    /// Fields that all events of a stream share (`common_pid`, a CTF stream's event context).
    Common,
    /// The context of this event type.
    Context,
    /// What the event itself says.
    Payload,
}

/// The type of a column, and of what is inside lists and structures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// Unsigned integer of up to 8, 16, 32 or 64 bits.
    Unsigned(u8),
    /// Signed integer of up to 8, 16, 32 or 64 bits.
    Signed(u8),
    /// Floating point of 32 or 64 bits.
    Float(u8),
    /// UTF-8 text; bytes that are not are replaced.
    Text,
    /// Bytes without meaning.
    Binary,
    /// A sequence of values.
    List(Arc<ColumnType>),
    /// Named values.
    Struct(Arc<[Member]>),
}

/// A member of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column: ColumnType,
}

/// A name that the trace gives to a range of values (an enumeration, or a flag or symbol of a
/// format text).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// First value of the range.
    pub first: i128,
    /// Last value of the range, inclusive.
    pub last: i128,
    /// The name.
    pub name: String,
}

/// One field of an event type; becomes one column.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The column's name, unique within the event type. Nested names are joined by a dot.
    pub name: String,
    /// Its type.
    pub column: ColumnType,
    /// Where it stands.
    pub scope: Scope,
    /// Whether some events may not have it (variants, optionals).
    pub nullable: bool,
    /// The base in which people write it: 2, 8, 10 or 16.
    pub base: u8,
    /// Names of its values.
    pub labels: Arc<[Label]>,
}

impl Field {
    /// A field that all events of a stream share.
    pub(crate) fn common(name: &str, column: ColumnType, nullable: bool) -> Self {
        Self {
            name: name.to_owned(),
            column,
            scope: Scope::Common,
            nullable,
            base: 10,
            labels: Arc::default(),
        }
    }

    /// A field of an event itself that some may not have, in base 10. One that is called as a column
    /// which every table has, or many have, is told apart from that.
    pub(crate) fn payload(name: &str, column: ColumnType) -> Self {
        let place = match name {
            "time" | "cpu" | "common_pid" | "common_flags" | "common_preempt_count" => "payload.",
            _ => "",
        };
        let name = format!("{place}{name}");
        Self { scope: Scope::Payload, ..Self::common(&name, column, true) }
    }
}

/// A kind of event; becomes one table.
#[derive(Debug, Clone, PartialEq)]
pub struct EventType {
    /// The table's name, unique within the trace.
    pub name: String,
    /// The tracing system or provider that it belongs to: `sched`, `lttng_ust_pthread`; may be empty.
    pub system: String,
    /// Its fields, in the order of the file.
    pub fields: Vec<Field>,
    /// How the trace says that it is printed (trace.dat: the `print fmt` text); may be empty.
    pub print_format: String,
}

/// What was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// Events that the tracer could not write.
    Events,
    /// Whole packets that are not in the trace.
    Packets,
}

/// Events are missing from a stream in a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The stream, an index into [`Info::streams`].
    pub stream: usize,
    /// What was lost.
    pub kind: LossKind,
    /// After this time; `None`: since before the trace.
    pub begin: Option<i64>,
    /// Before this time; `None`: until after the trace.
    pub end: Option<i64>,
    /// How many; `None` when the tracer did not count.
    pub count: Option<u64>,
}

/// A place of a file that could not be decoded. What precedes it is in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where in it, in bytes.
    pub offset: u64,
    /// The stream, when it is known.
    pub stream: Option<usize>,
    /// What is wrong there, and what was left out for it.
    pub what: String,
}

/// What a trace says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// The format.
    pub format: Format,
    /// The byte order of its head or metadata.
    pub byte_order: ByteOrder,
    /// What is known of where it was recorded: `hostname`, `kernel_release`, `tracer_name`, ...
    pub environment: Vec<(String, String)>,
    /// Its clock.
    pub clock: Clock,
    /// Its streams.
    pub streams: Vec<Stream>,
    /// Its event types, also those without events.
    pub events: Vec<EventType>,
    /// Names of threads that the trace keeps apart from its events: (thread id, name).
    pub tasks: Vec<(i32, String)>,
    /// Losses that are told of streams as a whole, or found while opening.
    pub losses: Vec<Loss>,
    /// Damage found while opening.
    pub damage: Vec<Damage>,
    /// Remarks: repaired producer faults, guesses that were made.
    pub notes: Vec<String>,
}
