"""Two traces: what each actor does differently, by the distributions of its instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.statistics.quantiles import median_ratio
from benchvise.statistics.ranks import cliffs_delta
from benchvise.trace.analysis import rate_changes, tail_changes
from benchvise.trace.analysis.actors import instance_metrics
from benchvise.trace.analysis.distributions import (
    Groups,
    QuantileBounds,
    TimeDistribution,
    distribution,
    sums,
)
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Ints
from benchvise.trace.analysis.names import Grouping
from benchvise.trace.analysis.occupancy import own_time
from benchvise.trace.analysis.rate_changes import (
    Irregularity,
    RateRatio,
    irregularity,
    rate_ratio,
)
from benchvise.trace.analysis.tail_changes import (
    TailChange,
    TailRatio,
    longest_ones,
    tail_ratios,
)

METRICS = ("execution", "response", "latency", "period")
LEAST = 6
"""Fewer values a side have no 95 % interval of their median."""

TAILED = frozenset({"execution", "response", "latency"})
"""Metrics whose long values are late ones; a long period is a pause."""

SMALL_EFFECT = 0.147
"""Cliff's delta below which a difference is negligible (Romano et al., 2006)."""


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric of the actors of a name in both traces. Times in ns; ratios are B / A.

    ``longest_at`` is when the longest of A and of B began to run, ``longest_instances`` their
    numbers in ``instances``.

    ``ratio`` is of the medians, with its 95 % interval; None when a median is 0. ``delta`` is
    Cliff's: 1 when every value of B is above every one of A, -1 when below. ``changed`` says that
    the interval excludes 1 and the effect is not negligible; ``reason`` why it cannot be said.
    ``tail`` is of the longest of all, ``tails`` are p99, p99.9 and the longest of each window; of
    metrics whose long values are late ones.
    """

    actor: str
    metric: str = field(metadata=in_json(name="figure"))
    a: TimeDistribution
    b: TimeDistribution
    ratio: float | None
    interval: QuantileBounds | None
    delta: float | None
    changed: bool
    reason: str
    longest_at: tuple[int, int]
    longest_instances: tuple[int, int]
    tail: TailChange | None = None
    tails: tuple[TailRatio, ...] = ()

    @property
    def tail_changed(self) -> bool:
        """Whether its long values changed, be it that the median did not."""
        notable = self.tail is not None and self.tail.notable
        return notable or any(tail.changed for tail in self.tails)


@dataclass(frozen=True, slots=True)
class ActorRate:
    """How often the actors of a name ran, and their share of one CPU, in both traces.

    ``rate`` compares how often, and is None where one of them never ran. ``irregularity`` is what
    is missing and extra, None where the actors are not regular in A. ``longest_gap`` is the longest
    period of each in ns, ``gap_at`` when it began, and ``gap_instances`` the instances that ended
    them; None without one.
    """

    actor: str
    per_second: tuple[float, float]
    load: tuple[float, float]
    rate: RateRatio | None = None
    irregularity: Irregularity | None = None
    longest_gap: tuple[int | None, int | None] = (None, None)
    gap_at: tuple[int | None, int | None] = (None, None)
    gap_instances: tuple[int | None, int | None] = (None, None)

    @property
    def changed(self) -> bool:
        """Whether it ran more or less often, or other shares of its activations are missing or
        extra."""
        one = self.irregularity
        irregular = one is not None and (one.missing_changed or one.extra_changed)
        return irregular or (self.rate is not None and self.rate.changed)


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """The whole answer; changed metrics stand first, the clearest on top.

    ``incomplete`` counts the instances of each trace that the metrics leave out.
    """

    changes: tuple[MetricChange, ...]
    rates: tuple[ActorRate, ...]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    incomplete: tuple[int, int] = field(metadata=in_json(name="unsure"))

    def worst_growth(self, metrics: Sequence[str] = ("execution", "response", "latency")) -> float:
        """By how many percent the median of a changed metric grew at most; 0 for none."""
        grown = [
            (change.ratio - 1.0) * 100.0
            for change in self.changes
            if change.changed and change.ratio is not None and change.metric in metrics
        ]
        return max([0.0, *grown])


def compare(
    a: Analysis, b: Analysis, chosen: tuple[Sequence[Actor], Sequence[Actor]], *, incomplete: bool
) -> TraceComparison:
    """Compares the chosen actors of both traces, matched by name (thread ids differ)."""
    sides = [
        _Side(analysis, actors, incomplete=incomplete)
        for analysis, actors in zip((a, b), chosen, strict=True)
    ]
    shared = [name for name in sides[0].names if name in sides[1].names]
    tests = max(1, len(shared) * (len(TAILED) * tail_changes.TESTS + rate_changes.TESTS))
    changes = [
        _change(name, metric, (of_a, of_b), tests)
        for name in shared
        for metric in METRICS
        for of_a, of_b in [[side.activations(name, metric) for side in sides]]
        if of_a.ascending.size and of_b.ascending.size
    ]
    return TraceComparison(
        changes=tuple(sorted(changes, key=_clearest_first)),
        rates=tuple(_rate(name, (sides[0], sides[1]), tests) for name in shared),
        only_in_a=tuple(name for name in sides[0].names if name not in sides[1].names),
        only_in_b=tuple(name for name in sides[1].names if name not in sides[0].names),
        incomplete=(sides[0].incomplete, sides[1].incomplete),
    )


@dataclass(frozen=True, slots=True)
class _Activations:
    """The values of one metric of a name, in order of time and in ascending order, and when the
    activations began that have them; in ns. ``instances`` are their numbers."""

    instances: Ints
    begin: Ints
    in_time: Ints
    ascending: Ints

    @property
    def longest_at(self) -> int:
        return int(self.begin[np.argmax(self.in_time)])

    @property
    def longest_instance(self) -> int:
        return int(self.instances[np.argmax(self.in_time)])


class _Side:
    """One trace: the activations of each name."""

    def __init__(self, analysis: Analysis, chosen: Sequence[Actor], *, incomplete: bool) -> None:
        rows = analysis.instances
        grouping = Grouping(analysis.actors, chosen, by_name=True)
        group = grouping.of_actor[rows["actor"]]
        kept = np.flatnonzero((group >= 0) & analysis.span.holds(rows["begin"]))
        kept = kept[np.argsort(rows["begin"][kept], kind="stable")]
        groups = Groups(group[kept], len(grouping))
        metrics = instance_metrics(analysis, incomplete=incomplete)
        self.span = analysis.span
        self._groups = groups
        self._metrics = {name: metrics[name][kept] for name in METRICS}
        self._instances = kept
        self._begin = rows["begin"][kept]
        of_fragment = grouping.of_actor[analysis.fragments["actor"]]
        ran = of_fragment >= 0
        busy = sums(of_fragment[ran], own_time(analysis)[ran], len(grouping))
        self.load = busy / analysis.span.duration
        self.per_second = groups.sizes / (analysis.span.duration / 1e9)
        self.incomplete = int((~analysis.complete[kept]).sum())
        present = (groups.sizes > 0) | (busy > 0)
        self.names = {name: at for at, name in enumerate(grouping.labels) if present[at]}

    def begins(self, name: str) -> Ints:
        """When the activations of a name began, in order of time."""
        begins: Ints = self._begin[self._groups.rows(self.names[name])]
        return begins

    def activations(self, name: str, metric: str) -> _Activations:
        """Those of a name that have a value of a metric."""
        mine = self._groups.rows(self.names[name])
        values = self._metrics[metric][mine]
        has = values != NONE
        kept = mine[has]
        return _Activations(
            self._instances[kept], self._begin[kept], values[has], np.sort(values[has])
        )


def _rate(name: str, sides: tuple[_Side, _Side], tests: int) -> ActorRate:
    a, b = sides
    begins, spans = (a.begins(name), b.begins(name)), (a.span, b.span)
    periods = [side.activations(name, "period") for side in sides]
    gaps = [_longest_gap(of_side) for of_side in periods]
    return ActorRate(
        actor=name,
        per_second=(float(a.per_second[a.names[name]]), float(b.per_second[b.names[name]])),
        load=(float(a.load[a.names[name]]), float(b.load[b.names[name]])),
        rate=rate_ratio(begins, spans, tests),
        irregularity=irregularity((periods[0].in_time, periods[1].in_time), tests),
        longest_gap=(gaps[0][0], gaps[1][0]),
        gap_at=(gaps[0][1], gaps[1][1]),
        gap_instances=(gaps[0][2], gaps[1][2]),
    )


def _longest_gap(periods: _Activations) -> tuple[int, int, int] | tuple[None, None, None]:
    """The longest period, when it began, and the instance that ended it."""
    if not periods.ascending.size:
        return None, None, None
    longest = int(periods.ascending[-1])
    return longest, periods.longest_at - longest, periods.longest_instance


def _change(
    actor: str, metric: str, sides: tuple[_Activations, _Activations], tests: int
) -> MetricChange:
    of_a, of_b = sides
    a, b = of_a.ascending, of_b.ascending
    in_a, in_b = distribution(a), distribution(b)
    assert in_a is not None and in_b is not None  # noqa: S101 (neither is empty)
    enough = min(a.size, b.size) >= LEAST
    ratio = median_ratio(b, a) if enough else None
    delta = cliffs_delta(b, a) if enough else None
    interval = QuantileBounds(ratio.interval.low, ratio.interval.high) if ratio else None
    reason = ""
    if not enough:
        reason = f"fewer than {LEAST} instances in one of them"
    elif interval is None:
        reason = "a median is 0: there is no ratio"
    excludes = interval is not None and not interval.low <= 1.0 <= interval.high
    tailed = enough and metric in TAILED
    in_time = of_a.in_time, of_b.in_time
    return MetricChange(
        actor=actor,
        metric=metric,
        a=in_a,
        b=in_b,
        ratio=ratio.value if ratio else None,
        interval=interval,
        delta=delta,
        changed=excludes and delta is not None and abs(delta) >= SMALL_EFFECT,
        reason=reason,
        longest_at=(of_a.longest_at, of_b.longest_at),
        longest_instances=(of_a.longest_instance, of_b.longest_instance),
        tail=longest_ones(in_time, (a, b), tests) if tailed else None,
        tails=tail_ratios(in_time, (a, b), tests) if tailed else (),
    )


def _clearest_first(change: MetricChange) -> tuple[bool, bool, float, float]:
    size = abs(np.log(change.ratio)) if change.ratio else 0.0
    return (not change.changed, not change.tail_changed, -abs(change.delta or 0.0), -float(size))
