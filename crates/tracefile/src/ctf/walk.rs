//! Reading any field of any class, one at a time: for headers and contexts of packets, and for what
//! an event's compiled layout leaves to it (lists, and what is within them).

use super::classes::{Bytes, Encoding, FieldClass, Integer, Kind, Length, Role, Variant};
use super::cursor::{Cursor, Stop, extend};
use crate::columns::Column;

/// Values that later fields depend on, and a limit to what holds nothing.
pub(super) struct State {
    /// Values of fields that lengths and selectors refer to.
    pub(super) slots: Vec<i128>,
    /// Empty elements and nulls that the packet may still have.
    empty: u64,
}

impl State {
    /// For a packet of so many bytes.
    pub(super) fn new(slots: usize, bytes: usize) -> Self {
        Self { slots: vec![0; slots], empty: (1 << 16) + 64 * bytes as u64 }
    }

    /// Counts things that take no room in the packet.
    #[inline]
    pub(super) fn spend(&mut self, count: u64) -> Result<(), Stop> {
        self.empty = self.empty.checked_sub(count).ok_or(Stop::Empty)?;
        Ok(())
    }

    #[inline]
    pub(super) fn keep(&mut self, slot: u16, value: u64, signed: bool) {
        self.slots[usize::from(slot)] =
            if signed { i128::from(value as i64) } else { i128::from(value) };
    }

    pub(super) fn length(&self, length: &Length) -> Result<u64, Stop> {
        match length {
            Length::Fixed(length) => Ok(*length),
            Length::Of(reference) => {
                let slot = reference.slot.expect("resolved when the trace was opened");
                let value = self.slots[usize::from(slot)];
                u64::try_from(value).map_err(|_| Stop::length(value))
            }
        }
    }

    /// The first of some sets of ranges that a selector's value is in.
    #[inline]
    pub(super) fn choose<'a>(
        &mut self,
        value: i128,
        mut ranges: impl Iterator<Item = &'a [(i128, i128)]>,
    ) -> Result<Option<usize>, Stop> {
        let mut looked_at = 0;
        let chosen = ranges.position(|ranges| {
            looked_at += ranges.len() as u64;
            ranges.iter().any(|&(first, last)| first <= value && value <= last)
        });
        // A few are free; so many that they take longer than reading the fields are not.
        self.spend(looked_at / 16)?;
        Ok(chosen)
    }

    /// The option that a variant's selector chooses; `None`: an optional field that is absent.
    #[inline]
    pub(super) fn option(&mut self, variant: &Variant) -> Result<Option<usize>, Stop> {
        let slot = variant.selector.slot.expect("resolved when the trace was opened");
        let value = self.slots[usize::from(slot)];
        let ranges = variant.options.iter().map(|option| option.ranges.as_slice());
        let chosen = self.choose(value, ranges)?;
        match chosen {
            None if !variant.optional => Err(Stop::selector(value)),
            chosen => Ok(chosen),
        }
    }
}

/// What fields with a role mean to the one who reads a header.
pub(super) trait Roles {
    fn number(&mut self, role: Role, value: u64, bits: u8);
    fn uuid(&mut self, bytes: &[u8]);
}

/// The roles that numbers have.
const NUMBERS: [Role; 12] = [
    Role::Magic,
    Role::StreamClass,
    Role::StreamInstance,
    Role::TotalBits,
    Role::ContentBits,
    Role::Begin,
    Role::End,
    Role::Discarded,
    Role::Sequence,
    Role::EventClass,
    Role::Time,
    Role::Cpu,
];

/// Reads a header or context for its roles.
pub(super) fn header(
    class: &FieldClass,
    cursor: &mut Cursor,
    state: &mut State,
    roles: &mut dyn Roles,
) -> Result<(), Stop> {
    cursor.align(class.align)?;
    match &class.kind {
        Kind::Integer(integer) => {
            let (value, bits) = read_integer(integer, cursor, state)?;
            if !integer.roles.is_empty() {
                for role in NUMBERS.into_iter().filter(|&role| integer.roles.has(role)) {
                    roles.number(role, value, bits);
                }
            }
        }
        Kind::Bytes(bytes) if bytes.roles.has(Role::Uuid) => {
            let length = state.length(&bytes.length)?;
            roles.uuid(cursor.take(length)?);
        }
        Kind::Struct(members) => {
            for member in members {
                header(&member.class, cursor, state, roles)?;
            }
        }
        Kind::Variant(variant) => {
            if let Some(at) = state.option(variant)? {
                header(&variant.options[at].class, cursor, state, roles)?;
            }
        }
        _ => value(class, cursor, state, None)?,
    }
    Ok(())
}

/// Reads an integer and keeps it when others depend on it: the value, sign-extended, and its width.
fn read_integer(
    integer: &Integer,
    cursor: &mut Cursor,
    state: &mut State,
) -> Result<(u64, u8), Stop> {
    let (value, bits) = match integer.variable {
        true => cursor.variable(integer.signed)?,
        false => (cursor.bits(integer.bits, integer.order)?, integer.bits),
    };
    let value = if integer.signed && !integer.variable { extend(value, bits) } else { value };
    if let Some(slot) = integer.slot {
        state.keep(slot, value, integer.signed);
    }
    Ok((value, bits))
}

/// Reads a field into a column, or passes over it.
pub(super) fn value(
    class: &FieldClass,
    cursor: &mut Cursor,
    state: &mut State,
    column: Option<&mut Column>,
) -> Result<(), Stop> {
    cursor.align(class.align)?;
    match &class.kind {
        Kind::Integer(integer) => {
            let (value, _) = read_integer(integer, cursor, state)?;
            if let Some(column) = column {
                column.unsigned(value);
            }
        }
        Kind::Float { bits, order } => {
            let value = cursor.bits(*bits, *order)?;
            if let Some(column) = column {
                column.float(float(value, *bits));
            }
        }
        Kind::Text(encoding) => {
            let text = cursor.text(*encoding)?;
            if let Some(column) = column {
                push_text(text, *encoding, column);
            }
        }
        Kind::Bytes(bytes) => read_bytes(bytes, cursor, state, column)?,
        Kind::Struct(members) => match column {
            None => {
                for member in members {
                    value(&member.class, cursor, state, None)?;
                }
            }
            Some(column) => {
                let columns = column.members();
                for (member, column) in members.iter().zip(columns) {
                    value(&member.class, cursor, state, Some(column))?;
                }
                column.end_struct();
            }
        },
        Kind::Array { length, of } => {
            let length = state.length(length)?;
            array(of, length, cursor, state, column)?;
        }
        Kind::Variant(variant) => {
            let chosen = state.option(variant)?;
            match column {
                None => {
                    if let Some(at) = chosen {
                        value(&variant.options[at].class, cursor, state, None)?;
                    }
                }
                Some(column) if variant.optional => match chosen {
                    Some(at) => value(&variant.options[at].class, cursor, state, Some(column))?,
                    None => {
                        state.spend(1)?;
                        column.null();
                    }
                },
                Some(column) => {
                    state.spend(variant.options.len() as u64)?;
                    for (at, option) in variant.options.iter().enumerate() {
                        let column = &mut column.members()[at];
                        match chosen == Some(at) {
                            true => value(&option.class, cursor, state, Some(column))?,
                            false => column.null(),
                        }
                    }
                    column.end_struct();
                }
            }
        }
    }
    Ok(())
}

fn read_bytes(
    bytes: &Bytes,
    cursor: &mut Cursor,
    state: &mut State,
    column: Option<&mut Column>,
) -> Result<(), Stop> {
    let length = state.length(&bytes.length)?;
    let value = cursor.take(length)?;
    if let Some(column) = column {
        match bytes.text {
            Some(encoding) => push_text(encoding.cut(value), encoding, column),
            None => column.bytes(value),
        }
    }
    Ok(())
}

#[inline]
pub(super) fn push_text(text: &[u8], encoding: Encoding, column: &mut Column) {
    match encoding {
        Encoding::Utf8 => column.bytes(text),
        _ => column.bytes(&encoding.utf8(text)),
    }
}

fn array(
    of: &FieldClass,
    length: u64,
    cursor: &mut Cursor,
    state: &mut State,
    column: Option<&mut Column>,
) -> Result<(), Stop> {
    // Also an empty array aligns for its elements: its class has their alignment.
    let Some(column) = column else {
        if let (false, Some(bits)) = (of.keeps_values(), of.fixed_bits()) {
            let stride = super::classes::align_up(bits, of.align).ok_or(Stop::Short)?;
            if length > 0 {
                let bits = stride.checked_mul(length - 1).and_then(|all| all.checked_add(bits));
                cursor.pass(bits.ok_or(Stop::Short)?)?;
            }
            return Ok(());
        }
        for _ in 0..length {
            let before = cursor.at;
            value(of, cursor, state, None)?;
            if cursor.at == before {
                state.spend(1)?;
            }
        }
        return Ok(());
    };
    if let Kind::Integer(Integer {
        bits: 8,
        variable: false,
        signed: false,
        boolean: false,
        slot: None,
        ..
    }) = &of.kind
        && of.align == 8
    {
        column.items().octets(cursor.take(length)?);
    } else {
        for _ in 0..length {
            let before = cursor.at;
            let items = column.items();
            if items.len() >= i32::MAX as usize {
                return Err(Stop::Empty);
            }
            value(of, cursor, state, Some(items))?;
            if cursor.at == before {
                state.spend(1)?;
            }
        }
    }
    column.end_list();
    Ok(())
}

/// A floating point of 16, 32 or 64 bits.
#[inline]
pub(super) fn float(value: u64, bits: u8) -> f64 {
    match bits {
        16 => half(value as u16),
        32 => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    }
}

fn half(value: u16) -> f64 {
    let sign = if value & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(value >> 10 & 0x1f);
    let mantissa = f64::from(value & 0x3ff);
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x0001), 2f64.powi(-24));
        assert_eq!(half(0x7c00), f64::INFINITY);
    }
}
