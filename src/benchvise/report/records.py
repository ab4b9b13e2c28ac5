"""Tables and CSV of what records describe by a ``TableSpec``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchvise.quantities import ABSENT, format_cpus
from benchvise.report import sinks
from benchvise.report.tables import Cell, Column, Table
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

if TYPE_CHECKING:
    from benchvise.trace.query import QueryAnswer

_MUTED_AT_ZERO = (ValueUnit.COUNT, ValueUnit.SHARE)


def table(spec: TableSpec[Any], *, stacked: bool = True) -> Table:
    """The table with its values as text; without ``stacked`` each heading is one line."""
    columns = spec.columns
    headings = [c.heading for c in columns] if stacked else [name for name, _ in _headed(columns)]
    return Table(
        spec.title,
        tuple(
            Column(heading, not column.unit.left, column.detail)
            for heading, column in zip(headings, columns, strict=True)
        ),
        tuple(tuple(_cell(column, row) for column in columns) for row in spec.rows[: spec.limit]),
        spec.remarks,
    )


def _cell(column: ColumnSpec[Any], row: object) -> Cell:
    value = column.value(row)
    if value is None and column.otherwise is not None:
        return _cell(column.otherwise, row)
    if value is None:
        return Cell(ABSENT, "muted")
    tone = column.tone if isinstance(column.tone, str) else column.tone(row)
    if tone == "plain" and column.unit in _MUTED_AT_ZERO and not value:
        tone = "muted"
    return Cell(column.text(row) if column.text else column.unit.write(value), tone)


def csv_text(columns: Sequence[ColumnSpec[Any]], rows: Sequence[Any]) -> str:
    """All rows as CSV (RFC 4180), values in the units that the header names; None is empty.

    Values are as they are: times in ns or s, moments in ns of the trace's clock, shares of one.
    """
    first = rows[0] if rows else None
    names = [
        name for heading, column in _headed(columns) for name in _names(heading, column, first)
    ]
    return sinks.csv_text(
        names, ([field for column in columns for field in _fields(column, row)] for row in rows)
    )


def described_columns(
    columns: Sequence[ColumnSpec[Any]],
) -> Iterator[tuple[str, ValueUnit, list[str]]]:
    """For each column: its whole heading, the unit of its values, its names in CSV."""
    for heading, column in _headed(columns):
        yield heading, column.unit, _names(heading, column)


def _names(heading: str, column: ColumnSpec[Any], row: object = None) -> list[str]:
    """What a column is called in CSV, with its unit; bars are as many columns as a row has."""
    suffix = column.unit.suffix
    if column.unit is ValueUnit.DRAWING:
        return []
    if column.unit is ValueUnit.BARS:
        return ["from_…_ns"] if row is None else _bin_names(column.value(row))
    name = column.key or _identifier(heading)
    if column.unit.is_range:
        return [f"{name}_{end}{'' if column.key else suffix}" for end in ("low", "high")]
    whole = column.key or name.endswith(suffix.lstrip("_"))
    otherwise = _names(heading, column.otherwise) if column.otherwise else []
    return [name if whole else f"{name}{suffix}", *otherwise]


def _bin_names(bars: Any) -> list[str]:
    return [f"from_{bars.begin + at * bars.width}_ns" for at in range(len(bars.values))]


def _fields(column: ColumnSpec[Any], row: object) -> list[object]:
    value: Any = column.value(row)
    match column.unit:
        case ValueUnit.DRAWING:
            return []
        case ValueUnit.BARS:
            return list(value.values)
        case ValueUnit.NS_EACH:
            return [" + ".join(map(str, value))]
        case ValueUnit.CPUS:
            return [format_cpus(value)]
        case unit if unit.is_range:
            return [None, None] if value is None else list(value)
    return [value, *(_fields(column.otherwise, row) if column.otherwise else [])]


def _headed(columns: Sequence[ColumnSpec[Any]]) -> Iterator[tuple[str, ColumnSpec[Any]]]:
    """Columns with their whole headings, each in one line."""
    above = ""
    for column in columns:
        first, broken, below = column.heading.partition("\n")
        above = first if broken and first else above
        whole = f"{above}\n{below}" if broken and not first else column.heading
        yield whole.replace("-\n", "").replace("\n", " "), column


def _identifier(heading: str) -> str:
    """``Wake-ups/s`` → ``wake_ups_per_s``."""
    spelt = heading.replace("/s", " per s").lower()
    return re.sub(r"[^a-z0-9]+", "_", spelt).strip("_")


# -- what a query gave -----------------------------------------------------------------------------


def query_table(answer: QueryAnswer, remarks: Sequence[str]) -> Table:
    """What a query gave."""
    from benchvise.trace.query import sql_text  # late, as it imports DuckDB

    numeric = [_is_numeric(kind) for kind in answer.types]
    names = zip(answer.columns, numeric, strict=True)
    columns = tuple(Column(name, right=right) for name, right in names)
    rows = tuple(
        tuple(Cell(ABSENT, "muted") if value is None else Cell(sql_text(value)) for value in row)
        for row in answer.rows
    )
    more = ("there are more rows: --limit N shows them",) if answer.more else ()
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    return Table(count, columns, rows, (*more, *remarks))


def query_csv(answer: QueryAnswer) -> str:
    """What a query gave, with a line of names; null is empty."""
    from benchvise.trace.query import sql_text

    rows = ([None if v is None else sql_text(v) for v in row] for row in answer.rows)
    return sinks.csv_text(answer.columns, rows)


def _is_numeric(kind: str) -> bool:
    return kind.startswith(("NUMBER", "DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith("INT")
