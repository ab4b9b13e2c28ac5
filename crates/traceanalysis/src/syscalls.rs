//! System calls: from entry to return, of the thread that runs.

use crate::growing::NONE;
use crate::scheduling::Scheduling;
use crate::tasks::{NO_ROW, NOBODY};

impl Scheduling {
    #[inline]
    pub(crate) fn enter_syscall(&mut self, now: i64, cpu: u16, name: u16, is_yield: bool) {
        let current = self.cpus[usize::from(cpu)].current;
        if current == NOBODY {
            return;
        }
        let thread = &mut self.threads.all[current as usize];
        thread.yielding = is_yield;
        thread.syscall = self.syscalls.actor.len() as u32;
        self.syscalls.actor.push(thread.actor);
        self.syscalls.cpu.push(cpu);
        self.syscalls.name.push(name);
        self.syscalls.begin.push(now);
        self.syscalls.end.push(NONE);
        self.syscalls.result.push(NONE);
    }

    /// A return without its entry (of a new thread, or of a call that began before the trace) says
    /// nothing; one of another call than the thread is in means that events are missing.
    #[inline]
    pub(crate) fn exit_syscall(&mut self, now: i64, cpu: u16, name: u16, result: Option<i64>) {
        let current = self.cpus[usize::from(cpu)].current;
        if current == NOBODY {
            return;
        }
        let thread = &mut self.threads.all[current as usize];
        thread.yielding = false;
        let row = std::mem::replace(&mut thread.syscall, NO_ROW);
        if row != NO_ROW && self.syscalls.name[row as usize] == name {
            self.syscalls.end[row as usize] = now;
            self.syscalls.result[row as usize] = result.unwrap_or(NONE);
        }
    }
}
