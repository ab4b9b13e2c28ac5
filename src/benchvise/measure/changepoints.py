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
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from benchvise.measure.compare import LEAST_NOISE_FLOOR, SIGNIFICANCE
from benchvise.statistics.quantiles import median_of_sorted
from benchvise.statistics.ranks import hodges_lehmann_shift

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
    logs = list(map(math.log, values))
    points: dict[int, float] = {}
    chance = random.Random(_SEED)  # noqa: S311 - of a test, not of a secret
    _search(logs, 0, len(logs), chance, points)
    return _without_small(logs, points)


def _search(
    logs: Sequence[float], start: int, stop: int, chance: random.Random, points: dict[int, float]
) -> None:
    """Adds the changes from ``start`` to ``stop``, each with its p."""
    if stop - start < 2 * LEAST_RUNS:
        return
    part = _Distances(logs[start:stop])
    at, best = part.best_split(range(stop - start))
    if best <= 0.0:
        return
    p = (
        part.share_of_orders(best)
        if stop - start <= _ALL_ORDERS_OF
        else part.share_of_random_orders(best, chance)
    )
    if p > SIGNIFICANCE:
        return
    points[start + at] = p
    _search(logs, start, start + at, chance, points)
    _search(logs, start + at, stop, chance, points)


class _Distances:
    """Of each of some values from each other, and what splits of their orders make of them.

    No matrix is needed: the distances of a value from others that are sorted are its own, times
    the numbers of those below and above, and the sums of these.
    """

    def __init__(self, values: Sequence[float]) -> None:
        centre = median_of_sorted(sorted(values))
        self._values = [value - centre for value in values]
        ordered = sorted(self._values)
        whole = math.fsum(ordered)
        below = list(accumulate(ordered, initial=0.0))
        n = len(ordered)
        self._of_one = []
        """The sum of the distances of each value from all."""
        for value in self._values:
            place = bisect_left(ordered, value)
            distances = value * (2 * place - n) + whole - 2.0 * below[place]
            self._of_one.append(distances)
        self._total = math.fsum(self._of_one)

    def best_split(self, order: Sequence[int]) -> tuple[int, float]:
        """Where the weighted energy distance of the two sides is largest, and it."""
        n = len(order)
        left = of_left = sum_before = 0.0
        before: list[float] = []
        at, best = LEAST_RUNS, -math.inf
        for m, run in enumerate(order[: n - LEAST_RUNS], 1):
            value = self._values[run]
            place = bisect_left(before, value)
            # of the shorter side
            below = sum(before[:place]) if 2 * place < m else sum_before - sum(before[place:])
            left += 2.0 * (value * (2 * place - m + 1) + sum_before - 2.0 * below)
            of_left += self._of_one[run]
            before.insert(place, value)
            sum_before += value
            if m >= LEAST_RUNS:
                weighted = _energy(left, of_left - left, self._total, m, n)
                if weighted > best:
                    at, best = m, weighted
        return at, best

    def share_of_random_orders(self, best: float, chance: random.Random) -> float:
        """Of random orders, and of the one that is, the share with a split as good as the best one.

        As soon as that is no change any more, no further orders are drawn.
        """
        p, as_good = 1.0, 0
        order = list(range(len(self._values)))
        for _ in range(PERMUTATIONS):
            chance.shuffle(order)
            as_good += self.best_split(order)[1] >= best * _AS_GOOD
            p = (1 + as_good) / (1 + PERMUTATIONS)
            if p > SIGNIFICANCE:
                break
        return p

    def share_of_orders(self, best: float) -> float:
        """Of all orders the share with a split as good as the best one.

        An order is a way from the empty set of runs to all of them, one by one, and its splits are
        the sets on that way. So the ways that avoid all sets that are as good are counted, set by
        set; a set is a number, with a bit for each run.
        """
        n = len(self._values)
        sizes, left, of_left = [0], [0.0], [0.0]
        for run, value in enumerate(self._values):
            near = [0.0]
            for other in self._values[:run]:
                apart = abs(value - other)
                near += [distance + apart for distance in near]
            left += [inside + 2.0 * distance for inside, distance in zip(left, near, strict=True)]
            of_left += [distance + self._of_one[run] for distance in of_left]
            sizes += [size + 1 for size in sizes]
        least = best * _AS_GOOD
        ways = [1] + [0] * (2**n - 1)
        for runs in range(1, 2**n):
            size = sizes[runs]
            if (
                LEAST_RUNS <= size <= n - LEAST_RUNS
                and _energy(left[runs], of_left[runs] - left[runs], self._total, size, n) >= least
            ):
                continue
            rest = runs
            count = 0
            while rest:
                last = rest & -rest
                count += ways[runs ^ last]
                rest ^= last
            ways[runs] = count
        return 1.0 - ways[-1] / math.factorial(n)


def _energy(left: float, between: float, total: float, m: int, n: int) -> float:
    """The energy distance of ``m`` of ``n`` values from the others, weighted by their numbers.

    From the sums of distances: of all pairs among the ``m``, of those with one of the others, of
    all there are; within a side each pair is in its sum twice, as it is in ``total``.
    """
    k = n - m
    right = total - left - 2.0 * between
    energy = 2.0 * between / (m * k) - left / (m * (m - 1)) - right / (k * (k - 1))
    return energy * m * k / n


def _without_small(logs: Sequence[float], points: dict[int, float]) -> list[ChangePoint]:
    """The changes beyond the noise floor; the least of the others goes first, as its sides join."""
    kept = dict(points)
    while True:
        changes = _measured(logs, kept)
        small = [c for c in changes if abs(math.log(c.ratio)) <= math.log1p(LEAST_NOISE_FLOOR)]
        if not small:
            return changes
        del kept[min(small, key=lambda change: abs(math.log(change.ratio))).at]


def _measured(logs: Sequence[float], kept: dict[int, float]) -> list[ChangePoint]:
    ends = [0, *sorted(kept), len(logs)]
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
