//! The spans of a row, so that no two overlap.

use std::cmp::Reverse;
use std::iter;

use crate::spans::{Growing, Span, Spans};

/// The spans in order of time, without overlap. Where they overlap, the one that began last is on
/// top, as an interrupt is on what it interrupts; what it covers goes on behind it.
pub(crate) fn disjoint(spans: Spans) -> Spans {
    let mut ends = spans.end.iter();
    if spans.begin.iter().skip(1).all(|begin| ends.next() <= Some(begin)) {
        return spans;
    }
    // Most are in order: those that are not, as what was interrupted in an order of ends, are put
    // among them.
    let (mut late, mut in_order) = (Vec::new(), Vec::with_capacity(spans.len()));
    let mut latest = None;
    for span in spans.iter() {
        let is_late = latest.is_some_and(|latest| order(&span) < latest);
        in_order.push(!is_late);
        if is_late {
            late.push(span);
        } else {
            latest = Some(order(&span));
        }
    }
    late.sort_by_key(order);
    let in_order = spans.iter().zip(in_order).filter_map(|(span, keep)| keep.then_some(span));
    flat(merged(in_order, late.into_iter()), spans.len()).into()
}

/// By their begins, of equal ones the longest first.
#[inline]
fn order(span: &Span) -> (i64, Reverse<i64>) {
    (span.begin, Reverse(span.end))
}

fn merged(
    a: impl Iterator<Item = Span>,
    b: impl Iterator<Item = Span>,
) -> impl Iterator<Item = Span> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(of_a), Some(of_b)) if order(of_b) < order(of_a) => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}

/// `spans`: some `count` in [`order`].
fn flat(spans: impl Iterator<Item = Span>, count: usize) -> Growing {
    let mut flattened = Growing::with_capacity(count + count / 4);
    let mut open: Vec<Span> = Vec::new();
    for span in spans {
        close(&mut open, span.begin, &mut flattened);
        if let Some(&covered) = open.last()
            && covered.begin < span.begin
        {
            flattened.push(Span { end: span.begin, ..covered });
        }
        open.push(span);
    }
    close(&mut open, i64::MAX, &mut flattened);
    flattened
}

/// Ends those on top that end until `time`.
fn close(open: &mut Vec<Span>, time: i64, flattened: &mut Growing) {
    while let Some(top) = open.pop_if(|top| top.end <= time) {
        flattened.push(top);
        while open.pop_if(|below| below.end <= top.end).is_some() {}
        if let Some(below) = open.last_mut() {
            below.begin = top.end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Growing, Span};

    fn spans(said: &[(i64, i64, u32)]) -> Vec<Span> {
        said.iter().map(|&(begin, end, actor)| Span { begin, end, actor, state: 0 }).collect()
    }

    fn disjoint(spans: Vec<Span>) -> Vec<Span> {
        super::disjoint(spans.into_iter().collect::<Growing>().into()).iter().collect()
    }

    #[test]
    fn what_is_interrupted_goes_on_behind() {
        // A thread, in it a softirq, in that an interrupt: in order of their ends.
        let given = spans(&[(40, 50, 3), (30, 70, 2), (10, 100, 1), (100, 110, 4)]);
        let wanted = spans(&[
            (10, 30, 1),
            (30, 40, 2),
            (40, 50, 3),
            (50, 70, 2),
            (70, 100, 1),
            (100, 110, 4),
        ]);
        assert_eq!(disjoint(given), wanted);
    }

    #[test]
    fn what_ends_first_under_another_is_cut() {
        let given = spans(&[(0, 10, 1), (5, 15, 2), (15, 15, 3), (15, 20, 4)]);
        let wanted = spans(&[(0, 5, 1), (5, 15, 2), (15, 15, 3), (15, 20, 4)]);
        assert_eq!(disjoint(given), wanted);
    }

    #[test]
    fn two_runs_are_merged() {
        let given = spans(&[(0, 2, 1), (5, 6, 1), (2, 5, 2), (6, 9, 2)]);
        assert_eq!(disjoint(given), spans(&[(0, 2, 1), (2, 5, 2), (5, 6, 1), (6, 9, 2)]));
    }

    #[test]
    fn many_that_are_nested_take_no_time() {
        let deep: Vec<_> = (0..200_000).rev().map(|at| (at, 1_000_000, at as u32)).collect();
        let flattened = disjoint(spans(&deep));
        assert_eq!(flattened.len(), deep.len());
        assert!(flattened.windows(2).all(|pair| pair[0].end == pair[1].begin));
    }
}
