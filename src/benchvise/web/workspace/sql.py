"""SQL over the tables of a trace, bounded, with the rows of the answer tied to the time line."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pyarrow as pa

from benchvise.errors import UsageError
from benchvise.flows.trace_analyses import Loaded
from benchvise.text import printable
from benchvise.trace.query import Answer, Limits, Tables, ask
from benchvise.web.workspace.asking import Asking, head

LIMITS = Limits(rows=1000, seconds=10, memory_mb=512)

SQL_LIMIT = 20_000
"""Characters of a query."""

_MOMENTS = ("time", "begin", "ready", "ran", "queued", "issued", "completed", "end")
"""Columns by which a row is found on the time line: the first that there is."""

_EXACT = 1 << 53
"""Whole numbers beyond it are given as texts: JavaScript has no other way to keep them."""

_CELL = 2000


def answer(loaded: Loaded, asking: Asking, sql: str) -> dict[str, Any]:
    """``query``: what one query gives, at most ``LIMITS.rows`` rows.

    The table ``selection`` has one row, ``begin`` and ``end`` of the part that is asked about, in
    the clock of the other tables. ``times`` has for each row when it was, in ns since the first
    event, if a column says so.

    Raises:
        UsageError: it is no query, names what is not there, or needs more than it may use.
    """
    if len(sql) > SQL_LIMIT:
        raise UsageError(f"the query has {len(sql)} characters", f"at most {SQL_LIMIT}")
    part = asking.part(loaded)
    span = part.analysis.span
    selection = pa.table({"begin": [span.begin], "end": [span.end]})
    began = monotonic()
    found = ask(part.trace, sql, LIMITS, {"selection": selection})
    return {
        **head(part),
        "columns": [
            {"name": printable(name), "type": kind}
            for name, kind in zip(found.columns, found.types, strict=True)
        ],
        "rows": [[_plain(value) for value in row] for row in found.rows],
        "times": _times(part, found),
        "more": found.more,
        "seconds": monotonic() - began,
    }


def tables(loaded: Loaded, _asking: Asking) -> dict[str, Any]:
    """``tables``: what can be asked, with columns."""
    listed = Tables(loaded.trace).listing()
    return {
        "tables": [
            {
                "name": printable(one.name),
                "kind": one.kind,
                "rows": one.rows,
                "columns": printable(one.columns, _CELL),
            }
            for one in listed[:2000]
            if one.rows != 0
        ]
        + [{"name": "selection", "kind": "trace", "rows": 1, "columns": "begin, end"}]
    }


def _times(part: Loaded, found: Answer) -> list[int | None] | None:
    whole = part.analysis.whole
    for name in _MOMENTS:
        if name in found.columns:
            at = found.columns.index(name)
            if found.types[at] == "NUMBER" or "INT" in found.types[at]:
                return [_moment(row[at], whole.begin, whole.end) for row in found.rows]
    return None


def _moment(value: Any, first: int, last: int) -> int | None:
    inside = isinstance(value, int) and first <= value <= last
    return value - first if inside else None


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
