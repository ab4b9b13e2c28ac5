"""The events of a trace: a log in order of time, and a search in names and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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

# -- the log ---------------------------------------------------------------------------------------


_PAGE = 200
_MOST = 1000
_VALUE = 200
_FIELDS = 60
_UNKNOWN_CPU = 65535


def log(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
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


# -- the search ------------------------------------------------------------------------------------


_NAMES = 50
_HITS = 200
_SECONDS = 3.0
_OPERATORS = "=<>~"
_LIKE = 1000


def search(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``search``: for a text in names and in texts that events carry, or for ``field==value``.

    ``hits`` are the first events in the span, in order of time; ``found`` how many there are.
    ``complete`` is False when time was up before every event had been looked at.

    Raises:
        UsageError: nothing is asked for, or no event has such a field.
    """
    part = query.part(loaded)
    text = query.text("text")
    if not text:
        raise UsageError("nothing to search for", "say text=")
    condition = any(operator in text for operator in _OPERATORS)
    hits, total, complete = _values(part, text, condition=condition)
    return {
        **head(part),
        "actors": [] if condition else _actors(part, text),
        "events": [] if condition else _events(part, text),
        "hits": _hit_documents(part, hits),
        "found": total,
        "complete": complete,
    }


def names(loaded: LoadedTrace, _query: TraceQuery) -> dict[str, Any]:
    """``names``: what can be asked for: actors by the names they share, events with fields."""
    counts = loaded.trace.counts
    kinds = [kind for kind in loaded.trace.description["events"] if counts.get(kind["name"])]
    kinds.sort(key=lambda kind: -counts[kind["name"]])
    groups = list(dict.fromkeys(actor.group for actor in loaded.choose([])))
    return {
        "actors": groups[:_LIKE],
        "events": [
            {
                "name": kind["name"],
                "count": counts[kind["name"]],
                "fields": [field["name"] for field in kind["fields"][:_NAMES]],
            }
            for kind in kinds[:_LIKE]
        ],
    }


def _actors(part: LoadedTrace, text: str) -> list[dict[str, Any]]:
    """Actors whose label holds the text, the busiest first."""
    analysis = part.analysis
    near = [actor for actor in analysis.actors if text.lower() in actor.label.lower()]
    if not near:
        return []
    busy = np.bincount(
        analysis.instances["actor"],
        weights=analysis.instances["execution"],
        minlength=len(analysis.actors),
    )
    first = analysis.tables["actors"].column("first")
    near.sort(key=lambda actor: -busy[actor.id])
    return [
        {
            "actor": actor.id,
            "name": actor.label,
            "kind": actor.kind,
            "busy": int(busy[actor.id]),
            "first": first[actor.id].as_py() - analysis.whole.begin,
        }
        for actor in near[:_NAMES]
    ]


def _events(part: LoadedTrace, text: str) -> list[dict[str, Any]]:
    counts = part.trace.counts
    near = [name for name in counts if text.lower() in name.lower()]
    near.sort(key=lambda name: -counts[name])
    return [{"name": name, "count": counts[name]} for name in near[:_NAMES]]


@dataclass(frozen=True, slots=True, order=True)
class _Hit:
    """An event that carries a value; in order of time."""

    time: int
    row: int
    event: str
    cpu: int
    text: str


def _values(part: LoadedTrace, text: str, *, condition: bool) -> tuple[list[_Hit], int, bool]:
    """The first events that carry a value, how many there are, and whether all were searched."""
    until = monotonic() + _SECONDS
    conditions = parse_conditions(text, text) if condition else ()
    span = part.analysis.span
    hits: list[_Hit] = []
    total, fitting = 0, 0
    refused: UsageError | None = None
    # The small tables first: when time is up, few kinds of events are left out.
    for name in sorted(part.trace.counts, key=lambda name: part.trace.counts[name]):
        if monotonic() > until:
            return hits, total, False
        table = part.trace.tables[name]
        try:
            columns = _columns(table, text, conditions, name)
        except UsageError as error:
            refused = error
            continue
        times = integers(table.column("time"))
        inside = (times >= span.begin) & (times < span.end)
        for field, matching in columns:
            fitting += 1
            rows = np.flatnonzero(matching & inside)
            total += rows.size
            hits += _first(table, name, field, rows, times)
    if condition and not fitting:
        raise refused or UsageError(f"no event of the trace has the field of {text[:200]}", "")
    return hits, total, True


def _columns(
    table: pa.Table, text: str, conditions: Sequence[FieldCondition], event: str
) -> list[tuple[str, Bools]]:
    """By field: which events of a table are meant."""
    if conditions:
        if not all(condition.field in table.column_names for condition in conditions):
            return []
        matching = np.ones(table.num_rows, dtype=np.bool_)
        for condition in conditions:
            matching &= booleans(meets(table, condition, f"event:{event}"))
        return [(conditions[0].field, matching)]
    texts = [
        name
        for name in table.column_names
        if pa.types.is_string(table.column(name).type)
        or pa.types.is_large_string(table.column(name).type)
    ]
    return [
        (name, booleans(pc.match_substring(table.column(name), text, ignore_case=True)))
        for name in texts
    ]


def _first(table: pa.Table, event: str, field: str, rows: Ints, times: Ints) -> list[_Hit]:
    """The first hits of one field."""
    if rows.size > _HITS:
        rows = rows[np.argpartition(times[rows], _HITS)[:_HITS]]
    values, cpu = table.column(field), table.column("cpu")
    return [
        _Hit(int(times[row]), int(row), event, cpu[row].as_py(), f"{field}={values[row].as_py()}")
        for row in rows.tolist()
    ]


def _hit_documents(part: LoadedTrace, hits: Sequence[_Hit]) -> list[dict[str, Any]]:
    origin = part.analysis.whole.begin
    return [
        {
            "time": hit.time - origin,
            "event": hit.event,
            "cpu": hit.cpu,
            "says": printable(hit.text, 200),
        }
        for hit in sorted(hits)[:_HITS]
    ]
