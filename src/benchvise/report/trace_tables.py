"""Answers about a trace for people and spreadsheets: tables of cells, and CSV.

What is in a table is said by its record (``benchvise.trace.catalogue``); here stands how a value of
each unit is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchvise.quantities import (
    ABSENT,
    format_change,
    format_clock,
    format_count,
    format_cpus,
    format_range,
    format_size,
    format_value,
)
from benchvise.report.sinks import csv_text
from benchvise.report.tables import Cell, Table
from benchvise.report.tables import Column as Head
from benchvise.trace.catalogue.record import (
    AnswerColumn,
    AnswerTable,
    Bars,
    Conclusion,
    TableShape,
    ValueUnit,
)

if TYPE_CHECKING:
    from benchvise.trace.query import QueryAnswer

_BLOCKS = "▁▂▃▄▅▆▇█"
_LEFT = frozenset(
    {ValueUnit.TEXT, ValueUnit.ACTOR, ValueUnit.STAGE, ValueUnit.NS_EACH, ValueUnit.BARS}
)
"""Units whose values stand left; numbers stand right."""


# -- for people ------------------------------------------------------------------------------------


def answer_tables(
    tables: Iterable[AnswerTable[Any]], cautions: Sequence[str] = (), *, stacked: bool = True
) -> Iterator[Table]:
    """The tables of an answer; what makes all of it doubtful stands below the first.

    Without ``stacked`` each header is one line.
    """
    for table in tables:
        yield _table(table, cautions, stacked=stacked)
        cautions = ()


def _table(table: AnswerTable[Any], cautions: Sequence[str], *, stacked: bool) -> Table:
    columns = table.shape.columns
    headers = [c.header for c in columns] if stacked else [name for name, _ in _headed(columns)]
    left_out = table.left_out
    more = f"not listed: {left_out} {table.shape.rest}"
    return Table(
        table.title,
        tuple(
            Head(header, column.unit not in _LEFT, column.detail)
            for header, column in zip(headers, columns, strict=True)
        ),
        tuple(tuple(_cell(column, row) for column in columns) for row in table.listed),
        (*cautions, *([f"{more} ({table.all_by})"] if left_out > 0 else []), *table.remarks),
    )


def conclusion_cell(conclusion: Conclusion) -> Cell:
    """A line below the tables."""
    return Cell(conclusion.text, conclusion.tone)


def _cell(column: AnswerColumn[Any], row: object) -> Cell:
    value = column.value(row)
    if value is None and column.otherwise is not None:
        return _cell(column.otherwise, row)
    if value is None:
        return Cell(ABSENT, "muted")
    tone = column.tone if isinstance(column.tone, str) else column.tone(row)
    if tone == "plain" and column.unit in (ValueUnit.COUNT, ValueUnit.SHARE) and not value:
        tone = "muted"
    return Cell(_text(column.unit, value), tone)


def _text(unit: ValueUnit, value: Any) -> str:
    return _WRITERS[unit](value)


def _share(value: float) -> str:
    percent = 100 * value
    return f"{percent:.1f} %" if percent >= 9.95 or value == 0 else f"{percent:.2f} %"


def _bars(bars: Bars) -> str:
    """One block a value, as high as its part of the top; a space where there is nothing."""
    if bars.top <= 0:
        return " " * len(bars.values)
    last = len(_BLOCKS) - 1
    return "".join(
        " " if value <= 0 else _BLOCKS[min(last, int(value / bars.top * len(_BLOCKS)))]
        for value in bars.values
    )


_WRITERS: dict[ValueUnit, Callable[[Any], str]] = {
    ValueUnit.TEXT: str,
    ValueUnit.ACTOR: str,
    ValueUnit.STAGE: str,
    ValueUnit.NUMBER: lambda value: f"{value:.0f}" if isinstance(value, float) else str(value),
    ValueUnit.COUNT: format_count,
    ValueUnit.NS: lambda time: format_value(time, "ns"),
    ValueUnit.NS_EACH: lambda times: " + ".join(format_value(time, "ns") for time in times),
    ValueUnit.NS_RANGE: lambda bounds: format_range(bounds.low, bounds.high, "ns"),
    ValueUnit.MOMENT: format_clock,
    ValueUnit.JIFFIES: lambda count: f"{count:g} jiffies",
    ValueUnit.SHARE: _share,
    ValueUnit.PER_SECOND: lambda rate: format_value(rate, ""),
    ValueUnit.EVENTS_PER_SECOND: lambda rate: format_value(rate, "1/s"),
    ValueUnit.BYTES: lambda size: format_value(size, "B"),
    ValueUnit.BYTES_PER_SECOND: lambda rate: format_value(rate, "B/s"),
    ValueUnit.SIZE: format_size,
    ValueUnit.CPUS: format_cpus,
    ValueUnit.RATIO: format_change,
    ValueUnit.RATIO_RANGE: lambda bounds: f"{bounds.low:.3f} to {bounds.high:.3f}",
    ValueUnit.EFFECT: lambda effect: f"{effect:+.2f}",
    ValueUnit.BARS: _bars,
}


# -- CSV -------------------------------------------------------------------------------------------


def answer_csv(tables: Sequence[AnswerTable[Any]]) -> str:
    """All rows of tables of one shape as RFC 4180 has it; what is not known is empty.

    Values are as they are: times in ns, moments in ns of the trace's clock, shares of one.
    """
    rows = [row for table in tables for row in table.rows]
    first = rows[0] if rows else None
    headed = [pair for table in tables[:1] for pair in _headed(table.shape.columns)]
    names = [name for header, column in headed for name in _csv_names(header, column, first)]
    return csv_text(names, ([v for _, column in headed for v in _csv(column, row)] for row in rows))


def described_columns(shape: TableShape[Any]) -> Iterator[tuple[str, str, list[str]]]:
    """For each column of a table: its whole header, the unit of its values, its names in CSV."""
    for header, column in _headed(shape.columns):
        yield header, column.unit.value, _csv_names(header, column)


def _csv_names(header: str, column: AnswerColumn[Any], row: object = None) -> list[str]:
    """What a column is called in CSV, with its unit; bars are as many columns as a row has."""
    name = column.key or _identifier(header)
    match column.unit:
        case ValueUnit.NS_RANGE:
            return [f"{name}_low_ns", f"{name}_high_ns"]
        case ValueUnit.RATIO_RANGE:
            return [f"{name}_low", f"{name}_high"]
        case ValueUnit.BARS:
            return ["from_…_ns"] if row is None else _bar_names(column.value(row))
    suffix = _SUFFIXES.get(column.unit, "")
    own = name if name.endswith(suffix.lstrip("_")) else f"{name}{suffix}"
    return [own, *(_csv_names(header, column.otherwise) if column.otherwise else [])]


def _bar_names(bars: Any) -> list[str]:
    return [f"from_{bars.begin + at * bars.width}_ns" for at in range(len(bars.values))]


def _csv(column: AnswerColumn[Any], row: object) -> list[object]:
    value: Any = column.value(row)
    match column.unit:
        case ValueUnit.NS_RANGE | ValueUnit.RATIO_RANGE:
            return [None, None] if value is None else [value.low, value.high]
        case ValueUnit.BARS:
            return list(value.values)
        case ValueUnit.NS_EACH:
            return [" + ".join(map(str, value))]
        case ValueUnit.CPUS:
            return [format_cpus(value)]
    return [value, *(_csv(column.otherwise, row) if column.otherwise else [])]


_SUFFIXES = {
    ValueUnit.NS: "_ns",
    ValueUnit.NS_EACH: "_ns",
    ValueUnit.MOMENT: "_ns",
    ValueUnit.JIFFIES: "_jiffies",
    ValueUnit.BYTES: "_bytes",
    ValueUnit.BYTES_PER_SECOND: "_bytes_per_s",
    ValueUnit.SIZE: "_bytes",
    ValueUnit.EVENTS_PER_SECOND: "_per_s",
}


def _headed(columns: Sequence[AnswerColumn[Any]]) -> Iterator[tuple[str, AnswerColumn[Any]]]:
    """Columns with their whole headers, each in one line."""
    above = ""
    for column in columns:
        first, broken, below = column.header.partition("\n")
        above = first if broken and first else above
        whole = column.header if first else f"{above}\n{below}"
        yield whole.replace("-\n", "").replace("\n", " "), column


def _identifier(header: str) -> str:
    """``Wake-ups/s`` → ``wake_ups_per_s``."""
    spelt = header.replace("/s", " per s").lower()
    return re.sub(r"[^a-z0-9]+", "_", spelt).strip("_")


# -- what a query gave -----------------------------------------------------------------------------


def query_table(answer: QueryAnswer, remarks: Sequence[str]) -> Table:
    """What a query gave."""
    from benchvise.trace.query import sql_text  # late, as it imports DuckDB

    numeric = [_is_numeric(kind) for kind in answer.types]
    names = zip(answer.columns, numeric, strict=True)
    columns = tuple(Head(name, right=right) for name, right in names)
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
    return csv_text(answer.columns, rows)


def _is_numeric(kind: str) -> bool:
    return kind.startswith(("NUMBER", "DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith("INT")
