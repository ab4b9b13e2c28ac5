//! The spans of a row, so that no two overlap.

use crate::spans::{Growing, Span, Spans};

/// The spans in order of time, without overlap. Where they overlap, the one that began last is on
/// top, as an interrupt is on what it interrupts; what it covers goes on behind it.
pub(crate) fn disjoint(spans: Spans) -> Spans {
    let mut ends = spans.end.iter();
    if spans.begin.iter().skip(1).all(|begin| ends.next() <= Some(begin)) {
        return spans;
    }
    let mut sorted: Vec<Span> = spans.iter().collect();
    drop(spans);
    sorted.sort_by(|a, b| a.begin.cmp(&b.begin).then(b.end.cmp(&a.end)));
    flat(&sorted).into()
}

/// `spans`: in order of their begins, of equal ones the longest first.
fn flat(spans: &[Span]) -> Growing {
    let mut found = Growing::with_capacity(spans.len() + spans.len() / 4);
    let mut open: Vec<Span> = Vec::new();
    for &span in spans {
        close(&mut open, span.begin, &mut found);
        if let Some(&covered) = open.last()
            && covered.begin < span.begin
        {
            found.push(Span { end: span.begin, ..covered });
        }
        open.push(span);
    }
    close(&mut open, i64::MAX, &mut found);
    found
}

/// Ends those on top that end until `time`.
fn close(open: &mut Vec<Span>, time: i64, found: &mut Growing) {
    while let Some(top) = open.pop_if(|top| top.end <= time) {
        found.push(top);
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
        let found = disjoint(spans(&deep));
        assert_eq!(found.len(), deep.len());
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].begin));
    }
}
