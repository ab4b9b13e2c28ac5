"""Where the values of a series changed from run to run, and by how much.

Method: E-divisive (D. Matteson and N. James, J. Am. Stat. Assoc. 109 (2014) 334), as it is used on
the results of benchmarks (D. Daly et al., ICPE 2020, 67). On the logarithms of the values, the
split that sets both sides furthest apart is looked for, by the energy distance, which assumes no
shape of distribution. It is a change when fewer than one in a hundred of random orders of the same
values have a split as good (a permutation test, with a fixed seed, so that the same runs always
give the same answer); then both sides are searched in turn. A change that is no larger than the
least noise floor of a comparison is not reported.

Runs are the units here, not their batches: what differs from one run to the next although nothing
was changed (a boot, a layout of memory) is the noise against which a change has to show. So it
takes five runs on either side, or more on one of them, until one can show at all.
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

_SEED = 20201


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
    as_good = 0
    for _ in range(PERMUTATIONS):
        order = chance.permutation(part.size)
        as_good += _best_split(apart[np.ix_(order, order)])[1] >= best
        p = (1 + as_good) / (1 + PERMUTATIONS)
        if p > SIGNIFICANCE:
            return
    points[start + at] = p
    _search(logs, start, start + at, chance, points)
    _search(logs, start + at, stop, chance, points)


def _best_split(apart: Floats) -> tuple[int, float]:
    """Where the energy distance of the two sides is largest, weighted by their sizes, and it."""
    n = apart.shape[0]
    sums = apart.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST_RUNS, n - LEAST_RUNS + 1)
    left = sums[m - 1, m - 1]
    between = sums[m - 1, n - 1] - left
    right = sums[n - 1, n - 1] - left - 2.0 * between
    k = n - m
    # Means over pairs of different values: both sums have each pair twice.
    energy = 2.0 * between / (m * k) - left / (m * (m - 1)) - right / (k * (k - 1))
    weighted = energy * m * k / n
    best = int(np.argmax(weighted))
    return int(m[best]), float(weighted[best])


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
