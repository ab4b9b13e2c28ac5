//! perf.data: files made by hand after the format, and, where perf may record, a fresh one against
//! `perf script`.

mod common;
mod made;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use made::perf::{
    CPU, IDENTIFIER, IP, Perf, SAMPLE_ID_ALL, SOFTWARE, TID, TIME, TRACEPOINT, record,
};
use made::{Kernel, X86, tick};
use tracefile::{Error, Format, Options, Selection};

/// All rows of an event's table, which lie in one batch a CPU.
fn rows(path: &Path, event: &str) -> Vec<RecordBatch> {
    let trace = tracefile::open(path).unwrap();
    let selection = Selection::nothing().event(event, None);
    let mut decoded = trace.decode(&selection, &Options::default()).unwrap();
    decoded.tables.swap_remove(0).batches
}

/// A column of whole numbers of the first row.
fn number(rows: &[RecordBatch], name: &str) -> u64 {
    rows[0][name].as_primitive::<UInt64Type>().value(0)
}

fn text<'a>(rows: &'a [RecordBatch], name: &str) -> &'a str {
    rows[0][name].as_string::<i32>().value(0)
}

fn stack(rows: &[RecordBatch], name: &str) -> Vec<u64> {
    let first = rows[0][name].as_list::<i32>().value(0);
    first.as_primitive::<UInt64Type>().values().to_vec()
}

/// (time, cpu, number) of all ticks.
fn ticks(path: &Path) -> Vec<(i64, u16, u32)> {
    let trace = tracefile::open(path).unwrap();
    let selection = Selection::nothing().event("tick", None);
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    let mut rows = Vec::new();
    for batch in &decoded.tables[0].batches {
        let time = batch["time"].as_primitive::<Int64Type>().values();
        let cpu = batch["cpu"].as_primitive::<UInt16Type>().values();
        let number = batch["number"].as_primitive::<UInt32Type>().values();
        rows.extend((0..batch.num_rows()).map(|row| (time[row], cpu[row], number[row])));
    }
    rows
}

#[test]
fn samples_of_tracepoints_are_rows_by_cpu_in_order_of_time() {
    for (big, long) in [(false, 8), (false, 4), (true, 8), (true, 4)] {
        let kernel = Kernel { big, long };
        let file = Perf::new(kernel)
            .record(3, &[kernel.u32(1), kernel.u32(42), b"ticker\0\0".to_vec()].concat())
            .sample(100, 50, 3, &tick(kernel, 1))
            .sample(100, 20, 0, &tick(kernel, 2))
            .sample(100, 40, 3, &tick(kernel, 3))
            .lost(5, 60, 3)
            .sample(200, 45, 0, &tick(kernel, 9))
            .sample(100, 70, 0, &tick(kernel, 4));
        let path = file.save(&format!("perf-{big}-{long}.data"));
        assert_eq!(ticks(&path), [(20, 0, 2), (70, 0, 4), (40, 3, 3), (50, 3, 1)]);
        let trace = tracefile::open(&path).unwrap();
        let info = trace.info();
        assert_eq!(info.format, Format::PerfData);
        assert_eq!(info.damage, []);
        assert_eq!(info.tasks, [(42, "ticker".to_owned())]);
        assert_eq!(info.clock.epoch_offset_ns, Some(3_000));
        assert!(info.environment.contains(&("hostname".into(), "board".into())));
        assert_eq!(info.notes, [] as [String; 0]);
        let clock = rows(&path, "cpu-clock");
        assert_eq!((clock.len(), number(&clock, "ip"), number(&clock, "period")), (1, 0xdead, 1));
        for samples in [clock, rows(&path, "tick")] {
            assert_eq!(stack(&samples, "kernel_stack"), [0xffff_ffff_8100_0007, 9]);
            assert_eq!(stack(&samples, "foreign_stack"), [5]);
            assert_eq!(stack(&samples, "user_stack"), [8]);
        }
        let streams: Vec<Option<u16>> = info.streams.iter().map(|stream| stream.cpu).collect();
        // What perf tells of what existed before has no CPU.
        assert_eq!(streams, [None, Some(0), Some(3)]);
        let loss = &info.losses[0];
        assert_eq!((loss.stream, loss.count, loss.end), (2, Some(5), Some(60)));
        assert_eq!(trace.symbol(0xffff_ffff_8100_0000).as_deref(), Some("start"));
    }
}

#[test]
fn compressed_records_are_read_through() {
    let inner =
        Perf::new(X86).sample(100, 10, 0, &tick(X86, 1)).sample(100, 20, 1, &tick(X86, 2)).records;
    let packed = zstd::stream::encode_all(inner.as_slice(), 3).unwrap();
    let (first, second) = packed.split_at(packed.len() / 2);
    let padded = [X86.u64(second.len() as u64), second.to_vec(), vec![0; 5]].concat();
    let file = Perf::new(X86).record(81, first).record(83, &padded);
    assert_eq!(ticks(&file.save("perf-zstd.data")), [(10, 0, 1), (20, 1, 2)]);
}

#[test]
fn copies_of_stacks_that_are_mostly_zeros_are_unpacked_whole() {
    // A hundredth of each is random, as a file of Hotspot's tests has it.
    let mut random = 1u64;
    let mut stack = || {
        let mut bytes = vec![0; 60_000];
        for word in bytes[..600].chunks_exact_mut(8) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.copy_from_slice(&random.rotate_left(32).to_le_bytes());
        }
        bytes
    };
    let inner = (0..60u32).fold(Perf::new(X86), |perf, number| {
        perf.copying([0; 9], &stack()).sample(100, 10 + u64::from(number), 0, &tick(X86, number))
    });
    let packed = zstd::stream::encode_all(inner.records.as_slice(), 3).unwrap();
    assert!(inner.records.len() / packed.len() > 64);
    let half = packed.len() / 2;
    let file = Perf::new(X86).copying([0; 9], &[0; 60_000]);
    let file = file.record(81, &packed[..half]).record(81, &packed[half..]);
    let path = file.save("perf-zeros.data");
    assert_eq!(ticks(&path).len(), 60);
    assert_eq!(tracefile::open(&path).unwrap().info().damage, []);
}

#[test]
fn damage_ends_the_records_and_is_told() {
    let good = Perf::new(X86).sample(100, 10, 0, &tick(X86, 1));
    let cases: [(&[u8], &str); 3] = [
        (&[9, 0, 0, 0, 0, 0, 4, 0], "a record of 4 bytes"),
        (&[9, 0, 0, 0, 0, 0, 200, 0, 1], "the file ends in a record"),
        (&record(X86, 9, &[1, 2, 3]), "a sample that is cut short"),
    ];
    for (bytes, what) in cases {
        let mut file = Perf::new(X86);
        file.records = [&good.records, bytes].concat();
        let path = file.save("perf-damaged.data");
        assert_eq!(ticks(&path), [(10, 0, 1)]);
        let trace = tracefile::open(&path).unwrap();
        let told: Vec<&str> = trace.info().damage.iter().map(|d| d.what.as_str()).collect();
        assert!(told.iter().any(|told| told.contains(what)), "{told:?}, not {what}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let pipe = [b"PERFILE2".to_vec(), X86.u64(16)].concat();
    let error = tracefile::open(&made::save(&pipe, "perf-empty.data")).err().unwrap();
    assert!(error.to_string().contains("no event"), "{error}");
    let file = Perf { second: TRACEPOINT, ..Perf::new(X86) };
    let whole = file.sample(100, 10, 0, &tick(X86, 1)).bytes();
    for length in 8..whole.len() - 60 {
        let error = tracefile::open(&made::save(&whole[..length], "perf-cut.data")).err();
        assert!(matches!(error, Some(Error::Damaged { .. })), "{length}: {error:?}");
    }
}

/// The end of a record that is no sample: process, thread, time, CPU, identifier.
fn trailer(time: u64, cpu: u32) -> Vec<u8> {
    let cpu = [X86.u32(cpu), X86.u32(0)].concat();
    [X86.u32(1), X86.u32(1)]
        .concat()
        .into_iter()
        .chain(X86.u64(time))
        .chain(cpu)
        .chain(X86.u64(100))
        .collect()
}

#[test]
fn what_perf_tells_of_threads_files_and_symbols_are_rows() {
    let place = [X86.u64(0x1000), X86.u64(0x2000), X86.u64(0x3000)].concat();
    let identity = [X86.u32(8), X86.u32(1), X86.u64(77), X86.u64(0)].concat();
    let mapping = [X86.u32(5), X86.u32(6)].concat();
    let access = [X86.u32(5), X86.u32(2)].concat();
    let name = b"/bin/a\0\0".to_vec();
    let threads = [X86.u32(7), X86.u32(5), X86.u32(8), X86.u32(6), X86.u64(30)].concat();
    let symbol = [X86.u64(0xf00), X86.u32(64), vec![1, 0, 0, 0], b"bpf_x\0\0\0".to_vec()].concat();
    let file = Perf::new(X86)
        .sample(100, 10, 0, &tick(X86, 1))
        .record(10, &[mapping, place, identity, access, name, trailer(20, 0)].concat())
        .record(3, &[X86.u32(5), X86.u32(6), b"a\0\0\0\0\0\0\0".to_vec(), trailer(0, 0)].concat())
        .record(7, &[threads, trailer(30, 1)].concat())
        .record(17, &[symbol, trailer(40, 1)].concat());
    let path = file.save("perf-told.data");
    let maps = rows(&path, "perf_mmap");
    assert_eq!(
        ["start", "length", "offset", "inode"].map(|of| number(&maps, of)),
        [0x1000, 0x2000, 0x3000, 77]
    );
    assert_eq!((text(&maps, "file"), text(&maps, "device")), ("/bin/a", "8:1"));
    assert!(maps[0]["executable"].as_boolean().value(0));
    let comm = rows(&path, "perf_comm");
    // perf writes no time where it tells what was there before: it was when the first event came.
    assert_eq!(
        (text(&comm, "comm"), comm[0]["time"].as_primitive::<Int64Type>().value(0)),
        ("a", 10)
    );
    assert!(comm[0]["existing"].as_boolean().value(0));
    let fork = rows(&path, "perf_fork");
    let numbers = ["common_pid", "pid", "tid", "parent"];
    let numbers = numbers.map(|of| fork[0][of].as_primitive::<Int32Type>().value(0));
    assert_eq!(numbers, [6, 7, 8, 5]);
    let symbol = rows(&path, "perf_ksymbol");
    assert_eq!((text(&symbol, "name"), number(&symbol, "start")), ("bpf_x", 0xf00));
}

#[test]
fn a_file_from_a_pipe_tells_its_events_in_records() {
    let form = IP | TID | TIME | CPU | IDENTIFIER;
    let mut file = [b"PERFILE2".to_vec(), X86.u64(16)].concat();
    for (kind, id) in [(SOFTWARE, 100), (0, 200)] {
        let mut attribute = [X86.u32(kind), X86.u32(64), X86.u64(0), X86.u64(4000)].concat();
        attribute.extend([X86.u64(form), X86.u64(0), X86.u64(SAMPLE_ID_ALL)].concat());
        attribute.resize(64, 0);
        file.extend(record(X86, 64, &[attribute, X86.u64(id)].concat()));
    }
    let renamed = [X86.u64(2), X86.u64(200), b"cycles:u\0\0\0\0\0\0\0\0".to_vec()].concat();
    file.extend(record(X86, 78, &renamed));
    file.extend(record(X86, 80, &[X86.u64(3), X86.u32(8), b"board\0\0\0".to_vec()].concat()));
    let threads = [X86.u32(4), X86.u32(5)].concat();
    let cpu = [X86.u32(1), X86.u32(0)].concat();
    let sample = [X86.u64(200), X86.u64(0xbeef), threads, X86.u64(9), cpu].concat();
    file.extend(record(X86, 9, &sample));
    let path = made::save(&file, "perf-pipe.data");
    let cycles = rows(&path, "cycles:u");
    // Where samples do not tell their period, it is what was asked for.
    assert_eq!((number(&cycles, "ip"), number(&cycles, "period")), (0xbeef, 4000));
    let info = tracefile::open(&path).unwrap();
    assert!(info.info().environment.contains(&("hostname".into(), "board".into())));
    assert_eq!(info.info().damage, []);
}

/// A copy of the file with another section of records, which stands where it did.
fn with_first_record(file: &[u8], kind: u32, body: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let (data, features) = (number(40), number(40) + number(48));
    let first = record(X86, kind, body);
    let mut changed = file[..data].to_vec();
    changed.extend(&first);
    changed.extend(&file[data..]);
    changed[48..56].copy_from_slice(&X86.u64((number(48) + first.len()) as u64));
    // Features stand behind the records, each with its place, in the order of their bits.
    for feature in 0..number(72).count_ones() as usize {
        let at = features + 16 * feature;
        let place = (number(at) + first.len()) as u64;
        changed[at + first.len()..at + first.len() + 8].copy_from_slice(&X86.u64(place));
    }
    changed
}

#[test]
fn formats_of_events_may_lie_within_the_first_record() {
    // As Android's simpleperf writes them: the record holds what in perf's pipes follows it.
    let plain = Perf::new(X86).sample(100, 10, 0, &tick(X86, 7)).bytes();
    let number = |at: usize| u64::from_le_bytes(plain[at..at + 8].try_into().unwrap()) as usize;
    let features = number(40) + number(48);
    let tracing = &plain[number(features)..number(features) + number(features + 8)];
    let padded = tracing.len().next_multiple_of(8);
    let mut body = [X86.u32(tracing.len() as u32), tracing.to_vec()].concat();
    body.resize(4 + padded, 0);
    let mut file = with_first_record(&plain, 66, &body);
    // The feature of perf's own is not there: its place goes, and its bit.
    file[72..80].copy_from_slice(&X86.u64(number(72) as u64 & !2));
    let features = features + 8 + body.len();
    file.drain(features..features + 16);
    for feature in 0..(number(72) & !2).count_ones() as usize {
        let at = features + 16 * feature;
        let place = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) - 16;
        file[at..at + 8].copy_from_slice(&X86.u64(place));
    }
    let path = made::save(&file, "perf-simpleperf.data");
    assert_eq!(ticks(&path), [(10, 0, 7)]);
    assert_eq!(tracefile::open(&path).unwrap().info().damage, []);
}

#[test]
fn simpleperf_names_events_in_a_feature_of_its_own() {
    let mut file = Perf::new(X86).sample(200, 10, 0, &[]).bytes();
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let told = b"timestamp\x001637264815\0event_type_info\0cpu-clock,0,0\nour:clock,1,0\0";
    let features = number(40) + number(48);
    let end = features + 16 * number(72).count_ones() as usize;
    let places: Vec<usize> = (features..end).step_by(16).map(number).collect();
    // Its place stands behind those of perf's, and so all sections lie further on.
    for (at, place) in (features..end).step_by(16).zip(places) {
        file[at..at + 8].copy_from_slice(&X86.u64(place as u64 + 16));
    }
    let length = file.len() as u64 + 16;
    file.splice(end..end, [X86.u64(length), X86.u64(told.len() as u64)].concat());
    file.extend(told);
    file[88..96].copy_from_slice(&X86.u64(1 << 1));
    let path = made::save(&file, "perf-meta-info.data");
    assert_eq!(number_of(&rows(&path, "our:clock")), 1);
}

fn number_of(rows: &[RecordBatch]) -> usize {
    rows.iter().map(RecordBatch::num_rows).sum()
}

#[test]
fn the_format_before_linux_3_6_is_read_in_both_orders() {
    for big in [false, true] {
        let kernel = Kernel { big, long: 8 };
        let mut file = Perf::new(kernel).sample(100, 10, 1, &tick(kernel, 7)).bytes();
        file[..8].copy_from_slice(b"PERFFILE");
        assert_eq!(ticks(&made::save(&file, "perf-old.data")), [(10, 1, 7)]);
    }
}

#[test]
fn changed_bytes_do_no_harm() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let place = [X86.u64(0x1000), X86.u64(0x2000), X86.u64(0)].concat();
    let mapping = [X86.u32(5), X86.u32(5)].concat();
    let inner = Perf::new(X86)
        .sample(100, 10, 0, &tick(X86, 1))
        .sample(200, 11, 0, &[])
        .record(1, &[&mapping, &place, &b"/bin/a\0\0"[..], &trailer(12, 0)].concat())
        .record(3, &[X86.u32(5), X86.u32(6), b"a\0\0\0\0\0\0\0".to_vec(), trailer(0, 0)].concat());
    let packed = zstd::stream::encode_all(inner.records.as_slice(), 3).unwrap();
    let plain = inner.lost(1, 2, 3).bytes();
    for whole in [plain, Perf::new(X86).record(81, &packed).bytes()] {
        for _ in 0..1000 {
            let mut bytes = whole.clone();
            for _ in 0..=random() % 4 {
                let at = (random() % bytes.len() as u64) as usize;
                bytes[at] = if random() % 2 == 0 { 0xff } else { random() as u8 };
            }
            if let Ok(trace) = tracefile::open(&made::save(&bytes, "perf-changed.data")) {
                trace.decode(&Selection::everything(), &Options::default()).unwrap();
                let _ = trace.symbol(1 << 63);
            }
        }
    }
}

/// One line of `perf script -F cpu,time,event,trace --ns`: CPU, time, event, text.
fn line(line: &str) -> Option<(u16, i64, &str, &str)> {
    let (cpu, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let (time, rest) = rest.trim().split_once(": ")?;
    let (seconds, nanoseconds) = time.split_once('.')?;
    let time = seconds.parse::<i64>().ok()? * 1_000_000_000 + nanoseconds.parse::<i64>().ok()?;
    let (event, text) = rest.trim().split_once(": ")?;
    Some((cpu.parse().ok()?, time, event.split_once(':')?.1, text.trim()))
}

#[test]
fn a_fresh_recording_agrees_with_perf_script() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fresh.data");
    if Command::new("perf").arg("--version").output().is_err() {
        common::left_out("package", "linux-perf");
        return;
    }
    let recorded = Command::new("perf")
        .args(["record", "-q", "-a", "-e", "sched:sched_switch", "-e", "irq:softirq_entry", "-o"])
        .arg(&path)
        .args(["sleep", "0.1"])
        .output();
    if !recorded.is_ok_and(|output| output.status.success()) {
        common::left_out("machine", "perf cannot record tracepoints");
        return;
    }
    let script = Command::new("perf")
        .args(["script", "--ns", "-F", "cpu,time,event,trace", "-i"])
        .arg(&path)
        .output()
        .unwrap();
    let script = String::from_utf8(script.stdout).unwrap();
    let mut expected: BTreeMap<(i64, u16), Vec<(&str, &str)>> = BTreeMap::new();
    for (cpu, time, event, text) in script.lines().filter_map(line) {
        expected.entry((time, cpu)).or_default().push((event, text));
    }
    assert!(!expected.is_empty(), "{script}");
    let trace = tracefile::open(&path).unwrap();
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    assert_eq!(decoded.damage, []);
    let mut samples = 0;
    for table in decoded.tables {
        let name = &trace.info().events[table.event].name;
        if name.starts_with("perf_") {
            continue; // what perf tells of threads and files
        }
        samples += table.batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        for batch in table.batches {
            let time = batch["time"].as_primitive::<Int64Type>().values();
            let cpu = batch["cpu"].as_primitive::<UInt16Type>().values();
            for row in 0..batch.num_rows() {
                let told = &expected[&(time[row], cpu[row])];
                let (_, text) = told.iter().find(|(event, _)| event == name).unwrap();
                if name == "sched_switch" {
                    let number = |name: &str| batch[name].as_primitive::<Int32Type>().value(row);
                    let comm = |name: &str| batch[name].as_string::<i32>().value(row).to_owned();
                    let begin =
                        format!("prev_comm={} prev_pid={} ", comm("prev_comm"), number("prev_pid"));
                    let end = format!(
                        "next_comm={} next_pid={} next_prio={}",
                        comm("next_comm"),
                        number("next_pid"),
                        number("next_prio")
                    );
                    assert!(text.starts_with(&begin) && text.ends_with(&end), "{text}");
                }
            }
        }
    }
    assert_eq!(samples, script.lines().filter_map(line).count());
}
