//! From a function to the one that called it, by the rules of its file.
//!
//! Source: DWARF 5, section 6.4; LSB, "Exception Frames".

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, Encoding, EvaluationResult, Location, Register, RegisterRule,
    UnwindContext, UnwindExpression, UnwindSection, Value,
};

use crate::ByteOrder;
use crate::bytes::Reader;
use crate::perf::unwind::machine::{Machine, REGISTERS};
use crate::perf::unwind::program_file::{Reading, Section, Slice};

/// Why a chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// At the first function of its thread.
    Complete,
    /// Behind the part of the stack that was copied.
    Cut,
    /// At an address that is not in the stack.
    Elsewhere,
    /// Where something is needed that was in a register.
    Register,
    /// Where a caller's stack lies before that of what it called.
    Cyclic,
    Deep,
    /// Where no file was mapped.
    Unmapped,
    /// In a file that has no rules, and why.
    NoRules(u32, &'static str),
    /// In a file whose rules tell nothing of the place.
    NoRule(u32),
    Damaged,
    /// A machine whose programs are not unwound.
    Machine,
}

/// Steps of an expression; compilers write some ten.
const MOST_STEPS: u32 = 200;
/// Bytes of a function's rules; those of the largest functions have some thousand.
const MOST_RULES: usize = 1 << 18;

/// What holds at an address: the rules of a row.
#[derive(Debug)]
pub(crate) struct Row {
    cfa: CfaRule<usize>,
    registers: Vec<(Register, RegisterRule<usize>)>,
    return_address: Register,
    encoding: Encoding,
    /// Of what a signal interrupted, which is no call.
    pub(crate) is_signal: bool,
}

/// Looks up the row of an address in the entry of its function.
pub(crate) struct Lookup<'c> {
    pub(crate) context: &'c mut UnwindContext<usize>,
    pub(crate) entry: usize,
    pub(crate) address: u64,
}

impl Reading<Option<Arc<Row>>> for Lookup<'_> {
    fn read<'a, S: UnwindSection<Slice<'a>>>(
        self,
        frames: &S,
        bases: &BaseAddresses,
    ) -> Option<Arc<Row>> {
        let entry = S::Offset::from(self.entry);
        let function = frames.fde_from_offset(bases, entry, S::cie_from_offset).ok()?;
        if function.entry_len().max(function.cie().entry_len()) > MOST_RULES {
            return None;
        }
        let row =
            function.unwind_info_for_address(frames, bases, self.context, self.address).ok()?;
        Some(Arc::new(Row {
            cfa: row.cfa().clone(),
            registers: row.registers().cloned().collect(),
            return_address: function.cie().return_address_register(),
            encoding: function.cie().encoding(),
            is_signal: function.is_signal_trampoline(),
        }))
    }
}

/// A function that has not returned: its registers, by DWARF's numbers.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) registers: [Option<u64>; REGISTERS],
}

/// The copy of the memory of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackCopy<'a> {
    pub(crate) begin: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) order: ByteOrder,
}

impl StackCopy<'_> {
    fn word(&self, address: u64, size: u8) -> Result<u64, End> {
        let at = address.checked_sub(self.begin).ok_or(End::Elsewhere)?;
        let at = usize::try_from(at).map_err(|_| End::Cut)?;
        let mut reader = Reader::new(self.bytes, self.order);
        if at > self.bytes.len() {
            return Err(End::Cut);
        }
        reader = reader.at(at);
        match size {
            8 => reader.u64(),
            4 => reader.u32().map(u64::from),
            2 => reader.u16().map(u64::from),
            _ => reader.u8().map(u64::from),
        }
        .ok_or(End::Cut)
    }
}

/// One step outwards.
pub(crate) struct Step<'s> {
    pub(crate) frame: &'s Frame,
    pub(crate) row: &'s Row,
    pub(crate) machine: &'s Machine,
    pub(crate) stack: StackCopy<'s>,
}

impl Step<'_> {
    /// The registers of the caller.
    ///
    /// # Errors
    /// [`End::Complete`] where there is none, else why they are not known.
    pub(crate) fn caller(self, section: &Section) -> Result<Frame, End> {
        section.read_with(self)
    }

    fn register(&self, number: Register) -> Result<u64, End> {
        let known = self.frame.registers.get(usize::from(number.0));
        known.copied().flatten().ok_or(End::Register)
    }

    fn canonical_address<'a, S: UnwindSection<Slice<'a>>>(&self, frames: &S) -> Result<u64, End> {
        let address = match &self.row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.register(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluated(frames, expression, None)?,
        };
        Ok(address & self.all_ones())
    }

    /// The largest address.
    fn all_ones(&self) -> u64 {
        if self.machine.word == 8 { u64::MAX } else { u64::from(u32::MAX) }
    }

    fn evaluated<'a, S: UnwindSection<Slice<'a>>>(
        &self,
        frames: &S,
        expression: &UnwindExpression<usize>,
        cfa: Option<u64>,
    ) -> Result<u64, End> {
        let damaged = |_: gimli::Error| End::Damaged;
        let expression = expression.get(frames).map_err(damaged)?;
        let mut evaluation = expression.evaluation(self.row.encoding);
        evaluation.set_max_iterations(MOST_STEPS);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut result = evaluation.evaluate();
        loop {
            result = match result.map_err(damaged)? {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.stack.word(address, size)?;
                    evaluation.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresCallFrameCfa => match cfa {
                    Some(cfa) => evaluation.resume_with_call_frame_cfa(cfa),
                    None => return Err(End::Damaged),
                },
                _ => return Err(End::Damaged),
            };
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Ok(address),
                _ => Err(End::Damaged),
            },
            _ => Err(End::Damaged),
        }
    }
}

impl Reading<Result<Frame, End>> for Step<'_> {
    fn read<'a, S: UnwindSection<Slice<'a>>>(
        self,
        frames: &S,
        _bases: &BaseAddresses,
    ) -> Result<Frame, End> {
        let (machine, row) = (self.machine, self.row);
        let cfa = self.canonical_address(frames)?;
        let mut caller = self.frame.clone();
        if let Some(register) = caller.registers.get_mut(machine.stack_pointer) {
            *register = Some(cfa);
        }
        let mut outermost = false;
        for (number, rule) in &row.registers {
            let value = match rule {
                RegisterRule::Undefined => {
                    outermost |= *number == row.return_address;
                    None
                }
                RegisterRule::SameValue | RegisterRule::Architectural => continue,
                RegisterRule::Offset(offset) => {
                    Some(self.stack.word(cfa.wrapping_add_signed(*offset), machine.word))
                }
                RegisterRule::ValOffset(offset) => Some(Ok(cfa.wrapping_add_signed(*offset))),
                RegisterRule::Register(other) => Some(self.register(*other)),
                RegisterRule::Expression(expression) => Some(
                    self.evaluated(frames, expression, Some(cfa))
                        .and_then(|address| self.stack.word(address, machine.word)),
                ),
                RegisterRule::ValExpression(expression) => {
                    Some(self.evaluated(frames, expression, Some(cfa)))
                }
                RegisterRule::Constant(_) => continue,
            };
            let value = match value {
                // Without its return address a function has no caller; other registers may be lost.
                Some(Err(end)) if *number == row.return_address => return Err(end),
                Some(value) => value.ok(),
                None => None,
            };
            if let Some(register) = caller.registers.get_mut(usize::from(number.0)) {
                *register = value;
            }
        }
        if outermost {
            return Err(End::Complete);
        }
        let address = caller.registers.get(usize::from(row.return_address.0)).copied().flatten();
        let address = address.ok_or(End::Register)? & machine.address;
        if address == 0 {
            return Err(End::Complete);
        }
        let before =
            (self.frame.registers[machine.counter], self.frame.registers[machine.stack_pointer]);
        caller.registers[machine.counter] = Some(address);
        // The stacks of callers lie behind; only what a signal interrupted may have another one.
        let is_stuck = match before {
            (_, Some(stack)) if !row.is_signal && cfa < stack => true,
            before => before == (Some(address), Some(cfa)),
        };
        if is_stuck { Err(End::Cyclic) } else { Ok(caller) }
    }
}
