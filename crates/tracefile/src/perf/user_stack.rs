//! The program's part of a stack that is in no chain: the calls that the CPU recorded (`--call-graph
//! lbr`), or the registers and a copy of the stack's memory (`--call-graph dwarf`), of which
//! [`crate::perf::unwind`] makes a chain; without it the place in the program is known.

use linux_perf_event_reader::SampleFormat;

use crate::ByteOrder;
use crate::bytes::Reader;
use crate::perf::attributes::{Attribute, branch};
use crate::perf::unwind::Registers;

/// Bytes of a branch: whence, whither, flags.
const BRANCH: usize = 24;
/// Above lies the kernel.
const USER: u64 = 1 << 63;

/// What a sample tells behind its raw data.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct UserPart<'a> {
    /// Branches, the last one first; none where they are not calls that still go on.
    calls: &'a [u8],
    /// Where the program was.
    place: Option<u64>,
    /// Of the program; none in a thread of the kernel.
    pub(crate) registers: Option<Registers<'a>>,
    /// The copy of the stack's memory, from the stack pointer on.
    pub(crate) memory: &'a [u8],
}

impl<'a> UserPart<'a> {
    /// Read from behind the raw data; what is cut short tells nothing.
    pub(crate) fn read(reader: &mut Reader<'a>, attribute: &Attribute) -> Self {
        let mut part = Self::default();
        let mut read = || {
            if attribute.has(SampleFormat::BRANCH_STACK) {
                let count = reader.u64()?;
                if attribute.branches & branch::HARDWARE_INDEX != 0 {
                    reader.u64()?;
                }
                let branches = words_of(reader, count.checked_mul(3)?)?;
                if attribute.branches & branch::COUNTERS != 0 {
                    words_of(reader, count)?;
                }
                if attribute.branches & branch::CALL_STACK != 0 {
                    part.calls = branches;
                }
            }
            if attribute.has(SampleFormat::REGS_USER) {
                part.take_registers(reader, attribute)?;
            }
            if attribute.has(SampleFormat::STACK_USER) {
                // So many bytes, of which those are filled that the number behind them says.
                let size = usize::try_from(reader.u64()?).ok()?;
                let copy = reader.take(size)?;
                let filled = if size > 0 { usize::try_from(reader.u64()?).ok()? } else { 0 };
                part.memory = &copy[..filled.min(size)];
            }
            Some(())
        };
        read();
        part
    }

    fn take_registers(&mut self, reader: &mut Reader<'a>, attribute: &Attribute) -> Option<()> {
        let (abi, mask) = (reader.u64()?, attribute.registers);
        if abi == 0 {
            return Some(());
        }
        if let Some(at) = attribute.counter_register {
            self.place = reader.at(reader.position() + 8 * at).u64();
        }
        let words = words_of(reader, u64::from(mask.count_ones()))?;
        self.registers = Some(Registers { abi, mask, words });
        Some(())
    }

    /// The functions of the program, the innermost first; `chain` are those of the chain.
    pub(crate) fn stack(&self, mut chain: Vec<u64>, order: ByteOrder) -> Vec<u64> {
        let branches = self.calls.chunks_exact(BRANCH).map(|branch| {
            let mut reader = Reader::new(branch, order);
            (reader.u64().unwrap_or(USER), reader.u64().unwrap_or(USER))
        });
        let of_program = |address: &u64| (1..USER).contains(address);
        let callers: Vec<u64> = branches.clone().map(|(from, _)| from).filter(of_program).collect();
        let entered = branches.take(1).map(|(_, to)| to).find(of_program);
        let innermost = chain.first().copied().or(self.place).or(entered);
        if callers.len() >= chain.len() && !callers.is_empty() {
            chain = innermost.into_iter().chain(callers).collect();
        } else if chain.is_empty() {
            chain.extend(self.place);
        }
        chain
    }
}

/// Words of 8 bytes.
pub(crate) fn words_of<'a>(reader: &mut Reader<'a>, words: u64) -> Option<&'a [u8]> {
    let bytes = usize::try_from(words).ok()?.checked_mul(8)?;
    reader.take(bytes)
}
