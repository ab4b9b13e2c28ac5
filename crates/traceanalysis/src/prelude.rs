//! Who ran on each CPU when its events begin: at the beginning of the trace and after each loss.
//!
//! The thread of the first event tells, where the tracer notes that with every event. Else the first
//! switch tells whom it switched away from: that one ran since.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type};

use crate::bindings::Bindings;
use crate::input::{EventTable, Input};
use crate::model::{Event, Named};
use crate::walk::{Columns, NO_CPU};

pub(crate) struct First<'a> {
    /// By CPU, in order of their beginnings.
    cpus: Vec<Vec<Whole<'a>>>,
}

/// A span of which no event of the CPU is missing.
struct Whole<'a> {
    begin: i64,
    /// Who ran when it began, by an event at this time.
    who: Option<(i64, Named<'a>)>,
}

impl<'a> First<'a> {
    /// `begins`: by CPU, ascending, the times from which on its events are complete.
    pub(crate) fn new(input: &Input, bindings: &Bindings<'a>, begins: &[Vec<i64>]) -> Self {
        let whole =
            |times: &Vec<i64>| times.iter().map(|&begin| Whole { begin, who: None }).collect();
        let cpus = begins.iter().map(whole);
        let mut this = Self { cpus: cpus.collect() };
        let switches = input.events.iter().position(|event| event.name == "sched_switch");
        if let Some(number) = switches.filter(|&number| input.events[number].has_rows()) {
            if bindings.notes_threads() {
                this.by_any_event(input, bindings);
            }
            this.by_switches(&input.events[number], number as u16, bindings);
        }
        this
    }

    /// Who ran on a CPU whose events are complete since `begin`.
    pub(crate) fn at(&self, cpu: usize, begin: i64) -> Option<&Named<'a>> {
        let cpu = self.cpus.get(cpu)?;
        let at = cpu.binary_search_by_key(&begin, |whole| whole.begin).ok()?;
        cpu[at].who.as_ref().map(|(_, who)| who)
    }

    /// The span of a CPU that a time is in, while nothing earlier is known of it.
    #[inline]
    fn open(&mut self, cpu: u16, time: i64) -> Option<&mut Whole<'a>> {
        let spans = self.cpus.get_mut(usize::from(cpu))?;
        let at = match spans.as_slice() {
            [whole] => usize::from(whole.begin <= time),
            spans => spans.partition_point(|whole| whole.begin <= time),
        };
        let whole = &mut spans[at.checked_sub(1)?];
        whole.who.is_none_or(|(known, _)| time < known).then_some(whole)
    }

    fn by_switches(&mut self, table: &EventTable, number: u16, bindings: &Bindings<'a>) {
        let mut row = 0;
        for batch in &table.batches {
            let time = batch.column_by_name("time").and_then(|c| c.as_primitive_opt::<Int64Type>());
            let cpu = batch.column_by_name("cpu").and_then(|c| c.as_primitive_opt::<UInt16Type>());
            if let (Some(time), Some(cpu)) = (time, cpu) {
                for (at, (&time, &cpu)) in time.values().iter().zip(cpu.values()).enumerate() {
                    if let Some(whole) = self.open(cpu, time)
                        && let Some((Event::Switch { prev, .. }, _)) =
                            bindings.read(number, row + at as u32)
                    {
                        whole.who = Some((time, prev));
                    }
                }
            }
            row += batch.num_rows() as u32;
        }
    }

    /// By the thread of the first event.
    fn by_any_event(&mut self, input: &Input, bindings: &Bindings<'a>) {
        let mut missing = self.cpus.iter().flatten().count();
        for index in input.index.iter().filter_map(Columns::of) {
            let Columns { times, cpus, events, rows } = index;
            for at in 0..times.len() {
                if missing == 0 {
                    return;
                }
                if cpus[at] != NO_CPU
                    && let Some(whole) = self.open(cpus[at], times[at])
                    && whole.who.is_none()
                    && let Some(tid) = bindings.thread(events[at], rows[at])
                {
                    whole.who = Some((times[at], Named { tid, name: &[], priority: None }));
                    missing -= 1;
                }
            }
        }
    }
}
