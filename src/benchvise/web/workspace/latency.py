"""Latency from any point to any other, with its stages, its shape, and the longest occurrences."""

from __future__ import annotations

from typing import Any

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency import LatencyHop, LatencyWay, Occurrence
from benchvise.trace.catalogue.latency import LATENCY, LatencyRequest
from benchvise.trace.catalogue.options import Match
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head, since
from benchvise.web.workspace.shapes import steps

_WAYS = 8
_STAGE = 400


def answer(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
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
    latency = LATENCY.analyse((part,), request)
    return {
        **head(part),
        "hops": [_hop(hop) for hop in latency.hops],
        "occurrences": latency.occurrences,
        "unsure": latency.incomplete,
        "unsure_kept": latency.incomplete_kept,
        "total": encode(latency.total),
        "ways": [_way(way) for way in latency.ways[:_WAYS]],
        "more_ways": max(0, len(latency.ways) - _WAYS),
        "steps": steps(latency.values),
        "worst": [_occurrence(part, occurrence) for occurrence in latency.worst],
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
