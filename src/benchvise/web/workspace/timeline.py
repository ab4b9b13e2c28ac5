"""A trace on a timeline: rows, what is drawn of them, one item, marks, losses, the mini-map.

Times are nanoseconds since the trace's first event. What is drawn stands for buckets of ``2**k``
ns, a pixel or a little less; crates/tracelevels says what stands for all of a bucket.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from starlette.requests import Request

from benchvise.documents import encode
from benchvise.trace.analysis.actors import describe
from benchvise.trace.analysis.model import NONE, Analysis
from benchvise.trace.levels import TimelineItem, TimelineRow, shift_of, states
from benchvise.web.context import context
from benchvise.web.timeline import TimelinePart, timeline_routes
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


_UNKNOWN_CPU = 65535


@dataclass(frozen=True, slots=True)
class TraceTimeline:
    """The ``TimelineSource`` of a trace."""

    served: ServedTrace

    @property
    def tag(self) -> str:
        """Changes with the trace's content, and with the decoder."""
        return self.served.tag

    @property
    def row_count(self) -> int:
        """CPUs, threads and handlers."""
        return self.served.levels.row_count

    @property
    def info_headers(self) -> Mapping[str, str]:
        """How long ago the trace was decoded: what came since is the timeline's."""
        ago = (time.monotonic() - self.served.since) * 1e3
        return {"Server-Timing": f"since-decoded;dur={ago:.0f}"}

    def info(self) -> dict[str, Any]:
        """What the trace is, and what must be known of it."""
        trace = self.served
        loaded, outline = trace.loaded, trace.trace.outline
        return {
            "name": trace.path.name,
            "format": outline["format"],
            "clock": outline["clock"],
            "environment": dict(outline["environment"]),
            "origin": str(trace.origin),
            "duration": trace.whole.end - trace.origin,
            "events": trace.trace.events,
            "cpus": loaded.analysis.cpus,
            "actors": len(loaded.analysis.actors),
            "losses": len(trace.trace.losses),
            "damage": [place["what"] for place in trace.trace.damage],
            "remarks": [*trace.trace.notes, *trace.trace.remarks],
            "cautions": list(loaded.cautions),
            "states": states(),
            "event_types": list(outline["events"]),
            "tag": trace.tag,
        }

    def rows(self) -> list[dict[str, Any]]:
        """The rows in the order in which they are shown."""
        trace = self.served
        return [
            {
                "id": row.id,
                "kind": row.kind,
                "name": row.name,
                "cpu": row.cpu,
                "tid": row.tid,
                "actor": row.actor,
                "busy": row.busy,
                "instances": row.instances,
                "first": row.first,
                "last": row.last,
            }
            for row in trace.rows
        ]

    def losses(self) -> list[dict[str, Any]]:
        """Where events are missing, as far as it lies within the trace."""
        trace = self.served
        duration = trace.whole.end - trace.origin
        return [
            {
                "begin": 0 if loss.begin is None else _within(loss.begin - trace.origin, duration),
                "end": duration if loss.end is None else _within(loss.end - trace.origin, duration),
                "cpu": loss.cpu,
                "count": loss.count,
                "kind": loss.what,
            }
            for loss in trace.loaded.analysis.losses
        ]

    def levels(self, part: TimelinePart) -> pa.Table:
        """What is drawn of rows: ``row, begin, end, actor, state, count, ran``."""
        trace = self.served
        begin, end = part.nanoseconds
        shift = shift_of(begin, end, part.width)
        return trace.levels.items(part.rows, begin, end, shift)

    def events(self, part: TimelinePart) -> pa.Table:
        """Marks of events: ``row, time, event, count, index``.

        The metadata's ``shown`` is ``rare`` when there are too many events to tell others than
        those of rare types.
        """
        trace = self.served
        begin, end = part.nanoseconds
        shift = shift_of(begin, end, part.width)
        marks, only_rare = trace.levels.marks(part.rows, begin, end, shift)
        return marks.replace_schema_metadata({"shown": "rare" if only_rare else "all"})

    def overview(self, width: int) -> pa.Table:
        """The mini-map: ``begin``, ``events`` of all CPUs, and the shares ``cpu0``, ``cpu1``, ….

        Shares of time are in order of the CPUs' numbers, which the metadata's ``cpus`` tells.
        """
        trace = self.served
        table = trace.levels.overview(width)
        cpus = table["cpu"].to_numpy()
        numbers = np.unique(cpus)
        buckets = table.num_rows // max(1, numbers.size)
        busy = table["busy"].to_numpy().reshape(numbers.size, buckets).astype(np.float32)
        seen = table["events"].to_numpy().reshape(numbers.size, buckets)
        ran = [int(cpu) for cpu in numbers if cpu != _UNKNOWN_CPU]
        columns = {
            "begin": table["begin"].to_numpy()[:buckets],
            "events": seen.sum(axis=0, dtype=np.float64),
            **{f"cpu{at}": busy[at] for at in range(len(ran))},
        }
        metadata = {"cpus": ",".join(map(str, ran))}
        return pa.table(columns).replace_schema_metadata(metadata)

    def item(self, row: int, at: float) -> dict[str, Any]:
        """Everything about what a row shows at ``t``."""
        trace = self.served
        return item_document(trace, trace.rows[row], math.floor(at))


def _within(time: int, duration: int) -> int:
    return min(max(time, 0), duration)


def _find(request: Request) -> TraceTimeline:
    """The trace that an address names. Raises NotFound, TraceError, Busy."""
    return TraceTimeline(context(request).trace(request.path_params["key"]))


routes = timeline_routes("/api/traces/{key}", _find)
