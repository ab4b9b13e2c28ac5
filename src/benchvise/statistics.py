"""Small, exact, explainable statistics on arrays of floats.

Every function takes one-dimensional sequences of finite floats in any one unit and raises
``ValueError`` when they are empty, not one-dimensional or not finite. Functions of two samples
speak of ``x`` relative to ``y``: a positive result means that ``x`` is larger.

Intervals and tests of ratios want the logarithms of the values; functions that take logarithms
themselves say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Values = Sequence[float] | Floats | npt.NDArray[np.int64]

# Up to these sizes distributions are counted exactly; those of ranks then fit 64-bit integers.
_EXACT_BINOMIAL = 1_000
_EXACT_SIGNED_RANK = 50
_EXACT_RANK_SUM = 50
_EXACT_SIGN_FLIPS = 16
_SIGN_FLIPS = 9_999
# What looks at all pairs takes at most this many points a side, to bound memory and time.
_PAIRED_POINTS = 2_000

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


def _array(values: Values, name: str = "values") -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a non-empty one-dimensional sequence of finite numbers")
    return array


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
    array = np.sort(_array(values))
    n = array.size
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
    array = np.sort(_array(values))
    low, high, coverage = _quantile_ranks(array.size, share, confidence)
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
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1.0)))])
    k = np.arange(n + 1)
    logs = factorials[n] - factorials - factorials[::-1]
    below = np.cumsum(np.exp(logs + k * math.log(share) + (n - k) * math.log1p(-share)))
    # x(low) lies above the quantile when fewer than `low` values are below it.
    low = max(1, int(np.searchsorted(below, tail, side="right")))
    high = min(n, int(np.searchsorted(below, 1.0 - tail, side="left")) + 1)
    return low, high, float(below[high - 1] - below[low - 1])


def mad(values: Values) -> float:
    """The median absolute deviation from the median, unscaled, in the unit of the values.

    Source: F. R. Hampel, J. Amer. Statist. Assoc. 69 (1974) 383.
    """
    array = np.sort(_array(values))
    return median_of_sorted(np.sort(np.abs(array - median_of_sorted(array))))


def median_of_sorted(values: Floats) -> float:
    """The median of values in ascending order, at least one, none of them NaN.

    What ``np.median`` gives, in a tenth of its time where the values are few.
    """
    middle = values.size // 2
    if values.size % 2:
        return float(values[middle])
    return (float(values[middle - 1]) + float(values[middle])) / 2.0


def percentile(values: Values, percent: float = 95.0) -> float:
    """The percentile by linear interpolation between order statistics.

    Source: R. J. Hyndman and Y. Fan, The American Statistician 50 (1996) 361, definition 7.
    """
    return percentile_of_sorted(np.sort(_array(values)), percent)


def percentile_of_sorted(values: Floats, percent: float) -> float:
    """``percentile`` of values in ascending order, at least one, none of them NaN.

    What ``np.percentile`` gives, in a tenth of its time where the values are few.
    """
    place = (values.size - 1) * (percent / 100.0)
    below = math.floor(place)
    part = place - below
    low, high = float(values[below]), float(values[min(below + 1, values.size - 1)])
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
    array = np.sort(_array(values))
    if array[0] <= 0.0 or array.size < _MODE_MINIMUM:
        return None
    smallest = math.ceil(_MODE_SHARE * array.size)
    logs = np.log(array)
    split = smallest + int(np.argmax((logs[1:] - logs[:-1])[smallest - 1 : array.size - smallest]))
    lower, upper = logs[:split], logs[split:]
    distance = median_of_sorted(upper) - median_of_sorted(lower)
    gap = percentile_of_sorted(upper, 5.0) - percentile_of_sorted(lower, 95.0)
    # One in fifty samples of a unimodal shape exceeds about this, by simulation of normal,
    # uniform, exponential, Laplace and Pareto shapes with n from 10 to 100.
    least_distance = (1.5 + 65.0 / array.size) * max(mad(lower), mad(upper))
    if distance < math.log(_MODE_RATIO) or gap <= least_distance:
        return None
    return (
        Mode(median_of_sorted(array[:split]), split / array.size),
        Mode(median_of_sorted(array[split:]), 1.0 - split / array.size),
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
    arrays = [_array(block) for block in blocks]
    longest = max((array.size for array in arrays), default=0)
    if longest < 2:
        raise ValueError("a trend needs at least two values in a block")
    grouped = [_grouped(array) for array in arrays]
    score, slopes = 0.0, []
    for positions, values in grouped:
        first, second = _pairs(values.size, 1)
        rises = values[second] - values[first]
        score += float(np.sign(rises).sum())
        slopes.append(rises / (positions[second] - positions[first]))
    variance = sum(_kendall_variance(values) for _, values in grouped)
    centre = median_of_sorted(np.sort(np.concatenate(arrays)))
    change = median_of_sorted(np.sort(np.concatenate(slopes))) * (longest - 1)
    p = _two_sided_p((abs(score) - 1.0) / math.sqrt(variance)) if variance > 0.0 else 1.0
    return Drift(change / abs(centre) if centre else 0.0, p)


def _kendall_variance(array: Floats) -> float:
    """The variance of the Kendall score (concordant minus discordant pairs of value and position)
    without trend, with tie correction."""

    def term(n: float) -> float:
        return n * (n - 1.0) * (2.0 * n + 5.0)

    ordered = np.sort(array)
    ends = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if ends.size == array.size - 1:
        return term(array.size) / 18.0
    ties = np.diff(ends, prepend=0, append=array.size)
    return (term(array.size) - sum(map(term, ties.tolist()))) / 18.0


def _grouped(array: Floats) -> tuple[Floats, Floats]:
    """Positions and values; of a long series, the centres and medians of consecutive groups."""
    positions = np.arange(array.size, dtype=np.float64)
    if array.size <= _PAIRED_POINTS:
        return positions, array
    centres = [group.mean() for group in np.array_split(positions, _PAIRED_POINTS)]
    medians = [np.median(group) for group in np.array_split(array, _PAIRED_POINTS)]
    return np.array(centres), np.array(medians)


# -- pairs -----------------------------------------------------------------------------------------


def sign_flip_test(log_ratios: Values, seed: int = 0) -> float:
    """The two-sided p that paired differences are symmetric about zero.

    The statistic is the absolute sum under flipping of signs: all 2^n patterns for n <= 16,
    else 9999 random ones (with ``seed``) and the observed one. With n pairs the smallest p is
    2^(1-n): a claim at 1 % needs eight pairs.

    Source: R. A. Fisher, *The Design of Experiments* (1935), section 21; the "+1" of the Monte
    Carlo p: Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39.
    """
    array = _array(log_ratios, "log_ratios")
    # Sums of the same terms in another order differ by rounding; a tie must stay a tie.
    observed = abs(float(array.sum())) - 1e-12 * float(np.abs(array).sum())
    if array.size <= _EXACT_SIGN_FLIPS:
        sums = np.zeros(1)
        for ratio in array:
            sums = np.concatenate([sums + ratio, sums - ratio])
        return float(np.mean(np.abs(sums) >= observed))
    generator = np.random.default_rng(seed)
    chunk = max(1, 1_000_000 // array.size)
    hits = 0
    for start in range(0, _SIGN_FLIPS, chunk):
        rows = min(chunk, _SIGN_FLIPS - start)
        signs = generator.integers(0, 2, size=(rows, array.size), dtype=np.int8) * 2 - 1
        hits += int(np.count_nonzero(np.abs(signs @ array) >= observed))
    return (hits + 1) / (_SIGN_FLIPS + 1)


def hodges_lehmann_paired(differences: Values, confidence: float = 0.95) -> Estimate:
    """The median of the Walsh averages of paired differences, with its signed-rank interval.

    The interval inverts Wilcoxon's signed-rank test: exact up to 50 pairs, by normal
    approximation beyond. Too few pairs give the widest interval there is, with its coverage.

    Source: Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598; Hollander, Wolfe & Chicken,
    *Nonparametric Statistical Methods*, 3rd ed., sections 3.2 and 3.3.
    """
    _check_confidence(confidence)
    array = _array(differences, "differences")
    n = array.size
    points = _condensed(array)
    first, second = walsh_pairs(points.size)
    averages = np.sort((points[first] + points[second]) / 2.0)
    total = n * (n + 1) // 2
    if n <= _EXACT_SIGNED_RANK:
        rank, coverage = _exact_rank(_signed_rank_counts(n), confidence)
    else:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        rank, coverage = _normal_rank(total, deviation, confidence)
    return _pair_estimate(averages, rank, total, coverage)


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
    array = _array(differences, "differences")
    n = array.size
    if n > _EXACT_SIGNED_RANK or outer.coverage <= confidence:
        return outer
    counts = _signed_rank_counts(n)
    rank = signed_rank(n, confidence)
    inside = max(0.0, 1.0 - 2.0 * int(counts[: rank + 1].sum()) / 2**n)
    part = (outer.coverage - confidence) / (outer.coverage - inside)
    first, second = walsh_pairs(n)
    averages = np.sort((array[first] + array[second]) / 2.0)
    low = outer.low + part * (float(averages[rank]) - outer.low)
    high = outer.high - part * (outer.high - float(averages[-rank - 1]))
    return Interval(low, high, confidence)


@lru_cache(maxsize=256)
def rank_sum(n: int, m: int, confidence: float = 0.95) -> int:
    """``signed_rank`` for the sorted differences of ``n`` values to ``m`` others, as in
    ``hodges_lehmann_shift``.
    """
    if n + m <= _EXACT_RANK_SUM:
        return _exact_rank(_rank_sum_counts(n, m), confidence)[0]
    return _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)[0]


def walsh_pairs(n: int) -> tuple[Indices, Indices]:
    """Positions of the two values of each Walsh average of ``n`` values, not to be written to.

    Those of few values are asked for again and again, and cost more than what is done with them;
    those of many would fill the memory if they were kept.
    """
    return _pairs(n, 0)


def _pairs(n: int, apart: int) -> tuple[Indices, Indices]:
    """Positions of all pairs of ``n`` values that are so far apart or further."""
    return _few_pairs(n, apart) if n <= _EXACT_SIGNED_RANK else _made_pairs(n, apart)


@lru_cache(maxsize=2 * _EXACT_SIGNED_RANK + 2)
def _few_pairs(n: int, apart: int) -> tuple[Indices, Indices]:
    return _made_pairs(n, apart)


def _made_pairs(n: int, apart: int) -> tuple[Indices, Indices]:
    first, second = np.triu_indices(n, apart)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


@lru_cache(maxsize=64)
def _signed_rank_counts(n: int) -> npt.NDArray[np.int64]:
    """How many of the 2^n sign patterns give each signed-rank sum 0..n(n+1)/2."""
    counts = np.zeros(n * (n + 1) // 2 + 1, dtype=np.int64)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts


# -- two samples -----------------------------------------------------------------------------------


def mann_whitney(x: Values, y: Values) -> float:
    """The two-sided p that values of ``x`` are as often above as below those of ``y``.

    Exact for up to 50 values together without ties; else by normal approximation with tie and
    continuity correction.

    Source: Mann & Whitney, Ann. Math. Statist. 18 (1947) 50; ties: Lehmann,
    *Nonparametrics* (1975), section 1.4.
    """
    left, right = _array(x, "x"), _array(y, "y")
    n, m = left.size, right.size
    u = _u_statistic(left, right)
    _, ties = np.unique(np.concatenate([left, right]), return_counts=True)
    if n + m <= _EXACT_RANK_SUM and ties.max() == 1:
        counts = _rank_sum_counts(n, m)
        tail = int(counts[: int(min(u, n * m - u)) + 1].sum())
        return min(1.0, 2.0 * tail / math.comb(n + m, n))
    size = ties.astype(np.float64)
    tied = float((size**3 - size).sum()) / ((n + m) * (n + m - 1.0))
    variance = n * m / 12.0 * (n + m + 1.0 - tied)
    if variance <= 0.0:
        return 1.0
    return _two_sided_p((abs(u - n * m / 2.0) - 0.5) / math.sqrt(variance))


def cliffs_delta(x: Values, y: Values) -> float:
    """P(x > y) - P(x < y) over all pairs: from -1 (all below) by 0 to 1 (all above).

    Source: N. Cliff, Psychological Bulletin 114 (1993) 494.
    """
    left, right = _array(x, "x"), _array(y, "y")
    return 2.0 * _u_statistic(left, right) / (left.size * right.size) - 1.0


def median_ratio(x: Values, y: Values, confidence: float = 0.95) -> Estimate | None:
    """median(x) / median(y) with its interval; None when a median or an end of one is not above 0.

    The logarithms of the medians' own intervals are combined by the method of variance estimates
    recovery, in time that grows with n log n: for samples that are too large for all pairs.

    Source: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    above, below = float(np.median(_array(x, "x"))), float(np.median(_array(y, "y")))
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
    left, right = _array(x, "x"), _array(y, "y")
    n, m = left.size, right.size
    differences = np.sort(np.subtract.outer(_condensed(left), _condensed(right)), axis=None)
    if n + m <= _EXACT_RANK_SUM:
        rank, coverage = _exact_rank(_rank_sum_counts(n, m), confidence)
    else:
        rank, coverage = _normal_rank(n * m, math.sqrt(n * m * (n + m + 1) / 12.0), confidence)
    return _pair_estimate(differences, rank, n * m, coverage)


def _u_statistic(x: Floats, y: Floats) -> float:
    """The number of pairs with x > y, ties counting one half."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left").sum()
    not_above = np.searchsorted(ordered, x, side="right").sum()
    return float(below + not_above) / 2.0


@lru_cache(maxsize=256)
def _rank_sum_counts(n: int, m: int) -> npt.NDArray[np.int64]:
    """How many of the orders of n and m values give each U 0..nm: a Gaussian binomial."""
    counts = np.zeros(n * m + 1, dtype=np.int64)
    counts[0] = 1
    for i in range(1, n + 1):
        shifted = counts.copy()
        shifted[m + i :] -= counts[: max(0, counts.size - m - i)]  # times (1 - q^(m+i))
        for residue in range(i):  # divided by (1 - q^i)
            shifted[residue::i] = np.cumsum(shifted[residue::i])
        counts = shifted
    return counts


# -- what the rank-based estimates share -----------------------------------------------------------


def _condensed(array: Floats) -> Floats:
    """At most ``_PAIRED_POINTS`` evenly spaced quantiles that stand for a large sample."""
    if array.size <= _PAIRED_POINTS:
        return array
    quantiles = (np.arange(_PAIRED_POINTS) + 0.5) / _PAIRED_POINTS
    return np.quantile(array, quantiles, method="inverted_cdf")


def _exact_rank(counts: npt.NDArray[np.int64], confidence: float) -> tuple[int, float]:
    """The rank k of the interval's ends from the counts of a symmetric rank statistic."""
    below = np.cumsum(counts)
    total = int(below[-1])
    rank = max(1, int(np.searchsorted(below, (1.0 - confidence) / 2.0 * total, side="right")))
    return rank, max(0.0, 1.0 - 2.0 * int(below[rank - 1]) / total)


def _normal_rank(total: int, deviation: float, confidence: float) -> tuple[int, float]:
    """The rank k of the interval's ends by normal approximation, rounded outwards."""
    return max(1, math.floor(total / 2.0 - _z(confidence) * deviation)), confidence


def _pair_estimate(pairs: Floats, rank: int, total: int, coverage: float) -> Estimate:
    """Median and interval of sorted pair values that stand for ``total`` pairs."""
    place = max(1, rank * pairs.size // total)
    interval = Interval(float(pairs[place - 1]), float(pairs[-place]), coverage)
    return Estimate(median_of_sorted(pairs), interval)


# -- means of few values: processes are the unit of replication ------------------------------------


def process_interval(x: Values, y: Values, confidence: float = 0.95) -> Interval:
    """Welch's t interval of mean(x) - mean(y), for one log median a process.

    Batches of one process share its pages and layout, so a claim about two runs has as many
    independent values as there are processes. At least two a side.

    Source: B. L. Welch, Biometrika 34 (1947) 28; replication: Kalibera & Jones, ISMM 2013.
    """
    _check_confidence(confidence)
    left, right = _array(x, "x"), _array(y, "y")
    if min(left.size, right.size) < 2:
        raise ValueError("an interval between processes needs at least two a side")
    shares = np.array([left.var(ddof=1) / left.size, right.var(ddof=1) / right.size])
    variance = float(shares.sum())
    centre = float(left.mean() - right.mean())
    if variance == 0.0:
        return Interval(centre, centre, confidence)
    weights, freedom = shares / variance, np.array([left.size - 1.0, right.size - 1.0])
    # Rounded down, as for printed tables: a handful of processes needs to err on the safe side.
    whole = max(1.0, math.floor(1.0 / float((weights**2 / freedom).sum()) + 1e-9))
    margin = t_quantile(0.5 + confidence / 2.0, whole) * math.sqrt(variance)
    return Interval(centre - margin, centre + margin, confidence)


def paired_process_interval(differences: Values, confidence: float = 0.95) -> Interval:
    """Student's t interval of the mean of differences between paired processes; two or more.

    Source: "Student", Biometrika 6 (1908) 1.
    """
    _check_confidence(confidence)
    array = _array(differences, "differences")
    if array.size < 2:
        raise ValueError("an interval between paired processes needs at least two pairs")
    error = float(array.std(ddof=1)) / math.sqrt(array.size)
    margin = t_quantile(0.5 + confidence / 2.0, array.size - 1.0) * error
    return Interval(float(array.mean()) - margin, float(array.mean()) + margin, confidence)


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
