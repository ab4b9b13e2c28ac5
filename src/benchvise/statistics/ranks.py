"""Tests and estimates of pairs, or of two samples, by the order of their values."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from operator import add, sub
from typing import TYPE_CHECKING

from benchvise.statistics.sample import (
    MOST_PAIRED_POINTS,
    Estimate,
    Interval,
    as_list,
    check_confidence,
    checked_values,
    in_order,
    normal_deviate,
    two_sided_p,
)

if TYPE_CHECKING:
    from benchvise.statistics.sample import Values

# Up to these sizes distributions are counted exactly.
_EXACT_SIGNED_RANK = 50
_EXACT_RANK_SUM = 50
# Of more sums, those of some ranks are found without having them all.
_SUMS_AT_ONCE = 8_000


# -- pairs -----------------------------------------------------------------------------------------


def hodges_lehmann_paired(differences: Values, confidence: float = 0.95) -> Estimate:
    """The median of the Walsh averages of paired differences, with its signed-rank interval.

    The interval inverts Wilcoxon's signed-rank test: exact up to 50 pairs, by normal
    approximation beyond. Too few pairs give the widest interval there is, with its coverage.

    Source: Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598; Hollander, Wolfe & Chicken,
    *Nonparametric Statistical Methods*, 3rd ed., sections 3.2 and 3.3.
    """
    check_confidence(confidence)
    checked = checked_values(differences, "differences")
    n = len(checked)
    total = n * (n + 1) // 2
    if n <= _EXACT_SIGNED_RANK:
        rank, coverage = _exact_rank(_signed_rank_counts(n), confidence)
    else:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        rank, coverage = _normal_rank(total, deviation, confidence)
    # Half of each: their sums are the averages.
    halves = [value / 2.0 for value in _condensed(in_order(checked))]
    return _pair_estimate(_SortedSums(halves, halves, half=True), rank, total, coverage)


@lru_cache(maxsize=256)
def signed_rank(n: int, confidence: float = 0.95) -> int:
    """From which of the sorted Walsh averages of ``n`` pairs to which before the end an interval
    reaches: the k of the k-th smallest and the k-th largest.

    As in ``hodges_lehmann_paired``: exact up to 50 pairs, by normal approximation beyond.
    """
    if n <= _EXACT_SIGNED_RANK:
        return _exact_rank(_signed_rank_counts(n), confidence)[0]
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
    return _normal_rank(n * (n + 1) // 2, deviation, confidence)[0]


def signed_rank_interval(differences: Values, confidence: float = 0.95) -> Interval:
    """The interval of ``hodges_lehmann_paired``, at that confidence and not at the next above.

    The coverages of ranks are far apart where there are few pairs (six: 96.9 and 93.8 %), so the
    ends are interpolated between the two ranks on either side of the confidence. Where no rank
    has more, and from 51 pairs on, where the steps are small, it is that function's interval.

    Source: as Hettmansperger & Sheather, Statist. Probab. Lett. 4 (1986) 75, do for the sign test.
    """
    outer = hodges_lehmann_paired(differences, confidence).interval
    array = as_list(checked_values(differences, "differences"))
    n = len(array)
    if n > _EXACT_SIGNED_RANK or outer.coverage <= confidence:
        return outer
    counts = _signed_rank_counts(n)
    rank = signed_rank(n, confidence)
    inside = max(0.0, 1.0 - 2.0 * sum(counts[: rank + 1]) / 2**n)
    part = (outer.coverage - confidence) / (outer.coverage - inside)
    halves = sorted([value / 2.0 for value in array])
    averages = _SortedSums(halves, halves, half=True)
    low = outer.low + part * (averages.at(rank + 1) - outer.low)
    high = outer.high - part * (outer.high - averages.at(averages.count - rank))
    return Interval(low, high, confidence)


@lru_cache(maxsize=64)
def _signed_rank_counts(n: int) -> list[int]:
    """How many of the 2^n sign patterns give each signed-rank sum 0..n(n+1)/2."""
    counts = [1]
    for rank in range(1, n + 1):
        none = [0] * rank
        counts = list(map(add, counts + none, none + counts))
    return counts


# -- two samples -----------------------------------------------------------------------------------


def mann_whitney(x: Values, y: Values) -> float:
    """The two-sided p that values of ``x`` are as often above as below those of ``y``.

    Exact for up to 50 values together without ties; else by normal approximation with tie and
    continuity correction.

    Source: Mann & Whitney, Ann. Math. Statist. 18 (1947) 50; ties: Lehmann,
    *Nonparametrics* (1975), section 1.4.
    """
    left, right = in_order(checked_values(x, "x")), in_order(checked_values(y, "y"))
    n, m = len(left), len(right)
    u = _u_statistic(left, right)
    ties = _ties(left, right)
    if n + m <= _EXACT_RANK_SUM and not ties:
        counts = _rank_sum_counts(n, m)
        tail = sum(counts[: int(min(u, n * m - u)) + 1])
        return min(1.0, 2.0 * tail / math.comb(n + m, n))
    tied = sum(size**3 - size for size in ties) / ((n + m) * (n + m - 1.0))
    variance = n * m / 12.0 * (n + m + 1.0 - tied)
    if variance <= 0.0:
        return 1.0
    return two_sided_p((abs(u - n * m / 2.0) - 0.5) / math.sqrt(variance))


def _ties(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """How many values are equal, for each that is there more than once in both together."""
    if isinstance(x, list) and isinstance(y, list):
        return [count for count in Counter(x + y).values() if count > 1]
    from benchvise import long_arrays

    return long_arrays.ties(x, y)


def cliffs_delta(x: Values, y: Values) -> float:
    """P(x > y) - P(x < y) over all pairs: from -1 (all below) by 0 to 1 (all above).

    Source: N. Cliff, Psychological Bulletin 114 (1993) 494.
    """
    left, right = in_order(checked_values(x, "x")), in_order(checked_values(y, "y"))
    return 2.0 * _u_statistic(left, right) / (len(left) * len(right)) - 1.0


def hodges_lehmann_shift(x: Values, y: Values, confidence: float = 0.95) -> Estimate:
    """The median of all pairwise differences x - y, with Moses' interval.

    The interval inverts the Mann-Whitney test: exact up to 50 values together, by normal
    approximation beyond. Too few values give the widest interval there is, with its coverage.

    Source: Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598; Hollander, Wolfe & Chicken,
    *Nonparametric Statistical Methods*, 3rd ed., sections 4.2 and 4.3 (Moses).
    """
    check_confidence(confidence)
    left, right = in_order(checked_values(x, "x")), in_order(checked_values(y, "y"))
    n, m = len(left), len(right)
    if n + m <= _EXACT_RANK_SUM:
        rank, coverage = _exact_rank(_rank_sum_counts(n, m), confidence)
    else:
        rank, coverage = _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)
    negative = [-value for value in reversed(_condensed(right))]
    differences = _SortedSums(_condensed(left), negative)
    return _pair_estimate(differences, rank, n * m, coverage)


@lru_cache(maxsize=256)
def rank_sum(n: int, m: int, confidence: float = 0.95) -> int:
    """``signed_rank`` for the sorted differences of ``n`` values to ``m`` others, as in
    ``hodges_lehmann_shift``.
    """
    if n + m <= _EXACT_RANK_SUM:
        return _exact_rank(_rank_sum_counts(n, m), confidence)[0]
    return _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)[0]


def _u_statistic(x: Sequence[float], y: Sequence[float]) -> float:
    """The number of pairs with x > y, ties counting one half; both in ascending order."""
    if isinstance(x, list) and isinstance(y, list):
        if len(x) > len(y):
            return len(x) * len(y) - _u_statistic(y, x)
        return sum([bisect_left(y, value) + bisect_right(y, value) for value in x]) / 2.0
    from benchvise import long_arrays

    return long_arrays.u_statistic(x, y)


@lru_cache(maxsize=256)
def _rank_sum_counts(n: int, m: int) -> list[int]:
    """How many of the orders of n and m values give each U 0..nm: a Gaussian binomial."""
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, n + 1):
        shifted = [0] * min(m + i, size) + counts[: max(0, size - m - i)]
        counts = list(map(sub, counts, shifted))  # times (1 - q^(m+i))
        for residue in range(min(i, size)):  # divided by (1 - q^i)
            counts[residue::i] = accumulate(counts[residue::i])
    return counts


# -- what these estimates share --------------------------------------------------------------------


def _condensed(ordered: Sequence[float]) -> list[float]:
    """At most ``MOST_PAIRED_POINTS`` evenly spaced quantiles that stand for a large sample."""
    n = len(ordered)
    if n <= MOST_PAIRED_POINTS:
        return as_list(ordered)
    places = (
        math.ceil(n * (2 * place + 1) / (2 * MOST_PAIRED_POINTS)) - 1
        for place in range(MOST_PAIRED_POINTS)
    )
    return [float(ordered[place]) for place in places]


class _SortedSums:
    """Sums of each of ``x`` with each of ``z``, both ascending, of which a few ranks are wanted.

    With ``half``, x and z are one, and each pair of it is there once, as are pairs with itself.
    Few sums are sorted. Of many, the value of a rank is enclosed by bisection, as counting those up
    to a value takes n log n only, until so few are left that these can be sorted.

    Source: as J. Monahan, ACM Trans. Math. Softw. 10 (1984) 265, with plain bisection.
    """

    def __init__(self, x: Sequence[float], z: Sequence[float], *, half: bool = False) -> None:
        self._x, self._z = x, z
        self._starts = range(len(x)) if half else [0] * len(x)
        self.count = len(x) * (len(x) + 1) // 2 if half else len(x) * len(z)
        self._all = None
        if self.count <= _SUMS_AT_ONCE:
            self._all = sorted(
                [left + right for left, start in self._rows() for right in islice(z, start, None)]
            )

    def at(self, rank: int) -> float:
        """The sum of this rank, from 1 to ``count``."""
        if self._all is not None:
            return self._all[rank - 1]
        low = math.nextafter(self._x[0] + self._z[0], -math.inf)
        high = self._x[-1] + self._z[-1]
        below, up_to = 0, self.count
        while up_to - below > _SUMS_AT_ONCE:
            middle = (low + high) / 2.0
            if not low < middle < high:
                break
            places = self._places(middle)
            count = sum(map(sub, places, self._starts))
            if count >= rank:
                high, up_to = middle, count
            else:
                low, below = middle, count
        if up_to - below > _SUMS_AT_ONCE:
            return high  # equal ones, more than are sorted
        few = sorted(
            [
                left + right
                for (left, _), first, after in zip(
                    self._rows(), self._places(low), self._places(high), strict=True
                )
                for right in self._z[first:after]
            ]
        )
        return few[rank - below - 1]

    @property
    def median(self) -> float:
        """The middle one, or the mean of both."""
        middle = self.count // 2
        if self.count % 2:
            return self.at(middle + 1)
        return (self.at(middle) + self.at(middle + 1)) / 2.0

    def _rows(self) -> Iterable[tuple[float, int]]:
        return zip(self._x, self._starts, strict=True)

    def _places(self, limit: float) -> list[int]:
        """Of each of ``x``, up to which of ``z`` its sums are no larger than the limit."""
        return [max(start, bisect_right(self._z, limit - left)) for left, start in self._rows()]


def _exact_rank(counts: Sequence[int], confidence: float) -> tuple[int, float]:
    """The rank k of the interval's ends from the counts of a symmetric rank statistic."""
    below = list(accumulate(counts))
    total = below[-1]
    rank = max(1, bisect_right(below, (1.0 - confidence) / 2.0 * total))
    return rank, max(0.0, 1.0 - 2.0 * below[rank - 1] / total)


def _normal_rank(total: int, deviation: float, confidence: float) -> tuple[int, float]:
    """The rank k of the interval's ends by normal approximation, rounded outwards."""
    return max(1, math.floor(total / 2.0 - normal_deviate(confidence) * deviation)), confidence


def _pair_estimate(pairs: _SortedSums, rank: int, total: int, coverage: float) -> Estimate:
    """Median and interval of pair values that stand for ``total`` pairs."""
    place = max(1, rank * pairs.count // total)
    interval = Interval(pairs.at(place), pairs.at(pairs.count + 1 - place), coverage)
    return Estimate(pairs.median, interval)
