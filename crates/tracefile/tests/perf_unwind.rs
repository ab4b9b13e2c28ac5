//! Stacks that `perf record --call-graph dwarf` copied: of this program itself against what the C
//! library finds, and, where perf may record, of a fresh recording against `perf script`.

mod common;
mod made;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use made::elf::{CODE, FUNCTION, elf, first, pushed};
use made::perf::{Mapped, Perf};
use made::{X86, save};
use tracefile::{Options, ProgramFile, Selection};

const PROGRAM: &str = "/bin/program";
const BUILD_ID: &[u8] = b"0123456789";
/// The event whose samples are no tracepoint's.
const SAMPLES: &str = "cpu-clock";
const BEGIN: u64 = 0x5000_0000;
/// At the begin of each call.
const STACK: u64 = 0x7fff_0000;

fn program(path: &str, candidates: Vec<PathBuf>) -> ProgramFile {
    ProgramFile { path: path.into(), build_id: Vec::new(), candidates }
}

/// Time, thread, functions of the program and the chain's end of each sample of an event.
fn chains(path: &Path, files: Vec<ProgramFile>, event: &str) -> Vec<(i64, i32, Vec<u64>, String)> {
    let trace = tracefile::open_unwinding(path, files).unwrap();
    let selection = Selection::nothing().event(event, None);
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    let rows = |batch: &RecordBatch| {
        let time = batch["time"].as_primitive::<Int64Type>().clone();
        let thread = batch["common_pid"].as_primitive::<Int32Type>().clone();
        let stacks = batch["user_stack"].as_list::<i32>().clone();
        let ends = batch["user_stack_end"].as_string::<i32>().clone();
        let row = move |row: usize| {
            let stack = stacks.value(row).as_primitive::<UInt64Type>().values().to_vec();
            let stack = if stacks.is_null(row) { Vec::new() } else { stack };
            let end = if ends.is_null(row) { "none" } else { ends.value(row) };
            (time.value(row), thread.value(row), stack, end.to_owned())
        };
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    decoded.tables.iter().flat_map(|table| &table.batches).flat_map(rows).collect()
}

/// A program of three functions, each called by the next, whose samples are in the first.
fn made(stack: &[u64], build_id: &[u8]) -> Perf {
    let registers = [0, 0, 0, 0, 0, 0, 0, STACK, BEGIN + CODE + 0x10];
    let stack: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    Perf::new(X86)
        .copying(registers, &stack)
        .mapped(5, &Mapped { start: BEGIN, length: 0x3000, offset: 0, path: PROGRAM, build_id })
        .sample(200, 10, 0, &[])
}

/// What follows the call in a function of the program.
fn call(function: u64) -> u64 {
    BEGIN + CODE + FUNCTION * function + 0x20
}

#[test]
fn each_chain_says_how_it_ends() {
    let functions = [pushed(2), pushed(1), first()];
    let here = save(&elf(&functions, BUILD_ID), "unwound-program");
    let frames = [BEGIN + CODE + 0x10, call(1) - 1, call(2) - 1];
    let cases: [(&str, &[u64], &Path, usize, &str); 6] = [
        ("whole", &[1, 2, call(1), 3, call(2), 4], &here, 3, "complete"),
        ("cut", &[1, 2, call(1), 3], &here, 2, "the copy of the stack ends"),
        ("zero", &[1, 2, call(1), 3, 0], &here, 2, "complete"),
        ("astray", &[1, 2, call(1), 3, 0x66], &here, 2, "an address where no file was mapped"),
        ("other", &[1, 2, call(1), 3, BEGIN + 1, 4], &here, 3, "/bin/program: no unwind inf"),
        ("nowhere", &[1, 2, call(1)], Path::new("/nowhere"), 1, "/bin/program: no such file"),
    ];
    for (name, stack, candidate, count, end) in cases {
        let path = made(stack, &[]).save(&format!("unwound-{name}.data"));
        let files = vec![program(PROGRAM, vec![candidate.into()])];
        let chains = chains(&path, files, SAMPLES);
        let [(_, _, chain, told)] = chains.as_slice() else { panic!("{name}: {chains:?}") };
        assert!(told.starts_with(end), "{name}: {told}");
        assert_eq!(chain.len(), count, "{name}");
        let known = count.min(if name == "other" { 2 } else { 3 });
        assert_eq!(chain[..known], frames[..known], "{name}");
    }
}

#[test]
fn a_file_with_another_build_id_is_not_used() {
    let here = save(&elf(&[pushed(0), first()], BUILD_ID), "unwound-build");
    for (build_id, end) in [
        (BUILD_ID, "complete"),
        (b"another", "/bin/program: the build-id of the file here differs"),
    ] {
        let path = made(&[call(1), 0], build_id).save("unwound-build.data");
        let candidates = vec![here.clone()];
        let file = ProgramFile { build_id: build_id.into(), ..program(PROGRAM, candidates) };
        let chains = chains(&path, vec![file], SAMPLES);
        assert_eq!(chains[0].3, end);
    }
}

#[test]
fn without_unwinding_it_is_known_how_much_was_copied() {
    let path = made(&[1, 2, call(1)], &[]).save("unwound-not.data");
    let trace = tracefile::open(&path).unwrap();
    let selection = Selection::nothing().event(SAMPLES, None);
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    let batch = &decoded.tables[0].batches[0];
    assert_eq!(batch["user_stack_bytes"].as_primitive::<UInt32Type>().value(0), 24);
    assert!(batch.column_by_name("user_stack_end").is_none());
    // What the recorded chain tells.
    let stack = batch["user_stack"].as_list::<i32>().value(0);
    assert_eq!(stack.as_primitive::<UInt64Type>().values(), &[8]);
}

/// Registers, by perf's numbers of an x86, and calls that the C library finds, of this very thread.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[inline(never)]
fn own_stack() -> ([u64; 9], Vec<u8>, Vec<u64>) {
    unsafe extern "C" {
        fn backtrace(buffer: *mut u64, size: i32) -> i32;
    }
    let mut calls = vec![0u64; 256];
    // SAFETY: the buffer has as many places.
    let count = unsafe { backtrace(calls.as_mut_ptr(), 256) };
    calls.truncate(count as usize);
    let (base, frame, stack, place): (u64, u64, u64, u64);
    // SAFETY: it only reads registers.
    unsafe {
        std::arch::asm!(
            "mov {0}, rbx", "mov {1}, rbp", "mov {2}, rsp", "lea {3}, [rip]",
            out(reg) base, out(reg) frame, out(reg) stack, out(reg) place,
        );
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let holds = |line: &&Memory<'_>| (line.begin..line.end).contains(&stack);
    let end = memory(&maps).iter().find(holds).unwrap().end;
    let size = (end - stack).min(32 << 10) as usize;
    // SAFETY: the stack reaches to the end of its mapping.
    let copy = unsafe { std::slice::from_raw_parts(stack as *const u8, size) }.to_vec();
    ([0, base, 0, 0, 0, 0, frame, stack, place], copy, calls)
}

/// A line of `/proc/self/maps`.
struct Memory<'a> {
    begin: u64,
    end: u64,
    offset: u64,
    executable: bool,
    path: &'a str,
}

fn memory(maps: &str) -> Vec<Memory<'_>> {
    let line = |line| {
        let mut words = str::split_whitespace(line);
        let (begin, end) = words.next()?.split_once('-')?;
        let executable = words.next()?.contains('x');
        let number = |text| u64::from_str_radix(text, 16).ok();
        let offset = number(words.next()?)?;
        let path = words.nth(2).unwrap_or("");
        Some(Memory { begin: number(begin)?, end: number(end)?, offset, executable, path })
    };
    maps.lines().filter_map(line).collect()
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn the_stack_of_this_program_is_that_which_the_c_library_finds() {
    fn deeper(depth: u32) -> ([u64; 9], Vec<u8>, Vec<u64>) {
        let room = std::hint::black_box(vec![depth; depth as usize]);
        let found = if depth == 0 { own_stack() } else { deeper(depth - 1) };
        std::hint::black_box(room);
        found
    }
    let (registers, stack, calls) = deeper(5);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let code = memory(&maps).into_iter().filter(|memory| memory.executable);
    let mut perf = Perf::new(X86).copying(registers, &stack);
    let mut files = Vec::new();
    for Memory { begin, end, offset, path, .. } in code {
        let length = end - begin;
        perf = perf.mapped(5, &Mapped { start: begin, length, offset, path, build_id: &[] });
        files.push(program(path, vec![path.into()]));
    }
    let path = perf.sample(200, 10, 0, &[]).save("unwound-own.data");
    let chains = chains(&path, files, SAMPLES);
    let [(_, _, chain, end)] = chains.as_slice() else { panic!("{chains:?}") };
    assert_eq!(end, "complete");
    assert!(calls.len() > 8, "{calls:x?}");
    let callers: Vec<u64> = calls[1..].iter().map(|call| call - 1).collect();
    assert_eq!(chain[1..], callers[..]);
}

/// Of `perf script`: microseconds, thread, and the functions of the program of each sample.
fn scripted(text: &str) -> Vec<(i64, i32, Vec<u64>)> {
    let mut samples = Vec::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines();
        let Some((thread, time)) = lines.next().and_then(|line| line.trim().split_once(' ')) else {
            continue;
        };
        let time = time.trim().trim_end_matches(':').replace('.', "");
        let functions = lines.filter_map(|line| u64::from_str_radix(line.trim(), 16).ok());
        let of_program = functions.filter(|address| address >> 63 == 0).collect();
        samples.push((time.parse().unwrap(), thread.trim().parse().unwrap(), of_program));
    }
    samples
}

#[test]
fn chains_of_a_fresh_recording_agree_with_perf_script() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fresh-dwarf.data");
    if Command::new("perf").arg("--version").output().is_err() {
        common::left_out("package", "linux-perf");
        return;
    }
    let recorded = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock:u", "-F", "2000", "--buildid-mmap"])
        .args(["--call-graph", "dwarf,16384", "-o"])
        .arg(&path)
        .args([
            "perl",
            "-e",
            "my %a; $a{$_ % 997} .= sprintf(\"%d\", $_) for 1 .. 300000; sort values %a",
        ])
        .output();
    if !recorded.is_ok_and(|output| output.status.success()) {
        common::left_out("machine", "perf cannot record samples with stacks");
        return;
    }
    let script = Command::new("perf")
        .args(["script", "--no-inline", "-F", "tid,time,ip", "-i"])
        .arg(&path)
        .output()
        .unwrap();
    let script = scripted(&String::from_utf8(script.stdout).unwrap());
    let trace = tracefile::open(&path).unwrap();
    let selection = Selection::nothing().event("perf_mmap", None);
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    let mut files = BTreeMap::new();
    for batch in decoded.tables.iter().flat_map(|table| &table.batches) {
        let (paths, ids) = (batch["file"].as_string::<i32>(), batch["build_id"].as_binary::<i32>());
        for row in (0..batch.num_rows()).filter(|&row| ids.is_valid(row)) {
            let (path, build_id) = (paths.value(row), ids.value(row).to_vec());
            let file = program(path, vec![path.into()]);
            files.insert((path.to_owned(), build_id.clone()), ProgramFile { build_id, ..file });
        }
    }
    let event = trace.info().events.iter().find(|event| event.name.starts_with("cpu-clock"));
    let name = &event.expect("what was recorded").name;
    let mut chains = chains(&path, files.into_values().collect(), name);
    chains.sort();
    assert_eq!(chains.len(), script.len());
    // perf shows places in files, which have the same place in a page; and it loses its way in some
    // tenth of the samples around the begin of a program.
    let in_page = |chain: &[u64]| chain.iter().map(|call| call & 0xfff).collect::<Vec<_>>();
    let whole =
        |(_, _, chain, end): &&(i64, i32, Vec<u64>, String)| end == "complete" && chain.len() > 2;
    let complete: Vec<_> = chains.iter().filter(whole).collect();
    assert!(complete.len() * 2 > script.len(), "{chains:?}");
    let agrees = |(time, thread, chain, _): &&&(i64, i32, Vec<u64>, String)| {
        script.iter().any(|(at, of, told)| {
            (*at, of) == (time / 1000, thread) && in_page(told) == in_page(chain)
        })
    };
    let agreeing = complete.iter().filter(agrees).count();
    assert!(agreeing * 10 >= complete.len() * 9, "{agreeing} of {} agree", complete.len());
}
