"""Whether the values of a series have two modes, and whether they drift."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, combinations, pairwise
from typing import TYPE_CHECKING

from benchvise.statistics.quantiles import (
    mad_of_sorted,
    median_of_sorted,
    percentile_of_sorted,
)
from benchvise.statistics.sample import (
    MOST_PAIRED_POINTS,
    as_list,
    checked_values,
    in_order,
    two_sided_p,
)

if TYPE_CHECKING:
    from benchvise.statistics.sample import Values

# Bimodality (see ``modes``).
_MODE_SHARE = 0.15
_MODE_RATIO = 1.05
_MODE_MINIMUM = 10
# Of more slopes, those of some ranks are found without having them all.
_SLOPES_AT_ONCE = 40_000
# Beyond so many halvings a float has no digits left.
_HALVINGS = 64

_Timed = tuple[Sequence[float], Sequence[float]]
"""Positions in time, and the values there."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One of two clusters: its median in the unit of the values, its share of them (0..1)."""

    median: float
    share: float


@dataclass(frozen=True, slots=True)
class Drift:
    """A monotone trend: the change over the whole series relative to its median, and its p."""

    relative_change: float
    p: float


def modes(values: Values) -> tuple[Mode, Mode] | None:
    """The two clusters of a bimodal sample, the lower one first; None when it is not bimodal.

    A gap test on the logarithms: split the sorted values where the gap is widest, each side
    holding at least 15 % of them. The sample is bimodal when the medians of the sides are at
    least 5 % apart and the gap exceeds 1.5 + 65/n times the larger MAD of the sides (2.5 at
    n = 63). The gap is taken between the 95th percentile of the lower and the 5th of the upper
    side, so that a batch or two caught between the modes do not hide them. Fewer than ten values
    show no modes, and values that are not all positive have no ratios: both give None.

    Source: splitting at the largest gap is single-linkage clustering into two (Hartigan,
    *Clustering Algorithms*, 1975); the thresholds are our own, from simulation.
    """
    array = as_list(in_order(checked_values(values)))
    n = len(array)
    if array[0] <= 0.0 or n < _MODE_MINIMUM:
        return None
    smallest = math.ceil(_MODE_SHARE * n)
    logs = list(map(math.log, array))
    gaps = [above - below for below, above in pairwise(logs[smallest - 1 : n - smallest + 1])]
    split = smallest + gaps.index(max(gaps))
    lower, upper = logs[:split], logs[split:]
    distance = median_of_sorted(upper) - median_of_sorted(lower)
    gap = percentile_of_sorted(upper, 5.0) - percentile_of_sorted(lower, 95.0)
    if distance < math.log(_MODE_RATIO) or gap <= 0.0:
        return None
    # One in fifty samples of a unimodal shape exceeds about this, by simulation of normal,
    # uniform, exponential, Laplace and Pareto shapes with n from 10 to 100.
    least_gap = (1.5 + 65.0 / n) * max(mad_of_sorted(lower), mad_of_sorted(upper))
    if gap <= least_gap:
        return None
    return (
        Mode(median_of_sorted(array[:split]), split / n),
        Mode(median_of_sorted(array[split:]), 1.0 - split / n),
    )


def drift(*blocks: Values) -> Drift:
    """The monotone trend of values in time order, by Mann-Kendall and Theil-Sen.

    One block is the plain Mann-Kendall test: tie and continuity correction, normal
    approximation, two-sided. Of several blocks, such as the processes of a series, only trends
    *within* them count, so that a difference between processes is not taken for a trend. Blocks
    beyond 2000 values are cut into groups of which the medians count. ``relative_change`` is the
    Theil-Sen slope over the longest block, divided by the median (0 for a median of 0).

    Source: H. B. Mann, Econometrica 13 (1945) 245; P. K. Sen, J. Amer. Statist. Assoc. 63
    (1968) 1379; blocks: Hirsch, Slack & Smith, Water Resources Research 18 (1982) 107.
    """
    arrays = [as_list(checked_values(block)) for block in blocks]
    longest = max(map(len, arrays), default=0)
    if longest < 2:
        raise ValueError("a trend needs at least two values in a block")
    grouped = [_grouped(array) for array in arrays]
    score = sum(_kendall_score(values) for _, values in grouped)
    variance = sum(_kendall_variance(values) for _, values in grouped)
    centre = median_of_sorted(sorted(chain.from_iterable(arrays)))
    change = _median_slope(grouped) * (longest - 1)
    p = two_sided_p((abs(score) - 1.0) / math.sqrt(variance)) if variance > 0.0 else 1.0
    return Drift(change / abs(centre) if centre else 0.0, p)


def _kendall_score(values: Sequence[float]) -> int:
    """How many pairs rise in the order of time, less those that fall."""
    score, before = 0, list[float]()
    for value in values:
        place = bisect_left(before, value)
        above = len(before) - bisect_right(before, value, place)
        score += place - above
        before.insert(place, value)
    return score


def _kendall_variance(values: Sequence[float]) -> float:
    """The variance of the Kendall score (concordant minus discordant pairs of value and position)
    without trend, with tie correction."""

    def term(n: float) -> float:
        return n * (n - 1.0) * (2.0 * n + 5.0)

    n = len(values)
    if len(set(values)) == n:
        return term(n) / 18.0
    return (term(n) - sum(map(term, Counter(values).values()))) / 18.0


def _median_slope(grouped: Sequence[_Timed]) -> float:
    """The median of the slopes between all pairs of a block."""
    pairs = sum(len(values) * (len(values) - 1) // 2 for _, values in grouped)
    if pairs > _SLOPES_AT_ONCE:
        return _median_of_many_slopes(grouped, pairs)
    slopes = [
        (later - earlier) / (second - first)
        for positions, values in grouped
        for (first, earlier), (second, later) in combinations(_points(positions, values), 2)
    ]
    return median_of_sorted(sorted(slopes))


def _points(positions: Sequence[float], values: Sequence[float]) -> Iterable[tuple[float, float]]:
    return zip(positions, values, strict=True)


def _median_of_many_slopes(grouped: Sequence[_Timed], pairs: int) -> float:
    """By bisection: as many slopes are above one as pairs fall when that slope is taken off.

    Source: the counting of R. Cole et al., SIAM J. Comput. 18 (1989) 792, with plain bisection.
    """

    def not_above(slope: float) -> int:
        count = 0
        for positions, values in grouped:
            before: list[float] = []
            for position, value in _points(positions, values):
                level = value - slope * position
                count += len(before) - bisect_left(before, level)
                insort(before, level)
        return count

    steepest = max(
        abs(later - earlier) / (second - first)
        for positions, values in grouped
        for (first, earlier), (second, later) in pairwise(_points(positions, values))
    )

    def of_rank(rank: int) -> float:
        low, high = -steepest, steepest  # no pair is steeper than the steepest neighbours
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            if not low < middle < high:
                break
            low, high = (low, middle) if not_above(middle) >= rank else (middle, high)
        return (low + high) / 2.0

    lower = of_rank((pairs + 1) // 2)
    return lower if pairs % 2 else (lower + of_rank(pairs // 2 + 1)) / 2.0


def _grouped(values: Sequence[float]) -> _Timed:
    """Positions and values; of a long series, the centres and medians of consecutive groups."""
    n = len(values)
    if n <= MOST_PAIRED_POINTS:
        return range(n), values
    # The first groups have one more, where they cannot be of one size.
    least, larger = divmod(n, MOST_PAIRED_POINTS)
    ends = list(
        accumulate((least + (place < larger) for place in range(MOST_PAIRED_POINTS)), initial=0)
    )
    centres = [(first + after - 1) / 2.0 for first, after in pairwise(ends)]
    medians = [median_of_sorted(sorted(values[first:after])) for first, after in pairwise(ends)]
    return centres, medians
