"""SQL over the tables of a trace, bounded, with the rows of the answer tied to the timeline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import duckdb

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.query import (
    ListedTable,
    QueryAnswer,
    QueryTables,
    ask,
)
from benchvise.trace.query_document import QueryColumn
from benchvise.trace.query_limits import QueryLimits
from benchvise.trace.tables import table_of, wholes
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

SQL_LIMIT = 20_000
"""Characters of a query."""

_MOMENTS = ("time", "begin", "ready", "ran", "queued", "issued", "completed", "end")
"""Columns by which a row is found on the timeline: the first that there is."""

_EXACT = 1 << 53
"""Whole numbers beyond it are given as texts: JavaScript has no other way to keep them."""

_CELL = 2000


@dataclass(frozen=True, slots=True)
class TimedRows:
    """What a query gave. ``times`` has for each row when it was, in ns since the first event, if a
    column says so; ``more`` that there were rows beyond the limit."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    columns: tuple[QueryColumn, ...]
    rows: list[list[object]]
    times: list[int | None] | None
    more: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class TableList:
    """The tables that may be asked for, with their columns."""

    tables: tuple[ListedTable, ...]


def query_answer(
    loaded: LoadedTrace,
    query: TraceQuery,
    sql: str,
    limits: QueryLimits,
    database: duckdb.DuckDBPyConnection | None = None,
) -> TimedRows:
    """``query``: what one query gives, within ``limits``. It uses up ``database``, by default a
    fresh one.

    The table ``selection`` has one row, ``begin`` and ``end`` of the part that is asked about, in
    the clock of the other tables.

    Raises:
        UsageError: it is no query, names what is not there, or needs more than it may use.
    """
    if len(sql) > SQL_LIMIT:
        raise UsageError(f"the query has {len(sql)} characters", f"at most {SQL_LIMIT}")
    part = query.part(loaded)
    span = part.analysis.span
    selection = table_of({"begin": wholes([span.begin]), "end": wholes([span.end])})
    answer = ask(part.trace, sql, limits, {"selection": selection}, database)
    return TimedRows(
        answered_part(part),
        columns=tuple(map(QueryColumn, answer.columns, answer.types)),
        rows=[[_plain(value) for value in row] for row in answer.rows],
        times=_times(part, answer),
        more=answer.more,
        seconds=answer.seconds,
    )


def tables(loaded: LoadedTrace, _query: TraceQuery) -> TableList:
    """``tables``: those that have rows."""
    listed = [
        replace(table, columns=printable(table.columns, _CELL))
        for table in QueryTables(loaded.trace).listing()[:2000]
        if table.rows != 0
    ]
    return TableList((*listed, ListedTable("selection", "trace", 1, "begin, end")))


def _times(part: LoadedTrace, answer: QueryAnswer) -> list[int | None] | None:
    whole = part.analysis.whole
    for name in _MOMENTS:
        if name in answer.columns:
            at = answer.columns.index(name)
            if answer.types[at] == "NUMBER" or "INT" in answer.types[at]:
                return [_moment(row[at], whole.begin, whole.end) for row in answer.rows]
    return None


def _moment(value: object, first: int, last: int) -> int | None:
    return value - first if isinstance(value, int) and first <= value <= last else None


def _plain(value: object) -> object:
    """As JSON and JavaScript can have it."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < _EXACT else str(value)
        case float():
            return value if value - value == 0 else str(value)
        case bytes():
            return printable(value.hex(), _CELL)
        case _:
            return printable(str(value), _CELL)
