//! The same for the events of system calls, and for the switches between them.

use crate::bound::{Bound, bind};
use crate::columns::Ints;
use crate::input::{EventTable, Input};
use crate::model::CallEvent;

enum Fields<'a> {
    Switch,
    Entry {
        name: u16,
    },
    /// Of the call that the thread is in, where it has no name.
    Exit {
        name: Option<u16>,
        result: Option<Ints<'a>>,
    },
    RawEntry {
        id: Ints<'a>,
    },
    RawExit {
        id: Ints<'a>,
        result: Option<Ints<'a>>,
    },
}

/// How to read the events of system calls, by their number.
pub(crate) struct SyscallBindings<'a> {
    bound: Vec<Option<Bound<'a, Fields<'a>>>>,
    /// Names of system calls, by the number that events have here.
    pub(crate) names: Vec<String>,
}

impl<'a> SyscallBindings<'a> {
    pub(crate) fn new(input: &'a Input) -> Self {
        let has = |is: &dyn Fn(&str) -> bool| {
            input.events.iter().any(|event| event.has_rows() && is(&event.name))
        };
        let old = has(&|event| event == RETURN_OF_ANY);
        // Where system calls have event types of their own, those for all are left out.
        let by_name = old || has(&|event| specific_syscall(event).is_some());
        let mut names = if by_name { Vec::new() } else { raw_names() };
        let bound = input
            .events
            .iter()
            .map(|event| bind(event, |event| fields(event, by_name, old, &mut names)));
        Self { bound: bound.collect(), names }
    }

    /// Which event numbers are of system calls.
    pub(crate) fn calls(&self) -> Vec<bool> {
        let is_call = |bound: &Option<Bound<'_, _>>| {
            bound.as_ref().is_some_and(|bound| !matches!(bound.fields, Fields::Switch))
        };
        self.bound.iter().map(is_call).collect()
    }

    /// Which event numbers [`SyscallBindings::read`] knows: those, and that of switches.
    pub(crate) fn known(&self) -> Vec<bool> {
        self.bound.iter().map(Option::is_some).collect()
    }

    /// How many begin: with room for all, the table never moves.
    pub(crate) fn count(&self) -> usize {
        let begins = |bound: &&Bound<'_, _>| {
            matches!(bound.fields, Fields::Entry { .. } | Fields::RawEntry { .. })
        };
        self.bound.iter().flatten().filter(begins).map(|bound| bound.rows.count()).sum()
    }

    /// The event; `None` for rows that the table does not have.
    #[inline]
    pub(crate) fn read(&self, event: u16, row: u32) -> Option<CallEvent> {
        let bound = self.bound[usize::from(event)].as_ref()?;
        let place = bound.rows.place(row)?;
        let value = |result: &Option<Ints<'_>>| result.as_ref().map(|result| result.get(place));
        Some(match &bound.fields {
            Fields::Switch => CallEvent::Switch,
            Fields::Entry { name } => CallEvent::Entry { name: *name },
            Fields::Exit { name, result } => CallEvent::Exit { name: *name, result: value(result) },
            Fields::RawEntry { id } => CallEvent::Entry { name: raw_name(id.get(place)) },
            Fields::RawExit { id, result } => {
                CallEvent::Exit { name: Some(raw_name(id.get(place))), result: value(result) }
            }
        })
    }
}

fn fields<'a>(
    event: &'a EventTable,
    by_name: bool,
    old: bool,
    names: &mut Vec<String>,
) -> Option<Fields<'a>> {
    let int = |name: &str| Ints::of(&event.batches, name);
    Some(match event.name.as_str() {
        "sched_switch" => Fields::Switch,
        RETURN_OF_ANY => Fields::Exit { name: None, result: int("ret") },
        "sys_enter" if !by_name => Fields::RawEntry { id: int("id")? },
        "sys_exit" if !by_name => Fields::RawExit { id: int("id")?, result: int("ret") },
        name => {
            let (syscall, begins) = match old {
                true => (entry_of_old(name)?, true),
                false => specific_syscall(name)?,
            };
            let at = names.iter().position(|known| known == syscall).unwrap_or_else(|| {
                names.push(syscall.to_owned());
                names.len() - 1
            });
            let name = at as u16;
            if begins {
                Fields::Entry { name }
            } else {
                Fields::Exit { name: Some(name), result: int("ret") }
            }
        }
    })
}

/// The name of the system call, and whether it begins.
pub(crate) fn specific_syscall(event: &str) -> Option<(&str, bool)> {
    let prefixes = [
        ("sys_enter_", true),
        ("sys_exit_", false),
        ("syscall_entry_", true),
        ("syscall_exit_", false),
        ("compat_syscall_entry_", true),
        ("compat_syscall_exit_", false),
    ];
    prefixes.iter().find_map(|&(prefix, begins)| Some((event.strip_prefix(prefix)?, begins)))
}

/// The return of whatever system call the thread is in, as LTTng before 2.6 has it.
const RETURN_OF_ANY: &str = "exit_syscall";

/// The name of the system call that begins by an event of LTTng before 2.6 (`sys_open`).
fn entry_of_old(event: &str) -> Option<&str> {
    event.strip_prefix("compat_").unwrap_or(event).strip_prefix("sys_")
}

/// Whether it may be an event of system calls of LTTng before 2.6.
pub(crate) fn is_of_old(event: &str) -> bool {
    event == RETURN_OF_ANY || entry_of_old(event).is_some()
}

/// System calls that are known by number only have places for these numbers, and one for the rest.
const RAW_SYSCALLS: u16 = 4096;

fn raw_name(id: i64) -> u16 {
    u16::try_from(id).map_or(RAW_SYSCALLS, |id| id.min(RAW_SYSCALLS))
}

fn raw_names() -> Vec<String> {
    (0..RAW_SYSCALLS)
        .map(|id| format!("syscall {id}"))
        .chain(["syscall unknown".to_owned()])
        .collect()
}
