//! Values that lie together by group, each group sorted: what medians and percentiles are read from.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::values::{Values, numbers};

/// Sorting fewer values takes less time than starting a thread.
const LEAST: usize = 1 << 15;
/// Pieces for each thread, so that none has to wait long for the last.
const SHARES: usize = 4;

/// The values of each group in ascending order; `starts` says where each group begins, and where
/// the last one ends.
#[pyfunction]
pub(crate) fn sort_groups<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    starts: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut values = numbers::<i64>(values)?;
    let starts = numbers::<i64>(starts)?;
    let sorted = py.detach(|| sort(&mut values, &starts));
    sorted.ok_or_else(|| PyValueError::new_err("the groups do not lie one behind another"))?;
    Values::own(values).into_array(py)
}

/// Sorts each group in its place; `None` where the places are none.
fn sort(values: &mut [i64], starts: &[i64]) -> Option<()> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let most = LEAST.max(values.len() / (threads * SHARES));
    let (mut pieces, mut rest, mut at) = (Vec::new(), values, 0);
    for &end in starts {
        let end = usize::try_from(end).ok()?;
        let (group, behind) = rest.split_at_mut_checked(end.checked_sub(at)?)?;
        divide(group, most, &mut pieces);
        (rest, at) = (behind, end);
    }
    if !rest.is_empty() {
        return None;
    }
    if pieces.iter().map(|piece| piece.len()).sum::<usize>() < LEAST {
        pieces.into_iter().for_each(<[i64]>::sort_unstable);
        return Some(());
    }
    let pieces = Mutex::new(pieces.into_iter());
    let work = || {
        while let Some(piece) = pieces.lock().ok().and_then(|mut pieces| pieces.next()) {
            piece.sort_unstable();
        }
    };
    scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    Some(())
}

/// Parts a group until no piece is larger than `most`, so that the pieces, each sorted by itself,
/// are the group sorted.
fn divide<'a>(group: &'a mut [i64], most: usize, pieces: &mut Vec<&'a mut [i64]>) {
    if group.len() <= most {
        pieces.push(group);
        return;
    }
    let middle = group.len() / 2;
    group.select_nth_unstable(middle);
    let (low, high) = group.split_at_mut(middle);
    divide(low, most, pieces);
    divide(high, most, pieces);
}
