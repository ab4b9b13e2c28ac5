//! Heads of packets: header and context.

use super::classes::{Role, TraceClass};
use super::cursor::{Cursor, Stop};
use super::walk::{self, State};

const MAGIC: u64 = 0xC1FC_1FC1;

/// What a packet's header and context say. `None`: they do not.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The stream class, an index into [`TraceClass::streams`].
    pub(super) stream: usize,
    pub(super) instance: Option<u64>,
    pub(super) total_bits: Option<u64>,
    pub(super) content_bits: Option<u64>,
    pub(super) begin: Option<u64>,
    pub(super) end: Option<u64>,
    /// A counter and its width in bits.
    pub(super) discarded: Option<(u64, u8)>,
    pub(super) sequence: Option<(u64, u8)>,
    pub(super) cpu: Option<u64>,
    /// The packet has another UUID than the metadata.
    pub(super) other_uuid: bool,
    /// Where the packet's context begins, and where the first event may, in bits.
    pub(super) context_at: u64,
    pub(super) events_at: u64,
}

/// Why a packet's head cannot be used.
pub(super) enum Fault {
    Magic(u64),
    Stream(u64),
    Stop(Stop),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Magic(found) => {
                write!(out, "no packet begins here: its magic number is {found:#x}")
            }
            Self::Stream(id) => write!(out, "the packet is of the unknown stream class {id}"),
            Self::Stop(Stop::Short) => {
                write!(out, "the file ends within the packet's header or context")
            }
            Self::Stop(stop) => write!(out, "the packet's header or context: {stop}"),
        }
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

#[derive(Default)]
struct Seen {
    magic: Option<u64>,
    uuid: Option<Vec<u8>>,
    stream: Option<u64>,
    head: Head,
}

impl walk::Roles for Seen {
    fn number(&mut self, role: Role, value: u64, bits: u8) {
        let head = &mut self.head;
        match role {
            Role::Magic => self.magic = Some(value),
            Role::StreamClass => self.stream = Some(value),
            Role::StreamInstance => head.instance = Some(value),
            Role::TotalBits => head.total_bits = Some(value),
            Role::ContentBits => head.content_bits = Some(value),
            Role::Begin => head.begin = Some(value),
            Role::End => head.end = Some(value),
            Role::Discarded => head.discarded = Some((value, bits)),
            Role::Sequence => head.sequence = Some((value, bits)),
            Role::Cpu => head.cpu = Some(value),
            Role::EventClass | Role::Time | Role::Uuid => {}
        }
    }

    fn uuid(&mut self, bytes: &[u8]) {
        self.uuid = Some(bytes.to_vec());
    }
}

/// Reads the head of the packet that `bytes` begin with; values that events refer to stay in `state`.
pub(super) fn head(trace: &TraceClass, bytes: &[u8], state: &mut State) -> Result<Head, Fault> {
    let mut cursor = Cursor::new(bytes, u64::MAX);
    let mut seen = Seen::default();
    if let Some(class) = &trace.packet_header {
        walk::header(class, &mut cursor, state, &mut seen)?;
    }
    if let Some(magic) = seen.magic.filter(|&magic| magic != MAGIC) {
        return Err(Fault::Magic(magic));
    }
    // Babeltrace reads such packets: what matters is whether the metadata describe them.
    let other = |(found, own): (&Vec<u8>, &[u8; 16])| found[..] != own[..];
    seen.head.other_uuid = seen.uuid.as_ref().zip(trace.uuid.as_ref()).is_some_and(other);
    let stream = match seen.stream {
        Some(id) => trace.streams.iter().position(|stream| stream.id == id),
        None => (!trace.streams.is_empty()).then_some(0),
    };
    let stream = stream.ok_or(Fault::Stream(seen.stream.unwrap_or(0)))?;
    let context_at = cursor.at;
    if let Some(class) = &trace.streams[stream].packet_context {
        walk::header(class, &mut cursor, state, &mut seen)?;
    }
    Ok(Head { stream, context_at, events_at: cursor.at, ..seen.head })
}
