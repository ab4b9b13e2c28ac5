"""Intervals of means of few values: processes are the unit of replication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from benchvise.statistics.sample import Interval, check_confidence, checked_values

if TYPE_CHECKING:
    from benchvise.statistics.sample import Values


def process_interval(x: Values, y: Values, confidence: float = 0.95) -> Interval:
    """Welch's t interval of mean(x) - mean(y), for one log median a process.

    Batches of one process share its pages and layout, so a claim about two runs has as many
    independent values as there are processes. At least two a side.

    Source: B. L. Welch, Biometrika 34 (1947) 28; replication: Kalibera & Jones, ISMM 2013.
    """
    check_confidence(confidence)
    left, right = checked_values(x, "x"), checked_values(y, "y")
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
    check_confidence(confidence)
    array = checked_values(differences, "differences")
    if len(array) < 2:
        raise ValueError("an interval between paired processes needs at least two pairs")
    mean, variance = mean_and_variance(array)
    margin = t_quantile(0.5 + confidence / 2.0, len(array) - 1.0) * math.sqrt(variance / len(array))
    return Interval(mean - margin, mean + margin, confidence)


def mean_and_variance(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the variance by n - 1 (NaN of one value), both rounded once."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, math.nan
    return mean, math.fsum([(value - mean) ** 2 for value in values]) / (n - 1)


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
