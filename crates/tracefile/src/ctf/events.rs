//! The events of a packet: header, time, then the steps of its class.

use super::classes::{FieldClass, Integer, Kind, Role, StreamClass};
use super::cursor::{Cursor, Stop};
use super::walk::{self, Roles, State};
use crate::ByteOrder;

/// The number of an event's class, and the clock after its header.
pub(super) struct Header {
    pub(super) id: u64,
    pub(super) clock: u64,
}

/// How a stream's event headers are read.
pub(super) enum HeaderReader {
    /// The two forms of LTTng, compact and large.
    Lttng(Lttng),
    Any(FieldClass),
    /// One event class, and no times.
    None,
}

/// An id of few bits, and a time of few bits behind it; or, behind an id of all ones, both in full.
pub(super) struct Lttng {
    align: u32,
    id_bits: u8,
    time_bits: u8,
    time_align: u32,
    extended_align: u32,
    extended_time_align: u32,
}

impl HeaderReader {
    pub(super) fn new(stream: &StreamClass) -> Self {
        match &stream.event_header {
            None => Self::None,
            Some(class) => match Lttng::of(class) {
                Some(lttng) => Self::Lttng(lttng),
                None => Self::Any(class.clone()),
            },
        }
    }

    #[inline]
    pub(super) fn read(
        &self,
        cursor: &mut Cursor,
        state: &mut State,
        clock: u64,
    ) -> Result<Header, Stop> {
        match self {
            Self::Lttng(lttng) => lttng.read(cursor, clock),
            Self::Any(class) => {
                let mut header = Header { id: 0, clock };
                walk::header(class, cursor, state, &mut header)?;
                Ok(header)
            }
            Self::None => Ok(Header { id: 0, clock }),
        }
    }
}

impl Roles for Header {
    fn number(&mut self, role: Role, value: u64, bits: u8) {
        match role {
            Role::EventClass => self.id = value,
            Role::Time => self.clock = advance(self.clock, value, bits),
            _ => {}
        }
    }

    fn uuid(&mut self, _: &[u8]) {}
}

/// The clock after a stamp of `bits`: it replaces the low bits, and one that is smaller than they
/// were has wrapped once.
#[inline]
pub(super) fn advance(clock: u64, stamp: u64, bits: u8) -> u64 {
    if bits >= 64 {
        return stamp;
    }
    let mask = (1u64 << bits) - 1;
    let stamp = stamp & mask;
    let wrap = if stamp < clock & mask { mask + 1 } else { 0 };
    ((clock & !mask) | stamp).wrapping_add(wrap)
}

impl Lttng {
    /// Recognises the shapes, little endian, whose fields nothing else refers to.
    fn of(class: &FieldClass) -> Option<Self> {
        let Kind::Struct(members) = &class.kind else { return None };
        let [id, variant] = members.as_slice() else { return None };
        let id_class = plain(&id.class, Role::EventClass)?;
        let Kind::Variant(forms) = &variant.class.kind else { return None };
        let [compact, extended] = forms.options.as_slice() else { return None };
        let Kind::Struct(short) = &compact.class.kind else { return None };
        let Kind::Struct(long) = &extended.class.kind else { return None };
        let ([short_time], [long_id, long_time]) = (short.as_slice(), long.as_slice()) else {
            return None;
        };
        let time = plain(&short_time.class, Role::Time)?;
        let (wide_id, wide_time) =
            (plain(&long_id.class, Role::EventClass)?, plain(&long_time.class, Role::Time)?);
        let all_ones = (1i128 << id_class.bits) - 1;
        // The selector is the only field of the header with a slot.
        let selects = id_class.slot.is_some() && forms.selector.slot == id_class.slot;
        let known = selects
            && time.slot.is_none()
            && wide_id.slot.is_none()
            && wide_time.slot.is_none()
            && matches!((id_class.bits, time.bits), (5, 27) | (16, 32))
            && (wide_id.bits, wide_time.bits) == (32, 64)
            && extended.ranges == [(all_ones, all_ones)]
            && compact.ranges == [(0, all_ones - 1)]
            && class.align >= 8
            && id.class.align <= class.align
            && extended.class.align.max(long_id.class.align) >= 8
            && long_time.class.align >= 8
            && (id_class.bits == 5 || compact.class.align.max(short_time.class.align) >= 8)
            && (id_class.bits == 16 || compact.class.align.max(short_time.class.align) == 1);
        known.then(|| Self {
            align: class.align,
            id_bits: id_class.bits,
            time_bits: time.bits,
            time_align: compact.class.align.max(short_time.class.align),
            extended_align: extended.class.align.max(long_id.class.align),
            extended_time_align: long_time.class.align,
        })
    }

    #[inline]
    fn read(&self, cursor: &mut Cursor, clock: u64) -> Result<Header, Stop> {
        cursor.align(self.align)?;
        let (id, all_ones, time) = if self.id_bits == 5 {
            let before = cursor.at;
            // An extended header has room for the id alone.
            if cursor.end - before < 32 {
                return Err(Stop::Short);
            }
            let word = u32::from_le_bytes(cursor.peek());
            let id = u64::from(word & 31);
            cursor.at += if id == 31 { 5 } else { 32 };
            (id, 31, u64::from(word >> 5))
        } else {
            let id = u64::from(u16::from_le_bytes(cursor.array()?));
            if id == 0xffff {
                (id, 0xffff, 0)
            } else {
                cursor.align(self.time_align)?;
                (id, 0xffff, u64::from(u32::from_le_bytes(cursor.array()?)))
            }
        };
        if id != all_ones {
            return Ok(Header { id, clock: advance(clock, time, self.time_bits) });
        }
        cursor.align(self.extended_align)?;
        let id = u64::from(u32::from_le_bytes(cursor.array()?));
        cursor.align(self.extended_time_align)?;
        Ok(Header { id, clock: u64::from_le_bytes(cursor.array()?) })
    }
}

/// A fixed-length little-endian integer that has no role but this.
fn plain(class: &FieldClass, role: Role) -> Option<&Integer> {
    match &class.kind {
        Kind::Integer(integer)
            if !integer.variable
                && !integer.signed
                && integer.order == ByteOrder::Little
                && integer.roles == super::classes::Roles::only(role) =>
        {
            Some(integer)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_stamp_has_wrapped_once_an_equal_one_has_not() {
        assert_eq!(advance(0x1_ff, 0x01, 8), 0x2_01);
        assert_eq!(advance(0x1_ff, 0xff, 8), 0x1_ff);
        assert_eq!(advance(0x1_10, 0x20, 8), 0x1_20);
        assert_eq!(advance(u64::MAX, 3, 64), 3);
        assert_eq!(advance(u64::MAX, 0, 8), 0);
    }
}
