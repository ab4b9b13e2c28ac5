"""How the clock of a board's trace stands to this host's, from marks that the host asked for.

The host sends an order, the recorder puts a mark into the trace and answers. So the stamp of the
mark, on whatever clock the trace has, belongs to a moment between the sending and the answer:

    host    sent ──┐                ┌── received
    board          └ order ─ mark ─ ┘              sent - stamp <= offset <= received - stamp

Each round trip (Cristian's algorithm) bounds the offset without an assumption on how long either
way took. Bounds of two round trips bound the rate at which the clocks drift apart, as the convex
hull of Duda and of Trace Compass does; where the trips are too close for that, ``LARGEST_RATE``
does. With the rate, a bound holds at other times too, wider by ``DRIFT`` and by what is not known
of the rate: all bounds together leave an interval at each time, whose middle is the estimate.

Where clocks change their rates by more (NTP that corrects a clock, a suspended board), the bounds
contradict each other: what the rate may drift is doubled until they do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

LARGEST_RATE = 200e-6
"""By which two clocks are assumed to differ at most: twice what crystals are sold with."""

DRIFT = 5e-6
"""By which the rate of two clocks is assumed to change at most while a recording lasts."""

_MOST_MARKS = 200
"""Of a long recording, those with the shortest round trips are taken."""


class RoundTrip(NamedTuple):
    """When the host asked for a mark, and when it had the answer: ns of the host's clock."""

    number: int
    sent: int
    received: int


class Mark(NamedTuple):
    """A round trip with the stamp of its mark: ns of the trace's clock."""

    sent: int
    received: int
    stamp: int


class Knot(NamedTuple):
    """What is added to stamps at a time of the trace, in ns; between two of them it is on a
    line."""

    stamp: int
    offset: int


@dataclass(frozen=True, slots=True)
class ClockAlignment:
    """How the clock of a trace was lined up with the host's. Times in ns.

    What is added to a stamp goes from ``offset_begin_ns`` to ``offset_end_ns`` and is wrong by at
    most ``uncertainty_ns`` anywhere, as long as the clocks drift apart at ``rate_ppm`` (millionths,
    positive where the board's is slow) and at most ``drift_ppm`` more or less.
    """

    offset_begin_ns: int
    offset_end_ns: int
    uncertainty_ns: int
    rate_ppm: float
    drift_ppm: float
    round_trips: int
    shortest_ns: int
    """Of the round trips."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """At a stamp: the least and most that may be added to it. From the first one's, in ns."""

    at: int
    low: int
    high: int


def line_up(marks: Sequence[Mark], first: int, last: int) -> tuple[ClockAlignment, list[Knot]]:
    """What is added to the stamps of a trace from ``first`` to ``last``, from one mark at least."""
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
    """What is added to a stamp; before the first and behind the last knot as between the next
    two."""
    for a, b in pairwise(knots):
        if stamp <= b.stamp or b is knots[-1]:
            return a.offset + round((stamp - a.stamp) * (b.offset - a.offset) / (b.stamp - a.stamp))
    return knots[0].offset


def shortest_of(marks: Sequence[Mark]) -> list[Mark]:
    """In order of time, the mark with the shortest round trip of each of equal parts."""
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
    """How fast the offset grows, and by how much it may do otherwise."""
    low, high = -math.inf, math.inf
    for a, b in combinations(bounds, 2):
        if b.at > a.at:
            low = max(low, (b.low - a.high) / (b.at - a.at))
            high = min(high, (b.high - a.low) / (b.at - a.at))
    if low > high:  # on no line
        return (low + high) / 2, DRIFT
    if max(low, -LARGEST_RATE) <= min(high, LARGEST_RATE):
        low, high = max(low, -LARGEST_RATE), min(high, LARGEST_RATE)
    return (low + high) / 2, (high - low) / 2 + DRIFT


def _at(bounds: Sequence[_Bound], time: float, rate: float, drift: float) -> tuple[float, float]:
    """The least and the most at a time that all bounds allow."""
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
    """The same at all times; None where the bounds contradict each other."""
    ends = []
    for time in times:
        low, high = _at(bounds, time, rate, drift)
        if low > high:
            return None
        ends.append((low, high))
    return ends
