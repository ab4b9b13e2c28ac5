//! What CTF metadata describes, in one form for TSDL and JSON.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{ByteOrder, Label};

/// The layout of one field in the data. Positions and alignments count in bits.
#[derive(Debug, Clone)]
pub(super) struct FieldClass {
    /// A power of two.
    pub(super) align: u32,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Integer(Integer),
    Float {
        bits: u8,
        order: ByteOrder,
    },
    /// Ends with a NUL of the encoding's unit.
    Text(Encoding),
    Bytes(Bytes),
    Struct(Vec<Member>),
    Array {
        length: Length,
        of: Box<FieldClass>,
    },
    /// One of its options, or none: TSDL's variant, CTF 2's variant and optional.
    Variant(Variant),
}

#[derive(Debug, Clone)]
pub(super) struct Integer {
    /// 1 to 64; 64 for a variable-length one, whose size follows from its bytes.
    pub(super) bits: u8,
    pub(super) variable: bool,
    pub(super) order: ByteOrder,
    pub(super) signed: bool,
    pub(super) boolean: bool,
    pub(super) base: u8,
    pub(super) labels: Arc<[Label]>,
    pub(super) roles: Roles,
    /// The clock whose values it holds (TSDL).
    pub(super) clock: Option<Arc<str>>,
    /// Where its value is kept for the lengths and selectors that refer to it.
    pub(super) slot: Option<u16>,
}

/// Bytes of a length that is known before them.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    /// In bytes.
    pub(super) length: Length,
    /// Text (cut at the first NUL), or a BLOB.
    pub(super) text: Option<Encoding>,
    pub(super) roles: Roles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16(ByteOrder),
    Utf32(ByteOrder),
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) class: FieldClass,
}

#[derive(Debug, Clone)]
pub(super) enum Length {
    Fixed(u64),
    Of(Reference),
}

#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) selector: Reference,
    pub(super) options: Vec<Choice>,
    /// Of an optional: the field may be absent. A variant must have one of its options.
    pub(super) optional: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// Empty for the field of an optional.
    pub(super) name: String,
    /// Values of the selector, inclusive. TSDL names a label instead: filled in when resolved.
    pub(super) ranges: Vec<(i128, i128)>,
    pub(super) class: FieldClass,
}

/// A field that a length or a selector is read from.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) location: Location,
    /// Known when resolved.
    pub(super) slot: Option<u16>,
}

impl Reference {
    pub(super) fn new(location: Location) -> Self {
        Self { location, slot: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// From the root of a scope.
    Absolute(Scope, Vec<String>),
    /// From the structure around the referring field; `None` goes to the one around that (CTF 2).
    Relative(Vec<Option<String>>),
    /// Looked for in the structures around the referring field, then in earlier scopes (TSDL).
    Search(Vec<String>),
}

/// The parts of a packet and of an event, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    PacketHeader,
    PacketContext,
    EventHeader,
    CommonContext,
    SpecificContext,
    Payload,
}

/// What a field means to the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Magic,
    Uuid,
    StreamClass,
    StreamInstance,
    TotalBits,
    ContentBits,
    Begin,
    End,
    Discarded,
    Sequence,
    EventClass,
    Time,
    Cpu,
}

/// A set of roles; mostly empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Roles(u16);

impl Roles {
    pub(super) fn add(&mut self, role: Role) {
        self.0 |= 1 << role as u16;
    }

    pub(super) fn has(self, role: Role) -> bool {
        self.0 & (1 << role as u16) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn only(role: Role) -> Self {
        Self(1 << role as u16)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClockClass {
    /// What streams refer to it by: its name in TSDL, its `id` in CTF 2.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) uuid: Option<String>,
    pub(super) frequency: u64,
    pub(super) offset_seconds: i64,
    pub(super) offset_cycles: i64,
    /// Whether its origin is the Unix epoch.
    pub(super) unix: bool,
}

#[derive(Debug, Default)]
pub(super) struct StreamClass {
    pub(super) id: u64,
    pub(super) packet_context: Option<FieldClass>,
    pub(super) event_header: Option<FieldClass>,
    pub(super) common_context: Option<FieldClass>,
    /// Its default clock, an index into [`TraceClass::clocks`].
    pub(super) clock: Option<usize>,
    /// Indices into [`TraceClass::events`] by event class id.
    pub(super) events: HashMap<u64, usize>,
}

#[derive(Debug)]
pub(super) struct EventClass {
    /// An index into [`TraceClass::streams`].
    pub(super) stream: usize,
    pub(super) id: u64,
    pub(super) name: String,
    /// The provider: the namespace of CTF 2, or what LTTng's names begin with. May be empty.
    pub(super) system: String,
    pub(super) context: Option<FieldClass>,
    pub(super) payload: Option<FieldClass>,
}

/// All of the metadata.
#[derive(Debug)]
pub(super) struct TraceClass {
    pub(super) version: u8,
    pub(super) byte_order: ByteOrder,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) packet_header: Option<FieldClass>,
    pub(super) clocks: Vec<ClockClass>,
    pub(super) streams: Vec<StreamClass>,
    pub(super) events: Vec<EventClass>,
    /// Number of values that are kept for lengths and selectors.
    pub(super) slots: usize,
    pub(super) notes: Vec<String>,
}

impl FieldClass {
    /// Bits from its (aligned) beginning to its end and the alignment within, when every instance
    /// has the same.
    pub(super) fn fixed_bits(&self) -> Option<u64> {
        match &self.kind {
            Kind::Integer(integer) => (!integer.variable).then_some(u64::from(integer.bits)),
            Kind::Float { bits, .. } => Some(u64::from(*bits)),
            Kind::Bytes(Bytes { length: Length::Fixed(length), .. }) => length.checked_mul(8),
            Kind::Struct(members) => {
                let mut at = 0u64;
                for Member { class, .. } in members {
                    at = align_up(at, class.align)?.checked_add(class.fixed_bits()?)?;
                }
                Some(at)
            }
            Kind::Array { length: Length::Fixed(length), of } => {
                let one = of.fixed_bits()?;
                let stride = align_up(one, of.align)?;
                match length.checked_sub(1) {
                    None => Some(0),
                    Some(before) => stride.checked_mul(before)?.checked_add(one),
                }
            }
            _ => None,
        }
    }

    /// The first clock that a field of it is mapped to.
    pub(super) fn clock(&self) -> Option<&str> {
        match &self.kind {
            Kind::Integer(integer) => integer.clock.as_deref(),
            Kind::Float { .. } | Kind::Text(_) | Kind::Bytes(_) => None,
            Kind::Struct(members) => members.iter().find_map(|member| member.class.clock()),
            Kind::Array { of, .. } => of.clock(),
            Kind::Variant(variant) => variant.options.iter().find_map(|one| one.class.clock()),
        }
    }

    /// Whether a field of it leaves a value for others to refer to.
    pub(super) fn keeps_values(&self) -> bool {
        match &self.kind {
            Kind::Integer(integer) => integer.slot.is_some(),
            Kind::Float { .. } | Kind::Text(_) | Kind::Bytes(_) => false,
            Kind::Struct(members) => members.iter().any(|member| member.class.keeps_values()),
            Kind::Array { of, .. } => of.keeps_values(),
            Kind::Variant(variant) => variant.options.iter().any(|one| one.class.keeps_values()),
        }
    }

    /// Itself and all classes inside, as (number, depth of nesting).
    pub(super) fn measure(&self) -> (usize, usize) {
        let inside: Vec<&FieldClass> = match &self.kind {
            Kind::Struct(members) => members.iter().map(|member| &member.class).collect(),
            Kind::Array { of, .. } => vec![of],
            Kind::Variant(variant) => variant.options.iter().map(|one| &one.class).collect(),
            _ => vec![],
        };
        inside.into_iter().map(Self::measure).fold((1, 1), |(number, depth), (more, deeper)| {
            (number.saturating_add(more), depth.max(deeper + 1))
        })
    }
}

/// Nothing real comes near these; metadata made to exhaust memory does.
pub(super) const MOST_CLASSES: usize = 1 << 18;
/// In one scope: what refers to what is looked up one by one.
pub(super) const MOST_IN_SCOPE: usize = 1 << 13;
pub(super) const MOST_NESTING: usize = 48;

impl FieldClass {
    /// Whether a scope's class is of a size that can be worked with.
    pub(super) fn check_size(&self) -> Result<(), String> {
        match self.measure() {
            (_, depth) if depth > MOST_NESTING => {
                Err(format!("more than {MOST_NESTING} types within each other"))
            }
            (number, _) if number > MOST_IN_SCOPE => {
                Err(format!("more than {MOST_IN_SCOPE} fields within one"))
            }
            _ => Ok(()),
        }
    }
}

/// The next position that is a multiple of `align`, a power of two.
#[inline]
pub(super) fn align_up(at: u64, align: u32) -> Option<u64> {
    let mask = u64::from(align) - 1;
    Some(at.checked_add(mask)? & !mask)
}
