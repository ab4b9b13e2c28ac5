"""Two traces: what each actor does differently, by the distributions of its instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from benchvise.documents import in_json
from benchvise.statistics import (
    cliffs_delta,
    incomplete_beta,
    median_ratio,
    quantile_interval,
)
from benchvise.tails import CountedTimes, tail_differences
from benchvise.trace.analysis.actors import instance_metrics
from benchvise.trace.analysis.distributions import (
    Groups,
    QuantileBounds,
    TimeDistribution,
    distribution,
    quantile,
    sums,
)
from benchvise.trace.analysis.model import Actor, Analysis, Ints
from benchvise.trace.analysis.names import Grouping
from benchvise.trace.analysis.occupancy import own_time

METRICS = ("execution", "response", "latency", "period")
LEAST = 6
"""Fewer values a side have no 95 % interval of their median."""

NOTABLE_RATIO = 2.0
"""From here on a longest value that grew or shrank is told, be it one of many."""

TAILED = frozenset({"execution", "response", "latency"})
"""Metrics whose long values are late ones; a long period is a pause."""

_SHIFTED = (0.999, 0.99, 0.9)
_EACH = 0.975
"""Of both sides' intervals, so that 95 % hold both."""
_LEAST_PERIODS, _REGULAR = 10, 0.9

SMALL_EFFECT = 0.147
"""Cliff's delta below which a difference is negligible (Romano et al., 2006)."""


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric of the actors of a name in both traces. Times in ns; ratios are B / A.

    ``longest_at`` is when the longest of A and of B began to run.

    ``ratio`` is of the medians, with its 95 % interval; None when a median is 0. ``delta`` is
    Cliff's: 1 when every value of B is above every one of A, -1 when below. ``changed`` says that
    the interval excludes 1 and the effect is not negligible; ``reason`` why it cannot be said.
    """

    actor: str
    metric: str = field(metadata=in_json(name="figure"))
    a: TimeDistribution
    b: TimeDistribution
    ratio: float | None
    interval: QuantileBounds | None
    delta: float | None
    p99_ratio: float | None
    changed: bool
    reason: str
    tail: TailChange | None = None
    shift: QuantileShift | None = None
    longest_at: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class QuantileShift:
    """A high quantile of a metric in both traces: times in ns, ``ratio`` is B / A.

    ``quantile`` is the highest of 99.9, 99 and 90 % whose interval both have. The 95 % interval of
    the ratio is made of both sides' intervals between order statistics, 97.5 % each (David &
    Nagaraja, *Order Statistics*, section 7.1; Bonferroni): it is on the safe side. ``changed``
    says that it excludes 1.
    """

    quantile: float
    a: float
    b: float
    ratio: float
    interval: QuantileBounds
    changed: bool


@dataclass(frozen=True, slots=True)
class TailChange:
    """The rare long ones of a metric in both traces: a median says nothing of them.

    ``ratio`` is of the longest, B / A. ``beyond`` of the ``count`` values of ``side`` are longer
    than any of the other trace; ``p`` is that of a chance, with a correction for all comparisons
    made (``benchvise.tails``), and ``shown`` that it is below 0.01.
    """

    ratio: float
    side: Literal["a", "b"]
    beyond: int
    count: int
    p: float
    shown: bool

    @property
    def notable(self) -> bool:
        """Whether a reader has to be told, though the median did not change."""
        return self.shown or not 1 / NOTABLE_RATIO < self.ratio < NOTABLE_RATIO


@dataclass(frozen=True, slots=True)
class ActorRate:
    """How often the actors of a name ran, and their share of one CPU, in both traces.

    ``ratio`` of the rates is B / A, with the 95 % interval of two Poisson rates (conditional test:
    Przyborowski & Wilenski, Biometrika 31 (1940) 313): of regular activations it is far on the
    safe side. ``changed`` says that it excludes 1. ``missing`` and ``extra`` activations are
    counted where those of A are regular: of a period near to a multiple k of A's median, k - 1 are
    missing; one below half of it is extra. None where they are not.
    """

    actor: str
    per_second: tuple[float, float]
    load: tuple[float, float]
    ratio: float | None = None
    interval: QuantileBounds | None = None
    changed: bool = False
    missing: tuple[int, int] | None = None
    extra: tuple[int, int] | None = None


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
    comparisons = max(1, len(shared) * len(TAILED))
    changes = [
        _change(
            name,
            metric,
            (sides[0].values[metric][at], sides[1].values[metric][other]),
            (sides[0].longest_at(metric, at), sides[1].longest_at(metric, other)),
            comparisons,
        )
        for name in shared
        for at, other in [(sides[0].names[name], sides[1].names[name])]
        for metric in METRICS
        if sides[0].values[metric][at].size and sides[1].values[metric][other].size
    ]
    return TraceComparison(
        changes=tuple(sorted(changes, key=_clearest_first)),
        rates=tuple(_rate(name, sides) for name in shared),
        only_in_a=tuple(name for name in sides[0].names if name not in sides[1].names),
        only_in_b=tuple(name for name in sides[1].names if name not in sides[0].names),
        incomplete=(sides[0].incomplete, sides[1].incomplete),
    )


class _Side:
    """One trace: the metrics of each name, in ascending order."""

    def __init__(self, analysis: Analysis, chosen: Sequence[Actor], *, incomplete: bool) -> None:
        rows = analysis.instances
        grouping = Grouping(analysis.actors, chosen, by_name=True)
        group = grouping.of_actor[rows["actor"]]
        kept = np.flatnonzero((group >= 0) & analysis.span.holds(rows["begin"]))
        groups = Groups(group[kept], len(grouping))
        metrics = instance_metrics(analysis, incomplete=incomplete)
        self.values = {name: groups.sorted(metrics[name][kept]) for name in METRICS}
        self.counts = groups.sizes
        self.seconds = analysis.span.duration / 1e9
        self._groups = groups
        self._metrics = {name: metrics[name][kept] for name in METRICS}
        self._begin = rows["begin"][kept]
        of_fragment = grouping.of_actor[analysis.fragments["actor"]]
        ran = of_fragment >= 0
        busy = sums(of_fragment[ran], own_time(analysis)[ran], len(grouping))
        self.load = busy / analysis.span.duration
        self.per_second = groups.sizes / self.seconds
        self.incomplete = int((~analysis.complete[kept]).sum())
        present = (groups.sizes > 0) | (busy > 0)
        self.names = {name: at for at, name in enumerate(grouping.labels) if present[at]}

    def longest_at(self, metric: str, group: int) -> int:
        """When the instance with the largest value of a group began; it has one."""
        mine = self._groups.rows(group)
        return int(self._begin[mine[np.argmax(self._metrics[metric][mine])]])


def _rate(name: str, sides: Sequence[_Side]) -> ActorRate:
    at, other = (side.names[name] for side in sides)
    counts = int(sides[0].counts[at]), int(sides[1].counts[other])
    seconds = sides[0].seconds, sides[1].seconds
    ratio, interval = rate_ratio(counts, seconds)
    periods = sides[0].values["period"][at], sides[1].values["period"][other]
    irregular = irregular_periods(periods[0], periods[0]), irregular_periods(periods[0], periods[1])
    of_a, of_b = irregular
    return ActorRate(
        actor=name,
        per_second=(float(sides[0].per_second[at]), float(sides[1].per_second[other])),
        load=(float(sides[0].load[at]), float(sides[1].load[other])),
        ratio=ratio,
        interval=interval,
        changed=interval is not None and not interval.low <= 1.0 <= interval.high,
        missing=None if of_a is None or of_b is None else (of_a[0], of_b[0]),
        extra=None if of_a is None or of_b is None else (of_a[1], of_b[1]),
    )


def rate_ratio(
    counts: tuple[int, int], seconds: tuple[float, float]
) -> tuple[float | None, QuantileBounds | None]:
    """The ratio of two rates, second to first, with its 95 % interval; None without activations.

    Given all of them, the second's are binomial: their share has the interval of Clopper and
    Pearson (Biometrika 26 (1934) 404).
    """
    a, b = counts
    if a == 0 or b == 0:
        return None, None
    scale = seconds[0] / seconds[1]
    low, high = _share_interval(b, a + b)
    return b / a * scale, QuantileBounds(low / (1 - low) * scale, high / (1 - high) * scale)


def _share_interval(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share that is neither 0 nor 1."""

    def solved(k: int, tail: float) -> float:
        """The share of which at least ``k`` come with the probability ``tail``."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if incomplete_beta(middle, k, of - k + 1) < tail:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    return solved(count, 0.025), solved(count + 1, 0.975)


def irregular_periods(reference: Ints, periods: Ints) -> tuple[int, int] | None:
    """How many activations are missing and extra in ``periods``, by the median of ``reference``.

    None where fewer than nine tenths of the reference's periods, or fewer than ten, lie within a
    quarter of their median. Both are in ascending order.
    """
    if reference.size < _LEAST_PERIODS:
        return None
    median = float(reference[reference.size // 2])
    near = np.abs(reference - median) < median / 4
    if median <= 0 or near.mean() < _REGULAR:
        return None
    multiples = np.rint(periods / median).astype(np.int64)
    return int(np.maximum(multiples - 1, 0).sum()), int((periods < median / 2).sum())


def _change(
    actor: str,
    metric: str,
    values: tuple[Ints, Ints],
    longest_at: tuple[int, int],
    comparisons: int,
) -> MetricChange:
    a, b = values
    of_a, of_b = distribution(a), distribution(b)
    assert of_a is not None and of_b is not None  # noqa: S101 (neither is empty)
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
    return MetricChange(
        actor=actor,
        metric=metric,
        a=of_a,
        b=of_b,
        ratio=ratio.value if ratio else None,
        interval=interval,
        delta=delta,
        p99_ratio=of_b.p99 / of_a.p99 if of_a.p99 > 0 else None,
        changed=excludes and delta is not None and abs(delta) >= SMALL_EFFECT,
        reason=reason,
        tail=_tail(a, b, comparisons) if enough and metric in TAILED else None,
        shift=quantile_shift(a, b) if enough and metric in TAILED else None,
        longest_at=longest_at,
    )


def quantile_shift(a: Ints, b: Ints) -> QuantileShift | None:
    """The shift of the highest quantile whose interval both have; None where none has one, or one
    is 0. Values are in ascending order."""
    for share in _SHIFTED:
        ends = [quantile_interval(side, share, _EACH) for side in (a, b)]
        if any(one.coverage < _EACH - 0.002 for one in ends):
            continue
        of_a, of_b = quantile(a, share), quantile(b, share)
        if min(of_a, of_b, ends[0].low) <= 0:
            return None
        interval = QuantileBounds(ends[1].low / ends[0].high, ends[1].high / ends[0].low)
        return QuantileShift(
            share,
            of_a,
            of_b,
            of_b / of_a,
            interval,
            changed=not interval.low <= 1.0 <= interval.high,
        )
    return None


def _tail(a: Ints, b: Ints, comparisons: int) -> TailChange | None:
    """The longest values of both, which are in ascending order; None where one has only zeros."""
    if a[-1] <= 0 or b[-1] <= 0:
        return None
    tested = tail_differences(
        CountedTimes.of(b.astype(np.float64)), CountedTimes.of(a.astype(np.float64)), comparisons
    )
    if not tested:
        return None
    beyond_maximum = tested[0]
    in_b = beyond_maximum.beyond > 0
    return TailChange(
        ratio=float(b[-1] / a[-1]),
        side="b" if in_b else "a",
        beyond=beyond_maximum.beyond if in_b else beyond_maximum.reference_beyond,
        count=beyond_maximum.count if in_b else beyond_maximum.reference_count,
        p=beyond_maximum.p,
        shown=beyond_maximum.significant,
    )


def _clearest_first(change: MetricChange) -> tuple[bool, bool, float, float]:
    size = abs(np.log(change.ratio)) if change.ratio else 0.0
    is_notable = change.tail is not None and change.tail.notable
    is_shifted = change.shift is not None and change.shift.changed
    return (
        not change.changed,
        not (is_notable or is_shifted),
        -abs(change.delta or 0.0),
        -float(size),
    )
