"""The statistics of a diagnosis: shifts, shares of the gap, and how sure they are.

All values are goodness (see ``model``), one a trial; differences are between trials of one block,
so that what drifts from block to block cancels. Intervals invert the signed-rank test, which
needs no more than that noise is as likely up as down in a difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from benchvise.long_arrays import walsh_pairs
from benchvise.statistics.means import paired_process_interval, t_quantile
from benchvise.statistics.permutation import sign_flip_test
from benchvise.statistics.quantiles import median_of_sorted
from benchvise.statistics.ranks import (
    hodges_lehmann_paired,
    rank_sum,
    signed_rank,
    signed_rank_interval,
)
from benchvise.why.model import Bounds

Floats = npt.NDArray[np.float64]

SHARE_LIMIT = 10.0
"""Shares are cut off here, to either side: beyond it a gap is too uncertain to be shared out."""

UNBOUNDED = 25.0
"""An end of a shift's interval that nothing bounds: a factor of 7e10, which JSON can hold."""

# Below this many differences the signed-rank interval cannot reach 95 %, whatever they are.
_RANKED = 6
# Relative to the normal distribution: the 0.6745 quantile, and what a median costs against a mean.
_QUARTILE = 0.6745
_MEDIAN_COST = 1.2533
# Values of a sample that count for its spread.
_COUNTED = 6
# Consecutive trials whose median is the level of a side at that time: fewer tell noise from drift
# no better, more leave too few levels.
_LEVEL = 6
# So many levels tell how far they are apart within a third of what a handful would say.
_TELLING = 4


def shift(differences: Floats) -> Bounds:
    """The location of paired differences with its 95 % interval.

    Of six or more the Hodges-Lehmann estimate with the signed-rank interval, interpolated to 95 %;
    of two to five, where that cannot reach it, the mean with Student's t; a single one bounds
    nothing.
    """
    if differences.size < 2:
        return Bounds(float(differences[0]), -UNBOUNDED, UNBOUNDED)
    if differences.size < _RANKED:
        interval = paired_process_interval(differences)
        return Bounds(float(differences.mean()), interval.low, interval.high)
    interval = signed_rank_interval(differences)
    return Bounds(hodges_lehmann_paired(differences).value, interval.low, interval.high)


def mean_of(estimates: Sequence[Bounds]) -> Bounds:
    """The mean of independent estimates of one value, with its interval.

    Source of the interval: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    count = len(estimates)
    value = sum(bounds.value for bounds in estimates) / count
    down = math.hypot(*(bounds.value - bounds.low for bounds in estimates)) / count
    up = math.hypot(*(bounds.high - bounds.value for bounds in estimates)) / count
    return Bounds(value, value - down, value + up)


def p_value(differences: Floats) -> float:
    """The two-sided sign-flip p of differences cut off at their median size.

    Cutting depends on sizes alone, which flipping leaves as they are, so the test stays exact; and
    one wild trial counts no more than a tame one.
    """
    sizes = np.abs(differences)
    bound = float(np.median(sizes))
    return sign_flip_test(np.clip(differences, -bound, bound) if bound > 0.0 else differences)


def share(effects: Floats, gaps: Floats) -> Bounds:
    """What share of the gap an effect is, from both in the same blocks, with its 95 % interval.

    The interval holds each share s for which the signed-rank test does not reject that
    ``effects - s * gaps`` are symmetric about zero: Fieller's way without his normal distribution.
    A Walsh average of these is above zero where s is below the ratio of the Walsh averages (where
    that of the gaps is positive), so the interval lies between two of the ratios. Ends beyond
    ``SHARE_LIMIT`` are cut off.

    Source: E. C. Fieller, J. R. Stat. Soc. B 16 (1954) 175; the test's inversion: Hollander, Wolfe
    & Chicken, *Nonparametric Statistical Methods*, 3rd ed., section 3.3.
    """
    if effects.shape != gaps.shape:
        raise ValueError("effects and gaps come from the same blocks")
    first, second = walsh_pairs(effects.size)
    rank = signed_rank(effects.size)
    return _inverted(effects[first] + effects[second], gaps[first] + gaps[second], rank)


def share_apart(effects: Floats, gaps: Floats) -> Bounds:
    """``share`` where the gap was measured in blocks of its own, before or after.

    The longer of the two is averaged in as many groups as the other has values, and these are
    paired as they come: differences of independent symmetric values are symmetric whatever their
    spreads, so the interval holds what it says without a guess at these.
    """
    size = min(effects.size, gaps.size)
    return share(folded(effects, size), folded(gaps, size))


def share_recorded(effects: Floats, bad: Floats, good: Floats) -> Bounds:
    """``share`` where the good side is a record: its trials have no blocks in common with ours.

    ``bad`` are the trials that ``effects`` start from. The rank-sum test takes the place of the
    signed-rank one: of ``effects + share * bad`` against ``share * good``. It knows noise alone:
    for what drifts since the record was made see ``drifting``.
    """
    rank = rank_sum(effects.size, good.size)
    below = np.subtract.outer(good, bad)
    return _inverted(np.broadcast_to(effects, below.shape).ravel(), below.ravel(), rank)


def drift(values: Floats) -> float:
    """How far the level of one side may be off at another time, as the half-width of 95 %.

    ``values`` are all its plain trials, in the order of time. The medians of every six of them are
    levels; what these differ by beyond the noise within the groups is drift, and two levels that
    are far apart in time differ by the square root of two of it. Student's t by their number, as a
    handful of them tells it. 0 where they are fewer than two groups.
    """
    count = values.size // _LEVEL
    if count < 2:
        return 0.0
    groups = np.array_split(values, count)
    deviation = spread(groups)
    noise = np.mean([error_of_median(deviation, group.size) ** 2 for group in groups])
    levels = np.array([np.median(group) for group in groups])
    beyond = max(0.0, float(levels.var(ddof=1) - noise))
    return t_quantile(0.975, count - 1.0) * math.sqrt(2.0 * beyond)


def drift_of_level(values: Floats) -> float:
    """How far two levels of one side are apart at two times, in 95 of 100 cases, by what its
    trials tell: as ``drift``, but 0 until there are levels enough to tell it well."""
    return drift(values) if values.size >= _TELLING * _LEVEL else 0.0


def widened(bounds: Bounds, by: float) -> Bounds:
    """An estimate that may be off by so much more, either way, for another reason than noise.

    Source of adding the two: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    low = bounds.value - math.hypot(bounds.value - bounds.low, by)
    high = bounds.value + math.hypot(bounds.high - bounds.value, by)
    return Bounds(bounds.value, low, high)


def drifting(share: Bounds, relative: float) -> Bounds:
    """A share of a gap that may be off by that part of itself for another reason than noise."""
    wider = widened(share, abs(share.value) * relative)
    return Bounds(share.value, _clipped(wider.low), _clipped(wider.high))


def _inverted(above: Floats, below: Floats, rank: int) -> Bounds:
    """The s for which at least ``rank`` of all ``above - s * below`` lie on either side of zero."""
    usable = below != 0.0
    ratios, rising = above[usable] / below[usable], below[usable] > 0.0
    if not rising.any():
        return Bounds(0.0, -SHARE_LIMIT, SHARE_LIMIT)
    order = np.argsort(ratios, kind="stable")
    ratios, rising = ratios[order], rising[order]
    # How many are above zero for s before the first ratio, between each two, and after the last
    # one: one less from each ratio on, or one more where it divides by less than zero.
    begin = int(np.count_nonzero(above[~usable] > 0.0)) + int(np.count_nonzero(rising))
    count = begin + np.concatenate([[0], np.cumsum(np.where(rising, -1, 1))])
    accepted = np.flatnonzero((count >= rank) & (count <= above.size - rank))
    value = _clipped(median_of_sorted(ratios[rising]))
    if accepted.size == 0:
        return Bounds(value, value, value)
    low = -math.inf if accepted[0] == 0 else float(ratios[accepted[0] - 1])
    high = math.inf if accepted[-1] == ratios.size else float(ratios[accepted[-1]])
    low, high = _clipped(low), _clipped(high)
    return Bounds(min(max(value, low), high), low, high)


def folded(values: Floats, size: int) -> Floats:
    """The means of ``size`` consecutive groups of values."""
    return np.array([group.mean() for group in np.array_split(values, size)])


def scaled(bounds: Bounds, by: float) -> Bounds:
    """The estimate in another unit, such as that of a known gap."""
    ends = sorted(_clipped(end * by) for end in (bounds.low, bounds.high))
    return Bounds(_clipped(bounds.value * by), ends[0], ends[1])


def complement(bounds: Bounds) -> Bounds:
    """What is left of one."""
    return Bounds(1.0 - bounds.value, 1.0 - bounds.high, 1.0 - bounds.low)


def spread(samples: Iterable[Sequence[float] | Floats]) -> float:
    """The standard deviation within samples that may have different centres; 0 where none can tell.

    From the median of the distances of all pairs within a sample, so that a wild trial now and
    then does not widen it.

    Source: Rousseeuw & Croux, J. Amer. Statist. Assoc. 88 (1993) 1273, with the median instead of
    their quartile: pooled samples are small.
    """
    distances = [
        abs(float(value) - float(other))
        for sample in samples
        for place, value in enumerate(sample)
        for other in sample[place + 1 :]
    ]
    return statistics.median(distances) / (_QUARTILE * math.sqrt(2.0)) if distances else 0.0


def usual_spread(samples: Iterable[Sequence[float] | Floats]) -> float:
    """The spread of the usual one of several samples: the median of their own spreads, each counted
    by its size, up to ``_COUNTED``. Those in a burst of noise have the most values, and would
    decide what is usual if all their values counted. 0 where none can tell.
    """
    spreads = sorted(
        (spread([sample]), min(len(sample), _COUNTED)) for sample in samples if len(sample) > 1
    )
    half = sum(count for _, count in spreads) / 2.0
    for value, count in spreads:
        half -= count
        if half <= 0.0:
            return value
    return 0.0


def error_of_median(deviation: float, count: int) -> float:
    """The standard error of the median of ``count`` values with that standard deviation."""
    return (deviation if count < 3 else _MEDIAN_COST * deviation) / math.sqrt(count)


def _clipped(value: float) -> float:
    return min(SHARE_LIMIT, max(-SHARE_LIMIT, value))
