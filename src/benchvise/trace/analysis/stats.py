"""What took the CPUs: shares of time, switches, wake-ups, losses; per CPU, per actor, over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import numbered, sums
from benchvise.trace.analysis.model import (
    NONE,
    Actor,
    Analysis,
    Bools,
    Ended,
    Flag,
    Floats,
    Ints,
    Loss,
    Rows,
    TraceSpan,
)
from benchvise.trace.analysis.names import Grouping
from benchvise.trace.analysis.occupancy import bin_edges, binned, counted, merged, nested, own_time


@dataclass(frozen=True, slots=True)
class CpuStats:
    """One CPU over the span. Times in ns; they and ``unknown`` add up to the span.

    ``unknown`` is the time of which the trace does not say what ran: before the first switch, for
    instance. ``lost_events`` is None when the tracer did not count what it lost.
    """

    cpu: int
    task: int
    idle: int
    irq: int
    softirq: int
    unknown: int
    switches: int
    wakeups: int
    interrupts: int
    losses: int
    lost_events: int | None


@dataclass(frozen=True, slots=True)
class ActorStats:
    """One actor, or all of a name, over the span. ``busy`` in ns, without nested interrupts.

    ``switches`` counts how often it was switched away from (a handler: how often it returned).
    ``ids`` are those of the actors.
    """

    actor: str
    ids: tuple[int, ...]
    kind: str
    actors: int
    busy: int
    share: float
    switches: int
    wakeups: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """The whole answer; ``share`` of an actor is of one CPU."""

    span: TraceSpan
    cpus: tuple[CpuStats, ...]
    actors: tuple[ActorStats, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """What each actor had of each CPU in the span: one row a pair of them.

    ``busy`` in ns, without nested interrupts. ``ran``: fragments that took time there, ``ended``:
    those of tasks by a switch that is in the trace, those of handlers by their return. Of the
    instances that began there, ``begun`` counts all, ``woken`` those known to have been woken or
    raised. ``cpus`` are those on which anything ran in the trace.
    """

    actor: Ints
    cpu: Ints
    busy: Ints
    ran: Ints
    ended: Ints
    begun: Ints
    woken: Ints
    cpus: Sequence[int]


def stats(
    analysis: Analysis,
    chosen: Sequence[Actor],
    usage: Usage | None = None,
    *,
    by_name: bool = False,
) -> Stats:
    """Shares of the span; of the chosen actors those that ran, the busiest first.

    ``usage`` is that of the analysis, where somebody has it already.
    """
    usage = usage or usage_of(analysis)
    return Stats(
        span=analysis.span,
        cpus=tuple(_cpus(analysis, usage)),
        actors=tuple(_actors(analysis, chosen, usage, by_name=by_name)),
    )


def usage_of(analysis: Analysis) -> Usage:
    """What each actor had of each CPU in the span.

    Asked before anything else of a trace that was decoded for one question, it makes no table of
    every span: the decoder adds up.
    """
    return _usage_of_trace(analysis) or _usage_of_span(analysis.sliced())


def _usage_of_trace(analysis: Analysis) -> Usage | None:
    """What the decoder adds up; None where tables are there, or a part of it is asked for."""
    tables = analysis.usage() if analysis.is_whole else None
    if tables is None:
        return None
    rows = Rows(tables["usage"])
    handler = analysis.of_kind("irq", "softirq")[rows["actor"]]
    return Usage(
        actor=rows["actor"],
        cpu=rows["cpu"],
        busy=rows["execution"],
        ran=rows["ran"],
        ended=np.where(handler, rows["fragments"], rows["switched"]),
        begun=rows["begun"],
        woken=rows["woken"],
        cpus=[int(cpu) for cpu in np.unique(rows["cpu"][rows["fragments"] > 0])],
    )


def _usage_of_span(analysis: Analysis) -> Usage:
    """The same from the rows of a part of the trace."""
    rows, instances = analysis.fragments, analysis.instances
    own = own_time(analysis)
    handler = analysis.of_kind("irq", "softirq")[rows["actor"]]
    ended = switched(analysis) | (handler & analysis.span.holds(rows["end"]))
    began = np.flatnonzero(analysis.span.holds(instances["begin"]))
    actor = np.concatenate([rows["actor"], instances["actor"][began]])
    cpu = np.concatenate([rows["cpu"], instances["cpu"][began]])
    width = int(cpu.max(initial=0)) + 1
    pairs, pair = numbered(actor * width + cpu)
    of_fragment, of_instance = pair[: len(rows)], pair[len(rows) :]

    def counted(which: Ints) -> Ints:
        return np.bincount(which, minlength=pairs.size).astype(np.int64)

    return Usage(
        actor=pairs // width,
        cpu=pairs % width,
        busy=sums(of_fragment, own, pairs.size).astype(np.int64),
        ran=counted(of_fragment[own > 0]),
        ended=counted(of_fragment[ended]),
        begun=counted(of_instance),
        woken=counted(of_instance[instances["ready"][began] != NONE]),
        cpus=analysis.cpus,
    )


def switched(analysis: Analysis) -> Bools:
    """Which fragments of tasks ended in the span by a switch that is in the trace.

    The end of the trace is none, nor is the end that was put where events are missing.
    """
    rows = analysis.fragments
    tasks = analysis.of_kind("task", "idle")[rows["actor"]]
    flags = analysis.instances["flags"][rows["instance"]] if len(rows) else rows["why"]
    guessed = (rows["why"] == Ended.YIELDED) & (flags & Flag.LOSS != 0)
    seen = tasks & ~guessed & (rows["why"] != Ended.CUT)
    ended: Bools = seen & analysis.span.holds(rows["end"])
    return ended


_KINDS = ("task", "idle", "irq", "softirq")


def _cpus(analysis: Analysis, usage: Usage) -> Iterator[CpuStats]:
    of_kind = {kind: analysis.of_kind(kind)[usage.actor] for kind in _KINDS}
    switching = of_kind["task"] | of_kind["idle"]
    for cpu in usage.cpus:
        here = usage.cpu == cpu
        spent = {kind: int(usage.busy[here & of].sum()) for kind, of in of_kind.items()}
        lost = [
            loss for loss in analysis.losses if loss.cpu in (cpu, None) and _meets(loss, analysis)
        ]
        counts = [loss.count for loss in lost]
        yield CpuStats(
            cpu=cpu,
            **spent,
            unknown=max(0, analysis.span.duration - sum(spent.values())),
            switches=int(usage.ended[here & switching].sum()),
            wakeups=int(usage.woken[here & of_kind["task"]].sum()),
            interrupts=int(usage.begun[here & of_kind["irq"]].sum()),
            losses=len(lost),
            lost_events=None if None in counts else sum(count or 0 for count in counts),
        )


def _meets(loss: Loss, analysis: Analysis) -> bool:
    begin = analysis.whole.begin if loss.begin is None else loss.begin
    end = analysis.whole.end if loss.end is None else loss.end
    return begin < analysis.span.end and end >= analysis.span.begin


def _actors(
    analysis: Analysis, chosen: Sequence[Actor], usage: Usage, *, by_name: bool
) -> list[ActorStats]:
    grouping = Grouping(analysis.actors, chosen, by_name=by_name)
    count = len(grouping)
    group = grouping.of_actor[usage.actor]
    kept = group >= 0
    busy, switches, wakeups = (
        sums(group[kept], amounts[kept], count)
        for amounts in (usage.busy, usage.ended, usage.woken)
    )
    ran = kept & (usage.ran > 0)
    width = max(usage.cpus, default=0) + 1
    pairs = numbered(group[ran] * width + usage.cpu[ran])[0]
    whose, where = np.divmod(pairs, width)
    described = []
    for at in np.argsort(-busy, kind="stable"):
        if busy[at] == 0 and switches[at] == 0:
            continue
        on = where[np.searchsorted(whose, at) : np.searchsorted(whose, at, side="right")]
        described.append(
            ActorStats(
                actor=grouping.labels[at],
                ids=grouping.ids(at),
                kind=grouping.members[at][0].kind,
                actors=len(grouping.members[at]),
                busy=int(busy[at]),
                share=float(busy[at]) / analysis.span.duration,
                switches=int(switches[at]),
                wakeups=int(wakeups[at]),
                cpus=tuple(int(cpu) for cpu in on),
            )
        )
    return described


# -- load and context switches over time, in bins of equal width -----------------------------------


@dataclass(frozen=True, slots=True)
class Series:
    """One actor over time: ``values`` has one number a bin, ``whole`` is that of the span.

    ``ids`` are those of the actors; a CPU, and all CPUs together, have none.
    """

    name: str
    ids: tuple[int, ...]
    whole: float
    values: tuple[float, ...]
    peak: float
    peak_at: int


@dataclass(frozen=True, slots=True)
class OverTime:
    """Bins from ``begin``, each ``width`` ns; the last ends with the span.

    Loads are shares of one CPU (an actor with threads on two can have 2.0), for ``everything`` of
    all CPUs together; switches are counts a second.
    """

    unit: str
    begin: int
    width: int
    everything: Series
    cpus: tuple[Series, ...]
    actors: tuple[Series, ...]


def load(
    analysis: Analysis, chosen: Sequence[Actor], bins: int, *, by_name: bool = False
) -> OverTime:
    """CPU load over time: of all CPUs (not idle), of each CPU, of each actor, the busiest first.

    The time of interrupts is theirs, not that of the task that they interrupted.
    """
    rows = analysis.fragments
    edges = bin_edges(analysis.span, bins)
    actors = len(analysis.actors)
    time = binned(rows["actor"], rows["begin"], rows["end"], edges, actors)
    owner, begin, end = nested(analysis, np.ones(len(rows), dtype=np.bool_))
    time -= binned(rows["actor"][owner], begin, end, edges, actors)
    working = analysis.of_kind("task", "irq", "softirq")[rows["actor"]]
    covers = [merged(analysis, working & (rows["cpu"] == cpu)) for cpu in analysis.cpus]
    busy = np.zeros((len(covers), edges.size - 1))
    for at, cover in enumerate(covers):
        busy[at] = np.diff(cover.until(edges))
    mean = busy.sum(axis=0) / max(1, len(covers))
    shape = _Shape(edges, np.diff(edges).astype(np.float64), float(analysis.span.duration))
    grouping = Grouping(analysis.actors, chosen, by_name=by_name)
    return _over_time("share of a CPU", analysis, shape, mean, busy, grouping, time)


def switches(
    analysis: Analysis, chosen: Sequence[Actor], bins: int, *, by_name: bool = False
) -> OverTime:
    """Context switches a second over time; an actor's are those that left it."""
    rows = analysis.fragments
    edges = bin_edges(analysis.span, bins)
    ended = switched(analysis)
    actor, when = rows["actor"][ended], rows["end"][ended]
    counts = counted(actor, when, edges, len(analysis.actors))
    cpus = np.array(analysis.cpus, dtype=np.int64)
    by_cpu = counted(np.searchsorted(cpus, rows["cpu"][ended]), when, edges, cpus.size)
    shape = _Shape(edges, np.diff(edges) / 1e9, analysis.span.duration / 1e9)
    grouping = Grouping(analysis.actors, chosen, by_name=by_name)
    return _over_time("switches/s", analysis, shape, by_cpu.sum(axis=0), by_cpu, grouping, counts)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The bins: their edges, and by what amounts are divided, in each and in the span."""

    edges: Ints
    lengths: Floats
    whole: float

    def series(self, name: str, amounts: Floats, ids: tuple[int, ...] = ()) -> Series:
        values = amounts / self.lengths
        peak = int(np.argmax(values))
        return Series(
            name=name,
            ids=ids,
            whole=float(amounts.sum() / self.whole),
            values=tuple(round(float(value), 6) for value in values),
            peak=float(values[peak]),
            peak_at=int(self.edges[peak]),
        )


def _over_time(
    unit: str,
    analysis: Analysis,
    shape: _Shape,
    everything: Floats,
    by_cpu: Floats,
    grouping: Grouping,
    by_actor: Floats,
) -> OverTime:
    kept = grouping.of_actor >= 0
    total = np.zeros((len(grouping), by_actor.shape[1]))
    np.add.at(total, grouping.of_actor[kept], by_actor[kept])
    busiest = np.argsort(-total.sum(axis=1), kind="stable")
    return OverTime(
        unit=unit,
        begin=int(shape.edges[0]),
        width=int(shape.edges[1] - shape.edges[0]),
        everything=shape.series("all", everything),
        cpus=tuple(
            shape.series(f"cpu {cpu}", row) for cpu, row in zip(analysis.cpus, by_cpu, strict=True)
        ),
        actors=tuple(
            shape.series(grouping.labels[at], total[at], grouping.ids(int(at)))
            for at in busiest
            if total[at].any()
        ),
    )
