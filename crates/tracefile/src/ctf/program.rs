//! Runs the steps of an event class over its bytes.

use super::cursor::{Cursor, Stop, bits, extend};
use super::layout::{Branch, NONE, Read, ReadKind, Run, Step};
use super::walk::{self, State};
use crate::ByteOrder;
use crate::columns::Column;

/// Reads one event's fields into its columns, one value to each.
pub(super) fn run(
    steps: &[Step],
    cursor: &mut Cursor,
    state: &mut State,
    columns: &mut [Column],
) -> Result<(), Stop> {
    for step in steps {
        match step {
            Step::Align(bits) => cursor.align(*bits)?,
            Step::Run(run) if run.reads.is_empty() => {
                cursor.pass(u64::from(run.bits))?;
            }
            Step::Run(run) => fixed(run, cursor, state, columns)?,
            Step::Text { encoding, column } => {
                let text = cursor.text(*encoding)?;
                if *column != NONE {
                    walk::push_text(text, *encoding, &mut columns[usize::from(*column)]);
                }
            }
            Step::Value { class, column, .. } => {
                let column = columns.get_mut(usize::from(*column));
                walk::value(class, cursor, state, column)?;
            }
            Step::Choose { slot, optional, branches } => {
                let value = state.slots[usize::from(*slot)];
                let ranges = branches.iter().map(|branch| branch.ranges.as_slice());
                let chosen = state.choose(value, ranges)?;
                if chosen.is_none() && !optional {
                    return Err(Stop::selector(value));
                }
                choose(branches, chosen, cursor, state, columns)?;
            }
        }
    }
    Ok(())
}

fn choose(
    branches: &[Branch],
    chosen: Option<usize>,
    cursor: &mut Cursor,
    state: &mut State,
    columns: &mut [Column],
) -> Result<(), Stop> {
    for (at, branch) in branches.iter().enumerate() {
        if chosen == Some(at) {
            run(&branch.steps, cursor, state, columns)?;
        } else {
            state.spend(branch.columns.len() as u64)?;
            for &column in &branch.columns {
                columns[usize::from(column)].null();
            }
        }
    }
    Ok(())
}

/// Fields at fixed offsets.
#[inline]
fn fixed(
    run: &Run,
    cursor: &mut Cursor,
    state: &mut State,
    columns: &mut [Column],
) -> Result<(), Stop> {
    let from = cursor.pass(u64::from(run.bits))?;
    let bytes = cursor.span(from, u64::from(run.bits));
    let shift = if run.whole { 0 } else { (from % 8) as u32 };
    for read in &run.reads {
        if let ReadKind::Keep { bits: count, order, signed } = read.kind {
            let value = integer(bytes, shift + read.at, count, order, signed);
            state.keep(read.column, value, signed);
        } else {
            read_value(read, bytes, shift, &mut columns[usize::from(read.column)]);
        }
    }
    Ok(())
}

#[inline]
fn read_value(read: &Read, bytes: &[u8], shift: u32, column: &mut Column) {
    let at = (read.at / 8) as usize;
    match read.kind {
        ReadKind::U8 => column.word8(bytes[at]),
        ReadKind::Little16 => column.word16(u16::from_le_bytes(array(bytes, at))),
        ReadKind::Little32 => column.word32(u32::from_le_bytes(array(bytes, at))),
        ReadKind::Little64 => column.word64(u64::from_le_bytes(array(bytes, at))),
        ReadKind::Big16 => column.word16(u16::from_be_bytes(array(bytes, at))),
        ReadKind::Big32 => column.word32(u32::from_be_bytes(array(bytes, at))),
        ReadKind::Big64 => column.word64(u64::from_be_bytes(array(bytes, at))),
        ReadKind::Bits { bits, order, signed } => {
            column.unsigned(integer(bytes, shift + read.at, bits, order, signed));
        }
        ReadKind::Float { bits: count, order } => {
            let value = bits(bytes, u64::from(shift + read.at), count, order);
            column.float(walk::float(value, count));
        }
        ReadKind::Text(length) => {
            let text = &bytes[at..at + length as usize];
            column.bytes(super::classes::Encoding::Utf8.cut(text));
        }
        ReadKind::Keep { .. } => unreachable!("is no column"),
    }
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("N bytes")
}

fn integer(bytes: &[u8], at: u32, count: u8, order: ByteOrder, signed: bool) -> u64 {
    let value = bits(bytes, u64::from(at), count, order);
    if signed { extend(value, count) } else { value }
}
