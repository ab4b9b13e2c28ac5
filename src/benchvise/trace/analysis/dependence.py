"""How much successive values repeat each other, and intervals that allow for it.

Activations of one actor come in bursts and are late together. Both are seen by cutting a trace into
``BLOCKS`` parts: where hits (values beyond a threshold, or activations) are independent, their
number differs from part to part as chance has it; the *design effect* is how many times as much it
does (batch means: Law & Kelton, *Simulation Modeling and Analysis*, section 9.5; design effect:
Kish, *Survey Sampling*, section 8.2). A count divided by it is an effective count, to which methods
for independent values apply (Korn & Graubard, Survey Methodology 24 (1998) 193).

What is assumed: a trace is stationary, and what happens in one part does not depend on the others
but at their edges. Where dependence reaches further, as with a load that grew in the middle of a
trace, parts differ more, and intervals are wide.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from benchvise.statistics.means import incomplete_beta, t_quantile
from benchvise.trace.analysis.distributions import QuantileBounds
from benchvise.trace.analysis.model import Floats, Ints

BLOCKS = 20
"""Parts of a trace: their differences have 19 degrees of freedom."""

LEAST = 100
"""Fewer values leave less than five a part: they are taken for independent."""

_Z = NormalDist().inv_cdf(0.975)
_T = t_quantile(0.975, BLOCKS - 1.0)

KNOWN_BY_PARTS = (_Z / _T) ** 2
"""The share of an effective count that is left where the design effect is an estimate itself."""


def design_effect(hits: Ints, count: int) -> float:
    """That of the hits at these positions among ``count`` successive values; at least 1."""
    if count < LEAST or not 0 < hits.size < count:
        return 1.0
    by_part = np.bincount(hits * BLOCKS // count, minlength=BLOCKS)
    expected = hits.size / BLOCKS * (1.0 - hits.size / count)
    return max(1.0, float(by_part.var(ddof=1)) / expected)


def dispersion(times: Ints, begin: int, duration: int) -> float:
    """The variance of the number of activations in a part, relative to that of a Poisson process:
    near 0 of regular ones, above 1 of bursts. ``times`` lie in the span, in ns.

    Even the number of perfectly regular activations in a span is only known to one: a quarter is
    the variance that remains.
    """
    by_part = np.bincount((times - begin) * BLOCKS // duration, minlength=BLOCKS)
    least = 0.25 / times.size
    return max(least, float(by_part.var(ddof=1)) * BLOCKS / times.size)


def share_interval(hits: float, of: float) -> tuple[float, float]:
    """The 95 % interval of a share, of counts that need not be whole, nor are below 1.

    That of Clopper and Pearson by Pratt's approximation (Blyth, J. Amer. Statist. Assoc. 81 (1986)
    843), which takes no search: for few hits it is somewhat wider.
    """
    return 1.0 - _upper(of - hits, of), _upper(hits, of)


def _upper(hits: float, of: float) -> float:
    above, rest = hits + 1.0, of - hits
    root = math.sqrt(9.0 * above * rest * (9.0 * of + 5.0 - _Z**2) + of + 1.0)
    odds = (81.0 * above * rest - 9.0 * of - 8.0 - 3.0 * _Z * root) / (
        81.0 * above**2 - 9.0 * above * (2.0 + _Z**2) + 1.0
    )
    return 1.0 / (1.0 + (above / rest) ** 2 * odds**3)


def quantile_ends(in_time: Ints, ascending: Ints | Floats, share: float) -> QuantileBounds | None:
    """The 95 % interval of a quantile, of at least 0.5, between order statistics; None where there
    are too few values to have an upper end.

    The share of values beyond the quantile has an interval by its effective count, which the
    distribution turns into one of the quantile (Woodruff, J. Amer. Statist. Assoc. 47 (1952) 635).
    The design effect is the larger of those at the quantile and at the 90th percentile, beyond
    which there are more values to see it by.
    """
    count = ascending.size
    effect = max(
        design_effect(np.flatnonzero(in_time > ascending[int(at * (count - 1))]), count)
        for at in {share, max(share, 0.9) if share < 0.9 else 0.9}
    )
    effective = count / effect * (KNOWN_BY_PARTS if count >= LEAST else 1.0)
    if (1.0 - share) * effective < 1.0:
        return None
    low, high = share_interval((1.0 - share) * effective, effective)
    fewest, most = math.floor(low * count), math.ceil(high * count)
    if fewest < 1 or most >= count:
        return None
    return QuantileBounds(float(ascending[count - 1 - most]), float(ascending[count - fewest]))


def two_sided_p(distance: float, margin: float) -> float:
    """That of an estimate so far from no change, whose 95 % interval reaches ``margin`` towards it,
    by Student's t with the degrees of freedom of the parts."""
    if margin <= 0.0:
        return 0.0 if distance > 0.0 else 1.0
    freedom = BLOCKS - 1.0
    t = distance / margin * _T
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)


def ratio_of(
    values: tuple[float, float], ends: tuple[QuantileBounds, QuantileBounds]
) -> tuple[QuantileBounds, float]:
    """The 95 % interval of the second value relative to the first, and the p that they are equal.

    The logarithms of both intervals are combined by the method of variance estimates recovery (Zou
    & Donner, Statistics in Medicine 27 (2008) 1693). All values are above 0.
    """
    a, b = (math.log(value) for value in values)
    (a_low, a_high), (b_low, b_high) = (
        (math.log(interval.low), math.log(interval.high)) for interval in ends
    )
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    ratio = b - a
    interval = QuantileBounds(math.exp(ratio - down), math.exp(ratio + up))
    return interval, two_sided_p(abs(ratio), down if ratio > 0 else up)
