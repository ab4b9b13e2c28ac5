//! The kinds of events that a perf.data holds: what their samples look like, and how they are called.

use std::collections::HashMap;

use byteorder::{BigEndian, LittleEndian};
use linux_perf_event_reader::{AttrFlags, ClockId, PerfClock, PerfEventAttr, SampleFormat};

use crate::ByteOrder;
use crate::bytes::Reader;

/// Bits of what counters say when a sample reads them, as the kernel numbers them.
pub(crate) mod read {
    pub(crate) const TIME_ENABLED: u64 = 1;
    pub(crate) const TIME_RUNNING: u64 = 1 << 1;
    pub(crate) const ID: u64 = 1 << 2;
    pub(crate) const GROUP: u64 = 1 << 3;
    pub(crate) const LOST: u64 = 1 << 4;
}

/// Bits of which branches a sample tells.
pub(crate) mod branch {
    pub(crate) const CALL_STACK: u64 = 1 << 11;
    pub(crate) const HARDWARE_INDEX: u64 = 1 << 17;
    pub(crate) const COUNTERS: u64 = 1 << 19;
}

const TRACEPOINT: u32 = 2;

/// What a sample says of the registers of a program of 32 bits.
pub(crate) const REGISTERS_OF_32_BITS: u64 = 1;

/// One kind of event that was recorded.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    /// As perf calls it: `cycles:u`, `sched:sched_switch`.
    pub(crate) name: String,
    /// What the kernel knows it by.
    pub(crate) event: (u32, u64),
    pub(crate) tracepoint: bool,
    pub(crate) format: SampleFormat,
    /// Bits of [`read`].
    pub(crate) read: u64,
    /// How many of the event a sample stands for, where samples do not say it.
    pub(crate) period: Option<u64>,
    /// Records that are no samples end with the identity of one.
    pub(crate) trailer: bool,
    /// Bits of [`branch`].
    pub(crate) branches: u64,
    /// Which of the saved registers holds the place in the program.
    pub(crate) counter_register: Option<usize>,
    /// Bits of the registers that are saved.
    pub(crate) registers: u64,
    clock: PerfClock,
}

impl Attribute {
    pub(crate) fn has(&self, part: SampleFormat) -> bool {
        self.format.contains(part)
    }

    /// Samples hold what the unwinder of `--call-graph dwarf` reads.
    pub(crate) fn raw_stacks(&self) -> bool {
        self.has(SampleFormat::STACK_USER)
    }
}

/// All kinds of events, and how a sample's is found.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) all: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
}

impl Attributes {
    /// The place of the kind of event that has an identifier; events without one are of the first.
    pub(crate) fn of(&self, identifier: Option<u64>) -> Option<usize> {
        match identifier {
            Some(id) if self.all.len() > 1 && id != 0 => self.by_id.get(&id).copied(),
            _ => (!self.all.is_empty()).then_some(0),
        }
    }

    /// Whether every sample begins with its identifier.
    pub(crate) fn identified(&self) -> bool {
        self.all.iter().all(|each| each.has(SampleFormat::IDENTIFIER))
    }

    /// Takes one attribute; `Err` says what is wrong with it.
    pub(crate) fn add(
        &mut self,
        attribute: &[u8],
        ids: impl IntoIterator<Item = u64>,
        order: ByteOrder,
    ) -> Result<(), String> {
        let parsed = match order {
            ByteOrder::Little => PerfEventAttr::parse::<_, LittleEndian>(attribute),
            ByteOrder::Big => PerfEventAttr::parse::<_, BigEndian>(attribute),
        };
        let (parsed, _) = parsed.map_err(|error| format!("an event's attributes: {error}"))?;
        let mut reader = Reader::new(attribute, order);
        let kind = reader.u32().unwrap_or_default();
        let config = reader.at(8).u64().unwrap_or_default();
        let period = reader.at(16).u64().filter(|_| !parsed.flags.contains(AttrFlags::FREQ));
        let read = reader.at(32).u64().unwrap_or_default();
        let branches = reader.at(72).u64().unwrap_or_default();
        let registers = reader.at(80).u64().unwrap_or_default();
        self.by_id.extend(ids.into_iter().map(|id| (id, self.all.len())));
        self.all.push(Attribute {
            name: usual_name(kind, config),
            event: (kind, config),
            tracepoint: kind == TRACEPOINT,
            format: parsed.sample_format,
            read,
            period,
            trailer: parsed.flags.contains(AttrFlags::SAMPLE_ID_ALL),
            branches,
            counter_register: None,
            registers,
            clock: parsed.clock,
        });
        Ok(())
    }

    /// Takes the names that perf wrote, in the order of the attributes.
    pub(crate) fn name(&mut self, names: Vec<String>) {
        for (attribute, name) in self.all.iter_mut().zip(names) {
            if !name.is_empty() {
                attribute.name = name;
            }
        }
    }

    /// Takes the name of the event with an identifier.
    pub(crate) fn name_of(&mut self, id: u64, name: String) {
        if let Some(attribute) = self.of(Some(id)).and_then(|at| self.all.get_mut(at)) {
            attribute.name = name;
        }
    }

    /// Takes the names of events by what the kernel knows them by.
    pub(crate) fn name_events(&mut self, names: &HashMap<(u32, u64), String>) {
        for attribute in &mut self.all {
            if let Some(name) = names.get(&attribute.event) {
                attribute.name.clone_from(name);
            }
        }
    }

    /// Takes the machine, which says what its registers are.
    pub(crate) fn of_machine(&mut self, machine: &str) {
        let Some(register) = counter_register(machine) else { return };
        for attribute in &mut self.all {
            let before = attribute.registers & ((1 << register) - 1);
            let is_saved = attribute.registers >> register & 1 == 1;
            attribute.counter_register = is_saved.then(|| before.count_ones() as usize);
        }
    }

    /// What cannot be told apart is an error.
    pub(crate) fn checked(self) -> Result<Self, String> {
        let alike = |a: &Attribute, b: &Attribute| a.format == b.format && a.read == b.read;
        let same = self.all.windows(2).all(|pair| alike(&pair[0], &pair[1]));
        match self.all.first() {
            None => Err("no event".into()),
            Some(_) if same || self.identified() => Ok(self),
            Some(_) => Err("samples of different forms without an identifier".into()),
        }
    }

    /// The clock of all time stamps.
    pub(crate) fn clock(&self) -> &'static str {
        match self.all.first().map(|attribute| attribute.clock) {
            Some(PerfClock::ClockId(id)) => match id {
                ClockId::Realtime | ClockId::RealtimeCoarse | ClockId::RealtimeAlarm => "realtime",
                ClockId::Monotonic | ClockId::MonotonicCoarse => "mono",
                ClockId::MonotonicRaw => "mono_raw",
                ClockId::Boottime | ClockId::BoottimeAlarm => "boot",
                ClockId::ProcessCputimeId | ClockId::ThreadCputimeId => "cputime",
                _ => "unknown",
            },
            _ => "perf",
        }
    }
}

/// The name by which perf knows an event of the kernel's own; files before perf 3.2 have no others.
fn usual_name(kind: u32, config: u64) -> String {
    const HARDWARE: [&str; 10] = [
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "branches",
        "branch-misses",
        "bus-cycles",
        "stalled-cycles-frontend",
        "stalled-cycles-backend",
        "ref-cycles",
    ];
    const SOFTWARE: [&str; 11] = [
        "cpu-clock",
        "task-clock",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "minor-faults",
        "major-faults",
        "alignment-faults",
        "emulation-faults",
        "dummy",
        "bpf-output",
    ];
    let of = |names: &[&str]| names.get(usize::try_from(config).ok()?).map(|&name| name.to_owned());
    let known = match kind {
        0 => of(&HARDWARE),
        1 => of(&SOFTWARE),
        TRACEPOINT => Some(format!("tracepoint {config}")),
        4 => Some(format!("raw 0x{config:x}")),
        _ => None,
    };
    known.unwrap_or_else(|| format!("event {kind}:0x{config:x}"))
}

/// Which of the registers of a machine, as perf numbers them, holds the place in the program.
///
/// Source: `arch/*/include/uapi/asm/perf_regs.h` of Linux.
fn counter_register(machine: &str) -> Option<u32> {
    Some(match machine {
        "x86_64" | "i386" | "i486" | "i586" | "i686" => 8,
        "aarch64" => 32,
        "s390x" => 33,
        _ if machine.starts_with("arm") => 15,
        _ if machine.starts_with("ppc") => 32,
        _ if ["riscv", "loongarch", "mips"].iter().any(|name| machine.starts_with(name)) => 0,
        _ => return None,
    })
}
