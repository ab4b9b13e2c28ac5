//! The events in order of time.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type};

use crate::input::Input;

/// Stands in the index for a CPU that is not known.
pub(crate) const NO_CPU: u16 = u16::MAX;

/// The columns of a batch of the index.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) times: &'a [i64],
    pub(crate) cpus: &'a [u16],
    pub(crate) events: &'a [u16],
    pub(crate) rows: &'a [u32],
}

impl<'a> Columns<'a> {
    /// `None` when the batch is none of an index.
    pub(crate) fn of(batch: &'a RecordBatch) -> Option<Self> {
        let column = |name| batch.column_by_name(name);
        Some(Self {
            times: column("time")?.as_primitive_opt::<Int64Type>()?.values(),
            cpus: column("cpu")?.as_primitive_opt::<UInt16Type>()?.values(),
            events: column("event")?.as_primitive_opt::<UInt16Type>()?.values(),
            rows: column("row")?.as_primitive_opt::<UInt32Type>()?.values(),
        })
    }
}

/// Gives `receive` the places in a batch of the index of all events of known types and CPUs, until it
/// says that it wants no more.
#[inline]
pub(crate) fn walk(index: Columns<'_>, known: &[bool], receive: &mut impl FnMut(usize) -> bool) {
    for (at, (&event, &cpu)) in index.events.iter().zip(index.cpus).enumerate() {
        if known.get(usize::from(event)).copied().unwrap_or(false) && cpu != NO_CPU && !receive(at)
        {
            return;
        }
    }
}

/// The times of the beginning and the end, and one more than the highest CPU.
pub(crate) fn extent(input: &Input) -> ((i64, i64), usize) {
    let mut seen = None;
    let mut most = 0;
    for Columns { times, cpus, .. } in input.index.iter().filter_map(Columns::of) {
        if let (Some(&first), Some(&last)) = (times.first(), times.last()) {
            seen = Some((seen.map_or(first, |(first, _)| first), last));
        }
        most = cpus.iter().map(|&cpu| if cpu == NO_CPU { 0 } else { cpu + 1 }).fold(most, u16::max);
    }
    let span = match (input.span, seen) {
        (Some((first, last)), Some((begin, end))) => (first.min(begin), last.max(end)),
        (recorded, seen) => recorded.or(seen).unwrap_or_default(),
    };
    (span, input.cpus.max(usize::from(most)))
}
