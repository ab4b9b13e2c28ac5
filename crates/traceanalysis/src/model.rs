//! What happened, in the same words for every tracer.

/// A thread as an event names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) tid: i32,
    /// Empty when the event does not say.
    pub(crate) name: &'a [u8],
    /// As the kernel counts: below 100 is real-time, 120 is nice 0.
    pub(crate) priority: Option<i32>,
}

/// An event: its type and the row in the table of that type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub(crate) event: u16,
    pub(crate) row: u32,
}

/// How far a wake-up has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// It was decided, in the context of who wakes.
    Waking,
    /// The thread is in a run queue; this may be in the context of another CPU's interrupt.
    Wakeup,
    /// A new thread is in a run queue for the first time.
    New,
}

/// Something that interrupts what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Handler {
    /// The handler of a device's interrupt, by its number.
    Irq(i32),
    /// A system vector (local timer, reschedule, ...), by its place in [`crate::bindings::VECTORS`].
    Vector(u8),
    /// The function of a high-resolution timer.
    Hrtimer,
    /// A softirq, by its vector.
    Softirq(i32),
}

impl Handler {
    pub(crate) fn is_softirq(self) -> bool {
        matches!(self, Self::Softirq(_))
    }
}

/// What ftrace says of the context of an event (`common_flags`); `None` when the tracer does not.
pub(crate) type Flags = Option<u8>;

/// Bits of [`Flags`], by the kernel's `enum trace_flag_type`.
pub(crate) const IN_IRQ: u8 = 0x08;
pub(crate) const IN_SOFTIRQ: u8 = 0x10;
pub(crate) const IN_NMI: u8 = 0x40;

/// An event of scheduling or interrupts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    Switch {
        prev: Named<'a>,
        state: i64,
        /// Without the name: it is read when it is needed.
        next: Named<'a>,
        at: EventRow,
    },
    Wake {
        wake: Wake,
        task: Named<'a>,
        target: Option<u16>,
        flags: Flags,
    },
    Enter {
        handler: Handler,
        name: &'a [u8],
        flags: Flags,
    },
    Leave {
        handler: Handler,
    },
    SoftirqRaise {
        vector: i32,
        flags: Flags,
    },
    /// `sched_yield` is called, or returns.
    Yield {
        begins: bool,
    },
    Fork {
        child: Named<'a>,
        process: Option<i32>,
    },
    Exec {
        tid: i32,
        old: i32,
        file: &'a [u8],
    },
    Rename {
        task: Named<'a>,
    },
    /// What a tracer says of a thread that was there before the trace.
    Known {
        task: Named<'a>,
        process: Option<i32>,
    },
    Exit {
        tid: i32,
    },
    /// Another event, in which it was noted which thread ran.
    Seen,
    /// A CPU had other events until then.
    Passed {
        cpu: u16,
        time: i64,
    },
}

/// An event of system calls, which have numbers of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallEvent {
    Entry {
        name: u16,
    },
    /// Without a name, that of the call that the thread is in.
    Exit {
        name: Option<u16>,
        result: Option<i64>,
    },
    Switch,
}

/// An event of devices and timers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DeviceEvent<'a> {
    BlockInsert(Request<'a>),
    BlockIssue(Request<'a>),
    BlockComplete(Request<'a>),
    BlockRequeue(Request<'a>),
    HrtimerStart { address: u64, function: Option<u64>, expires: i64, softexpires: Option<i64> },
    HrtimerEntry { address: u64, function: Option<u64>, now: Option<i64> },
    HrtimerExit { address: u64 },
    HrtimerCancel { address: u64 },
    TimerStart { address: u64, expires: u64 },
    TimerEntry { address: u64, function: Option<u64>, now: Option<u64> },
    TimerExit { address: u64 },
    TimerCancel { address: u64 },
    TickStop { success: bool },
    Switch { from_idle: bool },
}

/// A request to a block device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) device: u32,
    pub(crate) sector: u64,
    pub(crate) sectors: u64,
    pub(crate) bytes: Option<u64>,
    pub(crate) kind: Kind<'a>,
}

/// What a request does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// In letters, as ftrace writes it.
    Letters(&'a [u8]),
    /// In bits, as LTTng writes it.
    Bits(u64),
}
