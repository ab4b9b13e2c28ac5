//! Chains of calls from the registers and the copy of the stack that a sample holds (`perf record
//! --call-graph dwarf`).
//!
//! ```text
//! records ─→ replay: which file lay where ─┐
//! files ─→ program_file: rules by address ─┼→ step: registers of the caller, again and again
//! sample: registers, copy of the stack ────┘
//! ```
//! Neither the recording nor the files are trusted: chains are bounded, and each says how it ended.

mod machine;
mod program_file;
mod replay;
mod step;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use gimli::UnwindContext;

pub use crate::perf::unwind::program_file::ProgramFile;

use crate::ByteOrder;
use crate::perf::unwind::machine::Machine;
use crate::perf::unwind::program_file::Rules;
use crate::perf::unwind::replay::Replay;
pub(crate) use crate::perf::unwind::replay::{Change, Changes, Mapping};
pub(crate) use crate::perf::unwind::step::StackCopy;
use crate::perf::unwind::step::{End, Frame, Lookup, Row, Step};

/// Functions of a chain; perf shows 127. There are never more than the copy has return addresses.
const MOST_FUNCTIONS: usize = 512;
/// Rows that are kept of all files.
const MOST_ROWS: usize = 1 << 16;

/// What all threads share.
pub(crate) struct Unwinding {
    machine: String,
    changes: Changes,
    files: Vec<Files>,
}

struct Files {
    file: ProgramFile,
    rules: OnceLock<Result<Rules, &'static str>>,
}

/// The end as a text.
pub(crate) struct Told<'a>(End, &'a Unwinding);

impl fmt::Display for Told<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |file: u32| self.1.files.get(file as usize).map_or("", |each| &each.file.path);
        match self.0 {
            End::Complete => to.write_str("complete"),
            End::Cut => {
                to.write_str("the copy of the stack ends (perf record --call-graph dwarf,BYTES)")
            }
            End::Elsewhere => to.write_str("an address that is not in the copy of the stack"),
            End::Register => to.write_str("a register that was not saved"),
            End::Cyclic => to.write_str("a caller whose stack lies before that of what it called"),
            End::Deep => write!(to, "more than {MOST_FUNCTIONS} functions, or than its stack has"),
            End::Unmapped => to.write_str("an address where no file was mapped"),
            End::NoRules(file, reason) => write!(to, "{}: {reason}", path(file)),
            End::NoRule(file) => write!(to, "{}: no unwind information of the place", path(file)),
            End::Damaged => to.write_str("damaged unwind information"),
            End::Machine => to.write_str("programs of this machine are not unwound"),
        }
    }
}

impl Unwinding {
    /// Of the recording's machine (as `uname -m` names it), what happened to its processes, and the
    /// files that [`Mapping::file`] counts.
    pub(crate) fn new(machine: String, mut changes: Changes, files: Vec<ProgramFile>) -> Self {
        changes.sort_by_key(|(time, ..)| *time);
        let files = files.into_iter().map(|file| Files { file, rules: OnceLock::new() }).collect();
        Self { machine, changes, files }
    }

    fn rules(&self, file: u32) -> Result<&Rules, &'static str> {
        let known = self.files.get(file as usize).ok_or("it is not known")?;
        known.rules.get_or_init(|| Rules::read(&known.file)).as_ref().map_err(|reason| *reason)
    }
}

/// The registers of a program that a sample saved.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Registers<'a> {
    pub(crate) abi: u64,
    /// Which there are, as perf numbers them.
    pub(crate) mask: u64,
    /// Words of 8 bytes.
    pub(crate) words: &'a [u8],
}

/// Unwinds samples whose times ascend.
pub(crate) struct Walker<'a> {
    unwinding: &'a Unwinding,
    replay: Replay<'a>,
    context: UnwindContext<usize>,
    /// By file and address.
    rows: HashMap<(u32, u64), Option<RowOfSection>>,
}

/// A row, and which section of its file tells it.
type RowOfSection = (usize, Arc<Row>);

impl<'a> Walker<'a> {
    pub(crate) fn new(unwinding: &'a Unwinding) -> Self {
        let replay = Replay::new(&unwinding.changes);
        Self { unwinding, replay, context: UnwindContext::new(), rows: HashMap::new() }
    }

    /// The functions of a sample, the innermost first, and how they end. Those that called another
    /// one stand with the last byte of the call, as in `perf script`: what follows it may belong to
    /// another function.
    pub(crate) fn chain(
        &mut self,
        process: u32,
        time: i64,
        registers: Registers<'_>,
        stack: &[u8],
        order: ByteOrder,
    ) -> (Vec<u64>, Told<'a>) {
        self.replay.advance(time);
        let mut chain = Vec::new();
        let end = self.walk(process, registers, stack, order, &mut chain);
        (chain, Told(end.err().unwrap_or(End::Complete), self.unwinding))
    }

    fn walk(
        &mut self,
        process: u32,
        saved: Registers<'_>,
        stack: &[u8],
        order: ByteOrder,
        chain: &mut Vec<u64>,
    ) -> Result<(), End> {
        let machine = Machine::of(&self.unwinding.machine, saved.abi).ok_or(End::Machine)?;
        let mut reader = crate::bytes::Reader::new(saved.words, order);
        let registers = machine.registers(saved.mask, std::iter::from_fn(|| reader.u64()));
        let begin = registers[machine.stack_pointer].ok_or(End::Register)?;
        let stack = StackCopy { begin, bytes: stack, order };
        let mut frame = Frame { registers };
        let mut is_call = false;
        loop {
            let counter = frame.registers[machine.counter].ok_or(End::Register)?;
            // What follows a call that never returns may belong to another function.
            let called = |counter: u64| counter.wrapping_sub(u64::from(is_call));
            let mapped = machine
                .unsigned(counter)
                .map(called)
                .find_map(|address| Some((address, self.replay.at(process, address)?)));
            let address = mapped.map_or(called(counter), |(address, _)| address);
            let mapping = mapped.map(|(_, mapping)| mapping);
            if mapping.is_none() && !chain.is_empty() {
                return Err(End::Unmapped);
            }
            let room = stack.bytes.len() / usize::from(machine.word) + 2;
            if chain.len() == MOST_FUNCTIONS.min(room) {
                return Err(End::Deep);
            }
            chain.push(address);
            let mapping = mapping.ok_or(End::Unmapped)?;
            let rules = self.unwinding.rules(mapping.file);
            let rules = rules.map_err(|reason| End::NoRules(mapping.file, reason))?;
            let (section, row) = self.row(rules, mapping, address)?;
            is_call = !row.is_signal;
            let step = Step { frame: &frame, row: &row, machine, stack };
            frame = step.caller(&rules.sections[section])?;
        }
    }

    /// What holds at an address of a process, and the section that tells it.
    fn row(&mut self, rules: &Rules, mapping: Mapping, address: u64) -> Result<RowOfSection, End> {
        let unknown = End::NoRule(mapping.file);
        let offset = mapping.offset.wrapping_add(address - mapping.start);
        let address = rules.address(offset).ok_or(unknown)?;
        if self.rows.len() >= MOST_ROWS {
            self.rows.clear();
        }
        let context = &mut self.context;
        let row = self.rows.entry((mapping.file, address)).or_insert_with(|| {
            let (section, entry) = rules.entry(address)?;
            let row = rules.sections[section].read_with(Lookup { context, entry, address })?;
            Some((section, row))
        });
        row.clone().ok_or(unknown)
    }
}

/// Unwinds from every function of the bytes of an ELF file, for fuzzing; returns how many functions
/// the chains have together. All saved registers lead into the copy of the stack, which is full of
/// addresses of functions.
pub(crate) fn unwind_in(bytes: &[u8]) -> usize {
    const STACK: u64 = 0x7000_0000;
    const CODE: u64 = 0x10_0000;
    let Some(rules) = Rules::of_bytes(bytes) else { return 0 };
    let name = match bytes.get(18) {
        Some(183) => "aarch64",
        Some(243) => "riscv64",
        Some(40) => "armv7l",
        _ => "x86_64",
    };
    let abi = if name == "armv7l" { crate::perf::attributes::REGISTERS_OF_32_BITS } else { 2 };
    let places: Vec<u64> =
        rules.functions_in_file().iter().map(|at| at.wrapping_add(CODE)).collect();
    let end = CODE + bytes.len() as u64;
    let mapping = Mapping { start: CODE, end, offset: 0, file: 0 };
    let file = ProgramFile { path: String::new(), build_id: Vec::new(), candidates: Vec::new() };
    let changes = vec![(0, 1, Change::Mapped(mapping))];
    let unwinding = Unwinding::new(name.into(), changes, vec![file]);
    let _ = unwinding.files[0].rules.set(Ok(rules));
    let mut walker = Walker::new(&unwinding);
    let word = if abi == 2 { 8 } else { 4 };
    let stack: Vec<u8> = places
        .iter()
        .cycle()
        .take(512.min(512 * places.len()))
        .flat_map(|place| place.wrapping_add(1).to_le_bytes().into_iter().take(word))
        .collect();
    let chains = places.iter().map(|&place| {
        let counter = match name {
            "aarch64" => 32,
            "riscv64" => 0,
            "armv7l" => 15,
            _ => 8,
        };
        let words: Vec<u8> = (0..33u64)
            .flat_map(|number| if number == counter { place } else { STACK }.to_le_bytes())
            .collect();
        let registers = Registers { abi, mask: (1 << 33) - 1, words: &words };
        walker.chain(1, 0, registers, &stack, ByteOrder::Little).0.len()
    });
    chains.sum()
}
