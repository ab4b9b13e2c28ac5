//! Machines whose programs can be unwound: how perf numbers the saved registers, and how DWARF does.
//!
//! Source: `arch/*/include/uapi/asm/perf_regs.h` of Linux; the DWARF register mappings of the ABIs of
//! each processor.

use crate::perf::attributes::REGISTERS_OF_32_BITS;

/// Registers that rules may name: the last is that of the place in the program where DWARF has none.
pub(crate) const REGISTERS: usize = 65;
const NONE: u8 = u8::MAX;

/// The registers of a machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Bytes of an address.
    pub(crate) word: u8,
    /// DWARF's numbers of the stack pointer and of the place in the program.
    pub(crate) stack_pointer: usize,
    pub(crate) counter: usize,
    /// Bits of an address that are one: the others may hold its signature.
    pub(crate) address: u64,
    /// Bits of addresses of kernels that have fewer, the most first.
    narrower: &'static [u32],
    /// DWARF's numbers in the order in which perf saves registers.
    saved: &'static [u8],
}

const X86_64: Machine = Machine {
    word: 8,
    stack_pointer: 7,
    counter: 16,
    address: u64::MAX,
    narrower: &[],
    saved: &[
        0, 3, 2, 1, 4, 5, 6, 7, 16, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 8, 9, 10, 11, 12, 13,
        14, 15,
    ],
};

const X86: Machine = Machine {
    word: 4,
    stack_pointer: 4,
    counter: 8,
    address: u32::MAX as u64,
    narrower: &[],
    saved: &[0, 3, 1, 2, 6, 7, 5, 4, 8],
};

const AARCH64: Machine = Machine {
    word: 8,
    stack_pointer: 31,
    counter: 32,
    address: (1 << 48) - 1,
    narrower: &[47, 42, 39, 36],
    saved: &[
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32,
    ],
};

const RISCV64: Machine = Machine {
    word: 8,
    stack_pointer: 2,
    counter: 64,
    address: u64::MAX,
    narrower: &[],
    saved: &[
        64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31,
    ],
};

const ARM: Machine = Machine {
    word: 4,
    stack_pointer: 13,
    counter: 15,
    address: u32::MAX as u64,
    narrower: &[],
    saved: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
};

impl Machine {
    /// That of a program: the recording's, and whether the registers are of 32 bits. `None`: its
    /// programs are not unwound.
    pub(crate) fn of(name: &str, abi: u64) -> Option<&'static Self> {
        let narrow = abi == REGISTERS_OF_32_BITS;
        Some(match name {
            "x86_64" if !narrow => &X86_64,
            "x86_64" | "i386" | "i486" | "i586" | "i686" if narrow => &X86,
            "aarch64" if !narrow => &AARCH64,
            "riscv64" if !narrow => &RISCV64,
            _ if name.starts_with("arm") && narrow => &ARM,
            _ => return None,
        })
    }

    /// An address, and what is left of it where addresses have fewer bits: those above may hold its
    /// signature (pointer authentication), and no recording tells how many there are.
    pub(crate) fn unsigned(&self, address: u64) -> impl Iterator<Item = u64> {
        let shorter = self.narrower.iter().map(move |bits| address & ((1 << bits) - 1));
        std::iter::once(address).chain(shorter)
    }

    /// Registers by DWARF's numbers, of the words that a sample saved: `mask` says which.
    pub(crate) fn registers(
        &self,
        mask: u64,
        mut words: impl Iterator<Item = u64>,
    ) -> [Option<u64>; REGISTERS] {
        let mut registers = [None; REGISTERS];
        for bit in (0..64).filter(|bit| mask >> bit & 1 == 1) {
            let Some(word) = words.next() else { break };
            let number = self.saved.get(bit).map_or(NONE, |&number| number);
            if let Some(register) = registers.get_mut(usize::from(number)) {
                *register = Some(word);
            }
        }
        registers
    }
}
