//! Kernel traces as Perfetto's native protobuf, so that its viewer draws tasks, interrupts and
//! softirqs on their tracks.
//!
//! ```text
//! events, index ─→ per CPU, in order of time ─→ FtraceEventBundle ─→ TracePacket ─→ file
//! environment, actors ─→ SystemInfo, ClockSnapshot, ProcessTree ──────┘
//! ```
//!
//! Messages are `Trace { repeated TracePacket packet = 1 }`. CPUs are encoded at the same time; what
//! one of them has finished is written at once, so that little is held in memory.

#![warn(missing_docs)]

mod encoder;
mod events;
mod wire;

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use rayon::prelude::*;
use traceanalysis::Input;

use crate::encoder::{Encoder, event};
use crate::wire::{bytes, integer};

/// A bundle is written when it has this many bytes.
const BUNDLE: usize = 1 << 20;
/// Who wrote the packets: any number but 0.
const SEQUENCE: u64 = 1;
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Events.
    pub events: u64,
    /// Of these, events without a message of their own, written with their names and fields.
    pub generic: u64,
    /// Events without a CPU, which Perfetto cannot place: left out.
    pub left_out: u64,
}

/// Writes a trace; `actors` is the analysis table of that name, for the names of processes.
///
/// Perfetto takes times as those of the boot clock; `epoch_offset` (nanoseconds from the Unix epoch
/// to the clock's zero) lets it show dates.
///
/// # Errors
/// Those of `out`.
pub fn perfetto(
    input: &Input,
    actors: &[RecordBatch],
    epoch_offset: Option<i64>,
    out: &mut (dyn Write + Send),
) -> io::Result<Written> {
    let first = input.index.iter().find(|batch| batch.num_rows() > 0);
    let first = first.map_or(0, |batch| times(batch)[0]);
    packet(out, 6, &clock_snapshot(first, epoch_offset))?;
    packet(out, 45, &system_info(input))?;
    packet(out, 2, &process_tree(actors))?;
    let encoders: Vec<Encoder> = input.events.iter().map(Encoder::new).collect();
    let mut cpus: Vec<u16> = Vec::new();
    for batch in &input.index {
        let mut seen = [false; 1 << 16];
        batch_cpus(batch).iter().for_each(|&cpu| seen[usize::from(cpu)] = true);
        cpus.extend((0..=u16::MAX).filter(|&cpu| seen[usize::from(cpu)]));
    }
    cpus.sort_unstable();
    cpus.dedup();
    let (events, generic) = (AtomicU64::new(0), AtomicU64::new(0));
    let total: usize = input.index.iter().map(RecordBatch::num_rows).sum();
    let out = Mutex::new(out);
    cpus.par_iter().filter(|&&cpu| cpu != u16::MAX).try_for_each(|&cpu| {
        let counts = one_cpu(input, &encoders, cpu, &out)?;
        events.fetch_add(counts.0, Ordering::Relaxed);
        generic.fetch_add(counts.1, Ordering::Relaxed);
        io::Result::Ok(())
    })?;
    let events = events.into_inner();
    Ok(Written { events, generic: generic.into_inner(), left_out: total as u64 - events })
}

/// Writes all events of a CPU; how many, and how many of them generic.
fn one_cpu(
    input: &Input,
    encoders: &[Encoder],
    cpu: u16,
    out: &Mutex<&mut (dyn Write + Send)>,
) -> io::Result<(u64, u64)> {
    let mut cursors = vec![0; encoders.len()];
    let (mut events, mut generic) = (0, 0);
    let (mut bundle, mut message) = (Vec::with_capacity(BUNDLE + 4096), Vec::new());
    let (mut payload, mut scratch) = (Vec::new(), Vec::new());
    let mut current = None;
    let mut gaps = gaps(input, cpu).into_iter().peekable();
    let mut lost = false;
    for batch in &input.index {
        let kinds = batch.column(2).as_primitive::<UInt16Type>().values();
        let rows = batch.column(3).as_primitive::<UInt32Type>().values();
        let (times, on) = (times(batch), batch_cpus(batch));
        for at in (0..on.len()).filter(|&at| on[at] == cpu) {
            let gap = gaps.next_if(|&end| times[at] >= end).is_some();
            while gaps.next_if(|&end| times[at] >= end).is_some() {}
            if bundle.len() > BUNDLE || gap {
                flush(out, cpu, &mut bundle, lost)?;
                lost = gap;
            }
            let kind = usize::from(kinds[at]);
            let encoder = &encoders[kind];
            cursors[kind] = encoder.batch_of(rows[at], cursors[kind]);
            let pid = encoder.pid(cursors[kind], rows[at], &mut current);
            payload.clear();
            encoder.put(cursors[kind], rows[at], &mut payload, &mut scratch);
            event(&mut bundle, &mut message, times[at], pid, encoder.number, &payload);
            events += 1;
            generic += u64::from(encoder.is_generic());
        }
    }
    flush(out, cpu, &mut bundle, lost)?;
    Ok((events, generic))
}

/// When losses of a CPU end, in order.
fn gaps(input: &Input, cpu: u16) -> Vec<i64> {
    let here = input.losses.iter().filter(|loss| loss.cpu.is_none_or(|of| of == cpu));
    let mut ends: Vec<i64> = here.filter_map(|loss| loss.end).collect();
    ends.sort_unstable();
    ends
}

fn flush(
    out: &Mutex<&mut (dyn Write + Send)>,
    cpu: u16,
    bundle: &mut Vec<u8>,
    lost: bool,
) -> io::Result<()> {
    if bundle.is_empty() {
        return Ok(());
    }
    // Fields of a message may stand in any order: the events come first, as they are there.
    integer(bundle, 1, u64::from(cpu));
    if lost {
        integer(bundle, 3, 1);
    }
    let mut out = out.lock().expect("nothing panics while it is held");
    packet(&mut **out, 1, bundle)?;
    bundle.clear();
    Ok(())
}

fn packet(out: &mut dyn Write, field: u32, message: &[u8]) -> io::Result<()> {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    wire::varint(&mut head, u64::from(field) << 3 | 2);
    wire::varint(&mut head, message.len() as u64);
    integer(&mut tail, 10, SEQUENCE);
    let mut frame = Vec::new();
    wire::varint(&mut frame, 1 << 3 | 2);
    wire::varint(&mut frame, (head.len() + message.len() + tail.len()) as u64);
    for part in [&frame[..], &head, message, &tail] {
        out.write_all(part)?;
    }
    Ok(())
}

fn times(batch: &RecordBatch) -> &[i64] {
    batch.column(0).as_primitive::<Int64Type>().values()
}

fn batch_cpus(batch: &RecordBatch) -> &[u16] {
    batch.column(1).as_primitive::<UInt16Type>().values()
}

// -- what Perfetto wants to know beside events -----------------------------------------------------

fn clock_snapshot(first: i64, epoch_offset: Option<i64>) -> Vec<u8> {
    let mut snapshot = Vec::new();
    let real = epoch_offset.map(|offset| (REALTIME, first + offset));
    for (clock, time) in [Some((BOOTTIME, first)), real].into_iter().flatten() {
        let mut one = Vec::new();
        integer(&mut one, 1, clock);
        integer(&mut one, 2, time as u64);
        bytes(&mut snapshot, 1, &one);
    }
    integer(&mut snapshot, 2, BOOTTIME);
    snapshot
}

fn system_info(input: &Input) -> Vec<u8> {
    let find = |names: &[&str]| {
        let entry = input.environment.iter().find(|(name, _)| names.contains(&name.as_str()));
        entry.map(|(_, value)| value.as_str())
    };
    let mut uname = Vec::new();
    for (field, names) in [
        (1, &["sysname"][..]),
        (2, &["kernel_version"][..]),
        (3, &["kernel_release"][..]),
        (4, &["machine", "architecture"][..]),
    ] {
        if let Some(value) = find(names) {
            bytes(&mut uname, field, value.as_bytes());
        }
    }
    let mut info = Vec::new();
    bytes(&mut info, 1, &uname);
    info
}

/// Processes and threads whose process is known; the names of the others are in their switches.
fn process_tree(actors: &[RecordBatch]) -> Vec<u8> {
    let mut tree = Vec::new();
    for batch in actors {
        let column = |name: &str| batch.column_by_name(name).expect("a column of the schema");
        let kinds = column("kind").as_string::<i32>();
        let names = column("name").as_string::<i32>();
        let tids = column("tid").as_primitive::<Int32Type>();
        let processes = column("process").as_primitive::<Int32Type>();
        for at in 0..batch.num_rows() {
            if kinds.value(at) != "task" || tids.is_null(at) || processes.is_null(at) {
                continue;
            }
            let (tid, process) = (tids.value(at), processes.value(at));
            let mut one = Vec::new();
            integer(&mut one, 1, i64::from(tid) as u64);
            if tid == process {
                bytes(&mut one, 3, names.value(at).as_bytes());
                integer(&mut one, 9, 1); // the name is that of the thread, not a command line
                bytes(&mut tree, 1, &one);
            } else {
                bytes(&mut one, 2, names.value(at).as_bytes());
                integer(&mut one, 3, i64::from(process) as u64);
                bytes(&mut tree, 2, &one);
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Int32Array, Int64Array, StringArray, UInt16Array, UInt32Array, UInt64Array,
    };
    use traceanalysis::EventTable;

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn waking(times: Vec<i64>) -> RecordBatch {
        let count = times.len();
        batch(vec![
            ("time", Arc::new(Int64Array::from(times))),
            ("cpu", Arc::new(UInt16Array::from(vec![0; count]))),
            ("common_pid", Arc::new(Int32Array::from(vec![7; count]))),
            ("pid", Arc::new(Int32Array::from(vec![-1; count]))),
        ])
    }

    /// Two batches of a known event, and an unknown one on a CPU that is not known.
    fn input() -> Input {
        let other = batch(vec![
            ("time", Arc::new(Int64Array::from(vec![5, 30]))),
            ("cpu", Arc::new(UInt16Array::from(vec![0, u16::MAX]))),
            ("what", Arc::new(StringArray::from(vec![Some("x"), None]))),
            ("size", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ]);
        let event = |name: &str, batches| EventTable {
            name: name.into(),
            batches,
            ..EventTable::default()
        };
        let index = batch(vec![
            ("time", Arc::new(Int64Array::from(vec![1, 5, 20, 30]))),
            ("cpu", Arc::new(UInt16Array::from(vec![0, 0, 0, u16::MAX]))),
            ("event", Arc::new(UInt16Array::from(vec![0, 1, 0, 1]))),
            ("row", Arc::new(UInt32Array::from(vec![0, 0, 1, 1]))),
        ]);
        Input {
            events: vec![
                event("sched_waking", vec![waking(vec![1]), waking(vec![20])]),
                event("other", vec![other]),
            ],
            index: vec![index],
            losses: vec![traceanalysis::Loss { cpu: Some(0), begin: Some(6), end: Some(19) }],
            ..Input::default()
        }
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn events_are_written_by_cpu_and_cut_where_some_were_lost() {
        let mut out = Vec::new();
        let written = perfetto(&input(), &[], Some(1000), &mut out).unwrap();
        assert_eq!(written, Written { events: 3, generic: 1, left_out: 1 });
        // sched_waking (20) at 1 of thread 7, and pid = -1 as ten bytes of a varint.
        let first = b"\x08\x01\x10\x07\xa2\x01\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert!(contains(&out, first));
        // The generic one: its name, a text, and an unsigned number.
        assert!(contains(&out, b"\x0a\x05other\x12\x09\x0a\x04what\x1a\x01x"));
        // The bundle after the loss: CPU 0, events lost before it; and the packet's end.
        assert!(contains(&out, b"\x08\x00\x18\x01\x50\x01"));
        // The clocks: boot time 1, real time 1001.
        assert!(contains(&out, b"\x08\x06\x10\x01") && contains(&out, b"\x08\x01\x10\xe9\x07"));
    }

    #[test]
    fn a_trace_without_events_is_a_file_without_bundles() {
        let mut out = Vec::new();
        let written = perfetto(&Input::default(), &[], None, &mut out).unwrap();
        assert_eq!(written, Written::default());
        assert!(out.len() < 40);
    }
}
