//! Timers that ran, how late they were, and spans without the periodic tick.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt16Array, UInt64Array};

use crate::growing::{NONE, nullable};
use crate::output::schemas;

/// Functions of the high-resolution timer that drives the tick, by the kernel's age.
const TICK_FUNCTIONS: [&str; 3] =
    ["tick_nohz_handler", "tick_sched_timer", "tick_nohz_highres_handler"];

#[derive(Clone, Copy)]
struct Started {
    function: Option<u64>,
    expires: i64,
    softexpires: Option<i64>,
    taken_off: Option<u16>,
}

/// A timer of the wheel that waits; `expires` in jiffies.
#[derive(Clone, Copy)]
struct Armed {
    expires: u64,
    taken_off: Option<u16>,
}

/// Whether a timer that runs on `cpu` is the one that waited. The kernel takes a timer off its queue
/// before it runs it, and kernels trace that as a cancellation on the same CPU: `taken_off` is where.
/// One that is cancelled elsewhere does not run before it is started anew.
fn was_waiting(taken_off: Option<u16>, cpu: u16) -> bool {
    taken_off.is_none_or(|of| of == cpu)
}

/// What is known of the timers, and the rows of those that ran.
pub(crate) struct Timers {
    symbols: HashMap<u64, String>,
    hrtimers: HashMap<u64, Started>,
    wheel: HashMap<u64, Armed>,
    /// By CPU: rows whose function has not returned.
    running: HashMap<u16, Vec<usize>>,
    kind: Vec<&'static str>,
    address: Vec<u64>,
    function: Vec<Option<u64>>,
    cpu: Vec<u16>,
    expires: Vec<i64>,
    softexpires: Vec<i64>,
    ran: Vec<i64>,
    ended: Vec<i64>,
    lateness: Vec<i64>,
    late_jiffies: Vec<i64>,
}

impl Timers {
    pub(crate) fn new(symbols: &[(u64, String)]) -> Self {
        Self {
            symbols: symbols.iter().cloned().collect(),
            hrtimers: HashMap::new(),
            wheel: HashMap::new(),
            running: HashMap::new(),
            kind: vec![],
            address: vec![],
            function: vec![],
            cpu: vec![],
            expires: vec![],
            softexpires: vec![],
            ran: vec![],
            ended: vec![],
            lateness: vec![],
            late_jiffies: vec![],
        }
    }

    /// Nothing more is known of timers that wait.
    pub(crate) fn forget(&mut self) {
        self.hrtimers.clear();
        self.wheel.clear();
    }

    /// Functions that run on a CPU return unseen.
    pub(crate) fn forget_running(&mut self, cpu: u16) {
        self.running.remove(&cpu);
    }

    pub(crate) fn start_hrtimer(
        &mut self,
        address: u64,
        function: Option<u64>,
        expires: i64,
        softexpires: Option<i64>,
    ) {
        let started = Started { function, expires, softexpires, taken_off: None };
        self.hrtimers.insert(address, started);
    }

    pub(crate) fn cancel_hrtimer(&mut self, cpu: u16, address: u64) {
        if let Some(started) = self.hrtimers.get_mut(&address) {
            started.taken_off = Some(cpu);
        }
    }

    pub(crate) fn run_hrtimer(
        &mut self,
        ran: i64,
        cpu: u16,
        address: u64,
        function: Option<u64>,
        now: Option<i64>,
    ) {
        let started =
            self.hrtimers.remove(&address).filter(|started| was_waiting(started.taken_off, cpu));
        let expires = started.map_or(NONE, |started| started.expires);
        let function = function.or(started.and_then(|started| started.function));
        let symbol = function.and_then(|function| self.symbols.get(&function));
        let tick = symbol.is_some_and(|symbol| TICK_FUNCTIONS.contains(&symbol.as_str()));
        self.run(ran, cpu, address, function, if tick { "tick" } else { "hrtimer" });
        self.expires.push(expires);
        self.softexpires.push(started.and_then(|started| started.softexpires).unwrap_or(NONE));
        self.lateness.push(match (expires, now) {
            (NONE, _) | (_, None) => NONE,
            (expires, Some(now)) => now.wrapping_sub(expires),
        });
        self.late_jiffies.push(NONE);
    }

    pub(crate) fn start_wheel(&mut self, address: u64, expires: u64) {
        self.wheel.insert(address, Armed { expires, taken_off: None });
    }

    pub(crate) fn cancel_wheel(&mut self, cpu: u16, address: u64) {
        if let Some(armed) = self.wheel.get_mut(&address) {
            armed.taken_off = Some(cpu);
        }
    }

    pub(crate) fn run_wheel(
        &mut self,
        ran: i64,
        cpu: u16,
        address: u64,
        function: Option<u64>,
        now: Option<u64>,
    ) {
        let armed = self.wheel.remove(&address).filter(|armed| was_waiting(armed.taken_off, cpu));
        self.run(ran, cpu, address, function, "timer");
        self.expires.push(NONE);
        self.softexpires.push(NONE);
        self.lateness.push(NONE);
        self.late_jiffies.push(match (armed, now) {
            // Jiffies wrap: the difference is what counts.
            (Some(armed), Some(now)) => now.wrapping_sub(armed.expires) as i64,
            _ => NONE,
        });
    }

    fn run(&mut self, ran: i64, cpu: u16, address: u64, function: Option<u64>, kind: &'static str) {
        self.running.entry(cpu).or_default().push(self.kind.len());
        self.kind.push(kind);
        self.address.push(address);
        self.function.push(function);
        self.cpu.push(cpu);
        self.ran.push(ran);
        self.ended.push(NONE);
    }

    /// The function of a timer returns; those that seem to run within it have returned unseen.
    pub(crate) fn end(&mut self, now: i64, cpu: u16, address: u64) {
        let running = self.running.entry(cpu).or_default();
        if let Some(at) = running.iter().rposition(|&row| self.address[row] == address) {
            self.ended[running[at]] = now;
            running.truncate(at);
        }
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        let symbol = |function: &Option<u64>| {
            function.and_then(|function| self.symbols.get(&function)).map(String::as_str)
        };
        let names: ArrayRef = Arc::new(StringArray::from_iter(self.function.iter().map(symbol)));
        RecordBatch::try_new(
            schemas::timers(),
            vec![
                Arc::new(StringArray::from_iter_values(self.kind)),
                Arc::new(UInt64Array::from(self.address)),
                Arc::new(UInt64Array::from(self.function)),
                names,
                Arc::new(UInt16Array::from(self.cpu)),
                nullable(self.expires),
                nullable(self.softexpires),
                Arc::new(Int64Array::from(self.ran)),
                nullable(self.ended),
                nullable(self.lateness),
                nullable(self.late_jiffies),
            ],
        )
        .expect("the columns of the schema")
    }
}

/// Spans without the tick. Idle CPUs begin them by `tick_stop`; the tick comes back when they leave
/// idle. Where a CPU runs a thread without the tick, no event tells its return.
#[derive(Default)]
pub(crate) struct Ticks {
    open: HashMap<u16, usize>,
    cpu: Vec<u16>,
    begin: Vec<i64>,
    end: Vec<i64>,
}

impl Ticks {
    pub(crate) fn stop(&mut self, now: i64, cpu: u16) {
        self.open.insert(cpu, self.cpu.len());
        self.cpu.push(cpu);
        self.begin.push(now);
        self.end.push(NONE);
    }

    /// When the tick of a CPU comes back is not seen.
    pub(crate) fn forget(&mut self, cpu: u16) {
        self.open.remove(&cpu);
    }

    #[inline]
    pub(crate) fn leave_idle(&mut self, now: i64, cpu: u16) {
        if let Some(row) = self.open.remove(&cpu) {
            self.end[row] = now;
        }
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        RecordBatch::try_new(
            schemas::ticks(),
            vec![
                Arc::new(UInt16Array::from(self.cpu)),
                Arc::new(Int64Array::from(self.begin)),
                nullable(self.end),
            ],
        )
        .expect("the columns of the schema")
    }
}
