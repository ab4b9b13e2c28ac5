//! Samples of perf, and files of programs by which their stacks are unwound.

use std::path::PathBuf;
use std::sync::OnceLock;

use tracefile::ProgramFile;

use super::check;
use crate::made::elf::{CODE, FUNCTION, computed, elf, first, pushed};
use crate::made::perf::{Mapped, Perf};
use crate::made::{Kernel, X86, save, tick};

/// A whole file; stacks that it has copies of are unwound.
pub fn file(data: &[u8]) -> u64 {
    let program = ProgramFile {
        path: "/bin/program".into(),
        build_id: Vec::new(),
        candidates: vec![program_file()],
    };
    check(tracefile::open_bytes_unwinding(data, vec![program]));
    check(tracefile::open_bytes(data))
}

/// A file of a program.
pub fn program(data: &[u8]) -> u64 {
    tracefile::unwind_in(data) as u64
}

pub fn program_seeds() -> Vec<Vec<u8>> {
    let mut arm = elf(&[pushed(0), pushed(3), first()], b"01234567890123456789");
    arm[18] = 183;
    vec![elf(&[pushed(1), computed(), pushed(4), pushed(0), first()], b"0123"), arm]
}

pub fn file_seeds() -> Vec<Vec<u8>> {
    let of = |kernel: Kernel| {
        let plain = Perf::new(kernel)
            .record(3, &[kernel.u32(1), kernel.u32(1), b"program\0".to_vec()].concat())
            .sample(100, 10, 0, &tick(kernel, 1))
            .sample(200, 20, 1, &tick(kernel, 2))
            .lost(3, 30, 0);
        let begin = 0x5000_0000;
        let registers = [1, 2, 3, 4, 5, 6, 7, 0x7000, begin + CODE + 0x10];
        let calls = [0, 1, 2].map(|function| begin + CODE + FUNCTION * function + 1);
        let stack = calls.map(|call| kernel.u64(call)).concat().repeat(3);
        let path = "/bin/program";
        let mapped = Mapped { start: begin, length: 0x2000, path, ..Mapped::default() };
        let copied = Perf::new(kernel)
            .copying(registers, &stack)
            .mapped(5, &mapped)
            .sample(100, 10, 0, &tick(kernel, 1))
            .sample(200, 20, 0, &[]);
        [plain.bytes(), copied.bytes()]
    };
    [X86, Kernel { big: true, long: 8 }].into_iter().flat_map(of).collect()
}

/// The file by which stacks are unwound, written once.
fn program_file() -> PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let write = || save(&elf(&[pushed(1), computed(), pushed(0)], b"0123"), "unwound.elf");
    FILE.get_or_init(write).clone()
}
