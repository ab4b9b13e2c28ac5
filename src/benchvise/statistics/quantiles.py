"""The median and other quantiles of a sample, and the intervals between its order statistics."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import TYPE_CHECKING

from benchvise.statistics.sample import (
    Estimate,
    Interval,
    check_confidence,
    checked_values,
    in_order,
    normal_deviate,
)

if TYPE_CHECKING:
    from benchvise.statistics.sample import Values

# Up to so many values the binomial distribution is counted exactly.
_EXACT_BINOMIAL = 1_000


def median_interval(values: Values, confidence: float = 0.95) -> Interval:
    """The distribution-free interval of the median between two order statistics.

    The narrowest symmetric pair x(k), x(n+1-k) whose exact binomial coverage reaches
    ``confidence``; n = 21 gives the 6th and the 16th value (97.3 %). Too few values to reach
    it give minimum and maximum, with the coverage that those have. Beyond 1000 values the
    binomial is taken as normal.

    Source: W. R. Thompson, Ann. Math. Statist. 7 (1936) 122; David & Nagaraja, *Order
    Statistics*, 3rd ed., section 7.1.
    """
    array = in_order(checked_values(values))
    low, high, coverage = median_ranks(len(array), confidence)
    return Interval(float(array[low - 1]), float(array[high - 1]), coverage)


def median_ranks(n: int, confidence: float = 0.95) -> tuple[int, int, float]:
    """The ranks (from 1) between which ``median_interval`` of ``n`` values lies, and its coverage.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.
    """
    check_confidence(confidence)
    if n <= _EXACT_BINOMIAL:
        k, coverage = _median_rank(n, confidence)
    else:
        k = math.floor((n + 1.0 - normal_deviate(confidence) * math.sqrt(n)) / 2.0)
        coverage = math.erf((n + 1.0 - 2.0 * k) / math.sqrt(2.0 * n))
    return k, n + 1 - k, coverage


@lru_cache(maxsize=_EXACT_BINOMIAL + 1)
def _median_rank(n: int, confidence: float) -> tuple[int, float]:
    """The rank of the interval's lower end and its coverage, counted in whole numbers."""
    half = 2 ** (n - 1)
    k, outside, term = 1, 1, n  # outside = sum of C(n, i) for i < k; term = C(n, k)
    while (outside + term) / half <= 1.0 - confidence:
        k, outside, term = k + 1, outside + term, term * (n - k) // (k + 1)
    return k, 1.0 - outside / half


def quantile_interval(values: Values, share: float, confidence: float = 0.95) -> Interval:
    """The distribution-free interval of the quantile at ``share`` (0..1), between order statistics.

    The ranks leave at most half of 1 - ``confidence`` on either side, by the binomial
    distribution: counted up to 1000 values, taken as normal beyond. Where no rank does, as with
    the 99th percentile of few values, minimum or maximum stand for it, and ``coverage`` says how
    much that is worth. Values of one process in time are rarely independent: an interval of such
    values is too narrow by as much as they repeat each other.

    Source: David & Nagaraja, *Order Statistics*, 3rd ed., section 7.1.
    """
    array = in_order(checked_values(values))
    low, high, coverage = quantile_ranks(len(array), share, confidence)
    return Interval(float(array[low - 1]), float(array[high - 1]), coverage)


@lru_cache(maxsize=4 * _EXACT_BINOMIAL)
def quantile_ranks(n: int, share: float, confidence: float = 0.95) -> tuple[int, int, float]:
    """The ranks (from 1) between which ``quantile_interval`` of ``n`` values lies; its coverage.

    Raises:
        ValueError: ``share`` or ``confidence`` is not between 0 and 1.
    """
    check_confidence(confidence)
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, not {share}")
    tail = (1.0 - confidence) / 2.0
    if n > _EXACT_BINOMIAL:
        centre, half = n * share, normal_deviate(confidence) * math.sqrt(n * share * (1.0 - share))
        low, high = math.floor(centre - half), math.ceil(centre + half) + 1
        inside = low >= 1 and high <= n
        low, high = max(1, low), min(n, high)
        normal = NormalDist(centre, math.sqrt(n * share * (1.0 - share)))
        coverage = confidence if inside else normal.cdf(high - 0.5) - normal.cdf(low - 0.5)
        return low, high, coverage
    factorials = [math.lgamma(k + 1.0) for k in range(n + 1)]
    hit, miss = math.log(share), math.log1p(-share)
    below = list(
        accumulate(
            math.exp(factorials[n] - factorials[k] - factorials[n - k] + k * hit + (n - k) * miss)
            for k in range(n + 1)
        )
    )
    # x(low) lies above the quantile when fewer than `low` values are below it.
    low = max(1, bisect_right(below, tail))
    high = min(n, bisect_left(below, 1.0 - tail) + 1)
    return low, high, below[high - 1] - below[low - 1]


def median_ratio(x: Values, y: Values, confidence: float = 0.95) -> Estimate | None:
    """median(x) / median(y) with its interval; None when a median or an end of one is not above 0.

    The logarithms of the medians' own intervals are combined by the method of variance estimates
    recovery, in time that grows with n log n: for samples that are too large for all pairs.

    Source: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    above = median_of_sorted(in_order(checked_values(x, "x")))
    below = median_of_sorted(in_order(checked_values(y, "y")))
    of_x, of_y = median_interval(x, confidence), median_interval(y, confidence)
    if min(above, below, of_x.low, of_y.low) <= 0.0:
        return None
    ratio = math.log(above / below)
    down = math.hypot(math.log(above / of_x.low), math.log(of_y.high / below))
    up = math.hypot(math.log(of_x.high / above), math.log(below / of_y.low))
    coverage = min(of_x.coverage, of_y.coverage)
    interval = Interval(math.exp(ratio - down), math.exp(ratio + up), coverage)
    return Estimate(above / below, interval)


def mad(values: Values) -> float:
    """The median absolute deviation from the median, unscaled, in the unit of the values.

    Source: F. R. Hampel, J. Amer. Statist. Assoc. 69 (1974) 383.
    """
    checked = checked_values(values)
    if not isinstance(checked, list):
        from benchvise import long_arrays

        return long_arrays.mad(checked)
    return mad_of_sorted(sorted(checked))


def mad_of_sorted(ordered: Sequence[float]) -> float:
    """``mad`` of values in ascending order, at least one, none of them NaN."""
    middle = median_of_sorted(ordered)
    return median_of_sorted(sorted([abs(value - middle) for value in ordered]))


def median_of_sorted(values: Sequence[float]) -> float:
    """The median of values in ascending order, at least one, none of them NaN."""
    middle = len(values) // 2
    if len(values) % 2:
        return float(values[middle])
    return (float(values[middle - 1]) + float(values[middle])) / 2.0


def percentile(values: Values, percent: float = 95.0) -> float:
    """The percentile by linear interpolation between order statistics.

    Source: R. J. Hyndman and Y. Fan, The American Statistician 50 (1996) 361, definition 7.
    """
    return percentile_of_sorted(in_order(checked_values(values)), percent)


def percentile_of_sorted(values: Sequence[float], percent: float) -> float:
    """``percentile`` of values in ascending order, at least one, none of them NaN."""
    last = len(values) - 1
    place = last * (percent / 100.0)
    below = math.floor(place)
    part = place - below
    low, high = float(values[below]), float(values[min(below + 1, last)])
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1.0 - part)
