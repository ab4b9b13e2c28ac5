"""How often an actor ran in both traces, which activations are missing, and which are extra.

Intervals of rates and tests allow for bursts and for regularity (``dependence``): activations by a
timer are known to one, those that come in bursts to fewer than a Poisson process would have them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchvise.tails import SIGNIFICANCE, fisher_exact
from benchvise.trace.analysis.dependence import (
    KNOWN_BY_PARTS,
    design_effect,
    dispersion,
    share_interval,
    two_sided_p,
)
from benchvise.trace.analysis.distributions import QuantileBounds
from benchvise.trace.analysis.model import Ints, TraceSpan

TESTS = 3
"""Tests that are made of the activations of one name: the rate, missing ones, extra ones."""

_LEAST_PERIODS, _REGULAR = 10, 0.9


@dataclass(frozen=True, slots=True)
class RateRatio:
    """The ratio of two rates, B / A, with its 95 % interval; ``p`` is two-sided, with a correction
    for all tests of the comparison, and ``changed`` says that it is below 0.05. Both are None where
    all activations of a trace are in effect one: they came together."""

    ratio: float
    interval: QuantileBounds | None
    p: float | None
    changed: bool


@dataclass(frozen=True, slots=True)
class Irregularity:
    """Activations that are missing or extra in both traces, by the median period of A in ns.

    Of a period near to a multiple k of it, k - 1 are missing; one below half of it is extra.
    ``gaps`` counts the periods in which any is missing. ``p`` is that of as different shares of
    such periods by chance, with what comes together counted once, and with a correction for all
    tests; ``changed`` that it is below 0.01.
    """

    period: float
    missing: tuple[int, int]
    gaps: tuple[int, int]
    missing_p: float
    missing_changed: bool
    extra: tuple[int, int]
    extra_p: float
    extra_changed: bool


def rate_ratio(
    times: tuple[Ints, Ints], spans: tuple[TraceSpan, TraceSpan], tests: int = 1
) -> RateRatio | None:
    """The ratio of how often activations began at these times, second to first; None without any.

    Given all of them, the share of the second trace's is that of a binomial distribution
    (conditional test: Przyborowski & Wilenski, Biometrika 31 (1940) 313), of effective counts.
    """
    a, b = (side.size for side in times)
    if a == 0 or b == 0:
        return None
    of_a, of_b = (
        KNOWN_BY_PARTS * side.size / dispersion(side, span.begin, span.duration)
        for side, span in zip(times, spans, strict=True)
    )
    ratio = b / a * (spans[0].duration / spans[1].duration)
    if min(of_a, of_b) < 1.0:
        return RateRatio(ratio, None, None, changed=False)
    low, high = share_interval(of_b, of_a + of_b)
    scale = ratio * of_a / of_b
    interval = QuantileBounds(low / (1 - low) * scale, high / (1 - high) * scale)
    margin = math.log(ratio / interval.low if ratio > 1 else interval.high / ratio)
    p = min(1.0, two_sided_p(abs(math.log(ratio)), margin) * tests)
    return RateRatio(ratio, interval, p, changed=p < 0.05)


def irregularity(periods: tuple[Ints, Ints], tests: int = 1) -> Irregularity | None:
    """Missing and extra activations of both traces by their periods (ns) in order of time.

    None where fewer than nine tenths of A's periods, or fewer than ten, lie within a quarter of
    their median: it is not regular.
    """
    reference = periods[0]
    if reference.size < _LEAST_PERIODS or periods[1].size == 0:
        return None
    median = float(np.partition(reference, reference.size // 2)[reference.size // 2])
    near = np.abs(reference - median) < median / 4
    if median <= 0 or near.mean() < _REGULAR:
        return None
    missing = [np.maximum(np.rint(side / median).astype(np.int64) - 1, 0) for side in periods]
    gaps = [np.flatnonzero(side) for side in missing]
    extra = [np.flatnonzero(side < median / 2) for side in periods]
    sizes = periods[0].size, periods[1].size
    of_gaps, of_extra = (
        min(1.0, _share_p((hits[0], hits[1]), sizes) * tests) for hits in (gaps, extra)
    )
    return Irregularity(
        period=median,
        missing=(int(missing[0].sum()), int(missing[1].sum())),
        gaps=(gaps[0].size, gaps[1].size),
        missing_p=of_gaps,
        missing_changed=of_gaps < SIGNIFICANCE,
        extra=(extra[0].size, extra[1].size),
        extra_p=of_extra,
        extra_changed=of_extra < SIGNIFICANCE,
    )


def _share_p(hits: tuple[Ints, Ints], sizes: tuple[int, int]) -> float:
    """Fisher's exact test of effective counts."""
    effect = max(design_effect(at, size) for at, size in zip(hits, sizes, strict=True))
    a, b = (math.floor(at.size / effect + 0.5) for at in hits)
    return fisher_exact(a, max(a, round(sizes[0] / effect)), b, max(b, round(sizes[1] / effect)))
