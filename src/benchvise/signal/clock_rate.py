"""The mean period of a clock and its drift, with intervals that hold whatever its noise adds up to.

Noise of single edges (white phase) averages out with the number of periods, noise of periods
(white frequency, a random walk of phase) with its root, and a frequency that varies at every
time scale (flicker) not at all: an interval that takes one for the other is wrong by orders of
magnitude. So the periods, less a parabola in time, are seen by their lowest frequencies only: the
discrete sine transform makes white phase and white frequency uncorrelated exactly, with a spectrum
of q + r * (2 sin(pi j / 2(n+1)))^2, and what happens within a few periods does not reach there.
The spectrum is not chosen but averaged over, each share of its parts weighted by its restricted
likelihood, so that the interval knows how little a short capture says of its own noise.

Sources: D. B. Percival, "Stochastic models and statistical analysis for clock noise", Metrologia
40 (2003) S289; P. M. Robinson, Ann. Statist. 23 (1995) 1630 (local Whittle); U. K. Mueller and
M. W. Watson, Econometrica 76 (2008) 979 (the lowest frequencies alone); D. A. Harville, J. Amer.
Statist. Assoc. 72 (1977) 320 (restricted likelihood).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchvise.statistics import Interval

Floats = npt.NDArray[np.float64]

LEAST_PERIODS = 8
"""Of fewer periods no noise can be told."""

_CONFIDENCE = 0.95
_MOST_PERIODS = 1 << 18
_LEAST_FOR_BEND = 24
_LEAST_FREQUENCIES = 30
_WHITE_SHARES = np.concatenate(([1e-3], np.exp2(np.arange(-4.0, 16.0))))
"""White frequency to white phase, at the lowest frequency."""
_WHITE_PRIOR = np.concatenate(([0.4], np.full(20, 0.03)))[:, None]
_SLOW_SHARES = np.array([0.0, 1.0, 4.0, 16.0, 64.0])
"""Flicker to white frequency, at the lowest frequency."""
_SLOW_PRIOR = np.array([0.84, 0.04, 0.04, 0.04, 0.04])
_SLOW_IS_MOST = 2.0
_UNSEEN = 1.0
"""What flicker below the capture's lowest frequency adds: hardly half a decade is assumed, as more
of it is no interval at all."""
_SLOPE_CALIBRATION = 1.1
"""A slope is told by the very lowest frequencies, where real noise lies above the spectra averaged
over: without this, intervals of the drift held in 92 to 93 % of made clocks in place of 95 %."""
_IS_FLICKER = 0.4
_MAY_BE_FLICKER = 0.2
_FEW_PERIODS = 500
"""So few hardly speak against flicker: then a lower likelihood of it is enough for no interval."""


@dataclass(frozen=True, slots=True)
class MeanPeriod:
    """The mean of periods in their unit, and the relative change of the period along a straight
    line from start to end.

    ``flicker`` is how likely it is (0..1) that the slowest noise outweighs what averages out:
    then the interval is that of no clock, only of these periods. ``count`` is how many they are.
    """

    period: float
    interval: Interval
    change: float
    change_interval: Interval
    flicker: float
    count: int

    @property
    def averages_out(self) -> bool:
        """Whether a longer capture would bring the mean nearer to one value, for all that these
        periods tell."""
        return self.flicker < (_IS_FLICKER if self.count >= _FEW_PERIODS else _MAY_BE_FLICKER)

    @property
    def half_width(self) -> float:
        """Of the interval of the mean, in its unit."""
        return (self.interval.high - self.interval.low) / 2

    def at_least(self, period: float, change: float) -> MeanPeriod:
        """The same with intervals that reach at least so far on either side."""
        return replace(
            self,
            interval=_widened(self.interval, self.period, period),
            change_interval=_widened(self.change_interval, self.change, change),
        )


def _widened(interval: Interval, centre: float, reach: float) -> Interval:
    low, high = min(interval.low, centre - reach), max(interval.high, centre + reach)
    return replace(interval, low=low, high=high)


def mean_period(periods: Floats, times: Floats) -> MeanPeriod:
    """The mean of periods at those times (both in one unit), and its 95 % interval.

    ValueError for fewer than ``LEAST_PERIODS``. Rests between the periods are allowed: ``times``
    has them, the noise does not.
    """
    if periods.size < LEAST_PERIODS:
        raise ValueError(f"{periods.size} periods are too few for an interval")
    number = int(periods.size)
    periods, times = _thinned(periods), _thinned(times)
    centre = float(periods.mean())
    columns = _trends(times)
    count = _frequencies(periods.size)
    values = _sine_transform(periods - centre, count)
    trends = np.column_stack([_sine_transform(column, count) for column in columns])
    weights, means, errors, freedom = _average(values, trends, periods.size)
    slow = _WHITE_SHARES[:, None] * _SLOW_SHARES
    most = slow > _SLOW_IS_MOST * (1.0 + _WHITE_SHARES[:, None])
    flicker = float(weights[most].sum())
    low, high = _mixture(weights, means[..., 0], errors[..., 0], freedom)
    # The second column runs from -1 to 1 in time: twice its factor is the change.
    first, last = _mixture(weights, means[..., 1], errors[..., 1], freedom)
    return MeanPeriod(
        centre + float((weights * means[..., 0]).sum()),
        Interval(centre + low, centre + high, _CONFIDENCE),
        2 * float((weights * means[..., 1]).sum()) / centre,
        Interval(2 * first / centre, 2 * last / centre, _CONFIDENCE),
        flicker,
        number,
    )


def sampled_line(periods: Floats, reach: float, change_reach: float) -> MeanPeriod:
    """The mean of periods without noise: its interval reaches as far as resolution allows."""
    mean = float(periods.mean())
    return MeanPeriod(
        mean,
        Interval(mean - reach, mean + reach, 1.0),
        0.0,
        Interval(-change_reach, change_reach, 1.0),
        0.0,
        int(periods.size),
    )


def _thinned(values: Floats) -> Floats:
    """Means of so many neighbours that no more than the most remain: every n-th edge, that is."""
    step = -(-values.size // _MOST_PERIODS)
    whole = values[: values.size // step * step]
    means: Floats = whole.reshape(-1, step).mean(axis=1)
    return means


def _trends(times: Floats) -> list[Floats]:
    """One and time from -1 to 1; where there are periods enough its square as well. Each is without
    what those before it have: the first factor is the mean, the second the slope of a straight
    line. More of them would hide the noise that matters most."""
    middle, half = (times[0] + times[-1]) / 2, (times[-1] - times[0]) / 2
    line = (times - middle) / half
    columns = [np.ones_like(line), line - line.mean()]
    if times.size >= _LEAST_FOR_BEND:
        columns.append(line**2 - np.polyval(np.polyfit(line, line**2, 1), line))
    return columns


def _frequencies(periods: int) -> int:
    return min(periods, max(_LEAST_FREQUENCIES, round(math.sqrt(periods))))


def _sine_transform(values: Floats, count: int) -> Floats:
    """The first coefficients of the orthonormal discrete sine transform (type I)."""
    odd = np.concatenate(([0.0], values, [0.0], -values[::-1]))
    spectrum = -np.fft.rfft(odd).imag[1 : count + 1] / 2
    return np.asarray(spectrum * math.sqrt(2.0 / (values.size + 1)), dtype=np.float64)


def _average(values: Floats, trends: Floats, periods: int) -> tuple[Floats, Floats, Floats, int]:
    """For each spectrum: its weight, the factors of the trends and their standard errors."""
    numbers = np.arange(1, values.size + 1)
    phase = np.sin(math.pi * numbers / (2 * (periods + 1))) ** 2
    phase /= phase[0]
    slow = 1.0 / numbers
    white = _WHITE_SHARES[:, None, None] * (1.0 + _SLOW_SHARES[:, None] * slow)
    inverse = 1.0 / (phase + white)
    normal = np.einsum("abj,jp,jq->abpq", inverse, trends, trends)
    moment = np.einsum("abj,jp,j->abp", inverse, trends, values)
    means = np.linalg.solve(normal, moment[..., None])[..., 0]
    freedom = values.size - trends.shape[1]
    rest = np.einsum("abj,j->ab", inverse, values**2) - (means * moment).sum(axis=-1)
    rest = np.maximum(rest, 1e-30 * max(1e-300, float((values**2).sum())))
    likelihood = 0.5 * np.log(inverse).sum(axis=-1) - 0.5 * np.linalg.slogdet(normal)[1]
    likelihood -= 0.5 * freedom * np.log(rest)
    weights = _WHITE_PRIOR * _SLOW_PRIOR * np.exp(likelihood - likelihood.max())
    variances = np.diagonal(np.linalg.inv(normal), axis1=-2, axis2=-1).copy()
    variances *= (rest / freedom)[..., None]
    unseen = _WHITE_SHARES[:, None] * _SLOW_SHARES * rest / freedom
    variances[..., 0] += _UNSEEN * unseen / periods
    errors = np.sqrt(variances)
    errors[..., 1] *= _SLOPE_CALIBRATION
    return weights / weights.sum(), means, errors, freedom


def _mixture(weights: Floats, means: Floats, errors: Floats, freedom: int) -> tuple[float, float]:
    """Both ends of the interval of a mixture of Student's t.

    Source of the t distribution as a normal one: D. L. Wallace, Ann. Math. Statist. 30 (1959) 1124.
    """
    used = weights > 1e-6
    parts, centres, scales = weights[used], means[used], np.maximum(errors[used], 1e-300)
    scaling = (8 * freedom + 1) / (8 * freedom + 3)

    def below(value: float) -> float:
        t = (value - centres) / scales
        z = np.sign(t) * scaling * np.sqrt(freedom * np.log1p(t**2 / freedom))
        shares = [math.erfc(-one / math.sqrt(2.0)) / 2 for one in z.tolist()]
        return float(parts @ np.array(shares)) / float(parts.sum())

    def quantile(share: float) -> float:
        low = float((centres - 60 * scales).min())
        high = float((centres + 60 * scales).max())
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) < share else (low, middle)
        return (low + high) / 2

    tail = (1 - _CONFIDENCE) / 2
    return quantile(tail), quantile(1 - tail)
