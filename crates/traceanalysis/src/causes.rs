//! In whose context something happens: who woke a thread, who raised a softirq.

use crate::cpu::NOBODY;
use crate::growing::NONE;
use crate::model::{Flags, Handler, IN_IRQ, IN_NMI, IN_SOFTIRQ, Named};
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

    /// The instance that wakes a thread, or [`NONE`] when that is not sure.
    ///
    /// The thread of an interrupt (`irq/36-eth0`, as all have on real-time kernels) is woken when
    /// the interrupt's handler has returned, which asks for that: by the same interrupt, though no
    /// handler runs any more. So is `ksoftirqd`, for what raised a softirq that waits there, and on
    /// real-time kernels `ktimers` for a timer's.
    pub(crate) fn waker(&self, cpu: u16, thread: u32, task: &Named<'_>, flags: Flags) -> i64 {
        let name = match task.name {
            [] => self.threads.all[thread as usize].name.get(),
            name => name,
        };
        let place = &self.cpus[usize::from(cpu)];
        if let Some((irq, instance)) = place.returned
            && flags.is_none_or(|flags| flags & (IN_IRQ | IN_NMI) == IN_IRQ)
            && is_thread_of(name, irq)
        {
            return i64::from(instance);
        }
        match self.context(cpu, flags) {
            NONE if name.starts_with(b"k") => {
                let raised = place.raised.iter().enumerate();
                let here = raised.filter(|(vector, _)| runs_softirq(name, *vector));
                let known =
                    here.filter_map(|(_, raise)| raise.as_ref()).filter(|r| r.cause != NONE);
                known.max_by_key(|raise| raise.time).map_or(NONE, |raise| raise.cause)
            }
            cause => cause,
        }
    }
}

/// Whether a thread of this name handles that interrupt: `irq/36-eth0`, `irq/36-s-eth0`.
fn is_thread_of(name: &[u8], irq: i32) -> bool {
    let number = |rest: &[u8]| {
        let end = rest.iter().position(|&c| c == b'-')?;
        std::str::from_utf8(&rest[..end]).ok()?.parse::<i32>().ok()
    };
    name.strip_prefix(b"irq/").and_then(number) == Some(irq)
}

/// Whether a thread of this name runs softirqs of a number that interrupts raise.
fn runs_softirq(name: &[u8], vector: usize) -> bool {
    const TIMERS: [usize; 2] = [1, 8];
    let runs_timers = name.starts_with(b"ktimers/") && TIMERS.contains(&vector);
    runs_timers || name.starts_with(b"ksoftirqd/")
}

#[cfg(test)]
mod tests {
    use super::is_thread_of;

    #[test]
    fn threads_of_interrupts_are_known_by_their_names() {
        assert!(is_thread_of(b"irq/36-eth0", 36));
        assert!(is_thread_of(b"irq/9-s-acpi", 9));
        for name in [&b"irq/37-eth0"[..], b"irq/36", b"irq/-eth0", b"sh", b""] {
            assert!(!is_thread_of(name, 36), "{name:?}");
        }
    }
}
