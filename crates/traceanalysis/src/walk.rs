//! The events in order of time.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type};

/// Stands in the index for a CPU that is not known.
pub(crate) const NO_CPU: u16 = u16::MAX;

/// The columns of a batch of the index; `None` when it is not one.
pub(crate) fn columns(batch: &RecordBatch) -> Option<(&[i64], &[u16], &[u16], &[u32])> {
    let column = |name| batch.column_by_name(name);
    Some((
        column("time")?.as_primitive_opt::<Int64Type>()?.values(),
        column("cpu")?.as_primitive_opt::<UInt16Type>()?.values(),
        column("event")?.as_primitive_opt::<UInt16Type>()?.values(),
        column("row")?.as_primitive_opt::<UInt32Type>()?.values(),
    ))
}

/// Gives `receive` the time, CPU, type and row of all events of known types and CPUs.
#[inline]
pub(crate) fn walk(
    index: &[RecordBatch],
    known: &[bool],
    receive: &mut impl FnMut(i64, u16, u16, u32),
) {
    for (times, cpus, events, rows) in index.iter().filter_map(columns) {
        for at in 0..times.len() {
            let event = events[at];
            if known.get(usize::from(event)).copied().unwrap_or(false) && cpus[at] != NO_CPU {
                receive(times[at], cpus[at], event, rows[at]);
            }
        }
    }
}

/// The times of the first and last event, and one more than the highest CPU.
pub(crate) fn extent(index: &[RecordBatch]) -> (Option<(i64, i64)>, usize) {
    let mut span = None;
    let mut most = 0;
    for (times, cpus, ..) in index.iter().filter_map(columns) {
        if let (Some(&first), Some(&last)) = (times.first(), times.last()) {
            span = Some((span.map_or(first, |(first, _)| first), last));
        }
        most = cpus.iter().map(|&cpu| if cpu == NO_CPU { 0 } else { cpu + 1 }).fold(most, u16::max);
    }
    (span, usize::from(most))
}
