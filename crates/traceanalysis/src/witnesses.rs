//! Events of system calls, of which there are most, change nothing about who runs. They are passed
//! over, but for those that say that another thread runs than the switches do.

use crate::losses::Edges;
use crate::model::Event;

/// Stands for a thread that is not known.
const UNKNOWN: i32 = i32::MIN;
/// Stands for no time.
pub(crate) const NEVER: i64 = i64::MIN;

/// Which thread each CPU runs by the latest event that was not passed over.
///
/// A CPU counts as unknown whenever what is believed of it elsewhere may have been given up: then
/// its next event is not passed over.
pub(crate) struct Witnesses<'a> {
    running: Vec<i32>,
    /// By CPU: the time of the latest event that was passed over since.
    passed: Vec<i64>,
    edges: Edges<'a>,
}

impl<'a> Witnesses<'a> {
    pub(crate) fn new(cpus: usize, edges: Edges<'a>) -> Self {
        Self { running: vec![UNKNOWN; cpus], passed: vec![NEVER; cpus], edges }
    }

    /// Where events are missing, nothing is known any more. Asked for every event.
    #[inline]
    pub(crate) fn advance(&mut self, time: i64) {
        while let Some((_, _, cpu)) = self.edges.next_until(time) {
            self.running[usize::from(cpu)] = UNKNOWN;
        }
    }

    /// Whether an event in which a thread ran can be passed over; `None`: the tracer does not note
    /// who it was.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64, cpu: u16, thread: Option<i32>) -> bool {
        let cpu = usize::from(cpu);
        let passes = thread.is_none_or(|tid| tid == self.running[cpu]);
        if passes {
            self.passed[cpu] = time;
        }
        passes
    }

    /// When something was passed over on a CPU, for an event there that is not.
    #[inline]
    pub(crate) fn take(&mut self, cpu: u16) -> i64 {
        std::mem::replace(&mut self.passed[usize::from(cpu)], NEVER)
    }

    /// Takes note of an event that is not passed over. Calls `on_passed` with each CPU of which more
    /// is asked than this event tells, and with the time of what was passed over there.
    #[inline]
    pub(crate) fn see(
        &mut self,
        cpu: u16,
        thread: Option<i32>,
        event: &Event<'_>,
        mut on_passed: impl FnMut(u16, i64),
    ) {
        if let Some(tid) = thread
            && self.running[usize::from(cpu)] != tid
        {
            self.meet(tid, &mut on_passed);
            self.running[usize::from(cpu)] = tid;
        }
        match event {
            Event::Switch { prev, next, .. } => {
                if self.running[usize::from(cpu)] != prev.tid {
                    self.meet(prev.tid, &mut on_passed);
                }
                self.meet(next.tid, &mut on_passed);
                self.running[usize::from(cpu)] = next.tid;
            }
            Event::Fork { child, .. } => self.meet(child.tid, &mut on_passed),
            Event::Exec { tid, old, .. } => {
                self.meet(*tid, &mut on_passed);
                self.meet(*old, &mut on_passed);
            }
            _ => {}
        }
    }

    /// A thread is named: where it was or may have been believed to run, it does not run any more.
    #[inline]
    fn meet(&mut self, tid: i32, on_passed: &mut impl FnMut(u16, i64)) {
        let may_be = |running: i32| running == tid || running == UNKNOWN;
        if tid == 0 || !self.running.iter().any(|&running| may_be(running)) {
            return;
        }
        for cpu in 0..self.running.len() {
            if may_be(self.running[cpu]) {
                self.running[cpu] = UNKNOWN;
                let passed = self.take(cpu as u16);
                if passed != NEVER {
                    on_passed(cpu as u16, passed);
                }
            }
        }
    }
}
