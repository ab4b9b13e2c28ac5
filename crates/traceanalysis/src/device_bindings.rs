//! The same for the events of devices and timers.

use crate::bound::{Bound, bind};
use crate::columns::{Ints, Place, Texts};
use crate::input::{EventTable, Input};
use crate::model::{DeviceEvent, Kind, Request};

struct BlockFields<'a> {
    device: Ints<'a>,
    sector: Ints<'a>,
    sectors: Ints<'a>,
    bytes: Option<Ints<'a>>,
    letters: Option<Texts<'a>>,
    bits: Option<Ints<'a>>,
}

impl<'a> BlockFields<'a> {
    fn of(batches: &'a [arrow_array::RecordBatch]) -> Option<Self> {
        Some(Self {
            device: Ints::of(batches, "dev")?,
            sector: Ints::of(batches, "sector")?,
            sectors: Ints::of(batches, "nr_sector")?,
            bytes: Ints::of(batches, "bytes"),
            letters: Texts::of(batches, "rwbs"),
            bits: Ints::of(batches, "rwbs"),
        })
    }

    fn get(&self, place: Place) -> Request<'a> {
        let kind = match (&self.letters, &self.bits) {
            (Some(letters), _) => Kind::Letters(letters.get(place)),
            (None, Some(bits)) => Kind::Bits(bits.get(place) as u64),
            (None, None) => Kind::Letters(&[]),
        };
        Request {
            device: self.device.get(place) as u32,
            sector: self.sector.get(place) as u64,
            sectors: self.sectors.get(place) as u64,
            bytes: self.bytes.as_ref().map(|bytes| bytes.get(place) as u64),
            kind,
        }
    }
}

enum DeviceFields<'a> {
    Insert(BlockFields<'a>),
    Issue(BlockFields<'a>),
    Complete(BlockFields<'a>),
    Requeue(BlockFields<'a>),
    HrtimerStart {
        address: Ints<'a>,
        function: Option<Ints<'a>>,
        expires: Ints<'a>,
        softexpires: Option<Ints<'a>>,
    },
    HrtimerEntry {
        address: Ints<'a>,
        function: Option<Ints<'a>>,
        now: Option<Ints<'a>>,
    },
    HrtimerExit {
        address: Ints<'a>,
    },
    HrtimerCancel {
        address: Ints<'a>,
    },
    TimerStart {
        address: Ints<'a>,
        expires: Ints<'a>,
    },
    TimerEntry {
        address: Ints<'a>,
        function: Option<Ints<'a>>,
        now: Option<Ints<'a>>,
    },
    TimerExit {
        address: Ints<'a>,
    },
    TimerCancel {
        address: Ints<'a>,
    },
    TickStop {
        success: Ints<'a>,
    },
    Switch {
        prev: Ints<'a>,
    },
}

/// How to read the events of devices and timers, by their number.
pub(crate) struct DeviceBindings<'a> {
    bound: Vec<Option<Bound<'a, DeviceFields<'a>>>>,
}

impl<'a> DeviceBindings<'a> {
    pub(crate) fn new(input: &'a Input) -> Self {
        let mut bound: Vec<_> =
            input.events.iter().map(|event| bind(event, device_fields)).collect();
        // Switches only end what `tick_stop` began.
        let ticks = |bound: &Option<Bound<'_, DeviceFields<'_>>>| {
            matches!(bound, Some(Bound { fields: DeviceFields::TickStop { .. }, .. }))
        };
        if !bound.iter().any(ticks) {
            for bound in &mut bound {
                if matches!(bound, Some(Bound { fields: DeviceFields::Switch { .. }, .. })) {
                    *bound = None;
                }
            }
        }
        Self { bound }
    }

    /// Which event numbers [`DeviceBindings::read`] knows.
    pub(crate) fn known(&self) -> Vec<bool> {
        self.bound.iter().map(Option::is_some).collect()
    }

    /// The event; `None` for rows that the table does not have.
    #[inline]
    pub(crate) fn read(&self, event: u16, row: u32) -> Option<DeviceEvent<'a>> {
        let bound = self.bound[usize::from(event)].as_ref()?;
        let place = bound.rows.place(row)?;
        let unsigned = |column: &Ints<'_>| column.get(place) as u64;
        Some(match &bound.fields {
            DeviceFields::Insert(fields) => DeviceEvent::BlockInsert(fields.get(place)),
            DeviceFields::Issue(fields) => DeviceEvent::BlockIssue(fields.get(place)),
            DeviceFields::Complete(fields) => DeviceEvent::BlockComplete(fields.get(place)),
            DeviceFields::Requeue(fields) => DeviceEvent::BlockRequeue(fields.get(place)),
            DeviceFields::HrtimerStart { address, function, expires, softexpires } => {
                DeviceEvent::HrtimerStart {
                    address: unsigned(address),
                    function: function.as_ref().map(unsigned),
                    expires: expires.get(place),
                    softexpires: softexpires.as_ref().map(|column| column.get(place)),
                }
            }
            DeviceFields::HrtimerEntry { address, function, now } => DeviceEvent::HrtimerEntry {
                address: unsigned(address),
                function: function.as_ref().map(unsigned),
                now: now.as_ref().map(|column| column.get(place)),
            },
            DeviceFields::HrtimerExit { address } => {
                DeviceEvent::HrtimerExit { address: unsigned(address) }
            }
            DeviceFields::HrtimerCancel { address } => {
                DeviceEvent::HrtimerCancel { address: unsigned(address) }
            }
            DeviceFields::TimerStart { address, expires } => {
                DeviceEvent::TimerStart { address: unsigned(address), expires: unsigned(expires) }
            }
            DeviceFields::TimerEntry { address, function, now } => DeviceEvent::TimerEntry {
                address: unsigned(address),
                function: function.as_ref().map(unsigned),
                now: now.as_ref().map(unsigned),
            },
            DeviceFields::TimerExit { address } => {
                DeviceEvent::TimerExit { address: unsigned(address) }
            }
            DeviceFields::TimerCancel { address } => {
                DeviceEvent::TimerCancel { address: unsigned(address) }
            }
            DeviceFields::TickStop { success } => {
                DeviceEvent::TickStop { success: success.get(place) != 0 }
            }
            DeviceFields::Switch { prev } => {
                DeviceEvent::Switch { from_idle: prev.get(place) == 0 }
            }
        })
    }
}

fn device_fields(event: &EventTable) -> Option<DeviceFields<'_>> {
    let batches = event.batches.as_slice();
    let int = |name: &str| Ints::of(batches, name);
    let name = event
        .name
        .strip_prefix("timer_")
        .filter(|rest| rest.starts_with("hrtimer_") || *rest == "tick_stop");
    Some(match name.unwrap_or(&event.name) {
        "block_rq_insert" => DeviceFields::Insert(BlockFields::of(batches)?),
        "block_rq_issue" => DeviceFields::Issue(BlockFields::of(batches)?),
        "block_rq_complete" => DeviceFields::Complete(BlockFields::of(batches)?),
        "block_rq_requeue" => DeviceFields::Requeue(BlockFields::of(batches)?),
        "hrtimer_start" => DeviceFields::HrtimerStart {
            address: int("hrtimer")?,
            function: int("function"),
            expires: int("expires")?,
            softexpires: int("softexpires"),
        },
        "hrtimer_expire_entry" => DeviceFields::HrtimerEntry {
            address: int("hrtimer")?,
            function: int("function"),
            now: int("now"),
        },
        "hrtimer_expire_exit" => DeviceFields::HrtimerExit { address: int("hrtimer")? },
        "hrtimer_cancel" => DeviceFields::HrtimerCancel { address: int("hrtimer")? },
        "timer_start" => {
            DeviceFields::TimerStart { address: int("timer")?, expires: int("expires")? }
        }
        "timer_expire_entry" => DeviceFields::TimerEntry {
            address: int("timer")?,
            function: int("function"),
            now: int("now"),
        },
        "timer_expire_exit" => DeviceFields::TimerExit { address: int("timer")? },
        "timer_cancel" => DeviceFields::TimerCancel { address: int("timer")? },
        "tick_stop" => DeviceFields::TickStop { success: int("success")? },
        "sched_switch" => {
            DeviceFields::Switch { prev: int("prev_tid").or_else(|| int("prev_pid"))? }
        }
        _ => return None,
    })
}
