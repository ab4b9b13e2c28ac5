"""The critical path of one response: where each nanosecond from its first cause to its end went.

The path is walked backwards. An activation is traced from its end to the moment that made it ready;
there the one that woke or raised it takes over, from that moment back to its own wake-up; and so on
to an interrupt, or to where the trace does not say who was the cause. What is on the path either
runs, or waits for a CPU: then the path names who had that CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from benchvise.errors import UsageError
from benchvise.trace.analysis.actors import Instance, describe, instances_of, response
from benchvise.trace.analysis.model import NONE, Actor, Analysis, TraceSpan, Waited
from benchvise.trace.analysis.occupants import UNKNOWN, Occupants, occupants

MOST_HOPS = 16
"""Two threads that wake each other would lead back to the begin of the trace."""


class PathState(StrEnum):
    """What happens in a segment of the path."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    PREEMPTED = "preempted"
    QUEUED = "waiting for a CPU"
    IDLE = "leaving idle"
    RAISED = "raised"
    WAKING = "wake-up under way"
    UNKNOWN = "not known"


class PathOrigin(StrEnum):
    """Why the path begins where it does."""

    INTERRUPT = "an interrupt"
    UNKNOWN = "the trace does not say what woke it"
    CUT = "the begin of the trace, or a loss"
    HOPS = "there are more causes before"


@dataclass(frozen=True, slots=True)
class PathSegment:
    """A part of the path; times in ns.

    ``through`` is whose part of the path it is. ``actor`` had the CPU ``cpu``: the same where it
    runs, the one that it waits behind where it waits; None where that is not known.
    """

    begin: int
    end: int
    state: PathState
    through: str
    through_id: int
    actor: str | None
    actor_id: int | None
    cpu: int | None

    @property
    def length(self) -> int:
        """Its time in ns."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class PathPart:
    """All segments of one state behind one actor: their time in ns, and its share of the path."""

    state: PathState
    actor: str | None
    time: int
    share: float
    segments: int


@dataclass(frozen=True, slots=True)
class PathHop:
    """One activation on the path: from ``begin``, when it was woken or raised, to ``end``, when it
    woke the next one or was over. Times in ns."""

    instance: int
    actor: str
    actor_id: int
    cpu: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The path to the end of one activation, the earliest first.

    ``segments`` follow each other without a gap from ``begin`` to ``end``; ``parts`` sum them up,
    most time first. ``incomplete`` says why the path may be wrong.
    """

    instance: Instance
    begin: int
    end: int
    origin: PathOrigin
    hops: tuple[PathHop, ...]
    segments: tuple[PathSegment, ...]
    parts: tuple[PathPart, ...]
    incomplete: tuple[str, ...]


def select_activation(
    analysis: Analysis, chosen: Sequence[Actor], *, at: int | None = None, rank: int = 1
) -> int:
    """The activation of the chosen actors that is under way ``at`` a moment of the trace's clock,
    or that with the ``rank``-th longest response of those that are complete.

    Raises:
        UsageError: there is none.
    """
    rows = analysis.instances
    candidates = instances_of(analysis, chosen)
    if at is not None:
        since = np.where(rows["ready"] == NONE, rows["begin"], rows["ready"])[candidates]
        holding = candidates[(since <= at) & (at <= rows["end"][candidates])]
        if holding.size == 0:
            raise UsageError(
                "none of these actors is active or waits for a CPU then",
                "trace actors --instances NAME lists when it is",
            )
        return int(holding[-1])
    complete = candidates[analysis.complete[candidates]]
    if complete.size < rank:
        raise UsageError(
            f"these actors have {complete.size} complete activations in the span",
            "choose a smaller --rank, another actor, or a moment with --at",
        )
    longest = np.argsort(-response(analysis)[complete], kind="stable")
    return int(complete[longest[rank - 1]])


def critical_path(analysis: Analysis, instance: int, hops: int = MOST_HOPS) -> CriticalPath:
    """The path to the end of an activation, over at most ``hops`` activations."""
    walked, origin = _walk(analysis, instance, hops)
    begin, end = walked[0].begin, walked[-1].end
    segments = tuple(_Segments(analysis, TraceSpan(begin, end + 1)).of(walked))
    described = describe(analysis, np.array([instance]))[0]
    reasons = list(described.incomplete)
    if any(not analysis.complete[hop.instance] for hop in walked[:-1]):
        reasons.append("a cause on the path is incomplete")
    if any(_meets(analysis, hop) for hop in walked):
        reasons.append("events were lost on a CPU of the path meanwhile")
    return CriticalPath(
        described, begin, end, origin, walked, segments, _parts(segments), tuple(reasons)
    )


def _walk(analysis: Analysis, instance: int, most: int) -> tuple[tuple[PathHop, ...], PathOrigin]:
    """The activations on the path, the earliest first, and why there is none before."""
    rows = analysis.instances
    hops: list[PathHop] = []
    until = int(rows["end"][instance])
    while True:
        actor = analysis.actors[int(rows["actor"][instance])]
        began, ready = int(rows["begin"][instance]), int(rows["ready"][instance])
        since = min(began if ready == NONE else ready, until)
        hops.insert(
            0, PathHop(instance, actor.label, actor.id, int(rows["cpu"][instance]), since, until)
        )
        cause, at = int(rows["cause"][instance]), int(rows["cause_time"][instance])
        if cause == NONE:
            if actor.kind == "irq":
                return tuple(hops), PathOrigin.INTERRUPT
            cut = not analysis.complete[instance]
            return tuple(hops), PathOrigin.CUT if cut else PathOrigin.UNKNOWN
        until = min(since if at == NONE else at, since)
        # The idle task wakes nobody: whoever did is another CPU, or an event that is not traced.
        if analysis.actors[int(rows["actor"][cause])].kind == "idle":
            return tuple(hops), PathOrigin.UNKNOWN
        if int(rows["begin"][cause]) > until:
            return tuple(hops), PathOrigin.UNKNOWN
        if len(hops) == most:
            return tuple(hops), PathOrigin.HOPS
        instance = cause


def _meets(analysis: Analysis, hop: PathHop) -> bool:
    """Whether events were lost on the CPU of a hop while it lasted."""
    return any(
        loss.cpu in (None, hop.cpu)
        and (loss.begin is None or loss.begin <= hop.end)
        and (loss.end is None or loss.end >= hop.begin)
        for loss in analysis.losses
    )


def _parts(segments: Sequence[PathSegment]) -> tuple[PathPart, ...]:
    whole = max(1, sum(segment.length for segment in segments))
    sums: dict[tuple[PathState, str | None], tuple[int, int]] = {}
    for segment in segments:
        time, count = sums.get((segment.state, segment.actor), (0, 0))
        sums[segment.state, segment.actor] = time + segment.length, count + 1
    parts = [
        PathPart(state, actor, time, time / whole, count)
        for (state, actor), (time, count) in sums.items()
    ]
    return tuple(sorted(parts, key=lambda part: -part.time))


class _Segments:
    """Makes segments of hops, with the fragments of the path's time only."""

    def __init__(self, analysis: Analysis, span: TraceSpan) -> None:
        self.analysis = analysis.asked_about(span).sliced()
        self._occupants: dict[int, Occupants] = {}

    def of(self, hops: Sequence[PathHop]) -> Iterator[PathSegment]:
        """The segments of hops in order of time."""
        for number, hop in enumerate(hops):
            if number and (before := hops[number - 1].end) < hop.begin:
                yield self._segment(hop, before, hop.begin, PathState.WAKING, None, None)
            yield from self._of_hop(hop)

    def _of_hop(self, hop: PathHop) -> Iterator[PathSegment]:
        rows = self.analysis.fragments
        mine = np.flatnonzero(rows["instance"] == hop.instance)
        mine = mine[np.argsort(rows["begin"][mine], kind="stable")]
        at = hop.begin
        for fragment in mine.tolist():
            begin = max(at, int(rows["begin"][fragment]))
            end = min(hop.end, int(rows["end"][fragment]))
            if begin >= end:
                continue
            cpu = int(rows["cpu"][fragment])
            yield from self._waiting(hop, at, begin, cpu)
            yield from self._running(hop, begin, end, cpu)
            at = end
        yield from self._waiting(hop, at, hop.end, hop.cpu)

    def _running(self, hop: PathHop, begin: int, end: int, cpu: int) -> Iterator[PathSegment]:
        for first, last, actor in self._pieces(cpu, begin, end):
            runs = actor is not None and actor.id == hop.actor_id
            state = PathState.RUNNING if runs else PathState.INTERRUPTED
            yield self._segment(hop, first, last, state, actor, cpu)

    def _waiting(self, hop: PathHop, begin: int, end: int, cpu: int) -> Iterator[PathSegment]:
        if begin >= end:
            return
        if self.analysis.actors[hop.actor_id].kind in ("irq", "softirq"):
            waits = [(begin, end, PathState.RAISED, cpu)]
        else:
            waits = self._waits(hop, begin, end, cpu)
        for since, until, state, where in waits:
            for first, last, actor in self._pieces(where, since, until):
                what = state
                if actor is None:
                    what = PathState.UNKNOWN
                elif actor.kind == "idle":
                    what = PathState.IDLE
                yield self._segment(hop, first, last, what, actor, where)

    def _waits(
        self, hop: PathHop, begin: int, end: int, cpu: int
    ) -> list[tuple[int, int, PathState, int]]:
        """How a thread waited from ``begin`` to ``end``, and for which CPU."""
        rows = self.analysis.waits
        ends = rows["end"]
        first = int(np.searchsorted(ends, begin, side="right"))
        part = slice(first, None)
        mine = (rows["actor"][part] == hop.actor_id) & (rows["begin"][part] < end)
        waits = []
        at = begin
        for wait in (first + np.flatnonzero(mine)).tolist():
            since, until = max(at, int(rows["begin"][wait])), min(end, int(ends[wait]))
            if since >= until:
                continue
            if at < since:
                waits.append((at, since, PathState.QUEUED, cpu))
            preempted = int(rows["state"][wait]) == Waited.PREEMPTED
            state = PathState.PREEMPTED if preempted else PathState.QUEUED
            waits.append((since, until, state, int(rows["cpu"][wait])))
            at = until
        if at < end:
            waits.append((at, end, PathState.QUEUED, cpu))
        return waits

    def _pieces(self, cpu: int, begin: int, end: int) -> Iterator[tuple[int, int, Actor | None]]:
        """Who had a CPU from ``begin`` to ``end``, without a gap."""
        if cpu not in self._occupants:
            self._occupants[cpu] = occupants(self.analysis, cpu)
        had = self._occupants[cpu]
        [first], [count] = had.between(np.array([begin]), np.array([end]))
        rows, at = self.analysis.fragments, begin
        for span in range(first, first + count):
            since, until = max(at, int(had.begin[span])), min(end, int(had.end[span]))
            if at < since:
                yield at, since, None
            fragment = int(had.fragment[span])
            known = fragment != UNKNOWN
            yield (
                since,
                until,
                self.analysis.actors[int(rows["actor"][fragment])] if known else None,
            )
            at = until
        if at < end:
            yield at, end, None

    def _segment(
        self,
        hop: PathHop,
        begin: int,
        end: int,
        state: PathState,
        actor: Actor | None,
        cpu: int | None,
    ) -> PathSegment:
        return PathSegment(
            begin,
            end,
            state,
            hop.actor,
            hop.actor_id,
            None if actor is None else actor.label,
            None if actor is None else actor.id,
            cpu,
        )
