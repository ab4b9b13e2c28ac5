//! Block devices and timers: what needs no knowledge of who runs.

use crate::block::Block;
use crate::device_bindings::DeviceBindings;
use crate::input::Input;
use crate::losses::{Edge, Losses};
use crate::model::DeviceEvent;
use crate::periods::Interruptions;
use crate::timers::{Ticks, Timers};
use crate::walk::{Columns, extent, walk};

pub(crate) struct Devices {
    pub(crate) block: Block,
    pub(crate) timers: Timers,
    pub(crate) ticks: Ticks,
}

impl Devices {
    /// Passes all events through the state machines.
    pub(crate) fn run(input: &Input) -> Self {
        let bindings = DeviceBindings::new(input);
        let mut this = Self {
            block: Block::default(),
            timers: Timers::new(&input.symbols),
            ticks: Ticks::default(),
        };
        let known = bindings.known();
        let (span, cpus) = extent(input);
        let losses = Losses::new(&input.losses, cpus, span);
        let (mut edges, mut interruptions) = (losses.edges(), Interruptions::new(&losses));
        for index in input.index.iter().filter_map(Columns::of) {
            walk(index, &known, &mut |at| {
                while let Some((_, edge, cpu)) = edges.next_until(index.times[at]) {
                    match edge {
                        Edge::Begin => {
                            interruptions.begin(cpu);
                            this.begin_loss(cpu);
                        }
                        Edge::End => interruptions.end(cpu),
                    }
                }
                if interruptions.is_missing() {
                    this.forget();
                }
                if let Some(event) = bindings.read(index.events[at], index.rows[at]) {
                    this.event(index.times[at], index.cpus[at], &event);
                }
                true
            });
        }
        this
    }

    /// Events of a CPU are missing from here on: functions and idle may have ended on it.
    fn begin_loss(&mut self, cpu: u16) {
        self.forget();
        self.timers.forget_running(cpu);
        self.ticks.forget(cpu);
    }

    /// What was under way may have ended and begun again where events are missing: a request and a
    /// timer are those of all CPUs.
    fn forget(&mut self) {
        self.block.forget();
        self.timers.forget();
    }

    #[inline]
    fn event(&mut self, now: i64, cpu: u16, event: &DeviceEvent<'_>) {
        match *event {
            DeviceEvent::BlockInsert(ref request) => self.block.insert(now, request),
            DeviceEvent::BlockIssue(ref request) => self.block.issue(now, request),
            DeviceEvent::BlockComplete(ref request) => self.block.complete(now, request),
            DeviceEvent::BlockRequeue(ref request) => self.block.requeue(request),
            DeviceEvent::HrtimerStart { address, function, expires, softexpires } => {
                self.timers.start_hrtimer(address, function, expires, softexpires);
            }
            DeviceEvent::HrtimerEntry { address, function, now: clock } => {
                self.timers.run_hrtimer(now, cpu, address, function, clock);
            }
            DeviceEvent::HrtimerCancel { address } => self.timers.cancel_hrtimer(cpu, address),
            DeviceEvent::TimerStart { address, expires } => {
                self.timers.start_wheel(address, expires);
            }
            DeviceEvent::TimerEntry { address, function, now: jiffies } => {
                self.timers.run_wheel(now, cpu, address, function, jiffies);
            }
            DeviceEvent::TimerCancel { address } => self.timers.cancel_wheel(cpu, address),
            DeviceEvent::HrtimerExit { address } | DeviceEvent::TimerExit { address } => {
                self.timers.end(now, cpu, address);
            }
            DeviceEvent::TickStop { success: true } => self.ticks.stop(now, cpu),
            DeviceEvent::Switch { from_idle: true } => self.ticks.leave_idle(now, cpu),
            DeviceEvent::TickStop { success: false } | DeviceEvent::Switch { from_idle: false } => {
            }
        }
    }
}
