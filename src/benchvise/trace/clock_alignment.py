"""The offset from the clock of a board's trace to this host's clock, from marks in the trace.

The host sends an order; the recorder puts a mark into the trace and answers. So the stamp of the
mark, by whatever clock the trace has, belongs to a moment between the sending and the answer:

    host    sent ──┐                ┌── received
    board          └ order ─ mark ─ ┘              sent - stamp <= offset <= received - stamp

Each round trip (Cristian's algorithm) bounds the offset, without an assumption about how long
either way took. The bounds of two round trips bound the rate at which the clocks drift apart, as in
the convex hull of Duda and of Trace Compass; where the trips are too close together for that,
``LARGEST_RATE`` bounds it. With the rate, a bound also holds at other times, widened by ``DRIFT``
and by the uncertainty of the rate. All bounds together leave an interval at each time; its middle
is the estimate.

Where a clock changes its rate by more (NTP corrects it, the board was suspended), the bounds
contradict each other: the allowance for drift is doubled until they do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

LARGEST_RATE = 200e-6
"""The largest difference of rate that is assumed between two clocks: twice the tolerance with which
crystals are sold."""

DRIFT = 5e-6
"""The largest change of that difference that is assumed while a recording lasts."""

_MOST_MARKS = 200
"""A long recording has more: those with the shortest round trips are used."""


class RoundTrip(NamedTuple):
    """When the host asked for a mark and when it had the answer, in ns of the host's clock."""

    number: int
    sent: int
    received: int


class Mark(NamedTuple):
    """A round trip with the stamp of its mark, in ns of the trace's clock."""

    sent: int
    received: int
    stamp: int


class Knot(NamedTuple):
    """What is added to a stamp, in ns; for stamps between two knots, on a straight line."""

    stamp: int
    offset: int


@dataclass(frozen=True, slots=True)
class ClockAlignment:
    """How the clock of a trace was lined up with the host's. Times in ns.

    What is added to a stamp goes from ``offset_begin_ns`` to ``offset_end_ns``. It is nowhere wrong
    by more than ``uncertainty_ns`` if the clocks drift apart at ``rate_ppm`` (parts per million,
    positive where the board's clock is slow), give or take ``drift_ppm``.
    """

    offset_begin_ns: int
    offset_end_ns: int
    uncertainty_ns: int
    rate_ppm: float
    drift_ppm: float
    round_trips: int
    shortest_ns: int
    """The shortest of the round trips."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """The least and the most that may be added to the stamp ``at``. All in ns, from the stamp and
    offset of the first mark."""

    at: int
    low: int
    high: int


def line_up(marks: Sequence[Mark], first: int, last: int) -> tuple[ClockAlignment, list[Knot]]:
    """What is added to the stamps of a trace from ``first`` to ``last``. Takes at least a mark."""
    chosen = shortest_of(marks)
    origin, base = chosen[0].stamp, chosen[0].sent - chosen[0].stamp
    bounds = [
        _Bound(m.stamp - origin, m.sent - m.stamp - base, m.received - m.stamp - base)
        for m in chosen
    ]
    times = sorted({first - origin, last - origin, *(bound.at for bound in bounds)})
    rate, drift = _rate(bounds)
    while (ends := _within(bounds, times, rate, drift)) is None:
        drift *= 2
    middles = [(low + high) / 2 for low, high in ends]
    doubts = [(high - low) / 2 for low, high in ends]
    for (a, b), (x, y) in zip(pairwise(times), pairwise(middles), strict=True):
        low, high = _at(bounds, (a + b) / 2, rate, drift)
        doubts.append(max(high - (x + y) / 2, (x + y) / 2 - low))
    knots = [Knot(at + origin, round(x) + base) for at, x in zip(times, middles, strict=True)]
    length = times[-1] - times[0]
    alignment = ClockAlignment(
        knots[0].offset,
        knots[-1].offset,
        math.ceil(max(doubts)),
        round((middles[-1] - middles[0]) / length * 1e6 if length else 0.0, 3),
        round(drift * 1e6, 3),
        len(marks),
        min(mark.received - mark.sent for mark in marks),
    )
    return alignment, knots


def offset_at(knots: Sequence[Knot], stamp: int) -> int:
    """What is added to a stamp; before the first and after the last knot, on the line through the
    nearest two."""
    for a, b in pairwise(knots):
        if stamp <= b.stamp or b is knots[-1]:
            return a.offset + round((stamp - a.stamp) * (b.offset - a.offset) / (b.stamp - a.stamp))
    return knots[0].offset


def shortest_of(marks: Sequence[Mark]) -> list[Mark]:
    """In order of time: of each of ``_MOST_MARKS`` equal parts, the mark with the shortest round
    trip."""
    marks = sorted(marks, key=lambda mark: mark.stamp)
    begin, length = marks[0].stamp, marks[-1].stamp - marks[0].stamp + 1
    best: dict[int, Mark] = {}
    for mark in marks:
        part = (mark.stamp - begin) * _MOST_MARKS // length
        quickest = best.get(part)
        if quickest is None or mark.received - mark.sent < quickest.received - quickest.sent:
            best[part] = mark
    return list(best.values())


def _rate(bounds: Sequence[_Bound]) -> tuple[float, float]:
    """How fast the offset grows, and by how much that may be wrong or change."""
    low, high = -math.inf, math.inf
    for a, b in combinations(bounds, 2):
        if b.at > a.at:
            low = max(low, (b.low - a.high) / (b.at - a.at))
            high = min(high, (b.high - a.low) / (b.at - a.at))
    if low > high:  # no straight line fits
        return (low + high) / 2, DRIFT
    if max(low, -LARGEST_RATE) <= min(high, LARGEST_RATE):
        low, high = max(low, -LARGEST_RATE), min(high, LARGEST_RATE)
    return (low + high) / 2, (high - low) / 2 + DRIFT


def _at(bounds: Sequence[_Bound], time: float, rate: float, drift: float) -> tuple[float, float]:
    """The least and the most offset that all bounds allow at a time."""
    low, high = -math.inf, math.inf
    for bound in bounds:
        distance = time - bound.at
        moved, wider = rate * distance, drift * abs(distance)
        low = max(low, bound.low + moved - wider)
        high = min(high, bound.high + moved + wider)
    return low, high


def _within(
    bounds: Sequence[_Bound], times: Sequence[int], rate: float, drift: float
) -> list[tuple[float, float]] | None:
    """The same at each of the times; None where the bounds contradict each other."""
    ends = []
    for time in times:
        low, high = _at(bounds, time, rate, drift)
        if low > high:
            return None
        ends.append((low, high))
    return ends
