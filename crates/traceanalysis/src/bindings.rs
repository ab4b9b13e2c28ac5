//! From the names that tracers give to events and fields to what happened: resolved once a trace.

use crate::bound::{Bound, bind};
use crate::columns::{Ints, Place, Rows, Texts};
use crate::input::{EventTable, Input};
use crate::model::{Event, EventRow, Flags, Handler, Named, Wake};
use crate::syscall_bindings::{SyscallBindings, specific_syscall};
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

/// The system vector that an event is of, by its place in [`VECTORS`], and whether it is the entry.
pub(crate) fn vector_of(event: &str) -> Option<(u8, bool)> {
    let name = event.strip_prefix("x86_irq_vectors_").unwrap_or(event);
    let (vector, entry) = match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
        (Some(vector), _) => (vector, true),
        (_, Some(vector)) => (vector, false),
        _ => return None,
    };
    Some((VECTORS.iter().position(|known| *known == vector)? as u8, entry))
}

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
        Named { name: self.name(place), ..self.unnamed(place) }
    }

    #[inline]
    fn name(&self, place: Place) -> &'a [u8] {
        self.name.as_ref().map_or(&[], |name| name.get(place))
    }

    #[inline]
    fn unnamed(&self, place: Place) -> Named<'a> {
        Named {
            tid: self.tid.i32(place),
            name: &[],
            priority: self
                .priority
                .as_ref()
                .map(|priority| priority.i32(place).saturating_add(self.priority_offset)),
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
    Yield { begins: bool },
    Fork { child: Thread<'a>, process: Option<Ints<'a>> },
    Exec { tid: Ints<'a>, old: Option<Ints<'a>>, file: Option<Texts<'a>> },
    Rename { tid: Ints<'a>, name: Texts<'a> },
    Known { tid: Ints<'a>, name: Option<Texts<'a>>, process: Option<Ints<'a>> },
    Exit { tid: Ints<'a> },
}

/// Who ran when events of a type happened that change nothing.
enum Others<'a> {
    /// Asked for few events: as it lies.
    Batches(Rows, Ints<'a>),
    /// Asked for all events: in one piece.
    Flat(Vec<i32>),
}

impl<'a> Others<'a> {
    fn new(event: &'a EventTable, every: bool) -> Option<Self> {
        let threads = Ints::of(&event.batches, "common_pid")?;
        Some(match every {
            true => Self::Flat(threads.all_i32()),
            false => Self::Batches(Rows::new(&event.batches), threads),
        })
    }

    #[inline]
    fn thread(&self, row: u32) -> Option<i32> {
        match self {
            Self::Batches(rows, threads) => Some(threads.i32(rows.place(row)?)),
            Self::Flat(threads) => threads.get(row as usize).copied(),
        }
    }
}

/// Numbers of events.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) switches: usize,
    pub(crate) wakes: usize,
    pub(crate) handlers: usize,
}

/// What an event means to scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing.
    None,
    /// It is an event of a system call: at most it tells which thread runs.
    Witness,
    /// It changes something.
    Change,
}

/// How to read the events of scheduling and interrupts, by their number.
pub(crate) struct Bindings<'a> {
    bound: Vec<Option<Bound<'a, Fields<'a>>>>,
    /// Of the other types: the thread that ran, by row.
    others: Vec<Option<Others<'a>>>,
    witnesses: Vec<bool>,
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
        let bound: Vec<_> =
            input.events.iter().map(|event| bind(event, |event| fields(event, &present))).collect();
        let flags = bound.iter().flatten().any(|bound| bound.flags.is_some());
        let witnesses = SyscallBindings::new(input).calls();
        let others = input.events.iter().zip(&bound).zip(&witnesses);
        let others = others.map(|((event, bound), &witness)| match bound {
            Some(_) => None,
            None => Others::new(event, witness),
        });
        Self {
            others: others.collect(),
            bound,
            witnesses,
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
                _ => continue,
            };
            *count += bound.rows.count();
        }
        counts
    }

    /// By event number; [`Bindings::read`] knows those that change something.
    pub(crate) fn meanings(&self) -> Vec<Meaning> {
        let meaning = |(bound, &witness): (&Option<_>, &bool)| match (bound, witness) {
            (Some(_), _) => Meaning::Change,
            (None, true) => Meaning::Witness,
            (None, false) => Meaning::None,
        };
        self.bound.iter().zip(&self.witnesses).map(meaning).collect()
    }

    /// Whether the tracer notes with every event which thread ran.
    pub(crate) fn notes_threads(&self) -> bool {
        self.bound.iter().flatten().any(|bound| bound.thread.is_some())
    }

    /// The thread that ran when an event happened, where the tracer notes it.
    pub(crate) fn thread(&self, event: u16, row: u32) -> Option<i32> {
        match self.bound.get(usize::from(event))? {
            Some(bound) => Some(bound.thread.as_ref()?.i32(bound.rows.place(row)?)),
            None => self.others[usize::from(event)].as_ref()?.thread(row),
        }
    }

    /// The name of who was switched to.
    pub(crate) fn next_name(&self, at: EventRow) -> &'a [u8] {
        match &self.bound[usize::from(at.event)] {
            Some(Bound { fields: Fields::Switch { next, .. }, rows, .. }) => {
                rows.place(at.row).map_or(&[], |place| next.name(place))
            }
            _ => &[],
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
                next: next.unnamed(place),
                at: EventRow { event, row },
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
            Fields::Yield { begins } => Event::Yield { begins: *begins },
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

/// The columns of an event type; `None` when it means nothing here, or when events without
/// which it means nothing (the exits of entries) are not in the trace.
fn fields<'a>(event: &'a EventTable, present: &dyn Fn(&[&str]) -> bool) -> Option<Fields<'a>> {
    let batches = event.batches.as_slice();
    let int = |name: &str| Ints::of(batches, name);
    let any_int = |names: &[&str]| names.iter().find_map(|name| Ints::of(batches, name));
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
        "softirq_entry" | "irq_softirq_entry" if present(&["softirq_exit", "irq_softirq_exit"]) => {
            Fields::SoftirqEntry { vector: int("vec")? }
        }
        "softirq_exit" | "irq_softirq_exit" if present(&["softirq_entry", "irq_softirq_entry"]) => {
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
        "task_rename" => {
            Fields::Rename { tid: any_int(&["tid", "pid"])?, name: Texts::of(batches, "newcomm")? }
        }
        "lttng_statedump_process_state" => Fields::Known {
            tid: int("tid")?,
            name: Texts::of(batches, "name"),
            process: int("pid"),
        },
        "sched_process_exit" => Fields::Exit { tid: any_int(&["tid", "pid"])? },
        name => {
            if let Some((syscall, begins)) = specific_syscall(name) {
                return (syscall == "sched_yield").then_some(Fields::Yield { begins });
            }
            let (number, entry) = vector_of(name)?;
            let vector = VECTORS[usize::from(number)];
            let other = if entry { "exit" } else { "entry" };
            let others = [format!("{vector}_{other}"), format!("x86_irq_vectors_{vector}_{other}")];
            if !present(&[&others[0], &others[1]]) {
                return None;
            }
            if entry { Fields::VectorEntry(number) } else { Fields::VectorExit(number) }
        }
    })
}
