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
from benchvise.text import printable
from benchvise.trace.catalogue.record import (
    AnswerTable,
    Bars,
    Column,
    Conclusion,
    Unit,
)

if TYPE_CHECKING:
    from benchvise.trace.query import QueryAnswer

_ACTOR = 60
_BLOCKS = "▁▂▃▄▅▆▇█"
_LEFT = frozenset({Unit.TEXT, Unit.ACTOR, Unit.STAGE, Unit.NS_EACH, Unit.BARS})
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
    return Cell(conclusion.text, conclusion.emphasis)


def _cell(column: Column[Any], row: object) -> Cell:
    value = column.value(row)
    if value is None and column.otherwise is not None:
        return _cell(column.otherwise, row)
    if value is None:
        return Cell(ABSENT, "muted")
    emphasis = column.emphasis if isinstance(column.emphasis, str) else column.emphasis(row)
    if emphasis == "plain" and column.unit in (Unit.COUNT, Unit.SHARE) and not value:
        emphasis = "muted"
    return Cell(_text(column.unit, value), emphasis)


def _text(unit: Unit, value: Any) -> str:
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


_WRITERS: dict[Unit, Callable[[Any], str]] = {
    Unit.TEXT: str,
    Unit.ACTOR: lambda name: printable(name, _ACTOR),
    Unit.STAGE: str,
    Unit.NUMBER: lambda value: f"{value:.0f}" if isinstance(value, float) else str(value),
    Unit.COUNT: format_count,
    Unit.NS: lambda time: format_value(time, "ns"),
    Unit.NS_EACH: lambda times: " + ".join(format_value(time, "ns") for time in times),
    Unit.NS_RANGE: lambda bounds: format_range(bounds.low, bounds.high, "ns"),
    Unit.MOMENT: format_clock,
    Unit.JIFFIES: lambda count: f"{count:g} jiffies",
    Unit.SHARE: _share,
    Unit.PER_SECOND: lambda rate: format_value(rate, ""),
    Unit.EVENTS_PER_SECOND: lambda rate: format_value(rate, "1/s"),
    Unit.BYTES: lambda size: format_value(size, "B"),
    Unit.BYTES_PER_SECOND: lambda rate: format_value(rate, "B/s"),
    Unit.SIZE: format_size,
    Unit.CPUS: format_cpus,
    Unit.RATIO: format_change,
    Unit.RATIO_RANGE: lambda bounds: f"{bounds.low:.3f} to {bounds.high:.3f}",
    Unit.EFFECT: lambda effect: f"{effect:+.2f}",
    Unit.BARS: _bars,
}


# -- CSV -------------------------------------------------------------------------------------------


def answer_csv(tables: Iterable[AnswerTable[Any]]) -> str:
    """All rows of tables of one shape as RFC 4180 has it; what is not known is empty.

    Values are as they are: times in ns, moments in ns of the trace's clock, shares of one.
    """
    columns: Sequence[Column[Any]] = ()
    lines: list[list[object]] = []
    names: list[str] = []
    for table in tables:
        columns = table.shape.columns
        for row in table.rows:
            pairs = list(_named_values(columns, row))
            names = names or [name for name, _ in pairs]
            lines.append([value for _, value in pairs])
    return csv_text(names or [name for name, _ in _names(columns)], lines)


def _named_values(columns: Sequence[Column[Any]], row: object) -> Iterator[tuple[str, object]]:
    for name, column in _names(columns):
        value: Any = column.value(row)
        match column.unit:
            case Unit.NS_RANGE | Unit.RATIO_RANGE:
                unit = "_ns" if column.unit is Unit.NS_RANGE else ""
                yield f"{name}_low{unit}", None if value is None else value.low
                yield f"{name}_high{unit}", None if value is None else value.high
            case Unit.BARS:
                for number, height in enumerate(value.values):
                    yield f"from_{value.begin + number * value.width}_ns", height
            case Unit.NS_EACH:
                yield name, " + ".join(map(str, value))
            case Unit.CPUS:
                yield name, format_cpus(value)
            case _:
                yield name, value


_SUFFIXES = {
    Unit.NS: "_ns",
    Unit.NS_EACH: "_ns",
    Unit.MOMENT: "_ns",
    Unit.JIFFIES: "_jiffies",
    Unit.BYTES: "_bytes",
    Unit.BYTES_PER_SECOND: "_bytes_per_s",
    Unit.SIZE: "_bytes",
    Unit.EVENTS_PER_SECOND: "_per_s",
}


def _names(columns: Sequence[Column[Any]]) -> Iterator[tuple[str, Column[Any]]]:
    """Columns with their names in CSV, made of their headers; both of one that has another."""
    for header, column in _headed(columns):
        name = column.key or _identifier(header)
        for variant in filter(None, (column, column.otherwise)):
            yield f"{name}{_suffix(name, variant.unit)}", variant


def _headed(columns: Sequence[Column[Any]]) -> Iterator[tuple[str, Column[Any]]]:
    """Columns with their whole headers, each in one line."""
    above = ""
    for column in columns:
        first, broken, below = column.header.partition("\n")
        above = first if broken and first else above
        whole = column.header if first else f"{above}\n{below}"
        yield whole.replace("-\n", "").replace("\n", " "), column


def _suffix(name: str, unit: Unit) -> str:
    suffix = _SUFFIXES.get(unit, "")
    return "" if name.endswith(suffix) else suffix


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
