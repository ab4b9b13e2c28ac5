//! Rows as text: numbers of a table that is read, spans of Chrome's JSON that is written.

use std::io::Write as _;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::values::{Values, numbers};

/// What programs write into a cell that has no value, beside `nan` in any letters.
const NO_VALUE: [&str; 11] =
    ["#N/A", "#N/A N/A", "#NA", "N/A", "NA", "n/a", "NULL", "null", "1.#IND", "-1.#IND", "1.#QNAN"];

/// The columns of a file of rows of numbers, from a line on; a cell without a value is NaN.
#[pyfunction]
pub(crate) fn read_numbers(
    py: Python<'_>,
    path: PathBuf,
    first_line: usize,
    separator: char,
    decimal_point: char,
    width: usize,
) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let columns = py.detach(|| {
        let bytes = std::fs::read(path)?;
        let text =
            str::from_utf8(&bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut columns = vec![Vec::new(); width];
        for (number, line) in text.lines().enumerate().skip(first_line) {
            if line.trim().is_empty() {
                continue;
            }
            let mut found = 0;
            for cell in line.split(separator) {
                let Some(column) = columns.get_mut(found) else {
                    found = width + 1;
                    break;
                };
                let value = number_of(cell, decimal_point).ok_or_else(|| {
                    let shown: String = cell.chars().take(40).collect();
                    PyValueError::new_err(format!("line {}: {shown:?} is no number", number + 1))
                })?;
                column.push(value);
                found += 1;
            }
            if found != width {
                let text = format!("line {} has not {width} columns", number + 1);
                return Err(PyValueError::new_err(text));
            }
        }
        Ok(columns)
    })?;
    columns.into_iter().map(|column: Vec<f64>| Values::own(column).into_array(py)).collect()
}

fn number_of(cell: &str, decimal_point: char) -> Option<f64> {
    let cell = cell.trim();
    let cell =
        cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell).trim();
    if cell.is_empty() || NO_VALUE.contains(&cell) {
        return Some(f64::NAN);
    }
    if decimal_point == '.' {
        return cell.parse().ok();
    }
    if cell.contains('.') {
        return None;
    }
    cell.replace(decimal_point, ".").parse().ok()
}

/// Spans as Chrome's complete events, one a line, each behind a comma; times in nanoseconds, and
/// written as microseconds. `labels` are JSON, by actor.
#[pyfunction]
pub(crate) fn chrome_spans<'py>(
    py: Python<'py>,
    labels: Vec<String>,
    columns: [Bound<'py, PyAny>; 6],
) -> PyResult<Bound<'py, PyBytes>> {
    let columns = columns.iter().map(numbers::<i64>).collect::<PyResult<Vec<_>>>()?;
    let text = py.detach(|| {
        let [actor, process, thread, begin, length, execution] = columns.as_slice() else {
            return None;
        };
        let mut text = Vec::with_capacity(actor.len() * 128);
        for (row, who) in actor.iter().enumerate() {
            let label = labels.get(usize::try_from(*who).ok()?)?;
            let (process, thread) = (process.get(row)?, thread.get(row)?);
            let (begin, length) = (begin.get(row)?, length.get(row)?);
            write!(
                text,
                ",\n{{\"ph\":\"X\",\"name\":{label},\"pid\":{process},\"tid\":{thread},\"ts\":{}.{:03},\
                 \"dur\":{}.{:03},\"args\":{{\"execution_ns\":{}}}}}",
                begin.div_euclid(1000),
                begin.rem_euclid(1000),
                length.div_euclid(1000),
                length.rem_euclid(1000),
                execution.get(row)?,
            )
            .ok()?;
        }
        Some(text)
    });
    let text =
        text.ok_or_else(|| PyValueError::new_err("columns that do not fit to each other"))?;
    Ok(PyBytes::new(py, &text))
}
