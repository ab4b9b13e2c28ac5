"""Where the values of a series changed from run to run, and by how much.

Method: E-divisive (D. Matteson and N. James, J. Am. Stat. Assoc. 109 (2014) 334), as it is used on
the results of benchmarks (D. Daly et al., ICPE 2020, 67). On the logarithms of the values, the
split that sets both sides furthest apart is looked for, by the energy distance, which assumes no
shape of distribution. It is a change when fewer than one in a hundred of the orders of the same
values have a split as good (a permutation test); then both sides are searched in turn. Of few
values all orders are counted, of many random ones are drawn, with a fixed seed, so that the same
runs always give the same answer. A change that is no larger than the least noise floor of a
comparison is not reported.

Runs are the units here, not their batches: what differs from one run to the next although nothing
was changed (a boot, a layout of memory) is the noise against which a change has to show. So it
takes five runs on either side, or six and four, or nine and three, until one can show at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.measure.compare import LEAST_NOISE_FLOOR, SIGNIFICANCE
from benchvise.statistics import Floats, hodges_lehmann_shift

PERMUTATIONS = 999

LEAST_RUNS = 3
"""On either side of a change: fewer could be a burst of noise that one visit lasted."""

_ALL_ORDERS_OF = 12
"""So many runs at most have all their orders counted: 4096 sets of runs to look at."""

_SEED = 20201
_AS_GOOD = 1.0 - 1e-9
"""Of the best split: the same two sides, added up in another order, are as good."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The value changed between run ``at - 1`` and run ``at``, counted from 0.

    ``ratio`` is what lies after (up to the next change) to what lies before (from the last one),
    by Hodges-Lehmann, with its interval of 95 % or as much as so few runs allow. ``p`` is that of
    the permutation test.
    """

    at: int
    ratio: float
    low: float
    high: float
    p: float


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """The changes in one value a run, in the runs' order.

    ``values`` are positive and finite; ValueError when one is not.
    """
    if any(not math.isfinite(value) or value <= 0.0 for value in values):
        raise ValueError("values of runs have to be positive and finite")
    logs = np.log(np.array(values, dtype=np.float64))
    points: dict[int, float] = {}
    _search(logs, 0, len(logs), np.random.default_rng(_SEED), points)
    return _without_small(logs, points)


def _search(
    logs: Floats, start: int, stop: int, chance: np.random.Generator, points: dict[int, float]
) -> None:
    """Adds the changes from ``start`` to ``stop``, each with its p."""
    if stop - start < 2 * LEAST_RUNS:
        return
    part = logs[start:stop]
    apart = np.abs(part[:, None] - part[None, :])
    at, best = _best_split(apart)
    if best <= 0.0:
        return
    p = (
        _share_of_orders(apart, best)
        if part.size <= _ALL_ORDERS_OF
        else _share_of_random_orders(apart, best, chance)
    )
    if p > SIGNIFICANCE:
        return
    points[start + at] = p
    _search(logs, start, start + at, chance, points)
    _search(logs, start + at, stop, chance, points)


def _share_of_random_orders(apart: Floats, best: float, chance: np.random.Generator) -> float:
    """Of random orders, and of the one that is, the share with a split as good as the best one.

    As soon as that is no change any more, no further orders are drawn.
    """
    p, as_good = 1.0, 0
    for _ in range(PERMUTATIONS):
        order = chance.permutation(len(apart))
        as_good += _best_split(apart[np.ix_(order, order)])[1] >= best * _AS_GOOD
        p = (1 + as_good) / (1 + PERMUTATIONS)
        if p > SIGNIFICANCE:
            break
    return p


def _share_of_orders(apart: Floats, best: float) -> float:
    """Of all orders the share with a split as good as the best one.

    An order is a way from the empty set of runs to all of them, one by one, and its splits are the
    sets on that way. So the ways that avoid all sets that are as good are counted, set by set.
    """
    n = len(apart)
    sets = np.arange(1 << n)
    member = (sets[:, None] >> np.arange(n) & 1).astype(np.float64)
    size = member.sum(axis=1)
    left = ((member @ apart) * member).sum(axis=1)
    between = member @ apart.sum(axis=1) - left
    inner = (size >= LEAST_RUNS) & (size <= n - LEAST_RUNS)
    is_good = np.zeros(len(sets), dtype=bool)
    is_good[inner] = (
        _energy(left[inner], between[inner], apart.sum(), size[inner], n) >= best * _AS_GOOD
    )
    ways = np.zeros(len(sets))
    ways[0] = 1.0
    for count in range(1, n + 1):
        of_size = sets[(size == count) & ~is_good]
        for run in range(n):
            with_run = of_size[(of_size >> run & 1) == 1]
            ways[with_run] += ways[with_run ^ (1 << run)]
    return 1.0 - float(ways[-1]) / math.factorial(n)


def _best_split(apart: Floats) -> tuple[int, float]:
    """Where the energy distance of the two sides is largest, weighted by their sizes, and it."""
    n = apart.shape[0]
    sums = apart.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST_RUNS, n - LEAST_RUNS + 1)
    left = sums[m - 1, m - 1]
    between = sums[m - 1, n - 1] - left
    weighted = _energy(left, between, sums[n - 1, n - 1], m, n)
    best = int(np.argmax(weighted))
    return int(m[best]), float(weighted[best])


def _energy(left: Floats, between: Floats, total: float, m: Floats, n: int) -> Floats:
    """The energy distance of ``m`` of ``n`` values from the others, weighted by their numbers.

    From the sums of distances: of all pairs among the ``m``, of those with one of the others, of
    all there are; within a side each pair is in its sum twice, as it is in ``total``.
    """
    k = n - m
    right = total - left - 2.0 * between
    energy = 2.0 * between / (m * k) - left / (m * (m - 1)) - right / (k * (k - 1))
    weighted: Floats = energy * m * k / n
    return weighted


def _without_small(logs: Floats, points: dict[int, float]) -> list[ChangePoint]:
    """The changes beyond the noise floor; the least of the others goes first, as its sides join."""
    kept = dict(points)
    while True:
        changes = _measured(logs, kept)
        small = [c for c in changes if abs(math.log(c.ratio)) <= math.log1p(LEAST_NOISE_FLOOR)]
        if not small:
            return changes
        del kept[min(small, key=lambda change: abs(math.log(change.ratio))).at]


def _measured(logs: Floats, kept: dict[int, float]) -> list[ChangePoint]:
    ends = [0, *sorted(kept), logs.size]
    changes = []
    for before, at, after in zip(ends, ends[1:], ends[2:], strict=False):
        shift = hodges_lehmann_shift(logs[at:after], logs[before:at])
        changes.append(
            ChangePoint(
                at,
                math.exp(shift.value),
                math.exp(shift.interval.low),
                math.exp(shift.interval.high),
                kept[at],
            )
        )
    return changes
