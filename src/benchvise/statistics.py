"""Small, exact, explainable statistics of few or many values.

Every function takes one-dimensional sequences of finite floats in any one unit and raises
``ValueError`` when they are empty, not one-dimensional or not finite. Functions of two samples
speak of ``x`` relative to ``y``: a positive result means that ``x`` is larger.

Intervals and tests of ratios want the logarithms of the values; functions that take logarithms
themselves say so.

Written without NumPy, which is larger than all else that a core installation brings and takes
longer to load than the few values of a run take to be summarised. Arrays are taken all the same;
what is done once for each value of a long one is left to ``benchvise.long_arrays``.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, combinations, islice, pairwise
from operator import add, sub
from statistics import NormalDist
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]

# Up to these sizes distributions are counted exactly.
_EXACT_BINOMIAL = 1_000
_EXACT_SIGNED_RANK = 50
_EXACT_RANK_SUM = 50
_EXACT_SIGN_FLIPS = 16
_SIGN_FLIPS = 9_999
_SIGNS_AT_ONCE = 8
# Beyond so many halvings a float has no digits left.
_HALVINGS = 64
# What looks at all pairs takes at most this many points a side, to bound memory and time.
_PAIRED_POINTS = 2_000
# Of more sums or slopes, those of some ranks are found without having them all.
_SUMS_AT_ONCE = 8_000
_SLOPES_AT_ONCE = 40_000
# Arrays of more values stay arrays.
_LONG_ARRAY = 5_000

# Bimodality (see ``modes``).
_MODE_SHARE = 0.15
_MODE_RATIO = 1.05
_MODE_MINIMUM = 10


def fisher_exact(first: int, others: int, second: int, rest: int) -> float:
    """The two-sided p of Fisher's exact test: whether ``first`` of ``first + others`` and
    ``second`` of ``second + rest`` may be of one rate. 1 where a side has none.
    """
    hits, size, whole = first + second, first + others, first + others + second + rest
    ways = {
        count: math.comb(hits, count) * math.comb(whole - hits, size - count)
        for count in range(max(0, hits - (whole - size)), min(hits, size) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[first]) / sum(ways.values())


_Timed = tuple[Sequence[float], Sequence[float]]
"""Positions in time, and the values there."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval in the unit of the values, and the coverage it really has (0..1)."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate and its confidence interval, in the unit of the values."""

    value: float
    interval: Interval


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


def _checked(values: Values, name: str = "values") -> Sequence[float]:
    """The values as a list of floats, or as an array where that is what they are and it is long."""
    if hasattr(values, "dtype"):
        array = cast("npt.NDArray[np.generic]", values)
        if array.ndim == 1 and array.size > _LONG_ARRAY:
            from benchvise import long_arrays

            return long_arrays.checked(array, name)
        values = array.tolist()
    try:
        checked = list(map(float, values))
    except TypeError:  # of what has several dimensions
        checked = []
    if not checked or not all(map(math.isfinite, checked)):
        raise ValueError(f"{name} must be a non-empty one-dimensional sequence of finite numbers")
    return checked


def _sorted(values: Sequence[float]) -> Sequence[float]:
    """Of what ``_checked`` gives, an array again where it is one."""
    if isinstance(values, list):
        return sorted(values)
    from benchvise import long_arrays

    return long_arrays.in_order(values)


def _plain(values: Sequence[float]) -> list[float]:
    """Of what ``_checked`` gives."""
    if isinstance(values, list):
        return values
    from benchvise import long_arrays

    return long_arrays.plain(values)


def mean_and_variance(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the variance by n - 1 (NaN of one value), both rounded once."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, math.nan
    return mean, math.fsum([(value - mean) ** 2 for value in values]) / (n - 1)


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


def _two_sided_p(z: float) -> float:
    return min(1.0, math.erfc(max(0.0, z) / math.sqrt(2.0)))


# -- one sample ------------------------------------------------------------------------------------


def median_interval(values: Values, confidence: float = 0.95) -> Interval:
    """The distribution-free interval of the median between two order statistics.

    The narrowest symmetric pair x(k), x(n+1-k) whose exact binomial coverage reaches
    ``confidence``; n = 21 gives the 6th and the 16th value (97.3 %). Too few values to reach
    it give minimum and maximum, with the coverage that those have. Beyond 1000 values the
    binomial is taken as normal.

    Source: W. R. Thompson, Ann. Math. Statist. 7 (1936) 122; David & Nagaraja, *Order
    Statistics*, 3rd ed., section 7.1.
    """
    _check_confidence(confidence)
    array = _sorted(_checked(values))
    n = len(array)
    if n <= _EXACT_BINOMIAL:
        k, coverage = _median_rank(n, confidence)
    else:
        k = math.floor((n + 1.0 - _z(confidence) * math.sqrt(n)) / 2.0)
        coverage = math.erf((n + 1.0 - 2.0 * k) / math.sqrt(2.0 * n))
    return Interval(float(array[k - 1]), float(array[n - k]), coverage)


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
    _check_confidence(confidence)
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, not {share}")
    array = _sorted(_checked(values))
    low, high, coverage = _quantile_ranks(len(array), share, confidence)
    return Interval(float(array[low - 1]), float(array[high - 1]), coverage)


@lru_cache(maxsize=4 * _EXACT_BINOMIAL)
def _quantile_ranks(n: int, share: float, confidence: float) -> tuple[int, int, float]:
    """The ranks (from 1) of both ends of a quantile's interval, and its coverage."""
    tail = (1.0 - confidence) / 2.0
    if n > _EXACT_BINOMIAL:
        centre, half = n * share, _z(confidence) * math.sqrt(n * share * (1.0 - share))
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


def mad(values: Values) -> float:
    """The median absolute deviation from the median, unscaled, in the unit of the values.

    Source: F. R. Hampel, J. Amer. Statist. Assoc. 69 (1974) 383.
    """
    checked = _checked(values)
    if not isinstance(checked, list):
        from benchvise import long_arrays

        return long_arrays.mad(checked)
    return _mad_of_sorted(sorted(checked))


def _mad_of_sorted(ordered: Sequence[float]) -> float:
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
    return percentile_of_sorted(_sorted(_checked(values)), percent)


def percentile_of_sorted(values: Sequence[float], percent: float) -> float:
    """``percentile`` of values in ascending order, at least one, none of them NaN."""
    last = len(values) - 1
    place = last * (percent / 100.0)
    below = math.floor(place)
    part = place - below
    low, high = float(values[below]), float(values[min(below + 1, last)])
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1.0 - part)


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
    array = _plain(_sorted(_checked(values)))
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
    least_gap = (1.5 + 65.0 / n) * max(_mad_of_sorted(lower), _mad_of_sorted(upper))
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
    arrays = [_plain(_checked(block)) for block in blocks]
    longest = max(map(len, arrays), default=0)
    if longest < 2:
        raise ValueError("a trend needs at least two values in a block")
    grouped = [_grouped(array) for array in arrays]
    score = sum(_kendall_score(values) for _, values in grouped)
    variance = sum(_kendall_variance(values) for _, values in grouped)
    centre = median_of_sorted(sorted(chain.from_iterable(arrays)))
    change = _median_slope(grouped) * (longest - 1)
    p = _two_sided_p((abs(score) - 1.0) / math.sqrt(variance)) if variance > 0.0 else 1.0
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
    if n <= _PAIRED_POINTS:
        return range(n), values
    # The first groups have one more, where they cannot be of one size.
    least, larger = divmod(n, _PAIRED_POINTS)
    ends = list(
        accumulate((least + (place < larger) for place in range(_PAIRED_POINTS)), initial=0)
    )
    centres = [(first + after - 1) / 2.0 for first, after in pairwise(ends)]
    medians = [median_of_sorted(sorted(values[first:after])) for first, after in pairwise(ends)]
    return centres, medians


# -- pairs -----------------------------------------------------------------------------------------


def sign_flip_test(log_ratios: Values, seed: int = 0) -> float:
    """The two-sided p that paired differences are symmetric about zero.

    The statistic is the absolute sum under flipping of signs: all 2^n patterns for n <= 16,
    else 9999 random ones (with ``seed``) and the observed one. With n pairs the smallest p is
    2^(1-n): a claim at 1 % needs eight pairs.

    Source: R. A. Fisher, *The Design of Experiments* (1935), section 21; the "+1" of the Monte
    Carlo p: Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39.
    """
    ratios = _plain(_checked(log_ratios, "log_ratios"))
    # Sums of the same terms in another order differ by rounding; a tie must stay a tie.
    observed = abs(math.fsum(ratios)) - 1e-12 * math.fsum(map(abs, ratios))
    if observed <= 0.0:
        return 1.0
    n = len(ratios)
    if n <= _EXACT_SIGN_FLIPS:
        # Every sum has its opposite, so those that reach `observed` are half of the extreme ones.
        first, second = _signed_sums(ratios[: n // 2]), sorted(_signed_sums(ratios[n // 2 :]))
        reach = sum(len(second) - bisect_left(second, observed - value) for value in first)
        return min(1.0, float(reach) / 2.0 ** (n - 1))
    chance = random.Random(seed)  # noqa: S311 - of a test, not of a secret
    sums = [0.0] * _SIGN_FLIPS
    for start in range(0, n, _SIGNS_AT_ONCE):
        few = _signed_sums(ratios[start : start + _SIGNS_AT_ONCE])
        by_byte = few * (256 // len(few))
        sums = list(map(add, sums, map(by_byte.__getitem__, chance.randbytes(_SIGN_FLIPS))))
    hits = sum(abs(value) >= observed for value in sums)
    return (hits + 1) / (_SIGN_FLIPS + 1)


def _signed_sums(values: Sequence[float]) -> list[float]:
    """The sums of the values with every pattern of signs."""
    sums = [0.0]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums


def hodges_lehmann_paired(differences: Values, confidence: float = 0.95) -> Estimate:
    """The median of the Walsh averages of paired differences, with its signed-rank interval.

    The interval inverts Wilcoxon's signed-rank test: exact up to 50 pairs, by normal
    approximation beyond. Too few pairs give the widest interval there is, with its coverage.

    Source: Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598; Hollander, Wolfe & Chicken,
    *Nonparametric Statistical Methods*, 3rd ed., sections 3.2 and 3.3.
    """
    _check_confidence(confidence)
    checked = _checked(differences, "differences")
    n = len(checked)
    total = n * (n + 1) // 2
    if n <= _EXACT_SIGNED_RANK:
        rank, coverage = _exact_rank(_signed_rank_counts(n), confidence)
    else:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        rank, coverage = _normal_rank(total, deviation, confidence)
    # Half of each: their sums are the averages.
    halves = [value / 2.0 for value in _condensed(_sorted(checked))]
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
    array = _plain(_checked(differences, "differences"))
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


@lru_cache(maxsize=256)
def rank_sum(n: int, m: int, confidence: float = 0.95) -> int:
    """``signed_rank`` for the sorted differences of ``n`` values to ``m`` others, as in
    ``hodges_lehmann_shift``.
    """
    if n + m <= _EXACT_RANK_SUM:
        return _exact_rank(_rank_sum_counts(n, m), confidence)[0]
    return _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)[0]


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
    left, right = _sorted(_checked(x, "x")), _sorted(_checked(y, "y"))
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
    return _two_sided_p((abs(u - n * m / 2.0) - 0.5) / math.sqrt(variance))


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
    left, right = _sorted(_checked(x, "x")), _sorted(_checked(y, "y"))
    return 2.0 * _u_statistic(left, right) / (len(left) * len(right)) - 1.0


def median_ratio(x: Values, y: Values, confidence: float = 0.95) -> Estimate | None:
    """median(x) / median(y) with its interval; None when a median or an end of one is not above 0.

    The logarithms of the medians' own intervals are combined by the method of variance estimates
    recovery, in time that grows with n log n: for samples that are too large for all pairs.

    Source: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    above = median_of_sorted(_sorted(_checked(x, "x")))
    below = median_of_sorted(_sorted(_checked(y, "y")))
    of_x, of_y = median_interval(x, confidence), median_interval(y, confidence)
    if min(above, below, of_x.low, of_y.low) <= 0.0:
        return None
    ratio = math.log(above / below)
    down = math.hypot(math.log(above / of_x.low), math.log(of_y.high / below))
    up = math.hypot(math.log(of_x.high / above), math.log(below / of_y.low))
    coverage = min(of_x.coverage, of_y.coverage)
    interval = Interval(math.exp(ratio - down), math.exp(ratio + up), coverage)
    return Estimate(above / below, interval)


def hodges_lehmann_shift(x: Values, y: Values, confidence: float = 0.95) -> Estimate:
    """The median of all pairwise differences x - y, with Moses' interval.

    The interval inverts the Mann-Whitney test: exact up to 50 values together, by normal
    approximation beyond. Too few values give the widest interval there is, with its coverage.

    Source: Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598; Hollander, Wolfe & Chicken,
    *Nonparametric Statistical Methods*, 3rd ed., sections 4.2 and 4.3 (Moses).
    """
    _check_confidence(confidence)
    left, right = _sorted(_checked(x, "x")), _sorted(_checked(y, "y"))
    n, m = len(left), len(right)
    if n + m <= _EXACT_RANK_SUM:
        rank, coverage = _exact_rank(_rank_sum_counts(n, m), confidence)
    else:
        rank, coverage = _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)
    negative = [-value for value in reversed(_condensed(right))]
    differences = _SortedSums(_condensed(left), negative)
    return _pair_estimate(differences, rank, n * m, coverage)


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


# -- what the rank-based estimates share -----------------------------------------------------------


def _condensed(ordered: Sequence[float]) -> list[float]:
    """At most ``_PAIRED_POINTS`` evenly spaced quantiles that stand for a large sample."""
    n = len(ordered)
    if n <= _PAIRED_POINTS:
        return _plain(ordered)
    places = (
        math.ceil(n * (2 * place + 1) / (2 * _PAIRED_POINTS)) - 1 for place in range(_PAIRED_POINTS)
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
    return max(1, math.floor(total / 2.0 - _z(confidence) * deviation)), confidence


def _pair_estimate(pairs: _SortedSums, rank: int, total: int, coverage: float) -> Estimate:
    """Median and interval of pair values that stand for ``total`` pairs."""
    place = max(1, rank * pairs.count // total)
    interval = Interval(pairs.at(place), pairs.at(pairs.count + 1 - place), coverage)
    return Estimate(pairs.median, interval)


# -- means of few values: processes are the unit of replication ------------------------------------


def process_interval(x: Values, y: Values, confidence: float = 0.95) -> Interval:
    """Welch's t interval of mean(x) - mean(y), for one log median a process.

    Batches of one process share its pages and layout, so a claim about two runs has as many
    independent values as there are processes. At least two a side.

    Source: B. L. Welch, Biometrika 34 (1947) 28; replication: Kalibera & Jones, ISMM 2013.
    """
    _check_confidence(confidence)
    left, right = _checked(x, "x"), _checked(y, "y")
    if min(len(left), len(right)) < 2:
        raise ValueError("an interval between processes needs at least two a side")
    (of_x, x_variance), (of_y, y_variance) = mean_and_variance(left), mean_and_variance(right)
    x_share, y_share = x_variance / len(left), y_variance / len(right)
    variance = x_share + y_share
    centre = of_x - of_y
    if variance == 0.0:
        return Interval(centre, centre, confidence)
    # By shares of the variance, as squares of it may be too small for a float.
    inverse = (x_share / variance) ** 2 / (len(left) - 1) + (y_share / variance) ** 2 / (
        len(right) - 1
    )
    # Rounded down, as for printed tables: a handful of processes needs to err on the safe side.
    whole = max(1.0, math.floor(1.0 / inverse + 1e-9))
    margin = t_quantile(0.5 + confidence / 2.0, whole) * math.sqrt(variance)
    return Interval(centre - margin, centre + margin, confidence)


def paired_process_interval(differences: Values, confidence: float = 0.95) -> Interval:
    """Student's t interval of the mean of differences between paired processes; two or more.

    Source: "Student", Biometrika 6 (1908) 1.
    """
    _check_confidence(confidence)
    array = _checked(differences, "differences")
    if len(array) < 2:
        raise ValueError("an interval between paired processes needs at least two pairs")
    mean, variance = mean_and_variance(array)
    margin = t_quantile(0.5 + confidence / 2.0, len(array) - 1.0) * math.sqrt(variance / len(array))
    return Interval(mean - margin, mean + margin, confidence)


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t, ``probability`` in [0.5, 1), ``freedom`` > 0, by bisection.

    Source: P(T > t) = I(f / (f + t^2); f/2, 1/2) / 2, DLMF 8.17.
    """
    if not (0.5 <= probability < 1.0 and freedom > 0.0):
        raise ValueError(f"no t quantile for {probability} with {freedom} degrees of freedom")

    def above(t: float) -> float:
        return incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0

    low, high = 0.0, 1.0
    while above(high) > 1.0 - probability:
        low, high = high, 2.0 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2.0
        if above(middle) > 1.0 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I(x; a, b) for x in 0..1.

    Source: the continued fraction DLMF 8.17.22, by Lentz' method as Thompson & Barnett changed
    it (J. Comput. Phys. 64 (1986) 490).
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or tiny)
            c = 1.0 + term / c or tiny
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a * fraction
