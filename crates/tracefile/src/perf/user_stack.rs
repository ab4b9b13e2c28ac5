//! The program's part of a stack that is in no chain: the calls that the CPU recorded (`--call-graph
//! lbr`), or the place in the program that the saved registers tell (`--call-graph dwarf`). What
//! called that place is in a copy of the stack's memory, which is not unwound.

use linux_perf_event_reader::SampleFormat;

use crate::ByteOrder;
use crate::bytes::Reader;
use crate::perf::attributes::{Attribute, branch};

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
            if attribute.has(SampleFormat::REGS_USER) && reader.u64()? != 0 {
                let at = attribute.counter_register?;
                part.place = reader.at(reader.position() + 8 * at).u64();
            }
            Some(())
        };
        read();
        part
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
