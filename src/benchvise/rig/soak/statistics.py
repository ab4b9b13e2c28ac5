"""Statistics of a soak: how often it fails, how long its phases take, which boots are outliers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from benchvise.documents import computed, in_json

CONFIDENCE = 0.95

# Fewer boots than this have quartiles that say nothing of the others.
_FEWEST_FOR_OUTLIERS = 8
# Beyond this many interquartile ranges a value is "far out".
_FENCE = 3.0
# A phase that always takes the same to the millisecond would make an outlier of every other value,
# and when bytes of a console are seen depends on this machine too.
_LEAST_EXCESS = 0.05
_LEAST_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class FailureRate:
    """How often something happened: ``count`` of ``total``, and the interval of its probability.

    ``low`` and ``high`` are between 0 and 1 and hold the true probability with at least
    ``confidence``, however rare it is, if the boots do not depend on each other.
    """

    count: int
    total: int
    low: float
    high: float
    confidence: float

    @computed.before("low")
    def value(self) -> float:
        """The share that was seen."""
        return self.count / self.total


def exact_rate(count: int, total: int, confidence: float = CONFIDENCE) -> FailureRate:
    """``count`` events in ``total`` trials, with the exact interval of their probability.

    The probabilities at which as many or more, and as few or fewer, would be seen with half of
    1 - ``confidence`` each. Raises ValueError for impossible counts.

    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404.
    """
    if not (0 <= count <= total and total > 0 and 0.0 < confidence < 1.0):
        raise ValueError(f"{count} of {total} with confidence {confidence} cannot be")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if count == 0 else 1.0 - _highest(total - count, total, tail)
    high = 1.0 if count == total else _highest(count, total, tail)
    return FailureRate(count, total, low, high, confidence)


def _highest(count: int, total: int, tail: float) -> float:
    """The probability at which ``count`` or fewer of ``total`` have the probability ``tail``."""
    if count == 0:
        return float(-np.expm1(math.log(tail) / total))
    k = np.arange(1, count + 1)
    # Logarithms of the binomial coefficients, each from the one before.
    choose = np.concatenate(([0.0], np.cumsum(np.log((total - k + 1) / k))))
    k = np.arange(count + 1)
    below, above = 0.0, 1.0
    while True:
        middle = (below + above) / 2.0
        if middle in (below, above):
            return middle
        terms = choose + k * math.log(middle) + (total - k) * math.log1p(-middle)
        if np.exp(terms).sum() > tail:
            below = middle
        else:
            above = middle


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took, in seconds, over ``n`` boots."""

    n: int
    median: float
    p95: float
    minimum: float = field(metadata=in_json(name="min"))
    maximum: float = field(metadata=in_json(name="max"))


def spread(seconds: Sequence[float]) -> Spread:
    """The distribution of durations; p95 is interpolated. ValueError when there are none."""
    if not seconds:
        raise ValueError("nothing has no distribution")
    p95 = float(np.percentile(np.asarray(seconds, dtype=np.float64), 95))
    return Spread(len(seconds), median(seconds), p95, min(seconds), max(seconds))


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """A phase of the boot: ``at`` since power on, ``took`` since the phase before."""

    name: str
    at: Spread = field(metadata=in_json(name="at_s"))
    took: Spread = field(metadata=in_json(name="took_s"))


@dataclass(frozen=True, slots=True)
class Outlier:
    """A phase of one boot that took far longer, or far less, than in the others: in seconds."""

    boot: int
    phase: str
    took: float = field(metadata=in_json(name="took_s"))
    median: float = field(metadata=in_json(name="median_s"))


def durations(phases: Mapping[str, float]) -> dict[str, float]:
    """How long each phase took, from when each began since power on; in seconds, in their order.

    A phase's duration is the time since the phase before it was reached, or since power on, which
    is at 0 and no phase itself.
    """
    ordered = sorted((item for item in phases.items() if item[1] > 0.0), key=lambda item: item[1])
    previous = 0.0
    took = {}
    for name, at in ordered:
        took[name] = at - previous
        previous = at
    return took


def summarise(boots: Sequence[Mapping[str, float]]) -> tuple[PhaseTimes, ...]:
    """The phases of all boots, in the order of the boot that came furthest.

    Boots that did not reach a phase are missing from its ``n``.
    """
    at: dict[str, list[float]] = {}
    took: dict[str, list[float]] = {}
    for phases in boots:
        for name, seconds in durations(phases).items():
            at.setdefault(name, []).append(phases[name])
            took.setdefault(name, []).append(seconds)
    order = max((list(durations(phases)) for phases in boots), key=len, default=[])
    order += sorted(set(at) - set(order), key=lambda name: median(at[name]))
    return tuple(PhaseTimes(name, spread(at[name]), spread(took[name])) for name in order)


def outliers(boots: Mapping[int, Mapping[str, float]]) -> tuple[Outlier, ...]:
    """The boots of which a phase stands out, in their order; ``boots`` by their numbers.

    A phase stands out when its duration lies more than three interquartile ranges outside of the
    quartiles of all, and more than 5 % and 0.1 s off their median. With fewer than 8 boots none
    does.

    Source: J. W. Tukey, *Exploratory Data Analysis* (1977), chapter 2 ("far out").
    """
    by_phase: dict[str, list[tuple[int, float]]] = {}
    for number, phases in boots.items():
        for name, seconds in durations(phases).items():
            by_phase.setdefault(name, []).append((number, seconds))
    outlying = []
    for name, values in by_phase.items():
        if len(values) < _FEWEST_FOR_OUTLIERS:
            continue
        seconds_of_all = np.asarray([seconds for _, seconds in values])
        first, middle, third = (float(q) for q in np.percentile(seconds_of_all, (25, 50, 75)))
        margin = _FENCE * (third - first)
        for number, seconds in values:
            far = seconds > third + margin or seconds < first - margin
            if far and abs(seconds - middle) > max(_LEAST_EXCESS * middle, _LEAST_SECONDS):
                outlying.append(Outlier(number, name, seconds, middle))
    return tuple(sorted(outlying, key=lambda outlier: outlier.boot))
