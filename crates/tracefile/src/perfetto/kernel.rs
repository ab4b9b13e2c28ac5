//! Events of the kernel: bundles of one CPU each, their types as the file describes them.

use std::collections::{BTreeMap, HashMap};

use super::atrace::{self, Atrace};
use super::ftrace::{self, GENERIC, Told, Type};
use super::wire::{Fields, last, number, text};
use crate::places::{Home, Place};
use crate::{Error, Result};

/// Messages of switches and wakes.
pub(super) const SWITCH: u32 = 4;
pub(super) const WAKING: u32 = 20;
/// The first switch of a CPU that stands in columns does not tell who ran before, and what stands
/// before it does not tell who ran: types of their own, as no thread may be said to have.
pub(super) const SWITCH_OF_UNKNOWN: u32 = u32::MAX;
pub(super) const WAKING_BY_UNKNOWN: u32 = u32::MAX - 1;

/// Types of events of the kernel.
const MOST_TYPES: usize = 20_000;

/// What was read of them so far.
pub(super) struct KernelEvents {
    known: HashMap<u32, (&'static str, &'static str)>,
    pub(super) types: Vec<Type>,
    /// Types by the number of their message, and by name where the event brings it along.
    numbers: HashMap<u32, u16>,
    names: HashMap<String, u16>,
    /// Events that the file describes: group and descriptor.
    described: HashMap<u32, (String, Vec<u8>)>,
    pub(super) cpus: BTreeMap<u16, Vec<Place>>,
    /// What programs wrote.
    pub(super) atrace: Atrace,
    /// Events that the file keeps in columns, as the messages that they would be.
    pub(super) written: Vec<u8>,
    /// Number and name of the thread that runs, by CPU.
    pub(super) running: HashMap<u16, (i32, Vec<u8>)>,
    /// CPU, time of its last event before, and of the first behind it.
    pub(super) losses: Vec<(u16, Option<i64>, i64)>,
    pub(super) far_cpus: u64,
    pub(super) unreadable: u64,
}

impl Default for KernelEvents {
    fn default() -> Self {
        Self {
            known: known(),
            types: Vec::new(),
            numbers: HashMap::new(),
            names: HashMap::new(),
            described: HashMap::new(),
            cpus: BTreeMap::new(),
            atrace: Atrace::default(),
            written: Vec::new(),
            running: HashMap::new(),
            losses: Vec::new(),
            far_cpus: 0,
            unreadable: 0,
        }
    }
}

impl KernelEvents {
    /// Events of a CPU.
    pub(super) fn bundle(&mut self, bundle: &[u8], file: &[u8], home: Home) -> Result<()> {
        let Ok(cpu) = u16::try_from(number(bundle, 1).unwrap_or(0)) else {
            self.far_cpus += 1;
            return Ok(());
        };
        // Other clocks of ftrace come with one moment on both.
        let ahead = match (number(bundle, 5), number(bundle, 6), number(bundle, 7)) {
            (Some(clock), Some(own), Some(boot)) if clock != 0 => {
                (boot as i64).wrapping_sub(own as i64)
            }
            _ => 0,
        };
        let before = self.cpus.get(&cpu).and_then(|own| own.last()).map(|place| place.time);
        let from = self.cpus.get(&cpu).map_or(0, Vec::len);
        let lost = number(bundle, 3).unwrap_or(0) != 0;
        if lost {
            self.running.remove(&cpu);
        }
        for (field, value) in Fields::of(bundle) {
            if field == 11 {
                self.described_event(value.bytes());
            }
        }
        let mut compact = None;
        for (field, value) in Fields::of(bundle) {
            match field {
                2 => {
                    let event = value.bytes();
                    let Some(told) = Told::read(event) else {
                        self.unreadable += 1;
                        continue;
                    };
                    let at = event.as_ptr().addr() - file.as_ptr().addr();
                    let time = (told.time as i64).wrapping_add(ahead);
                    let length = u32::try_from(event.len()).unwrap_or(0);
                    self.event(cpu, &told, Place { time, at, length, event: 0, home })?;
                }
                4 => compact = Some(value.bytes()),
                _ => {}
            }
        }
        if let Some(compact) = compact {
            self.expand(cpu, compact, ahead)?;
        }
        if lost
            && let Some(first) =
                self.cpus.get(&cpu).and_then(|own| own[from..].iter().map(|p| p.time).min())
        {
            self.losses.push((cpu, before, first));
        }
        Ok(())
    }

    pub(super) fn event(&mut self, cpu: u16, told: &Told<'_>, place: Place) -> Result<()> {
        let event = self.type_of(told)?;
        self.types[usize::from(event)].learn(told);
        if told.message == SWITCH && place.home != Home::Written {
            let next = number(told.fields, 6);
            let name = last(told.fields, 5).map_or(&[][..], |value| value.bytes());
            if let Some(next) = next {
                self.running.insert(cpu, (next as i32, name.to_vec()));
            }
        }
        if told.message == atrace::PRINT
            && let Some(text) = last(told.fields, atrace::PRINT_TEXT)
        {
            self.atrace.take(text.bytes(), i64::from(told.thread), place.time);
        }
        self.cpus.entry(cpu).or_default().push(Place { event, ..place });
        Ok(())
    }

    /// The type of an event.
    fn type_of(&mut self, told: &Told<'_>) -> Result<u16> {
        if told.message != GENERIC
            && let Some(&of) = self.numbers.get(&told.message)
        {
            return Ok(of);
        }
        if told.message == GENERIC {
            let name = told.generic_name();
            let name = if name.is_empty() { "unknown".to_owned() } else { name };
            return match self.names.get(&name) {
                Some(&of) => Ok(of),
                None => self.add(&name, Type::described(&name, "", true)),
            };
        }
        let of = match (self.described.get(&told.message), self.known.get(&told.message)) {
            (Some((group, descriptor)), _) => described(group, descriptor),
            (None, Some((name, fields))) => Type::known(name, fields),
            (None, None) => Type::described(&format!("message_{}", told.message), "", false),
        };
        let name = of.name().to_owned();
        let number = self.add(&name, of)?;
        self.numbers.insert(told.message, number);
        Ok(number)
    }

    /// A new type; where the name is taken, with a number behind it.
    fn add(&mut self, name: &str, of: Type) -> Result<u16> {
        if self.types.len() >= MOST_TYPES {
            return Err(Error::TooMuch(format!("{MOST_TYPES} event types")));
        }
        let number = self.types.len() as u16;
        let mut unique = name.to_owned();
        let mut again = 1;
        while self.names.contains_key(&unique) {
            again += 1;
            unique = format!("{name} {again}");
        }
        self.names.insert(unique.clone(), number);
        self.types.push(of.renamed(unique));
        Ok(number)
    }

    fn described_event(&mut self, message: &[u8]) {
        let told = number(message, 1).map(u32::try_from);
        if let (Some(Ok(told)), Some(descriptor)) = (told, last(message, 2)) {
            let group = last(message, 3).map(text).unwrap_or_default();
            self.described.entry(told).or_insert((group, descriptor.bytes().to_vec()));
        }
    }
}

/// The messages of the table, and those that only columns have.
fn known() -> HashMap<u32, (&'static str, &'static str)> {
    let mut known = ftrace::known();
    for (like, number, name) in [
        (SWITCH, SWITCH_OF_UNKNOWN, "sched_switch_of_unknown"),
        (WAKING, WAKING_BY_UNKNOWN, "sched_waking_by_unknown"),
    ] {
        if let Some(&(_, fields)) = known.get(&like) {
            known.insert(number, (name, fields));
        }
    }
    known
}

/// The type that a `DescriptorProto` describes.
fn described(group: &str, descriptor: &[u8]) -> Type {
    let name = last(descriptor, 1).map(text).unwrap_or_default();
    let mut of = Type::described(&name, group, false);
    for (_, field) in Fields::of(descriptor).filter(|(number, _)| *number == 2) {
        let (field, at) = (field.bytes(), number(field.bytes(), 3).map(u32::try_from));
        if let (Some(Ok(at)), Some(name)) = (at, last(field, 1)) {
            of.add(at, &text(name), number(field, 5).unwrap_or(0));
        }
    }
    of
}
