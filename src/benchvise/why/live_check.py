"""A benchmark of the probe on both boards: the same static program, so no compiler and no libc."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping

from benchvise.board.channel import NotAvailable
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.model import SeriesSpec
from benchvise.measure.suite import parse_bench
from benchvise.why.bench import CrossCheck
from benchvise.why.live_board import LiveBoard, Process
from benchvise.why.model import Bounds, Side

PROCESSES = 4
"""On each board, in turn; the least with which two boards can be told apart by rank at all
(p = 0.029 where every value of the one is above all of the other)."""


def cross_check(
    key: str, boards: Mapping[Side, LiveBoard], measure: Callable[[Side, SeriesSpec], Process]
) -> CrossCheck | None:
    """Measures it on both; None where a board cannot, or knows no such benchmark.

    The gap is the median of the differences between neighbours in time, in goodness, from the
    least to the greatest of them; the floor is what processes of one board differ by.
    """
    try:
        specs = {side: parse_bench(key).specs(board.registry)[0] for side, board in boards.items()}
        better = boards[Side.GOOD].registry.get(specs[Side.GOOD].benchmark).better
        values: dict[Side, list[float]] = {side: [] for side in boards}
        for turn in range(PROCESSES):
            for side in boards if turn % 2 else reversed(list(boards)):
                value = statistics.median(measure(side, specs[side]).values)
                values[side].append(math.log(value) * (1 if better == "higher" else -1))
    except (NotAvailable, MeasurementError, UsageError):
        return None
    good, bad = values[Side.GOOD], values[Side.BAD]
    gaps = sorted(g - b for g, b in zip(good, bad, strict=True))
    floor = max(
        statistics.median(abs(a - b) for a, b in itertools.combinations(one, 2))
        for one in (good, bad)
    )
    gap = Bounds(statistics.median(gaps), gaps[0], gaps[-1])
    apart = min(good) > max(bad) or min(bad) > max(good)
    return CrossCheck(key, gap, floor, shown=apart and abs(gap.value) > floor)
