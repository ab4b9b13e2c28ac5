"""Latency from any point to any other, with its stages, its shape, and the longest occurrences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency import LatencyHop, LatencyWay, Occurrence
from benchvise.trace.analysis.model import Ints
from benchvise.trace.catalogue.latency import LATENCY, LatencyRequest
from benchvise.trace.catalogue.options import Match
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head, since

_WAYS = 8
_STAGE = 400


def latency(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``latency``: ``from`` one end by ``via`` to another, written as on the command line.

    Raises:
        UsageError: an end is missing, or the trace has nothing that it means.
    """
    part = query.part(loaded)
    start, end = query.text("from"), query.text("to")
    if not start or not end:
        raise UsageError("a latency has two ends", "say from= and to=: irq:NAME, task:NAME, ...")
    request = LatencyRequest(
        file=part.path,
        start=start,
        end=end,
        via=tuple(query.lines("via")),
        match=Match(query.choice("match", tuple(Match))),
        hops=query.whole("hops", 4, 0, 64),
        incomplete=query.flag("unsure"),
        worst=query.whole("worst", 20, 0, 200),
    )
    result = LATENCY.analyse((part,), request)
    return {
        **head(part),
        "hops": [_hop(hop) for hop in result.hops],
        "occurrences": result.occurrences,
        "unsure": result.incomplete,
        "unsure_kept": result.incomplete_kept,
        "total": encode(result.total),
        "ways": [_way(way) for way in result.ways[:_WAYS]],
        "more_ways": max(0, len(result.ways) - _WAYS),
        "steps": steps(result.values),
        "worst": [_occurrence(part, occurrence) for occurrence in result.worst],
    }


def _hop(hop: LatencyHop) -> dict[str, Any]:
    return {**encode(hop), "start": hop.start, "end": hop.end}


def _way(way: LatencyWay) -> dict[str, Any]:
    document = encode(way)
    stages = [{**stage, "name": printable(stage["name"], _STAGE)} for stage in document["stages"]]
    return {**document, "stages": stages}


def _occurrence(loaded: LoadedTrace, occurrence: Occurrence) -> dict[str, Any]:
    return {
        "begin": since(loaded, occurrence.begin),
        "end": since(loaded, occurrence.end),
        "latency": occurrence.latency,
        "begin_cpu": occurrence.begin_cpu,
        "end_cpu": occurrence.end_cpu,
        "end_actor": occurrence.end_actor,
        "actor": _actor(loaded, occurrence),
        "stages": [
            {"name": printable(name, _STAGE), "time": time} for name, time in occurrence.stages
        ],
    }


def _actor(loaded: LoadedTrace, occurrence: Occurrence) -> int | None:
    """The actor that it ended in: of several lives of one thread id, that which was alive then."""
    lives = loaded.analysis.tables["actors"]
    for actor in loaded.analysis.actors:
        if actor.label == occurrence.end_actor:
            first = lives.column("first")[actor.id].as_py()
            last = lives.column("last")[actor.id].as_py()
            if first <= occurrence.end <= last:
                return actor.id
    return None


# -- the shape of many durations -------------------------------------------------------------------


_STEPS = 40
"""About so many over all values, so that a narrow distribution has a shape, too."""

_COARSEST, _FINEST = 20, 1000
"""Steps a decade."""


def steps(values: Ints) -> list[dict[str, float]]:
    """The share of all that lies from ``low`` to ``high`` ns; steps that hold nothing are left out.

    What is below 1 ns counts as 1 ns: a logarithmic axis has no place for 0.
    """
    return _steps(values, _fineness(values))


def _fineness(values: Ints) -> int:
    """Steps a decade."""
    if values.size == 0:
        return _COARSEST
    reach = float(np.log10(max(1, values.max())) - np.log10(max(1, values.min())))
    return min(_FINEST, max(_COARSEST, round(_STEPS / max(reach, 1e-9))))


def _steps(values: Ints, fine: int) -> list[dict[str, float]]:
    if values.size == 0:
        return []
    scaled = np.floor(np.log10(np.maximum(values, 1)) * fine).astype(np.int64)
    distinct, counts = np.unique(scaled, return_counts=True)
    return [
        {
            "low": float(10 ** (step / fine)),
            "high": float(10 ** ((step + 1) / fine)),
            "share": float(count / values.size),
        }
        for step, count in zip(distinct.tolist(), counts.tolist(), strict=True)
    ]


def shapes(sides: Sequence[Ints]) -> list[dict[str, Any] | None]:
    """The whole shape of each side, in steps of one width; None for no values."""
    fine = _fineness(np.concatenate(list(sides)))
    return [
        {
            "count": int(values.size),
            "minimum": int(values.min()),
            "maximum": int(values.max()),
            "steps": _steps(values, fine),
        }
        if values.size
        else None
        for values in sides
    ]
