"""What happened to the tail of a metric between two traces: p99, p99.9, and the longest ones.

Intervals allow for values that are late together (``dependence`` says what is assumed). The longest
of all has no interval by itself: a recording twice as long has a longer one. What has is the
longest of as many successive activations in both traces, a window of them (block maxima: Coles, *An
Introduction to Statistical Modeling of Extreme Values*, chapter 3): both traces have many windows,
whose maxima are compared by ranks. Beside that it is told how many are longer than any of the other
trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchvise.statistics.ranks import hodges_lehmann_shift, mann_whitney
from benchvise.tails import SIGNIFICANCE, all_of_one
from benchvise.trace.analysis.dependence import (
    BLOCKS,
    LEAST,
    design_effect,
    quantile_ends,
    ratio_of,
)
from benchvise.trace.analysis.distributions import QuantileBounds, quantile
from benchvise.trace.analysis.model import Floats, Ints

TESTS = 4
"""Tests that are made of the tail of one metric: three ratios, and the longest of all."""

NOTABLE_RATIO = 2.0
"""From here on a longest value that grew or shrank is told, be it one of many."""

_SHARES = {"p99": 0.99, "p99.9": 0.999}
_LEAST_OF = {"p99": 400, "p99.9": 4000}
"""About so many independent values have an interval of the quantile."""


@dataclass(frozen=True, slots=True)
class TailRatio:
    """A high quantile, or the longest of each window, in both traces: ns, ``ratio`` is B / A.

    ``window`` is the number of successive activations of which the longest is taken, ``a`` and
    ``b`` then the medians of these; None for a quantile. ``interval`` (95 %) and ``p`` are None
    where they cannot be had, and ``reason`` says why. ``p`` is two-sided, with a correction for all
    tests of the comparison (Bonferroni); ``changed`` says that it is below 0.05.
    """

    statistic: str
    a: float
    b: float
    window: int | None
    ratio: float | None
    interval: QuantileBounds | None
    p: float | None
    changed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TailChange:
    """The longest ones of a metric in both traces.

    ``ratio`` is of the longest, B / A. ``beyond`` of the ``count`` values of ``side`` are longer
    than any of the other trace; ``p`` is that of a chance (precedence test, ``benchvise.tails``,
    with what is late together counted once), with a correction for all tests of the comparison, and
    ``shown`` that it is below 0.01.
    """

    ratio: float
    side: Literal["a", "b"]
    beyond: int
    count: int
    p: float
    shown: bool

    @property
    def notable(self) -> bool:
        """Whether a reader has to be told, though the median did not change."""
        return self.shown or not 1 / NOTABLE_RATIO < self.ratio < NOTABLE_RATIO


def tail_ratios(
    in_time: tuple[Ints, Ints], ascending: tuple[Ints, Ints], tests: int
) -> tuple[TailRatio, ...]:
    """p99, p99.9 and the longest of each window, of one metric in both traces.

    ``tests`` is the number of all that the comparison makes.
    """
    quantiles = [
        _quantile_ratio(name, share, in_time, ascending, tests) for name, share in _SHARES.items()
    ]
    return (*quantiles, _window_ratio(in_time, ascending, tests))


def _quantile_ratio(
    name: str,
    share: float,
    in_time: tuple[Ints, Ints],
    ascending: tuple[Ints, Ints],
    tests: int,
) -> TailRatio:
    a, b = (quantile(side, share) for side in ascending)
    if min(a, b) <= 0:
        return _without_interval(name, a, b, None, "one of them is 0: there is no ratio")
    ends = [
        quantile_ends(of_time, side, share)
        for of_time, side in zip(in_time, ascending, strict=True)
    ]
    of_a, of_b = ends
    if of_a is None or of_b is None or min(of_a.low, of_b.low) <= 0:
        reason = f"{name} takes about {_LEAST_OF[name]} activations, more where they come in bursts"
        return _without_interval(name, a, b, None, reason)
    interval, p = ratio_of((a, b), (of_a, of_b))
    p = min(1.0, p * tests)
    return TailRatio(name, a, b, None, b / a, interval, p, changed=p < 0.05)


def window_of(sizes: Sequence[int]) -> int | None:
    """How many successive activations make a window, so that the shorter side has ``BLOCKS``; None
    where there are too few."""
    return min(sizes) // BLOCKS if min(sizes) >= LEAST else None


def window_maxima(in_time: Ints, window: int) -> Ints:
    """The largest value of each whole window."""
    whole = in_time[: in_time.size // window * window]
    longest: Ints = whole.reshape(-1, window).max(axis=1)
    return longest


def _window_ratio(
    in_time: tuple[Ints, Ints], ascending: tuple[Ints, Ints], tests: int
) -> TailRatio:
    window = window_of([side.size for side in ascending])
    if window is None:
        a, b = (float(side[-1]) for side in ascending)
        reason = f"the longest of a window takes {LEAST} activations"
        return _without_interval("max", a, b, None, reason)
    maxima = [window_maxima(side, window) for side in in_time]
    a, b = (float(np.median(side)) for side in maxima)
    if min(int(side.min()) for side in maxima) <= 0:
        return _without_interval("max", a, b, window, "one of them is 0: there is no ratio")
    of_a, of_b = (np.log(side.astype(np.float64)) for side in maxima)
    shift = hodges_lehmann_shift(of_b, of_a)
    low, high = np.exp([shift.interval.low, shift.interval.high]).tolist()
    p = min(1.0, mann_whitney(of_b, of_a) * tests)
    ratio = float(np.exp(shift.value))
    return TailRatio("max", a, b, window, ratio, QuantileBounds(low, high), p, changed=p < 0.05)


def _without_interval(name: str, a: float, b: float, window: int | None, reason: str) -> TailRatio:
    ratio = b / a if min(a, b) > 0 else None
    return TailRatio(name, a, b, window, ratio, None, None, changed=False, reason=reason)


def longest_ones(
    in_time: tuple[Ints, Ints], ascending: tuple[Ints | Floats, Ints | Floats], tests: int
) -> TailChange | None:
    """How many of one trace are longer than any of the other; None where one has only zeros."""
    longest = [float(side[-1]) for side in ascending]
    if min(longest) <= 0:
        return None
    side = int(longest[1] >= longest[0])
    beyond = np.flatnonzero(in_time[side] > longest[1 - side])
    own, other = in_time[side].size, in_time[1 - side].size
    apart = beyond.size / design_effect(beyond, own)
    p = min(1.0, 2.0 * all_of_one(apart, own, other) * tests)
    return TailChange(
        ratio=longest[1] / longest[0],
        side="b" if side else "a",
        beyond=int(beyond.size),
        count=own,
        p=p,
        shown=p < SIGNIFICANCE,
    )
