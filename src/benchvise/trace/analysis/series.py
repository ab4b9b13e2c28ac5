"""CPU load and context switches over time, per actor, in bins of equal width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.intervals import bin_edges, binned, counted
from benchvise.trace.analysis.model import Actor, Analysis, Floats, Ints
from benchvise.trace.analysis.names import Grouping
from benchvise.trace.analysis.occupancy import merged, nested
from benchvise.trace.analysis.stats import switched


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
