"""Latency from any point to any other, with its stages, its shape, and the longest occurrences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.distributions import TimeDistribution
from benchvise.trace.analysis.latency import LatencyHop, LatencyWay, Occurrence
from benchvise.trace.analysis.model import Ints
from benchvise.trace.catalogue.latency import LATENCY, LatencyRequest, Match
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_WAYS = 8
_STAGE = 400


@dataclass(frozen=True, slots=True)
class StageTime:
    """A stage of one occurrence, ns."""

    name: str
    time: int


@dataclass(frozen=True, slots=True)
class LongOccurrence:
    """One of the longest: times in ns since the first event; ``actor`` is where it ended."""

    begin: int
    end: int
    latency: int
    begin_cpu: int | None
    end_cpu: int | None
    end_actor: str
    actor: int | None
    stages: tuple[StageTime, ...]


@dataclass(frozen=True, slots=True)
class LatencyAnswer:
    """The latency with its most frequent ways; ``more_ways`` is how many are left out."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    hops: tuple[LatencyHop, ...]
    occurrences: int
    incomplete: int = field(metadata=in_json(name="unsure"))
    incomplete_kept: int = field(metadata=in_json(name="unsure_kept"))
    total: TimeDistribution | None
    ways: tuple[LatencyWay, ...]
    more_ways: int
    steps: tuple[ShapeStep, ...]
    worst: tuple[LongOccurrence, ...]


def latency(loaded: LoadedTrace, query: TraceQuery) -> LatencyAnswer:
    """``latency``: ``from`` one end by ``via`` to another, written as on the command line; events
    are paired ``by`` fields, a line each, where there are any.

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
        by=tuple(query.lines("by")),
        hops=query.whole("hops", 4, 0, 64),
        incomplete=query.flag("unsure"),
        worst=query.whole("worst", 20, 0, 200),
    )
    if request.by and request.match is not Match.AUTO:
        raise UsageError("by= and match= both say how events are paired", "give one of them")
    result = LATENCY.analyse((part,), request)
    return LatencyAnswer(
        answered_part(part),
        hops=tuple(result.hops),
        occurrences=result.occurrences,
        incomplete=result.incomplete,
        incomplete_kept=result.incomplete_kept,
        total=result.total,
        ways=tuple(_with_short_names(way) for way in result.ways[:_WAYS]),
        more_ways=max(0, len(result.ways) - _WAYS),
        steps=steps(result.values),
        worst=tuple(_described(part, occurrence) for occurrence in result.worst),
    )


def _with_short_names(way: LatencyWay) -> LatencyWay:
    stages = (replace(stage, name=printable(stage.name, _STAGE)) for stage in way.stages)
    return replace(way, stages=tuple(stages))


def _described(part: LoadedTrace, occurrence: Occurrence) -> LongOccurrence:
    origin = part.analysis.whole.begin
    return LongOccurrence(
        begin=occurrence.begin - origin,
        end=occurrence.end - origin,
        latency=occurrence.latency,
        begin_cpu=occurrence.begin_cpu,
        end_cpu=occurrence.end_cpu,
        end_actor=occurrence.end_actor,
        actor=_last_actor(part, occurrence),
        stages=tuple(StageTime(printable(name, _STAGE), time) for name, time in occurrence.stages),
    )


def _last_actor(loaded: LoadedTrace, occurrence: Occurrence) -> int | None:
    """The actor that it ended in: of several lives of one thread id, that which was alive then."""
    lives = loaded.analysis.tables["actors"]
    for actor in loaded.analysis.actors:
        if actor.label == occurrence.end_actor:
            first = lives.column("first")[actor.id]
            last = lives.column("last")[actor.id]
            if first <= occurrence.end <= last:
                return actor.id
    return None


# -- the shape of many durations -------------------------------------------------------------------


_STEPS = 40
"""About so many over all values, so that a narrow distribution has a shape, too."""

_COARSEST, _FINEST = 20, 1000
"""Steps a decade."""


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """The share of all values that lies from ``low`` to ``high`` ns."""

    low: float
    high: float
    share: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A distribution as charts draw it, in steps of a logarithmic axis. Times in ns."""

    count: int
    minimum: int
    maximum: int
    steps: tuple[ShapeStep, ...]


def steps(values: Ints) -> tuple[ShapeStep, ...]:
    """The shape in steps; those that hold nothing are left out.

    What is below 1 ns counts as 1 ns: a logarithmic axis has no place for 0.
    """
    return _steps(values, _fineness(values))


def shapes(sides: Sequence[Ints]) -> list[Shape | None]:
    """The whole shape of each side, in steps of one width; None for no values."""
    fine = _fineness(np.concatenate(list(sides)))
    return [
        Shape(int(values.size), int(values.min()), int(values.max()), _steps(values, fine))
        if values.size
        else None
        for values in sides
    ]


def _fineness(values: Ints) -> int:
    """Steps a decade."""
    if values.size == 0:
        return _COARSEST
    reach = float(np.log10(max(1, values.max())) - np.log10(max(1, values.min())))
    return min(_FINEST, max(_COARSEST, round(_STEPS / max(reach, 1e-9))))


def _steps(values: Ints, fine: int) -> tuple[ShapeStep, ...]:
    if values.size == 0:
        return ()
    scaled = np.floor(np.log10(np.maximum(values, 1)) * fine).astype(np.int64)
    distinct, counts = np.unique(scaled, return_counts=True)
    return tuple(
        ShapeStep(
            low=float(10 ** (step / fine)),
            high=float(10 ** ((step + 1) / fine)),
            share=float(count / values.size),
        )
        for step, count in zip(distinct.tolist(), counts.tolist(), strict=True)
    )
