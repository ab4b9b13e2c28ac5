//! Interrupt handlers and softirqs: from entry to exit, nested in each other and in threads.

use crate::cpu::{Frame, Raise, SOFTIRQS};
use crate::growing::{Begin, Fragment, NONE, Totals};
use crate::model::{Flags, Handler, IN_IRQ};
use crate::output::{flags, why};
use crate::scheduling::Scheduling;
use crate::states::Left;

/// The vector in which soft high-resolution timers run.
const HRTIMER_SOFTIRQ: i32 = 8;

/// The bit of a kind of handlers in `Cpu::entered`.
fn kind(handler: Handler) -> u8 {
    match handler {
        Handler::Irq(_) => 1,
        Handler::Vector(_) => 2,
        Handler::Hrtimer => 4,
        Handler::Softirq(_) => 8,
    }
}

impl Scheduling {
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: i64,
        cpu: u16,
        handler: Handler,
        name: &[u8],
        context: Flags,
    ) {
        if handler == Handler::Hrtimer && !self.interrupts(cpu, context) {
            return;
        }
        let actor = self.actors.handler(handler, name, now);
        let place = &mut self.cpus[usize::from(cpu)];
        place.entered |= kind(handler);
        place.returned = None;
        let raise = match handler {
            Handler::Softirq(vector) => {
                usize::try_from(vector).ok().and_then(|v| place.raised.get_mut(v)?.take())
            }
            _ => None,
        };
        let (ready, cause) = raise.map_or((NONE, NONE), |raise| (raise.time, raise.cause));
        let marks = if place.in_loss { flags::CROSSES_LOSS } else { 0 };
        self.push(cpu, handler, actor, now, (ready, cause), marks);
    }

    fn push(
        &mut self,
        cpu: u16,
        handler: Handler,
        actor: u32,
        begin: i64,
        (ready, cause): (i64, i64),
        marks: u8,
    ) {
        let period = self.actors.period(actor, cpu, begin, marks == 0).unwrap_or(NONE);
        let instance = self.gathered.begin(&Begin {
            actor,
            cpu,
            begin,
            ready,
            cause,
            cause_time: ready,
            period,
        });
        let totals = Totals { end: begin, fragments: 1, flags: marks, ..Totals::default() };
        let frame = Frame { handler, actor, instance, since: begin, taken: 0, totals };
        self.cpus[usize::from(cpu)].frames.push(frame);
    }

    /// Whether a timer's function that begins now is itself all that is seen of an interrupt: the
    /// timer interrupt has no event of its own on many systems.
    fn interrupts(&self, cpu: u16, context: Flags) -> bool {
        let in_irq = context.map(|flags| flags & IN_IRQ != 0);
        match self.cpus[usize::from(cpu)].frames.last().map(|frame| frame.handler) {
            Some(Handler::Irq(_) | Handler::Vector(_) | Handler::Hrtimer) => false,
            Some(Handler::Softirq(HRTIMER_SOFTIRQ)) => in_irq.unwrap_or(false),
            Some(Handler::Softirq(_)) | None => in_irq.unwrap_or(true),
        }
    }

    #[inline]
    pub(crate) fn exit_handler(&mut self, now: i64, cpu: u16, handler: Handler) {
        let frames = &self.cpus[usize::from(cpu)].frames;
        match frames.iter().rposition(|frame| frame.handler == handler) {
            Some(at) => {
                // What is above it has returned too, though that was not seen.
                while self.cpus[usize::from(cpu)].frames.len() > at + 1 {
                    self.pop(cpu, now, why::OTHER, flags::CROSSES_LOSS);
                }
                let instance = self.cpus[usize::from(cpu)].frames[at].instance;
                self.pop(cpu, now, why::BLOCKED, 0);
                self.cpus[usize::from(cpu)].returned = match handler {
                    Handler::Irq(irq) => Some((irq, instance)),
                    _ => None,
                };
            }
            None => self.exit_of_earlier(now, cpu, handler),
        }
    }

    /// A handler returns that was running since before the CPU's events are known.
    fn exit_of_earlier(&mut self, now: i64, cpu: u16, handler: Handler) {
        let place = &mut self.cpus[usize::from(cpu)];
        // It interrupted what is at the bottom; that must not have been switched away from since,
        // and it must be the first of its kind. A timer's function may have been within another.
        let first = place.entered & kind(handler) == 0;
        place.entered |= kind(handler);
        if handler == Handler::Hrtimer
            || !first
            || place.in_loss
            || !place.frames.is_empty()
            || place.since != place.whole_since
        {
            return;
        }
        let (begin, nested) = (place.whole_since, place.taken);
        let marks = if place.after_loss { flags::CROSSES_LOSS } else { flags::BEGAN_BEFORE };
        place.taken = 0;
        let actor = self.actors.handler(handler, &[], now);
        self.push(cpu, handler, actor, begin, (NONE, NONE), marks);
        let frames = &mut self.cpus[usize::from(cpu)].frames;
        frames.last_mut().expect("just pushed").taken = nested;
        self.pop(cpu, now, why::BLOCKED, 0);
    }

    /// The innermost handler ends, or what is known of it.
    pub(crate) fn pop(&mut self, cpu: u16, now: i64, why: u8, marks: u8) {
        let Some(mut frame) = self.cpus[usize::from(cpu)].frames.pop() else { return };
        frame.totals.flags |= marks;
        self.span(cpu, &mut frame, now, why);
        self.gathered.end(frame.instance, &frame.totals);
    }

    /// A handler's span on the CPU ends.
    fn span(&mut self, cpu: u16, frame: &mut Frame, now: i64, why: u8) {
        let span = now - frame.since;
        frame.totals.execution += span - frame.taken;
        frame.totals.end = now;
        self.gathered.fragment(&Fragment {
            actor: frame.actor,
            cpu,
            begin: frame.since,
            end: now,
            execution: span - frame.taken,
            instance: frame.instance,
            why,
        });
        self.actors.seen(frame.actor, now);
        self.cpus[usize::from(cpu)].take(span);
    }

    /// A thread is switched away from within handlers. Softirqs run in threads on real-time kernels
    /// and stay with theirs; that interrupts have returned was not seen.
    #[cold]
    pub(crate) fn suspend(&mut self, cpu: u16, thread: u32, now: i64, left: Left) {
        let known = self.cpus[usize::from(cpu)].current == thread;
        let mut suspended = Vec::new();
        while let Some(frame) = self.cpus[usize::from(cpu)].frames.last() {
            if !known || !frame.handler.is_softirq() || left == Left::Dead {
                self.pop(cpu, now, why::OTHER, flags::CROSSES_LOSS);
                continue;
            }
            let mut frame = *frame;
            self.cpus[usize::from(cpu)].frames.pop();
            let why = if left == Left::Runnable { why::PREEMPTED } else { why::BLOCKED };
            frame.totals.preemptions += u32::from(left == Left::Runnable);
            self.span(cpu, &mut frame, now, why);
            suspended.push(frame);
        }
        suspended.reverse();
        self.threads.all[thread as usize].suspended.append(&mut suspended);
    }

    /// The softirqs of a thread go on with it.
    #[cold]
    pub(crate) fn resume(&mut self, cpu: u16, thread: u32, now: i64) {
        let mut frames = std::mem::take(&mut self.threads.all[thread as usize].suspended);
        for frame in &mut frames {
            frame.since = now;
            frame.taken = 0;
            frame.totals.fragments += 1;
        }
        self.cpus[usize::from(cpu)].frames = frames;
    }

    #[inline]
    pub(crate) fn raise(&mut self, now: i64, cpu: u16, vector: i32, context: Flags) {
        let cause = self.context(cpu, context);
        let Some(vector) = usize::try_from(vector).ok().filter(|&vector| vector < SOFTIRQS) else {
            return;
        };
        // Raised again before it ran: it runs once, for the first.
        self.cpus[usize::from(cpu)].raised[vector].get_or_insert(Raise { time: now, cause });
    }

    /// The trace ends within handlers.
    pub(crate) fn finish_handlers(&mut self, end: i64) {
        for cpu in 0..self.cpus.len() {
            while !self.cpus[cpu].frames.is_empty() {
                self.pop(cpu as u16, end, why::END_OF_TRACE, flags::CUT_BY_END);
            }
        }
        for at in 0..self.threads.all.len() as u32 {
            self.drop_suspended(at, flags::CUT_BY_END);
        }
    }

    /// The softirqs of a thread do not go on with it.
    pub(crate) fn drop_suspended(&mut self, thread: u32, marks: u8) {
        for mut frame in std::mem::take(&mut self.threads.all[thread as usize].suspended) {
            frame.totals.flags |= marks;
            self.gathered.end(frame.instance, &frame.totals);
        }
    }
}
