"""Latency from any point to any other, with its stages, its shape, and the longest occurrences."""

from __future__ import annotations

from typing import Any

from benchvise.errors import UsageError
from benchvise.flows import trace_analyses as flow
from benchvise.flows.trace_analyses import Loaded, plain
from benchvise.text import printable
from benchvise.trace.analysis.latency.answer import Hop, Occurrence, Way
from benchvise.web.workspace.asking import Asking, head, since
from benchvise.web.workspace.shapes import steps

_WAYS = 8
_STAGE = 400


def answer(loaded: Loaded, asking: Asking) -> dict[str, Any]:
    """``latency``: ``from`` one end by ``via`` to another, in the words of the command line.

    Raises:
        UsageError: an end is missing, or the trace has nothing that it means.
    """
    part = asking.part(loaded)
    start, end = asking.text("from"), asking.text("to")
    if not start or not end:
        raise UsageError("a latency has two ends", "say from= and to=: irq:NAME, task:NAME, ...")
    method = asking.choice("match", ("auto", "cause", "next"))
    asked = flow.question(
        [start, *_via(asking), end],
        [],
        method="" if method == "auto" else method,
        hops=asking.whole("hops", 4, 0, 64),
        unsure=asking.flag("unsure"),
        worst=asking.whole("worst", 20, 0, 200),
    )
    found, _ = flow.latency(part, asked)
    return {
        **head(part),
        "hops": [_hop(hop) for hop in found.hops],
        "occurrences": found.occurrences,
        "unsure": found.unsure,
        "unsure_kept": found.unsure_kept,
        "total": plain(found.total),
        "ways": [_way(way) for way in found.ways[:_WAYS]],
        "more_ways": max(0, len(found.ways) - _WAYS),
        "steps": steps(found.values),
        "worst": [_occurrence(part, one) for one in found.worst],
    }


def _via(asking: Asking) -> list[str]:
    """Ends between, a line each: their names may hold commas."""
    return [line.strip() for line in asking.text("via").splitlines() if line.strip()]


def _hop(hop: Hop) -> dict[str, Any]:
    told: dict[str, Any] = plain(hop)
    return {**told, "start": printable(hop.start), "end": printable(hop.end)}


def _way(way: Way) -> dict[str, Any]:
    told: dict[str, Any] = plain(way)
    stages = [{**stage, "name": printable(stage["name"], _STAGE)} for stage in told["stages"]]
    return {**told, "stages": stages}


def _occurrence(loaded: Loaded, one: Occurrence) -> dict[str, Any]:
    return {
        "begin": since(loaded, one.begin),
        "end": since(loaded, one.end),
        "latency": one.latency,
        "begin_cpu": one.begin_cpu,
        "end_cpu": one.end_cpu,
        "end_actor": printable(one.end_actor),
        "actor": _actor(loaded, one),
        "stages": [{"name": printable(name, _STAGE), "time": time} for name, time in one.stages],
    }


def _actor(loaded: Loaded, one: Occurrence) -> int | None:
    """Who it ended in: of several lives of one thread id, that which was alive then."""
    known = loaded.analysis.tables["actors"]
    for actor in loaded.analysis.actors:
        if actor.label == one.end_actor:
            first = known.column("first")[actor.id].as_py()
            last = known.column("last")[actor.id].as_py()
            if first <= one.end <= last:
                return actor.id
    return None
