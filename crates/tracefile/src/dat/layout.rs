//! Layouts of events: from a format text to fields, and from records to columns.
//!
//! A layout is compiled once for each event type; the records of a type are then read together,
//! column by column, so that what kind of field it is is asked once for a whole block of records.

use crate::columns::{Column, Values};
use crate::dat::format::{Format, FormatField, Item, Kind};
use crate::{ByteOrder, ColumnType};

/// A record: its time, and where its data lie in the block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) time: i64,
    pub(crate) at: u32,
    pub(crate) length: u32,
}

/// Where a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A number at an offset; the column has its width.
    Number { at: u32, size: u32 },
    /// An array at an offset, of so many bytes; cut at the record's end.
    Array { at: u32, size: u32, item: Item },
    /// An array of as many items as a u32 tells; cut at the record's end.
    Counted { at: u32, count_at: u32, item: Item, each: u32 },
    /// Told by a u32 at an offset.
    Located { at: u32, item: Item, base: u32 },
}

/// How an event type's records become rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    places: Vec<Place>,
    /// Records that are shorter do not hold all fields.
    pub(crate) least: u32,
}

impl Layout {
    pub(crate) fn new(format: &Format) -> Self {
        let furthest = format.fields.iter().map(|field| field.offset + field.size).max();
        // The kernel writes stacks as long as they are, in spite of what the format says.
        let is_open = |field: &FormatField<'_>| {
            matches!(field.kind, Kind::Array(_)) && Some(field.offset + field.size) == furthest
        };
        let least = format.fields.iter().map(|field| match is_open(field) {
            true => field.offset,
            false => field.offset + field.size,
        });
        let count = format.fields.iter().find(|field| (field.name, field.size) == ("size", 4));
        let count_at = count.filter(|_| format.name == "kernel_stack").map(|field| field.offset);
        let places = format.columns().map(|field| match (field.kind, count_at) {
            (Kind::Array(item @ Item::Number { size, .. }), Some(count_at)) if is_open(field) => {
                Place::Counted { at: field.offset, count_at, item, each: u32::from(size) }
            }
            _ => place(field),
        });
        let places = places.collect();
        Self { least: least.max().unwrap_or(0), places }
    }

    /// The layout of records without a known format: their bytes, after the common type's number.
    pub(crate) fn unknown(type_at: u32) -> Self {
        let rest = Place::Array { at: 0, size: u32::MAX, item: Item::Byte };
        Self { places: vec![Place::Number { at: type_at, size: 2 }, rest], least: type_at + 2 }
    }

    /// Where a field is; `None` for one that is not of the format.
    pub(crate) fn place(&self, field: usize) -> Option<Place> {
        self.places.get(field).copied()
    }

    /// Appends field `field` of all `records` to `column`. The records lie within `block`, and none
    /// is shorter than [`Layout::least`]. A field that is not of the format is left alone: whoever
    /// added it fills its column.
    pub(crate) fn gather(
        &self,
        field: usize,
        column: &mut Column,
        block: &[u8],
        records: &[Record],
        order: ByteOrder,
    ) {
        let Some(&place) = self.places.get(field) else { return };
        match order {
            ByteOrder::Little => gather::<false>(place, column, block, records),
            ByteOrder::Big => gather::<true>(place, column, block, records),
        }
    }
}

/// The column that a field becomes.
pub(crate) fn column_type(field: &FormatField) -> ColumnType {
    let of = |item: Item| match item {
        Item::Text => ColumnType::Text,
        Item::Byte => ColumnType::Binary,
        Item::Number { size, signed } => ColumnType::List(std::sync::Arc::new(match signed {
            true => ColumnType::Signed(size * 8),
            false => ColumnType::Unsigned(size * 8),
        })),
    };
    match field.kind {
        Kind::Bool => ColumnType::Bool,
        Kind::Number { signed: true } => ColumnType::Signed(field.size as u8 * 8),
        Kind::Number { signed: false } => ColumnType::Unsigned(field.size as u8 * 8),
        Kind::Array(item) | Kind::Rest(item) | Kind::Located { item, .. } => of(item),
    }
}

fn place(field: &FormatField) -> Place {
    let (at, size) = (field.offset, field.size);
    match field.kind {
        Kind::Number { .. } | Kind::Bool => Place::Number { at, size },
        Kind::Array(item) => Place::Array { at, size, item },
        Kind::Rest(item) => Place::Array { at, size: u32::MAX, item },
        Kind::Located { item, relative } => {
            Place::Located { at, item, base: if relative { at + size } else { 0 } }
        }
    }
}

fn gather<const BIG: bool>(place: Place, column: &mut Column, block: &[u8], records: &[Record]) {
    match place {
        Place::Number { at, size } => numbers::<BIG>(at, size, column, block, records),
        Place::Array { at, size, item } => {
            for record in records {
                let data = data(block, record);
                let begin = data.len().min(at as usize);
                let end = data.len().min(at.saturating_add(size) as usize);
                push::<BIG>(column, &data[begin..end], item);
            }
        }
        Place::Counted { at, count_at, item, each } => {
            for record in records {
                let data = data(block, record);
                let count = u32::from_be_bytes(bytes::<4, BIG>(data, count_at));
                let begin = data.len().min(at as usize);
                let end = data.len().min(at.saturating_add(count.saturating_mul(each)) as usize);
                push::<BIG>(column, &data[begin..end.max(begin)], item);
            }
        }
        Place::Located { at, item, base } => {
            for record in records {
                let data = data(block, record);
                let location = u32::from_be_bytes(bytes::<4, BIG>(data, at));
                let begin = (location & 0xffff).saturating_add(base) as usize;
                match data.get(begin..begin + (location >> 16) as usize) {
                    Some(array) => push::<BIG>(column, array, item),
                    None => column.null(),
                }
            }
        }
    }
}

#[inline]
fn data<'a>(block: &'a [u8], record: &Record) -> &'a [u8] {
    &block[record.at as usize..][..record.length as usize]
}

/// The bytes of a number, most significant first.
#[inline]
fn bytes<const N: usize, const BIG: bool>(block: &[u8], at: u32) -> [u8; N] {
    let mut taken: [u8; N] = block[at as usize..][..N].try_into().expect("N bytes");
    if !BIG {
        taken.reverse();
    }
    taken
}

fn numbers<const BIG: bool>(
    at: u32,
    size: u32,
    column: &mut Column,
    block: &[u8],
    records: &[Record],
) {
    macro_rules! extend {
        ($values:expr, $type:ty, $size:literal) => {
            $values.extend(
                records
                    .iter()
                    .map(|r| <$type>::from_be_bytes(bytes::<$size, BIG>(block, r.at + at))),
            )
        };
    }
    match &mut column.values {
        Values::U8(values) => extend!(values, u8, 1),
        Values::U16(values) => extend!(values, u16, 2),
        Values::U32(values) => extend!(values, u32, 4),
        Values::U64(values) => extend!(values, u64, 8),
        Values::I8(values) => extend!(values, i8, 1),
        Values::I16(values) => extend!(values, i16, 2),
        Values::I32(values) => extend!(values, i32, 4),
        Values::I64(values) => extend!(values, i64, 8),
        Values::Bool(values) => {
            records.iter().for_each(|r| values.append(block[(r.at + at) as usize] != 0));
        }
        _ => unreachable!("a number of {size} bytes has a column of numbers"),
    }
}

fn push<const BIG: bool>(column: &mut Column, array: &[u8], item: Item) {
    match item {
        Item::Text => column.bytes(&array[..memchr::memchr(0, array).unwrap_or(array.len())]),
        Item::Byte => column.bytes(array),
        Item::Number { size, signed } => {
            let items = column.items();
            for each in array.chunks_exact(usize::from(size)) {
                let value = match size {
                    2 => u64::from(u16::from_be_bytes(bytes::<2, BIG>(each, 0))),
                    4 => u64::from(u32::from_be_bytes(bytes::<4, BIG>(each, 0))),
                    _ => u64::from_be_bytes(bytes::<8, BIG>(each, 0)),
                };
                if signed { items.signed(value as i64) } else { items.unsigned(value) }
            }
            column.end_list();
        }
    }
}
