"""Distributions of durations, for many groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchvise.statistics.quantiles import median_ranks, quantile_ranks
from benchvise.trace.analysis.model import NONE, Bools, Floats, Ints
from benchvise.trace.decoder import decoder

CONFIDENCE = 0.95

_LEAST = 6
"""Both ends of six values hold their median in 97 % of cases, those of five in 94 %."""

_DENSE = 1 << 24
"""Keys below this are numbered by counting, larger ones by sorting."""


@dataclass(frozen=True, slots=True)
class QuantileBounds:
    """A 95 % interval between order statistics."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TimeDistribution:
    """The distribution of many durations (ns) or counts.

    ``interval`` is the 95 % interval of the median, ``p99_interval`` that of the 99th percentile;
    None when there are too few values for one. Percentiles are interpolated (definition 7 of
    Hyndman and Fan): with fewer than 100 values the 99th says little more than the maximum, with
    fewer than 1000 the 99.9th (``p999``).
    """

    count: int
    mean: float
    minimum: float
    median: float
    interval: QuantileBounds | None
    p95: float
    p99: float
    p99_interval: QuantileBounds | None
    p999: float
    maximum: float
    total: float


def distribution(values: Ints | Floats) -> TimeDistribution | None:
    """The distribution of values in ascending order; None for none."""
    if values.size == 0:
        return None
    if values.size < _LEAST:
        return _of_few(values.tolist())
    total = float(values.sum())
    return TimeDistribution(
        count=int(values.size),
        mean=total / values.size,
        minimum=float(values[0]),
        median=quantile(values, 0.5),
        interval=_median_bounds(values),
        p95=quantile(values, 0.95),
        p99=quantile(values, 0.99),
        p99_interval=quantile_bounds(values, 0.99),
        p999=quantile(values, 0.999),
        maximum=float(values[-1]),
        total=total,
    )


def _of_few(values: list[float]) -> TimeDistribution:
    """The same without arrays: there are tens of thousands of calls by actors that made few."""
    total = float(sum(values))
    return TimeDistribution(
        count=len(values),
        mean=total / len(values),
        minimum=float(values[0]),
        median=_between(values, 0.5),
        interval=None,
        p95=_between(values, 0.95),
        p99=_between(values, 0.99),
        p99_interval=None,
        p999=_between(values, 0.999),
        maximum=float(values[-1]),
        total=total,
    )


def quantile(values: Ints | Floats, share: float) -> float:
    """The quantile of values in ascending order, by linear interpolation."""
    return _between(values, share)


def _between(values: Ints | Floats | list[float], share: float) -> float:
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return float(values[below]) + (at - below) * float(values[above] - values[below])


def _median_bounds(values: Ints | Floats) -> QuantileBounds:
    low, high, _ = median_ranks(values.size, CONFIDENCE)
    return QuantileBounds(float(values[low - 1]), float(values[high - 1]))


def quantile_bounds(values: Ints | Floats, share: float) -> QuantileBounds | None:
    """The 95 % interval of a quantile of values in ascending order; None for too few values."""
    if values.size * min(share, 1.0 - share) < 1.0:
        return None
    low, high, coverage = quantile_ranks(values.size, share, CONFIDENCE)
    if coverage < CONFIDENCE - 0.002:
        return None
    return QuantileBounds(float(values[low - 1]), float(values[high - 1]))


class Groups:
    """Rows by group: the order that puts rows of one group together, and where each begins."""

    def __init__(self, groups: Ints, count: int) -> None:
        self.groups = groups
        self.count = count
        self.order = by_number(groups, count)
        self.sizes: Ints = np.bincount(groups, minlength=count).astype(np.int64)
        self.starts: Ints = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def rows(self, group: int) -> Ints:
        """The rows of a group, in ascending order."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def sorted(self, values: Ints) -> list[Ints]:
        """The values of each group in ascending order, without ``NONE``."""
        ordered = decoder().sort_groups(values[self.order], self.starts)
        starts = self.starts.tolist()
        parts = [ordered[begin:end] for begin, end in pairwise(starts)]
        # NONE is the least of all integers: it stands in front.
        unknown = np.flatnonzero(ordered[self.starts[:-1][self.sizes > 0]] == NONE)
        for group in np.flatnonzero(self.sizes > 0)[unknown].tolist():
            parts[group] = parts[group][np.searchsorted(parts[group], NONE, side="right") :]
        return parts

    def largest(self, values: Ints) -> Ints:
        """The row of the largest value of each group, of equal ones the first; -1: it is empty."""
        rows: Ints = np.full(self.count, -1, dtype=np.int64)
        filled = np.flatnonzero(self.sizes)
        if filled.size == 0:
            return rows
        arranged, starts = values[self.order], self.starts[filled]
        most = np.repeat(np.maximum.reduceat(arranged, starts), self.sizes[filled])
        hits = np.flatnonzero(arranged == most)
        rows[filled] = self.order[hits[np.searchsorted(hits, starts)]]
        return rows


def by_number(numbers: Ints, count: int) -> Ints:
    """The order that brings rows with equal numbers below ``count`` together, the least first."""
    # Sorting 16-bit keys is a counting sort in numpy.
    keys = numbers.astype(np.uint16) if count <= 1 << 16 else numbers
    order: Ints = np.argsort(keys, kind="stable")
    return order


def numbered(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys (none negative) in ascending order, and the number of each key in them."""
    if keys.size == 0 or int(keys.max()) >= _DENSE:
        distinct, inverse = np.unique(keys, return_inverse=True)
        return distinct, inverse.astype(np.int64)
    distinct = np.flatnonzero(np.bincount(keys))
    place = np.zeros(int(distinct[-1]) + 1, dtype=np.int64)
    place[distinct] = np.arange(distinct.size)
    return distinct, place[keys]


def distinct(keys: Ints) -> int:
    """How many different keys there are."""
    return int(numbered(keys)[0].size)


def sums(groups: Ints, values: Ints | Floats | Bools, count: int) -> Floats:
    """The sum of the values of each group. Exact up to 2^53 ns, which is 104 days."""
    total: Floats = np.bincount(groups, weights=values, minlength=count).astype(np.float64)
    return total


def minus(a: Ints, b: Ints) -> Ints:
    """a - b where both are known, ``NONE`` elsewhere."""
    both_known = (a != NONE) & (b != NONE)
    difference: Ints = np.where(both_known, a - np.where(both_known, b, 0), NONE)
    return difference


def or_else(a: Ints, b: Ints) -> Ints:
    """a where it is known, b elsewhere."""
    chosen: Ints = np.where(a == NONE, b, a)
    return chosen
