"""What a set of times says: quantiles with their intervals, shape, and one set beside another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed, in_json
from benchvise.statistics.quantiles import mad, median_ratio, quantile_interval
from benchvise.statistics.ranks import cliffs_delta, mann_whitney
from benchvise.statistics.sample import Estimate, Interval
from benchvise.statistics.series_shape import Drift, Mode, drift, modes

Seconds = npt.NDArray[np.float64]

QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99, 0.999)

_LEAST_FOR_DRIFT = 10
_DRIFT_POINTS = 2_000
SIGNIFICANCE = 0.01


@dataclass(frozen=True, slots=True)
class TimesQuantile:
    """A quantile at ``share`` (0..1) and its 95 % interval; None where the number of values does
    not bound it on both sides."""

    share: float
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times of one configuration, in their own unit."""

    count: int
    low: float
    high: float
    mean: float
    mad: float
    quantiles: tuple[TimesQuantile, ...]
    two_modes: tuple[Mode, Mode] | None
    drift: Drift | None

    @property
    def median(self) -> TimesQuantile:
        """The quantile at one half."""
        return next(q for q in self.quantiles if q.share == 0.5)


@dataclass(frozen=True, slots=True)
class TimesDifference:
    """One set of times relative to another: ratio of the medians with its 95 % interval, the
    Mann-Whitney p, and Cliff's delta (1: every time is longer)."""

    ratio: Estimate | None
    p: float
    effect: float

    @computed.named("shown")
    def significant(self) -> bool:
        """Whether the two differ beyond doubt: p < 0.01, and the interval excludes 1."""
        return (
            self.p < SIGNIFICANCE
            and self.ratio is not None
            and not self.ratio.interval.low <= 1.0 <= self.ratio.interval.high
        )


def distribution(values: Seconds) -> Distribution:
    """Quantiles and shape of the values, which are in the order of time. ValueError for none."""
    return Distribution(
        count=int(values.size),
        low=float(values.min()),
        high=float(values.max()),
        mean=float(values.mean()),
        mad=mad(values),
        quantiles=tuple(_quantile(values, share) for share in QUANTILES),
        two_modes=modes(values),
        drift=_drift(values),
    )


def _quantile(values: Seconds, share: float) -> TimesQuantile:
    interval = quantile_interval(values, share)
    bounded = interval.coverage >= 0.95 - 1e-9
    return TimesQuantile(share, float(np.quantile(values, share)), interval if bounded else None)


def _drift(values: Seconds) -> Drift | None:
    if values.size < _LEAST_FOR_DRIFT:
        return None
    step = -(-values.size // _DRIFT_POINTS)
    whole = drift(values[::step])
    return whole if whole.p < SIGNIFICANCE else None


def difference(values: Seconds, reference: Seconds) -> TimesDifference:
    """``values`` relative to ``reference``."""
    return TimesDifference(
        median_ratio(values, reference),
        mann_whitney(values, reference),
        cliffs_delta(values, reference),
    )


@dataclass(frozen=True, slots=True)
class TimesDifferenceAt(TimesDifference):
    """A difference at one setting of the other factors."""

    setting: str = field(metadata=in_json(name="with"))


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """What one level of a factor does beside another, all else equal: for each setting of the
    other factors, how the two differ."""

    factor: str
    level: str
    reference: str
    where: tuple[TimesDifferenceAt, ...]


def effects(
    configurations: Mapping[tuple[str, ...], Seconds], factors: Sequence[str]
) -> tuple[FactorEffect, ...]:
    """The effects of each factor: its levels against the first one seen, at each setting of the
    others where both were measured. Keys hold a level for each of ``factors``."""
    results: list[FactorEffect] = []
    for place, factor in enumerate(factors):
        levels = list(dict.fromkeys(key[place] for key in configurations))
        for level in levels[1:]:
            where = [
                _difference_at(values, reference, " ".join(key[:place] + key[place + 1 :]))
                for key, values in configurations.items()
                if key[place] == level
                and (reference := configurations.get((*key[:place], levels[0], *key[place + 1 :])))
                is not None
            ]
            if where:
                results.append(FactorEffect(factor, level, levels[0], tuple(where)))
    return tuple(results)


def _difference_at(values: Seconds, reference: Seconds, setting: str) -> TimesDifferenceAt:
    whole = difference(values, reference)
    return TimesDifferenceAt(whole.ratio, whole.p, whole.effect, setting)


def histogram(values: Seconds, bins: int = 60) -> tuple[Seconds, npt.NDArray[np.int64]]:
    """Edges of bins and counts; the bins are of equal width on a logarithmic scale where the
    values span more than a factor of ten, else on a linear one."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        high = low * 1.001 if low else 1.0
    edges = (
        np.geomspace(low, high, bins + 1)
        if low > 0 and high / low > 10
        else np.linspace(low, high, bins + 1)
    )
    edges[0], edges[-1] = low, high
    counts, _ = np.histogram(values, edges)
    return edges, counts.astype(np.int64)
