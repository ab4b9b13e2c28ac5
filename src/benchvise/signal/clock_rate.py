"""The mean period of a clock and its drift, with intervals that hold whatever its noise adds up to.

Noise of single edges (white phase) averages out with the number of periods, noise of periods
(white frequency, a random walk of phase) with its root, and a frequency that varies at every
time scale (flicker) not at all: an interval that takes one for the other is wrong by orders of
magnitude. So the periods, less a parabola in time, are seen by their lowest frequencies only: the
discrete sine transform makes white phase and white frequency uncorrelated exactly, with a spectrum
of q + r * (2 sin(pi j / 2(n+1)))^2, and what happens within a few periods does not reach there.
The spectrum is not chosen but averaged over, each share of its parts weighted by its restricted
likelihood, so that the interval knows how little a short capture says of its own noise.

Flicker noise that is as strong as the rest at the capture's length shows in three or four of these
frequencies only, and moves the mean by several times what they say. So a short capture never
excludes it, whatever its likelihood: its interval is the one that a clock with flicker noise needs,
averaged over the spectra in which that outweighs the rest.

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

from benchvise.statistics.sample import Interval

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
"""What flicker below the capture's lowest frequency adds where jitter averages out: hardly half a
decade of it."""
_FLICKER_UNSEEN = math.log(1e10)
"""The same where the interval is that of a clock with flicker noise: ten decades, from a capture of
a millisecond to a season. White noise has no part below that frequency, 1/f as much in each decade
(IEEE 1139)."""
_SLOPE_CALIBRATION = 1.1
"""A slope is told by the very lowest frequencies, where real noise lies above the spectra averaged
over: without this, intervals of the drift held in 92 to 93 % of made clocks in place of 95 %."""
_IS_FLICKER = 0.4
_MAY_BE_FLICKER = 0.2
_TELLING_PERIODS = 1500
"""Made clocks with flicker noise are known as such in 97 % of captures of so many periods or more,
in 67 % of shorter ones; of a clock whose jitter averages out the likelihood of flicker is 3 to 40 %
at any length."""


@dataclass(frozen=True, slots=True)
class MeanPeriod:
    """The mean of periods in their unit, and the relative change of the period along a straight
    line from start to end.

    ``flicker`` is how likely it is (0..1) that the slowest noise outweighs what averages out: where
    it likely does, the interval is that of no clock, only of these periods.
    ``allows_flicker`` says that the intervals are those of a clock with flicker noise, as these
    periods cannot exclude it; ``averaging`` is the interval of the mean without it.
    """

    period: float
    interval: Interval
    change: float
    change_interval: Interval
    flicker: float
    allows_flicker: bool
    averaging: Interval

    @property
    def averages_out(self) -> bool:
        """Whether a longer capture may bring the mean nearer to one value."""
        return self.flicker < _IS_FLICKER

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
            averaging=_widened(self.averaging, self.period, period),
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
    weights, fit = _average(values, trends, periods.size)
    slow = _WHITE_SHARES[:, None] * _SLOW_SHARES
    most = slow > _SLOW_IS_MOST * (1.0 + _WHITE_SHARES[:, None])
    flicker = float(weights[most].sum())
    averaging = _around(centre, _mixture(weights, fit.means[..., 0], fit.errors(_UNSEEN), fit))
    interval = averaging
    allows_flicker = number < _TELLING_PERIODS or flicker >= _MAY_BE_FLICKER
    if allows_flicker:
        weights = np.where(most, weights, 0.0)
        weights /= weights.sum()
        errors = fit.errors(_FLICKER_UNSEEN)
        interval = _around(centre, _mixture(weights, fit.means[..., 0], errors, fit))
    # The second column runs from -1 to 1 in time: twice its factor is the change.
    first, last = _mixture(weights, fit.means[..., 1], fit.slope_errors, fit)
    return MeanPeriod(
        centre + float((weights * fit.means[..., 0]).sum()),
        interval,
        2 * float((weights * fit.means[..., 1]).sum()) / centre,
        Interval(2 * first / centre, 2 * last / centre, _CONFIDENCE),
        flicker,
        allows_flicker,
        averaging,
    )


def _around(centre: float, ends: tuple[float, float]) -> Interval:
    return Interval(centre + ends[0], centre + ends[1], _CONFIDENCE)


def sampled_line(periods: Floats, reach: float, change_reach: float) -> MeanPeriod:
    """The mean of periods without noise: its interval reaches as far as resolution allows."""
    mean = float(periods.mean())
    interval = Interval(mean - reach, mean + reach, 1.0)
    change_interval = Interval(-change_reach, change_reach, 1.0)
    return MeanPeriod(mean, interval, 0.0, change_interval, 0.0, False, interval)


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


@dataclass(frozen=True, slots=True)
class _Fit:
    """The factors of the trends for each spectrum, their variances, what a decade of flicker below
    the lowest frequency would add to that of the mean (by its natural logarithm), and the degrees
    of freedom."""

    means: Floats
    variances: Floats
    unseen: Floats
    freedom: int

    def errors(self, unseen: float) -> Floats:
        """Standard errors of the mean."""
        return np.asarray(np.sqrt(self.variances[..., 0] + unseen * self.unseen))

    @property
    def slope_errors(self) -> Floats:
        """Standard errors of the slope."""
        return np.asarray(_SLOPE_CALIBRATION * np.sqrt(self.variances[..., 1]))


def _average(values: Floats, trends: Floats, periods: int) -> tuple[Floats, _Fit]:
    """The weight of each spectrum, and what it says."""
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
    unseen = _WHITE_SHARES[:, None] * _SLOW_SHARES * rest / freedom / periods
    return weights / weights.sum(), _Fit(means, variances, unseen, freedom)


def _mixture(weights: Floats, means: Floats, errors: Floats, fit: _Fit) -> tuple[float, float]:
    """Both ends of the interval of a mixture of Student's t.

    Source of the t distribution as a normal one: D. L. Wallace, Ann. Math. Statist. 30 (1959) 1124.
    """
    used = weights > 1e-6
    parts, centres, scales = weights[used], means[used], np.maximum(errors[used], 1e-300)
    freedom = fit.freedom
    scaling = (8 * freedom + 1) / (8 * freedom + 3)

    def below(value: float) -> float:
        t = (value - centres) / scales
        z = np.sign(t) * scaling * np.sqrt(freedom * np.log1p(t**2 / freedom))
        shares = [math.erfc(-score / math.sqrt(2.0)) / 2 for score in z.tolist()]
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
