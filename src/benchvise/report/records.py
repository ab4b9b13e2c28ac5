"""Tables and CSV of commands that are described by a ``CommandRecord``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchvise.command import CellValue, ColumnSpec, TableSpec
from benchvise.quantities import ABSENT, format_number, format_range, format_value
from benchvise.report import sinks
from benchvise.report.tables import Cell, Column, Table


def table(spec: TableSpec[Any]) -> Table:
    """The table with its values as text."""
    rows = spec.rows if spec.limit is None else spec.rows[: spec.limit]
    remarks = list(spec.remarks)
    if more := len(spec.rows) - len(rows):
        remarks.append(f"{more} {spec.more}")
    return Table(
        spec.title,
        tuple(Column(column.heading, right=column.unit is not None) for column in spec.columns),
        tuple(tuple(_cell(column, row) for column in spec.columns) for row in rows),
        tuple(remarks),
    )


def _cell(column: ColumnSpec[Any], row: Any) -> Cell:
    value = column.value(row)
    if value is None:
        return Cell(ABSENT, "muted")
    tone = column.tone if isinstance(column.tone, str) else column.tone(row)
    if tone == "plain" and column.unit == "" and value == 0:
        tone = "muted"
    text = column.text(row) if column.text else format_cell(value, column.unit)
    return Cell(text, tone)


def format_cell(value: CellValue, unit: str | None) -> str:
    """A value in its unit: ``1.25 us``, ``20.9 to 21.6 MHz``, ``12 000``, ``12.5 %``."""
    if value is None:
        return ABSENT
    if isinstance(value, str) or unit is None:
        return str(value)
    scale, scaled_unit = (1e9, "ns") if unit == "s" else (1.0, unit)
    if isinstance(value, tuple):
        return format_range(value[0] * scale, value[1] * scale, scaled_unit)
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "":
        whole = isinstance(value, int)
        return f"{value:,}".replace(",", " ") if whole else format_number(value)
    return format_value(value * scale, scaled_unit)


def csv_text(columns: Sequence[ColumnSpec[Any]], rows: Sequence[Any]) -> str:
    """The rows as CSV (RFC 4180), numbers in the units that the header names."""
    named = [column for column in columns if column.name]
    headings = [heading for column in named for heading in csv_headings(column)]
    return sinks.csv_text(
        headings, ([field for column in named for field in _fields(column, row)] for row in rows)
    )


def csv_headings(column: ColumnSpec[Any]) -> tuple[str, ...]:
    """How a column is called in CSV, with its unit: ``median_s``; two for an interval."""
    unit = column.unit.replace("/", "_per_") if column.unit else ""
    name = f"{column.name}_{unit}" if unit else column.name
    return (f"{name}_low", f"{name}_high") if column.interval else (name,)


def _fields(column: ColumnSpec[Any], row: Any) -> Iterator[object]:
    value = column.value(row)
    if column.interval:
        yield from value if isinstance(value, tuple) else (None, None)
    else:
        yield None if isinstance(value, tuple) else value
