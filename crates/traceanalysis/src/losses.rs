//! Where events are missing: the losses of each CPU in order of time.

use std::iter::Peekable;
use std::slice::Iter;

use crate::input::Loss;

/// What happens to a CPU at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    /// Nothing is missing from here on.
    End,
    /// Events are missing after this time.
    Begin,
}

/// What happens to CPUs, taken as time goes on.
pub(crate) struct Edges<'a>(Peekable<Iter<'a, (i64, Edge, u16)>>);

impl Edges<'_> {
    /// The next that comes before an event of that time: time, what, CPU.
    #[inline]
    pub(crate) fn next_until(&mut self, time: i64) -> Option<(i64, Edge, u16)> {
        self.0.next_if(|&&(at, edge, _)| at < time || at == time && edge == Edge::End).copied()
    }
}

/// The losses of each CPU, put in order.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By CPU: events are missing when the trace begins.
    pub(crate) at_first: Vec<bool>,
    /// By CPU: events may be missing anywhere.
    pub(crate) anywhere: Vec<bool>,
    edges: Vec<(i64, Edge, u16)>,
}

impl Losses {
    pub(crate) fn new(losses: &[Loss], cpus: usize, span: (i64, i64)) -> Self {
        let mut result =
            Self { at_first: vec![false; cpus], anywhere: vec![false; cpus], edges: vec![] };
        let mut by_cpu: Vec<Vec<(i64, i64)>> = vec![Vec::new(); cpus];
        for loss in losses {
            let concerned = match loss.cpu {
                Some(cpu) => usize::from(cpu).min(cpus)..(usize::from(cpu) + 1).min(cpus),
                None => 0..cpus,
            };
            for cpu in concerned {
                match (loss.begin, loss.end) {
                    (None, None) => result.anywhere[cpu] = true,
                    (begin, end) => {
                        by_cpu[cpu].push((begin.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX)))
                    }
                }
            }
        }
        for (cpu, mut spans) in by_cpu.into_iter().enumerate() {
            spans.sort_unstable();
            let mut merged: Vec<(i64, i64)> = Vec::new();
            for (begin, end) in spans {
                match merged.last_mut() {
                    Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                    _ => merged.push((begin, end.max(begin))),
                }
            }
            for (begin, end) in merged {
                if begin < span.0 {
                    result.at_first[cpu] = true;
                } else {
                    result.edges.push((begin, Edge::Begin, cpu as u16));
                }
                result.edges.push((end, Edge::End, cpu as u16));
            }
        }
        result.edges.sort_unstable();
        result
    }

    /// All that happens, from the beginning.
    pub(crate) fn edges(&self) -> Edges<'_> {
        Edges(self.edges.iter().peekable())
    }

    /// By CPU, ascending: the times from which on its events are complete.
    pub(crate) fn whole_from(&self, begin: i64) -> Vec<Vec<i64>> {
        let whole = |&missing: &bool| if missing { vec![] } else { vec![begin] };
        let mut times: Vec<Vec<i64>> = self.at_first.iter().map(whole).collect();
        for &(time, edge, cpu) in &self.edges {
            if edge == Edge::End {
                times[usize::from(cpu)].push(time);
            }
        }
        times
    }
}
