//! What each pass reads of a trace: the rest need not be decoded.

use tracefile::{EventType, Format, Info, Selection};

use crate::bindings::vector_of;
use crate::syscall_bindings::{is_of_old, specific_syscall};

/// A pass over the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// That of [`crate::scheduling`].
    Scheduling,
    /// That of [`crate::usage`].
    Usage,
    /// That of [`crate::syscalls`].
    Syscalls,
    /// That of [`crate::devices`].
    Devices,
}

/// Events and fields that a pass reads; [`crate::scheduling`] needs every event, as each may tell
/// which thread runs. So does [`crate::usage`] unless [`leaves_out`].
pub fn needed(info: &Info, pass: Pass) -> Selection {
    let leaves_out = leaves_out(info);
    info.events.iter().fold(Selection::nothing(), |chosen, event| {
        let fields = match pass {
            Pass::Usage if leaves_out && !is_change(&event.name) => None,
            Pass::Usage | Pass::Scheduling => Some(for_scheduling(&event.name)),
            Pass::Syscalls => for_syscalls(&event.name),
            Pass::Devices => for_devices(&event.name),
        };
        match fields {
            Some(fields) => chosen.event(&event.name, Some(fields)),
            None => chosen,
        }
    })
}

/// Whether [`Pass::Usage`] leaves out events that change nothing about who runs: no event notes its
/// thread, so that these tell at most when a CPU still had one; and they are counted all the same.
pub fn leaves_out(info: &Info) -> bool {
    let notes_thread = |event: &EventType| event.fields.iter().any(|f| f.name == "common_pid");
    matches!(info.format, Format::Ctf1 | Format::Ctf2) && !info.events.iter().any(notes_thread)
}

/// Whether [`crate::bindings`] may read an event: one of those that have fields of their own, or of
/// those that are but a name.
fn is_change(event: &str) -> bool {
    for_scheduling(event).len() > CONTEXT.len()
        || event.contains("hrtimer_expire_")
        || vector_of(event).is_some()
        || specific_syscall(event).is_some_and(|(call, _)| call == "sched_yield")
}

/// Fields of those events that change who runs.
const CHANGE: [&str; 25] = [
    "common_flags",
    "common_pid",
    "pid",
    "tid",
    "comm",
    "prio",
    "prev_pid",
    "prev_tid",
    "prev_comm",
    "prev_prio",
    "prev_state",
    "next_pid",
    "next_tid",
    "next_comm",
    "next_prio",
    "child_pid",
    "child_tid",
    "child_comm",
    "child_prio",
    "old_pid",
    "old_tid",
    "target_cpu",
    "filename",
    "newcomm",
    "name",
];
const INTERRUPT: [&str; 5] = ["common_flags", "common_pid", "irq", "name", "vec"];
const CONTEXT: [&str; 2] = ["common_flags", "common_pid"];
const THREAD: [&str; 2] = ["common_pid", "id"];

fn for_scheduling(event: &str) -> &'static [&'static str] {
    match event {
        "sched_switch"
        | "sched_waking"
        | "sched_wakeup"
        | "sched_wakeup_new"
        | "sched_process_fork"
        | "sched_process_exec"
        | "sched_process_exit"
        | "task_rename"
        | "lttng_statedump_process_state" => &CHANGE,
        "irq_handler_entry" | "irq_handler_exit" => &INTERRUPT,
        _ if event.contains("softirq_") => &INTERRUPT,
        "sys_enter" | "sys_exit" => &THREAD,
        _ if specific_syscall(event).is_some_and(|(call, _)| call != "sched_yield") => &THREAD[..1],
        _ if event.ends_with("_entry") || event.ends_with("_exit") => &CONTEXT,
        _ if specific_syscall(event).is_some() => &CONTEXT,
        _ => &THREAD[..1],
    }
}

fn for_syscalls(event: &str) -> Option<&'static [&'static str]> {
    match event {
        "sched_switch" => Some(&[]),
        "sys_enter" | "sys_exit" => Some(&["id", "ret"]),
        _ => (specific_syscall(event).is_some() || is_of_old(event)).then_some(["ret"].as_slice()),
    }
}

fn for_devices(event: &str) -> Option<&'static [&'static str]> {
    let own = event.strip_prefix("timer_").unwrap_or(event);
    match event {
        "sched_switch" => Some(&["prev_pid", "prev_tid"]),
        "block_rq_insert" | "block_rq_issue" | "block_rq_complete" | "block_rq_requeue" => {
            Some(&["dev", "sector", "nr_sector", "bytes", "rwbs"])
        }
        _ if own == "tick_stop" => Some(&["success"]),
        _ if event.contains("timer_") => {
            Some(&["hrtimer", "timer", "function", "expires", "softexpires", "now"])
        }
        _ => None,
    }
}
