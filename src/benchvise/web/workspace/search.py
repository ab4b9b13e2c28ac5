"""Searching a trace: actors and events by name, and the values that events carry."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchvise.errors import UsageError
from benchvise.flows.trace_analyses import Loaded
from benchvise.text import printable
from benchvise.trace.analysis.latency.ends import meets, parse_conditions
from benchvise.trace.analysis.model import Ints, integers
from benchvise.web.workspace.asking import Asking, head

_NAMES = 50
_HITS = 200
_SECONDS = 3.0
_OPERATORS = "=<>~"
_LIKE = 1000


def answer(loaded: Loaded, asking: Asking) -> dict[str, Any]:
    """``search``: for a text in names and in texts that events carry, or for ``field==value``.

    ``hits`` are the first events in the span, in order of time; ``found`` how many there are.
    ``complete`` is False when time was up before every event had been looked at.

    Raises:
        UsageError: nothing is asked for, or no event has such a field.
    """
    part = asking.part(loaded)
    text = asking.text("text")
    if not text:
        raise UsageError("nothing to search for", "say text=")
    condition = any(operator in text for operator in _OPERATORS)
    hits, found, complete = _values(part, text, condition=condition)
    return {
        **head(part),
        "actors": [] if condition else _actors(part, text),
        "events": [] if condition else _events(part, text),
        "hits": hits,
        "found": found,
        "complete": complete,
    }


def names(loaded: Loaded, _asking: Asking) -> dict[str, Any]:
    """``names``: what can be asked for: actors by the names they share, events with fields."""
    counts = loaded.trace.counts
    kinds = [kind for kind in loaded.trace.description["events"] if counts.get(kind["name"])]
    kinds.sort(key=lambda kind: -counts[kind["name"]])
    groups = list(dict.fromkeys(printable(actor.group) for actor in loaded.chosen([])))
    return {
        "actors": groups[:_LIKE],
        "events": [
            {
                "name": printable(kind["name"]),
                "count": counts[kind["name"]],
                "fields": [printable(field["name"]) for field in kind["fields"][:_NAMES]],
            }
            for kind in kinds[:_LIKE]
        ],
    }


def _actors(part: Loaded, text: str) -> list[dict[str, Any]]:
    """Actors whose label holds the text, the busiest first."""
    analysis = part.analysis
    near = [one for one in analysis.actors if text.lower() in one.label.lower()]
    if not near:
        return []
    mine = np.bincount(
        analysis.instances["actor"],
        weights=analysis.instances["execution"],
        minlength=len(analysis.actors),
    )
    first = analysis.tables["actors"].column("first")
    near.sort(key=lambda one: -mine[one.id])
    return [
        {
            "actor": one.id,
            "name": printable(one.label),
            "kind": one.kind,
            "busy": int(mine[one.id]),
            "first": first[one.id].as_py() - analysis.whole.begin,
        }
        for one in near[:_NAMES]
    ]


def _events(part: Loaded, text: str) -> list[dict[str, Any]]:
    counts = part.trace.counts
    near = [name for name in counts if text.lower() in name.lower()]
    near.sort(key=lambda name: -counts[name])
    return [{"name": printable(name), "count": counts[name]} for name in near[:_NAMES]]


def _values(part: Loaded, text: str, *, condition: bool) -> tuple[list[dict[str, Any]], int, bool]:
    """The first events that carry a value, how many there are, and whether all were looked at."""
    until = monotonic() + _SECONDS
    conditions = parse_conditions(text, text) if condition else ()
    span = part.analysis.span
    found: list[tuple[int, int, str, int, str]] = []
    total, looked, fitting = 0, 0, 0
    refused: UsageError | None = None
    # The small tables first: when time is up, few kinds of events are left out.
    for name in sorted(part.trace.counts, key=lambda one: part.trace.counts[one]):
        if monotonic() > until:
            return _described(part, found), total, False
        table = part.trace.tables[name]
        looked += 1
        try:
            columns = _columns(table, text, conditions, name)
        except UsageError as error:
            refused = error
            continue
        times = integers(table.column("time"))
        inside = (times >= span.begin) & (times < span.end)
        for field, good in columns:
            fitting += 1
            rows = np.flatnonzero(good & inside)
            total += rows.size
            found += _first(table, name, field, rows, times)
    if condition and not fitting:
        raise refused or UsageError(f"no event of the trace has the field of {text[:200]}", "")
    return _described(part, found), total, True


def _columns(
    table: pa.Table, text: str, conditions: Any, event: str
) -> list[tuple[str, np.ndarray]]:
    """By field: which events of a table are meant."""
    if conditions:
        if not all(one.field in table.column_names for one in conditions):
            return []
        good = np.ones(table.num_rows, dtype=np.bool_)
        for one in conditions:
            good &= _booleans(meets(table, one, f"event:{event}"))
        return [(conditions[0].field, good)]
    texts = [
        name
        for name in table.column_names
        if pa.types.is_string(table.column(name).type)
        or pa.types.is_large_string(table.column(name).type)
    ]
    return [
        (name, _booleans(pc.match_substring(table.column(name), text, ignore_case=True)))
        for name in texts
    ]


def _booleans(column: Any) -> np.ndarray:
    return np.asarray(pc.fill_null(column, False).to_numpy()).astype(np.bool_)


def _first(
    table: pa.Table, event: str, field: str, rows: Ints, times: Ints
) -> list[tuple[int, int, str, int, str]]:
    """The first hits of one field: (time, row, event, cpu, what it says)."""
    if rows.size > _HITS:
        rows = rows[np.argpartition(times[rows], _HITS)[:_HITS]]
    said, cpu = table.column(field), table.column("cpu")
    return [
        (int(times[row]), int(row), event, cpu[row].as_py(), f"{field}={said[row].as_py()}")
        for row in rows.tolist()
    ]


def _described(part: Loaded, found: list[tuple[int, int, str, int, str]]) -> list[dict[str, Any]]:
    origin = part.analysis.whole.begin
    return [
        {
            "time": time - origin,
            "event": printable(event),
            "cpu": cpu,
            "says": printable(says, 200),
        }
        for time, _, event, cpu, says in sorted(found)[:_HITS]
    ]
