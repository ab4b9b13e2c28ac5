"""One item of the timeline: whose it is, its activation, and the events in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchvise.documents import encode
from benchvise.trace.analysis.actors import describe
from benchvise.trace.analysis.model import NONE, Analysis
from benchvise.trace.levels import TimelineItem, TimelineRow
from benchvise.web.workspace.served import ServedTrace

_MOST_EVENTS = 200
"""Events that are listed: the log shows them all."""

_NEAR = 4096
_RAN = frozenset({"running", "irq", "softirq", "idle"})
_IN_TURN = frozenset({"runnable", "preempted"})
"""States in which an instance is under way, though it does not run."""


def item_document(trace: ServedTrace, row: TimelineRow, time: int) -> dict[str, Any]:
    """What a row shows at a time, in ns since the first event; ``item`` is None for nothing."""
    analysis = trace.loaded.analysis
    item = trace.levels.at(row.id, time)
    document: dict[str, Any] = {"row": row.id, "t": time, "item": None}
    if item is None:
        return document
    actor = analysis.actors[item.actor]
    fragment = _fragment(analysis, row, item, time + trace.origin)
    cpu = row.cpu if fragment is None else int(analysis.fragments["cpu"][fragment])
    instance = _instance(analysis, item, fragment, time + trace.origin)
    document["item"] = {
        "begin": item.begin,
        "end": item.end,
        "state": item.state,
        "cpu": cpu,
        "actor": {
            "id": actor.id,
            "kind": actor.kind,
            "name": actor.name,
            "label": actor.label,
            "tid": actor.tid,
            "process": actor.process,
            "priority": actor.priority,
        },
    }
    document["instance"] = None if instance is None else _instance_document(trace, instance)
    document["events"] = _events(trace, item, cpu) if item.state in _RAN else None
    return document


def _fragment(analysis: Analysis, row: TimelineRow, item: TimelineItem, time: int) -> int | None:
    """The span on a CPU that an item is, or is a part of."""
    if item.state not in _RAN:
        return None
    rows = analysis.fragments
    ends = rows["end"]
    first = int(np.searchsorted(ends, time, side="left"))
    for last in (first + _NEAR, ends.size):
        part = slice(first, last)
        fits = (rows["actor"][part] == item.actor) & (rows["begin"][part] <= time)
        if row.cpu is not None:
            fits &= rows["cpu"][part] == row.cpu
        matching = np.flatnonzero(fits)
        if matching.size:
            # Of one that ends just then and one that begins, the latter is item.
            latest = matching[np.argmax(rows["begin"][part][matching])]
            return first + int(latest)
    return None


def _instance(
    analysis: Analysis, item: TimelineItem, fragment: int | None, time: int
) -> int | None:
    rows = analysis.instances
    if fragment is not None:
        instance = int(analysis.fragments["instance"][fragment])
        return instance if instance < len(rows) else None
    if item.state not in _IN_TURN:
        return None
    since = np.where(rows["ready"] == NONE, rows["begin"], rows["ready"])
    fits = (rows["actor"] == item.actor) & (since <= time) & (time <= rows["end"])
    last = np.flatnonzero(fits)
    return int(last[-1]) if last.size else None


def _instance_document(trace: ServedTrace, instance: int) -> dict[str, Any]:
    analysis = trace.loaded.analysis
    document: dict[str, Any] = encode(describe(analysis, np.array([instance]))[0])
    for name in ("begin", "end", "ready"):
        if document[name] is not None:
            document[name] -= trace.origin
    cause, at = int(analysis.instances["cause"][instance]), analysis.instances["cause_time"]
    document["waker"] = None
    if cause != NONE:
        waker = analysis.actors[int(analysis.instances["actor"][cause])]
        document["waker"] = {
            "actor": waker.id,
            "name": waker.name,
            "label": waker.label,
            "instance": cause,
            "time": None if int(at[instance]) == NONE else int(at[instance]) - trace.origin,
        }
    return document


def _events(trace: ServedTrace, item: TimelineItem, cpu: int | None) -> dict[str, Any]:
    """The events of the item's CPU from its begin to its end, the first of them listed."""
    index, types = trace.trace.index, trace.trace.outline["events"]
    times = index["time"].to_numpy()
    first = int(np.searchsorted(times, item.begin + trace.origin, side="left"))
    last = int(np.searchsorted(times, item.end + trace.origin, side="right"))
    part = index.slice(first, last - first)
    here = np.flatnonzero(part["cpu"].to_numpy() == cpu)
    kinds = part["event"].to_numpy()
    listed = [
        {
            "time": int(times[first + at]) - trace.origin,
            "event": types[int(kinds[at])],
            "index": first + int(at),
        }
        for at in here[:_MOST_EVENTS]
    ]
    return {"count": int(here.size), "listed": listed}
