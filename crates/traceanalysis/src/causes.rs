//! In whose context something happens: who woke a thread, who raised a softirq.

use crate::cpu::NOBODY;
use crate::growing::NONE;
use crate::model::{Flags, Handler, IN_IRQ, IN_NMI, IN_SOFTIRQ};
use crate::scheduling::Scheduling;

impl Scheduling {
    /// The instance that runs on a CPU, or [`NONE`] when that is not sure.
    ///
    /// What wakes a thread on another CPU is seen where it was decided (`sched_waking`), so that the
    /// interrupt by which the CPUs tell each other does not count as the cause. The idle loop is
    /// never one: what happens in it is done by interrupts that have no events. Where a tracer says
    /// in which context an event happened, and no handler is known to run there, the interrupt has
    /// no events either. Where no tracer says so and interrupts were not traced, threads that seem
    /// to wake others may have been interrupted: then none is named.
    #[inline]
    pub(crate) fn context(&self, cpu: u16, context: Flags) -> i64 {
        let place = &self.cpus[usize::from(cpu)];
        let context = context.unwrap_or(0);
        if context & IN_NMI != 0 {
            return NONE;
        }
        if let Some(frame) = place.frames.last() {
            let hidden = context & IN_IRQ != 0 && matches!(frame.handler, Handler::Softirq(_));
            return if hidden { NONE } else { i64::from(frame.instance) };
        }
        if place.current == NOBODY || !self.contexts || context & (IN_IRQ | IN_SOFTIRQ) != 0 {
            return NONE;
        }
        let thread = &self.threads.all[place.current as usize];
        if thread.tid == 0 { NONE } else { i64::from(thread.instance) }
    }
}
