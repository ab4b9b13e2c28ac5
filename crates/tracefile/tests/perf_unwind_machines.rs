//! Stacks of other machines, with what others found in them (`tests/data/unwinding`).
//!
//! `*_arm64` are of the tests of Android's libunwindstack (platform/system/unwinding, Apache
//! License 2.0), with the addresses that these expect; of the programs, what has nothing to do with
//! unwinding is zero. `arm`, `aarch64` and `riscv64` are stacks of `deep.c` beside them in QEMU, with
//! what LLVM's libunwind found from within (of arm by another section, `.ARM.exidx`).

mod common;
mod made;

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use made::perf::{Mapped, Perf, Registers};
use made::{X86, save};
use tracefile::{Options, ProgramFile, Selection};

/// `case.txt`: machine, registers by perf's numbers, where files lie, and the functions from the
/// innermost: where it stands, and the last byte of each call.
struct Case {
    machine: [u8; 8],
    registers: Registers,
    mapped: Vec<(u64, u64, u64, String)>,
    calls: Vec<u64>,
}

fn case(directory: &Path) -> Case {
    let text = std::fs::read_to_string(directory.join("case.txt")).unwrap();
    let (mut machine, mut registers) = ([0; 8], Registers::default());
    let (mut mapped, mut calls) = (Vec::new(), Vec::new());
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["machine", name] => machine[..name.len()].copy_from_slice(name.as_bytes()),
            ["register", which, value] => {
                registers.mask |= 1 << which.parse::<u32>().unwrap();
                registers.values.push(number(value));
            }
            ["mapped", start, end, offset, file] => {
                mapped.push((number(start), number(end), number(offset), file.to_owned()));
            }
            ["call", address] => calls.push(number(address)),
            _ => panic!("{line}"),
        }
    }
    registers.narrow = machine.starts_with(b"arm");
    Case { machine, registers, mapped, calls }
}

fn unpacked(path: &Path) -> Vec<u8> {
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

#[test]
fn stacks_of_other_machines_are_what_others_found() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/unwinding");
    let mut names: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    assert!(names.len() >= 6);
    for directory in names {
        let name = directory.file_name().unwrap().to_str().unwrap();
        let Case { machine, registers, mapped, calls } = case(&directory);
        let stack = unpacked(&directory.join("stack.zst"));
        let mut perf = Perf::new(X86).copying_of(machine, registers, &stack);
        let mut files: Vec<ProgramFile> = Vec::new();
        for (start, end, offset, path) in &mapped {
            let (start, length, offset) = (*start, end - start, *offset);
            perf = perf.mapped(5, &Mapped { start, length, offset, path, build_id: &[] });
            if files.iter().all(|file| file.path != *path) {
                let bytes = unpacked(&directory.join(format!("{path}.zst")));
                let candidates = vec![save(&bytes, &format!("unwound-{name}-{path}"))];
                files.push(ProgramFile { path: path.clone(), build_id: Vec::new(), candidates });
            }
        }
        let path = perf.sample(200, 10, 0, &[]).save(&format!("unwound-{name}.data"));
        let trace = tracefile::open_unwinding(&path, files).unwrap();
        let selection = Selection::nothing().event("cpu-clock", None);
        let decoded = trace.decode(&selection, &Options::default()).unwrap();
        let batch = &decoded.tables[0].batches[0];
        let chain = batch["user_stack"].as_list::<i32>().value(0);
        let chain = chain.as_primitive::<UInt64Type>().values().to_vec();
        let end = batch["user_stack_end"].as_string::<i32>().value(0);
        assert_eq!(chain.get(..calls.len()).unwrap_or(&chain), calls, "{name}: {end}");
    }
}
