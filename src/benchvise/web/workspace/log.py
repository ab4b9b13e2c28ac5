"""The event log: all events in order of time, or those of some kinds, actors, CPUs and values."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency.ends import (
    FieldCondition,
    booleans,
    meets,
    parse_conditions,
    running,
)
from benchvise.trace.analysis.model import Analysis, Bools, Ints, TraceSpan, integers
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head

_PAGE = 200
_MOST = 1000
_VALUE = 200
_FIELDS = 60
_UNKNOWN_CPU = 65535


def answer(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``log``: a page of the events that are asked for, each with its fields as texts.

    ``event`` are names or patterns, ``actor`` those in whose context it happened, ``field``
    conditions as in ``prev_comm==make``. ``index`` of an event is its place in the time index.
    With ``at`` the page is the one that begins a little before that moment.
    """
    part = query.part(loaded)
    rows = matching_events(part, query)
    limit = query.whole("limit", _PAGE, 1, _MOST)
    offset = query.whole("offset", 0, 0, 1 << 40)
    at = query.moment("at", part)
    times = integers(part.trace.index.column("time"))
    if at is not None:
        offset = max(0, int(np.searchsorted(times[rows], at)) - limit // 4)
    page = rows[offset : offset + limit]
    return {
        **head(part),
        "total": int(rows.size),
        "offset": min(offset, int(rows.size)),
        "limit": limit,
        "events": event_documents(part, page),
    }


def matching_events(part: LoadedTrace, query: TraceQuery) -> Ints:
    """The places in the time index of what is asked for, in order of time."""
    index = part.trace.index
    times = integers(index.column("time"))
    span = part.analysis.span
    first, last = np.searchsorted(times, [span.begin, span.end])
    rows: Ints = np.arange(first, last)
    if names := query.items("event"):
        numbers = _event_numbers(part, names)
        kinds = integers(index.column("event").slice(first, last - first))
        rows = rows[np.isin(kinds, numbers)]
    if cpus := query.items("cpu"):
        rows = rows[np.isin(_taken(index, "cpu", rows), [_number(cpu) for cpu in cpus])]
    if text := query.text("field"):
        rows = rows[_meeting(part, rows, parse_conditions(text, text))]
    if query.items("actor"):
        rows = _of_actors(part.analysis, index, rows, [actor.id for actor in query.actors(part)])
    return rows


def event_documents(part: LoadedTrace, rows: Ints) -> list[dict[str, Any]]:
    """Events in full, by their places in the time index."""
    if rows.size == 0:
        return []
    index = part.trace.index
    times, cpus = _taken(index, "time", rows), _taken(index, "cpu", rows)
    events, places = _taken(index, "event", rows), _taken(index, "row", rows)
    analysis = part.analysis
    around = analysis.asked_about(TraceSpan(int(times.min()), int(times.max()) + 1)).sliced()
    context = running(around, cpus, times)
    kinds = part.trace.outline["events"]
    origin = analysis.whole.begin
    documents = []
    for at in range(rows.size):
        name = kinds[events[at]]
        actor = int(analysis.instances["actor"][context[at]]) if context[at] >= 0 else None
        documents.append(
            {
                "index": int(rows[at]),
                "time": int(times[at]) - origin,
                "cpu": None if cpus[at] == _UNKNOWN_CPU else int(cpus[at]),
                "event": name,
                "actor": actor,
                "actor_name": None if actor is None else analysis.actors[actor].label,
                "fields": _fields(part.trace.tables[name], int(places[at])),
            }
        )
    return documents


def _fields(table: pa.Table, row: int) -> list[list[str]]:
    names = [name for name in table.column_names if name not in ("time", "cpu")]
    return [
        [name, printable(_text(table.column(name)[row].as_py()), _VALUE)]
        for name in names[:_FIELDS]
    ]


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _taken(index: pa.Table, column: str, rows: Ints) -> Ints:
    taken: Ints = index.column(column).to_numpy()[rows].astype(np.int64)
    return taken


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"cpu={text[:40]} is no CPU", "say its number")
    return int(text)


def _event_numbers(part: LoadedTrace, names: Sequence[str]) -> list[int]:
    """The places of event types in the description.

    Raises:
        UsageError: a name means none of them.
    """
    types = part.trace.outline["events"]
    chosen: set[int] = set()
    for name in names:
        numbers = {at for at, kind in enumerate(types) if kind == name or fnmatchcase(kind, name)}
        if not numbers:
            raise UsageError(f"the trace has no event {name[:80]}", "the search finds its events")
        chosen |= numbers
    return sorted(chosen)


def _meeting(part: LoadedTrace, rows: Ints, conditions: Sequence[FieldCondition]) -> Bools:
    """Which events have all the fields, and in them what is asked for.

    Raises:
        UsageError: no event among them has the fields, or a value is not of the field's kind.
    """
    index, kinds = part.trace.index, part.trace.outline["events"]
    events, places = _taken(index, "event", rows), _taken(index, "row", rows)
    kept = np.zeros(rows.size, dtype=np.bool_)
    refused: UsageError | None = None
    fitting = 0
    for number in np.unique(events):
        name = kinds[number]
        table = part.trace.tables[name]
        if not all(condition.field in table.column_names for condition in conditions):
            continue
        mine = np.flatnonzero(events == number)
        some = table.take(pa.array(places[mine])) if mine.size < table.num_rows // 4 else table
        where = places[mine] if some is table else np.arange(mine.size)
        try:
            good = np.ones(some.num_rows, dtype=np.bool_)
            for condition in conditions:
                good &= booleans(meets(some, condition, f"event:{name}"))
        except UsageError as error:  # a text in one event may be a number in another
            refused = error
            continue
        fitting += 1
        kept[mine] = good[where]
    if not fitting:
        names = ", ".join(condition.field for condition in conditions)
        raise refused or UsageError(f"no event of these has {names[:200]}", "")
    return kept


def _of_actors(analysis: Analysis, index: pa.Table, rows: Ints, actors: Sequence[int]) -> Ints:
    """The events that happened while one of the actors ran, and nothing was nested in it."""
    fragments = analysis.sliced().fragments
    mine = np.flatnonzero(np.isin(fragments["actor"], actors))
    times = _taken(index, "time", rows)
    first = np.searchsorted(times, fragments["begin"][mine], side="left")
    last = np.searchsorted(times, fragments["end"][mine], side="right")
    # All events within the spans of the actors, on whatever CPU: few enough to look at one by one.
    count = last - first
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(first, count) + offset
    cpu = _taken(index, "cpu", rows[at])
    at = np.unique(at[cpu == np.repeat(fragments["cpu"][mine], count)])
    if at.size == 0:
        return at
    span = TraceSpan(int(times[at[0]]), int(times[at[-1]]) + 1)
    around = analysis.asked_about(span).sliced()
    context = running(around, _taken(index, "cpu", rows[at]), times[at])
    known = context >= 0
    inside = np.zeros(at.size, dtype=np.bool_)
    inside[known] = np.isin(analysis.instances["actor"][context[known]], actors)
    found: Ints = rows[at[inside]]
    return found
