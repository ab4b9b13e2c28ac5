"""Lining clocks up by round trips, against clocks whose truth is made here and nowhere else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from benchvise.trace.clock_alignment import Knot, Mark, line_up, offset_at

SECOND = 1_000_000_000
Clock = Callable[[int], int]
"""The board's stamp at a time of the host."""


def marks_of(
    board: Clock, times: list[int], seed: int, *, there: int = 60_000, back: int = 60_000
) -> list[Mark]:
    """Round trips whose two ways take at least 20 us, mostly a little more, at times much more."""
    chance = random.Random(seed)
    marks = []
    for sent in times:
        first = 20_000 + round(chance.expovariate(1 / there))
        second = 20_000 + round(chance.expovariate(1 / back))
        marks.append(Mark(sent, sent + first + second, board(sent + first)))
    return marks


def worst_error(board: Clock, knots: list[Knot], begin: int, end: int) -> int:
    times = [begin + (end - begin) * part // 500 for part in range(501)]
    return max(abs(board(t) + offset_at(knots, board(t)) - t) for t in times)


def drifting(offset: int, ppm: float, drift: float = 0.0, period: float = 20.0) -> Clock:
    """A clock that is ``offset`` behind, fast by ``ppm``, and whose rate goes up and down by
    ``drift`` ppm, as with the temperature."""
    swing = drift * 1e-6 * period / math.tau

    def board(time: int) -> int:
        swung = swing * math.sin(time / SECOND * math.tau / period) * SECOND
        return time - offset + round(time * ppm * 1e-6 + swung)

    return board


def each_second(length: float, few: int = 4) -> list[int]:
    first = [SECOND + number * 200_000 for number in range(16)]
    later = [
        SECOND * (2 + second) + number * 200_000
        for second in range(int(length))
        for number in range(few)
    ]
    return first + [time for time in later if time < SECOND + length * SECOND]


@pytest.mark.parametrize("seed", range(12))
def test_the_truth_is_within_what_is_said(seed: int) -> None:
    chance = random.Random(seed)
    length = chance.choice([0.2, 1.5, 30.0, 400.0])
    board = drifting(
        chance.randrange(-(10**17), 10**17), chance.uniform(-90, 90), chance.uniform(0, 4)
    )
    # One way may be much slower than the other: nothing tells that from here.
    marks = marks_of(board, each_second(length), seed, back=chance.choice([5_000, 60_000, 900_000]))
    begin, end = SECOND, round(SECOND * (1 + length))
    found, knots = line_up(marks, board(begin), board(end))
    assert worst_error(board, knots, begin, end) <= found.uncertainty_ns
    assert found.uncertainty_ns < 700_000
    assert found.round_trips == len(marks)
    assert found.shortest_ns == min(mark.received - mark.sent for mark in marks)


def test_a_long_recording_tells_the_rate() -> None:
    board = drifting(5 * SECOND, 37.0)
    marks = marks_of(board, each_second(100.0), 3)
    found, _ = line_up(marks, board(SECOND), board(101 * SECOND))
    assert found.rate_ppm == pytest.approx(-37.0, abs=1.5)
    assert found.uncertainty_ns < 150_000


def test_a_clock_that_is_set_meanwhile_is_less_sure() -> None:
    def board(time: int) -> int:
        return time + (3_000_000 if time > 6 * SECOND + SECOND // 2 else 0)

    marks = marks_of(board, each_second(10.0), 1)
    found, knots = line_up(marks, board(SECOND), board(11 * SECOND))
    assert worst_error(board, knots, SECOND, 11 * SECOND) <= found.uncertainty_ns
    assert found.drift_ppm > 1000


def test_one_round_trip_is_enough() -> None:
    found, knots = line_up([Mark(1000, 1400, 77_200)], 77_000, 78_000)
    assert found.uncertainty_ns in range(200, 202)
    assert [offset_at(knots, stamp) for stamp in (76_000, 77_200, 90_000)] == [-76_000] * 3
    alone, [knot] = line_up([Mark(1000, 1400, 77_200)], 77_200, 77_200)
    assert (knot, alone.uncertainty_ns) == (Knot(77_200, -76_000), 200)
