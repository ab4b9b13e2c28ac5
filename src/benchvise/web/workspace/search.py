"""Searching a trace: actors and events by name, and the values that events carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency.ends import FieldCondition, booleans, meets, parse_conditions
from benchvise.trace.analysis.model import Bools, Ints, integers
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head

_NAMES = 50
_HITS = 200
_SECONDS = 3.0
_OPERATORS = "=<>~"
_LIKE = 1000


def answer(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
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
