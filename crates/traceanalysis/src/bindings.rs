//! From the names that tracers give to events and fields to what happened: resolved once a trace.

use crate::columns::{Ints, Place, Rows, Texts};
use crate::input::{EventTable, Input};
use crate::model::{DeviceEvent, Event, Flags, Handler, Kind, Named, Request, Wake};
use crate::walk::Columns;

/// System vectors: ftrace has `NAME_entry` and `NAME_exit`, LTTng `x86_irq_vectors_NAME_entry`.
pub(crate) const VECTORS: [&str; 12] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
    "error_apic",
    "spurious_apic",
    "ipi",
];

/// LTTng counts priorities from nice 0 = 20, the kernel from nice 0 = 120.
const LTTNG_PRIORITY: i32 = 100;

/// Where the fields are that name a thread.
struct Thread<'a> {
    tid: Ints<'a>,
    name: Option<Texts<'a>>,
    priority: Option<Ints<'a>>,
    priority_offset: i32,
}

impl<'a> Thread<'a> {
    /// Fields that begin with `prefix`: `pid` in ftrace, `tid` in LTTng.
    fn of(batches: &'a [arrow_array::RecordBatch], prefix: &str) -> Option<Self> {
        let named = |field: &str| format!("{prefix}{field}");
        let lttng = Ints::of(batches, &named("tid"));
        let priority_offset = if lttng.is_some() { LTTNG_PRIORITY } else { 0 };
        Some(Self {
            tid: lttng.or_else(|| Ints::of(batches, &named("pid")))?,
            name: Texts::of(batches, &named("comm")),
            priority: Ints::of(batches, &named("prio")),
            priority_offset,
        })
    }

    #[inline]
    fn get(&self, place: Place) -> Named<'a> {
        Named {
            tid: self.tid.i32(place),
            name: self.name.as_ref().map_or(&[], |name| name.get(place)),
            priority: self
                .priority
                .as_ref()
                .map(|priority| priority.i32(place).saturating_add(self.priority_offset)),
        }
    }
}

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

/// What an event type is, with its columns.
enum Fields<'a> {
    Switch { prev: Thread<'a>, state: Ints<'a>, next: Thread<'a> },
    Wake { wake: Wake, task: Thread<'a>, target: Option<Ints<'a>> },
    IrqEntry { irq: Ints<'a>, name: Option<Texts<'a>> },
    IrqExit { irq: Ints<'a> },
    VectorEntry(u8),
    VectorExit(u8),
    HrtimerEntry,
    HrtimerExit,
    SoftirqRaise { vector: Ints<'a> },
    SoftirqEntry { vector: Ints<'a> },
    SoftirqExit { vector: Ints<'a> },
    SyscallEntry { name: u16, is_yield: bool },
    SyscallExit { name: u16, result: Option<Ints<'a>> },
    RawSyscallEntry { id: Ints<'a> },
    RawSyscallExit { id: Ints<'a>, result: Option<Ints<'a>> },
    Fork { child: Thread<'a>, process: Option<Ints<'a>> },
    Exec { tid: Ints<'a>, old: Option<Ints<'a>>, file: Option<Texts<'a>> },
    Rename { tid: Ints<'a>, name: Texts<'a> },
    Known { tid: Ints<'a>, name: Option<Texts<'a>>, process: Option<Ints<'a>> },
    Exit { tid: Ints<'a> },
}

enum DeviceFields<'a> {
    Insert(BlockFields<'a>),
    Issue(BlockFields<'a>),
    Complete(BlockFields<'a>),
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

/// An event type that means something, with its rows.
struct Bound<'a, F> {
    rows: Rows,
    flags: Option<Ints<'a>>,
    /// The thread that ran, where the tracer notes it with every event.
    thread: Option<Ints<'a>>,
    fields: F,
}

/// Numbers of events.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) switches: usize,
    pub(crate) wakes: usize,
    pub(crate) handlers: usize,
    pub(crate) calls: usize,
}

/// How to read the events of scheduling, interrupts and system calls, by their number.
pub(crate) struct Bindings<'a> {
    bound: Vec<Option<Bound<'a, Fields<'a>>>>,
    /// Of the other types: the rows, and the thread that ran.
    others: Vec<Option<(Rows, Ints<'a>)>>,
    /// Names of system calls, by the number that events have here.
    pub(crate) syscalls: Vec<String>,
    /// Whether events tell in which context they happened, or interrupts were traced.
    pub(crate) contexts: bool,
}

impl<'a> Bindings<'a> {
    pub(crate) fn new(input: &'a Input) -> Self {
        let present = |wanted: &[&str]| {
            input
                .events
                .iter()
                .any(|event| wanted.contains(&event.name.as_str()) && event.has_rows())
        };
        let by_name = input
            .events
            .iter()
            .any(|event| specific_syscall(&event.name).is_some() && event.has_rows());
        let mut resolver = Resolver {
            syscalls: if by_name { Vec::new() } else { raw_names() },
            by_name,
            present: &present,
        };
        let bound: Vec<_> =
            input.events.iter().map(|event| bind(event, |event| resolver.fields(event))).collect();
        let flags = bound.iter().flatten().any(|bound| bound.flags.is_some());
        let others = input.events.iter().zip(&bound).map(|(event, bound)| match bound {
            Some(_) => None,
            None => Some((Rows::new(&event.batches), Ints::of(&event.batches, "common_pid")?)),
        });
        Self {
            others: others.collect(),
            bound,
            syscalls: resolver.syscalls,
            contexts: flags || present(&["irq_handler_entry"]),
        }
    }

    /// How many events there are of what begins rows: with room for all, tables never move.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for bound in self.bound.iter().flatten() {
            let count = match &bound.fields {
                Fields::Switch { .. } => &mut counts.switches,
                Fields::Wake { wake: Wake::Waking | Wake::Wakeup, .. } => &mut counts.wakes,
                Fields::IrqEntry { .. }
                | Fields::VectorEntry(_)
                | Fields::HrtimerEntry
                | Fields::SoftirqEntry { .. } => &mut counts.handlers,
                Fields::SyscallEntry { .. } | Fields::RawSyscallEntry { .. } => &mut counts.calls,
                _ => continue,
            };
            *count += bound.rows.count();
        }
        counts
    }

    /// Which event numbers [`Bindings::read`] knows.
    pub(crate) fn known(&self) -> Vec<bool> {
        self.bound.iter().map(Option::is_some).collect()
    }

    /// Whether the tracer notes with every event which thread ran.
    pub(crate) fn notes_threads(&self) -> bool {
        self.bound.iter().flatten().any(|bound| bound.thread.is_some())
    }

    /// The thread that ran when an event happened, where the tracer notes it.
    pub(crate) fn thread(&self, event: u16, row: u32) -> Option<i32> {
        match self.bound.get(usize::from(event))? {
            Some(bound) => Some(bound.thread.as_ref()?.i32(bound.rows.place(row)?)),
            None => {
                let (rows, thread) = self.others[usize::from(event)].as_ref()?;
                Some(thread.i32(rows.place(row)?))
            }
        }
    }

    /// The time of the first of the events of a CPU, back from `at` and after `since`, in which a
    /// thread ran without interruption. It does not look back far.
    pub(crate) fn first_of(&self, index: Columns<'_>, at: usize, since: i64, tid: i32) -> i64 {
        const FARTHEST: usize = 4096;
        let mut first = index.times[at];
        let events = (at.saturating_sub(FARTHEST)..at).rev();
        for before in events.take_while(|&before| index.times[before] > since) {
            if index.cpus[before] == index.cpus[at] {
                match self.thread(index.events[before], index.rows[before]) {
                    Some(other) if other != tid => break,
                    Some(_) => first = index.times[before],
                    None => {}
                }
            }
        }
        first
    }

    /// The event, and the thread that ran when it happened where the tracer notes that; `None` for
    /// rows that the table does not have.
    #[inline]
    pub(crate) fn read(&self, event: u16, row: u32) -> Option<(Event<'a>, Option<i32>)> {
        let bound = self.bound[usize::from(event)].as_ref()?;
        let place = bound.rows.place(row)?;
        let flags = || -> Flags { bound.flags.as_ref().map(|flags| flags.get(place) as u8) };
        let event = match &bound.fields {
            Fields::Switch { prev, state, next } => Event::Switch {
                prev: prev.get(place),
                state: state.get(place),
                next: next.get(place),
            },
            Fields::Wake { wake, task, target } => Event::Wake {
                wake: *wake,
                task: task.get(place),
                target: target.as_ref().and_then(|cpu| u16::try_from(cpu.get(place)).ok()),
                flags: flags(),
            },
            Fields::IrqEntry { irq, name } => Event::Enter {
                handler: Handler::Irq(irq.i32(place)),
                name: name.as_ref().map_or(&[], |name| name.get(place)),
                flags: flags(),
            },
            Fields::IrqExit { irq } => Event::Leave { handler: Handler::Irq(irq.i32(place)) },
            Fields::VectorEntry(vector) => {
                Event::Enter { handler: Handler::Vector(*vector), name: &[], flags: flags() }
            }
            Fields::VectorExit(vector) => Event::Leave { handler: Handler::Vector(*vector) },
            Fields::HrtimerEntry => {
                Event::Enter { handler: Handler::Hrtimer, name: &[], flags: flags() }
            }
            Fields::HrtimerExit => Event::Leave { handler: Handler::Hrtimer },
            Fields::SoftirqRaise { vector } => {
                Event::SoftirqRaise { vector: vector.i32(place), flags: flags() }
            }
            Fields::SoftirqEntry { vector } => Event::Enter {
                handler: Handler::Softirq(vector.i32(place)),
                name: &[],
                flags: flags(),
            },
            Fields::SoftirqExit { vector } => {
                Event::Leave { handler: Handler::Softirq(vector.i32(place)) }
            }
            Fields::SyscallEntry { name, is_yield } => {
                Event::SyscallEntry { name: *name, is_yield: *is_yield }
            }
            Fields::SyscallExit { name, result } => Event::SyscallExit {
                name: *name,
                result: result.as_ref().map(|result| result.get(place)),
            },
            Fields::RawSyscallEntry { id } => {
                Event::SyscallEntry { name: raw_name(id.get(place)), is_yield: false }
            }
            Fields::RawSyscallExit { id, result } => Event::SyscallExit {
                name: raw_name(id.get(place)),
                result: result.as_ref().map(|result| result.get(place)),
            },
            Fields::Fork { child, process } => Event::Fork {
                child: child.get(place),
                process: process.as_ref().map(|process| process.i32(place)),
            },
            Fields::Exec { tid, old, file } => Event::Exec {
                tid: tid.i32(place),
                old: old.as_ref().unwrap_or(tid).i32(place),
                file: file.as_ref().map_or(&[], |file| file.get(place)),
            },
            Fields::Rename { tid, name } => Event::Rename {
                task: Named { tid: tid.i32(place), name: name.get(place), priority: None },
            },
            Fields::Known { tid, name, process } => Event::Known {
                task: Named {
                    tid: tid.i32(place),
                    name: name.as_ref().map_or(&[], |name| name.get(place)),
                    priority: None,
                },
                process: process.as_ref().map(|process| process.i32(place)),
            },
            Fields::Exit { tid } => Event::Exit { tid: tid.i32(place) },
        };
        Some((event, bound.thread.as_ref().map(|thread| thread.i32(place))))
    }
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

fn bind<'a, F>(
    event: &'a EventTable,
    fields: impl FnOnce(&'a EventTable) -> Option<F>,
) -> Option<Bound<'a, F>> {
    let rows = Rows::new(&event.batches);
    if rows.is_empty() {
        return None;
    }
    let fields = fields(event)?;
    Some(Bound {
        rows,
        flags: Ints::of(&event.batches, "common_flags"),
        thread: Ints::of(&event.batches, "common_pid"),
        fields,
    })
}

/// The name of the system call, and whether it begins.
fn specific_syscall(event: &str) -> Option<(&str, bool)> {
    let prefixes = [
        ("sys_enter_", true),
        ("sys_exit_", false),
        ("syscall_entry_", true),
        ("syscall_exit_", false),
        ("compat_syscall_entry_", true),
        ("compat_syscall_exit_", false),
    ];
    prefixes.iter().find_map(|&(prefix, entry)| Some((event.strip_prefix(prefix)?, entry)))
}

struct Resolver<'p> {
    syscalls: Vec<String>,
    /// Whether system calls have event types of their own; then those for all are left out.
    by_name: bool,
    present: &'p dyn Fn(&[&str]) -> bool,
}

impl Resolver<'_> {
    fn syscall(&mut self, name: &str) -> u16 {
        let at = self.syscalls.iter().position(|known| known == name).unwrap_or_else(|| {
            self.syscalls.push(name.to_owned());
            self.syscalls.len() - 1
        });
        at as u16
    }

    /// The columns of an event type; `None` when it means nothing here, or when events without
    /// which it means nothing (the exits of entries) are not in the trace.
    fn fields<'a>(&mut self, event: &'a EventTable) -> Option<Fields<'a>> {
        let batches = event.batches.as_slice();
        let int = |name: &str| Ints::of(batches, name);
        let any_int = |names: &[&str]| names.iter().find_map(|name| Ints::of(batches, name));
        let present = self.present;
        Some(match event.name.as_str() {
            "sched_switch" => Fields::Switch {
                prev: Thread::of(batches, "prev_")?,
                state: int("prev_state")?,
                next: Thread::of(batches, "next_")?,
            },
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => Fields::Wake {
                wake: match event.name.as_str() {
                    "sched_waking" => Wake::Waking,
                    "sched_wakeup" => Wake::Wakeup,
                    _ => Wake::New,
                },
                task: Thread::of(batches, "")?,
                target: int("target_cpu"),
            },
            "irq_handler_entry" if present(&["irq_handler_exit"]) => {
                Fields::IrqEntry { irq: int("irq")?, name: Texts::of(batches, "name") }
            }
            "irq_handler_exit" if present(&["irq_handler_entry"]) => {
                Fields::IrqExit { irq: int("irq")? }
            }
            "softirq_raise" | "irq_softirq_raise" => Fields::SoftirqRaise { vector: int("vec")? },
            "softirq_entry" | "irq_softirq_entry"
                if present(&["softirq_exit", "irq_softirq_exit"]) =>
            {
                Fields::SoftirqEntry { vector: int("vec")? }
            }
            "softirq_exit" | "irq_softirq_exit"
                if present(&["softirq_entry", "irq_softirq_entry"]) =>
            {
                Fields::SoftirqExit { vector: int("vec")? }
            }
            "hrtimer_expire_entry" | "timer_hrtimer_expire_entry"
                if present(&["hrtimer_expire_exit", "timer_hrtimer_expire_exit"]) =>
            {
                Fields::HrtimerEntry
            }
            "hrtimer_expire_exit" | "timer_hrtimer_expire_exit"
                if present(&["hrtimer_expire_entry", "timer_hrtimer_expire_entry"]) =>
            {
                Fields::HrtimerExit
            }
            "sched_process_fork" => Fields::Fork {
                child: Thread::of(batches, "child_")?,
                process: int("child_tid").and_then(|_| int("child_pid")),
            },
            "sched_process_exec" => Fields::Exec {
                tid: any_int(&["tid", "pid"])?,
                old: any_int(&["old_tid", "old_pid"]),
                file: Texts::of(batches, "filename"),
            },
            "task_rename" => Fields::Rename {
                tid: any_int(&["tid", "pid"])?,
                name: Texts::of(batches, "newcomm")?,
            },
            "lttng_statedump_process_state" => Fields::Known {
                tid: int("tid")?,
                name: Texts::of(batches, "name"),
                process: int("pid"),
            },
            "sched_process_exit" => Fields::Exit { tid: any_int(&["tid", "pid"])? },
            "sys_enter" if !self.by_name => Fields::RawSyscallEntry { id: int("id")? },
            "sys_exit" if !self.by_name => {
                Fields::RawSyscallExit { id: int("id")?, result: int("ret") }
            }
            name => {
                if let Some((syscall, entry)) = specific_syscall(name) {
                    let name = self.syscall(syscall);
                    return Some(match entry {
                        true => Fields::SyscallEntry { name, is_yield: syscall == "sched_yield" },
                        false => Fields::SyscallExit { name, result: int("ret") },
                    });
                }
                let name = name.strip_prefix("x86_irq_vectors_").unwrap_or(name);
                let (vector, entry) =
                    match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
                        (Some(vector), _) => (vector, true),
                        (_, Some(vector)) => (vector, false),
                        _ => return None,
                    };
                let number = VECTORS.iter().position(|known| *known == vector)? as u8;
                let other = if entry { "exit" } else { "entry" };
                let others =
                    [format!("{vector}_{other}"), format!("x86_irq_vectors_{vector}_{other}")];
                if !present(&[&others[0], &others[1]]) {
                    return None;
                }
                if entry { Fields::VectorEntry(number) } else { Fields::VectorExit(number) }
            }
        })
    }
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
