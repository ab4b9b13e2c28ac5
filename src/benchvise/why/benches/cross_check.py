"""A benchmark of the probe on both boards: the same static program, so no compiler and no libc."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from benchvise.board.channel import NotAvailable
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.model import Better, SeriesSpec
from benchvise.measure.suite import parse_bench
from benchvise.why.bench import CrossCheck
from benchvise.why.benches.live_board import LiveBoard, Process
from benchvise.why.model import Bounds, Side

PROCESSES = 4
"""On each board, in turn; the least with which two boards can be told apart by rank at all
(p = 0.029 where every value of the one is above all of the other)."""


def cross_check(
    key: str, boards: Mapping[Side, LiveBoard], measure: Callable[[Side, SeriesSpec], Process]
) -> CrossCheck | None:
    """Measures it on both; None where a board cannot, or knows no such benchmark.

    See ``compared``; neighbours in time are compared.
    """
    try:
        specs = {side: parse_bench(key).specs(board.registry)[0] for side, board in boards.items()}
        values: dict[Side, list[float]] = {side: [] for side in boards}
        for turn in range(PROCESSES):
            for side in boards if turn % 2 else reversed(list(boards)):
                values[side].append(statistics.median(measure(side, specs[side]).values))
        better = boards[Side.GOOD].registry.get(specs[Side.GOOD].benchmark).better
    except (NotAvailable, MeasurementError, UsageError):
        return None
    return compared(key, better, values)


def one_side(key: str, board: LiveBoard) -> tuple[Better, list[float]] | None:
    """The same number of processes on one board alone, and which way is better."""
    try:
        spec = parse_bench(key).specs(board.registry)[0]
        values = [statistics.median(board.process(spec).values) for _ in range(PROCESSES)]
        return board.registry.get(spec.benchmark).better, values
    except (NotAvailable, MeasurementError, UsageError):
        return None


def compared(key: str, better: Better, values: Mapping[Side, Sequence[float]]) -> CrossCheck:
    """The gap is the median of the differences, in goodness, from the least to the greatest of
    them; the floor is what processes of one side differ by."""
    sign = 1 if better == "higher" else -1
    good, bad = ([sign * math.log(v) for v in values[side]] for side in (Side.GOOD, Side.BAD))
    gaps = sorted(g - b for g, b in zip(good, bad, strict=True))
    floor = max(
        statistics.median(abs(a - b) for a, b in itertools.combinations(one, 2))
        for one in (good, bad)
    )
    gap = Bounds(statistics.median(gaps), gaps[0], gaps[-1])
    apart = min(good) > max(bad) or min(bad) > max(good)
    return CrossCheck(key, gap, floor, shown=apart and abs(gap.value) > floor)
