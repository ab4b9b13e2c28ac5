"""What runs of the same state tell of a change: how often chance did as much.

Two runs that were measured one after the other differ also by what the machine and its neighbours
did in between. No test of the two can tell that from a change: within each of them all is quiet.
Runs of one state can: how far they differ from one to the next is what chance does on that board.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchvise.measure.compare import Comparison
from benchvise.measure.model import SeriesRecord
from benchvise.statistics.quantiles import median_of_sorted


@dataclass(frozen=True, slots=True)
class EqualRuns:
    """How often a series differed as much as in a comparison, in the same direction or the other,
    between two runs of one state: in ``as_much`` of ``pairs``."""

    key: str
    pairs: int
    as_much: int


def equal_runs(
    comparison: Comparison, groups: Sequence[Mapping[str, Sequence[SeriesRecord]]]
) -> EqualRuns:
    """What chance did to the series of ``comparison``.

    Each group has the runs of one state of one board in the order of time: their series of that
    key by the run's id. Two that follow each other there are a pair.

    Raises:
        ValueError: the comparison has no ratio.
    """
    if comparison.ratio is None:
        raise ValueError(f"{comparison.spec.key}: a comparison without a ratio")
    steps = []
    for group in groups:
        medians = [_median(comparison, measured) for measured in group.values()]
        measured = [median for median in medians if median is not None]
        steps += [abs(math.log(after / before)) for before, after in pairwise(measured)]
    claimed = abs(math.log(comparison.ratio))
    return EqualRuns(comparison.spec.key, len(steps), sum(step >= claimed for step in steps))


def _median(comparison: Comparison, measured: Sequence[SeriesRecord]) -> float | None:
    """Of all batches of a run; None where it has no such series, or values without a ratio."""
    for series in measured:
        if series.spec.canonical == comparison.spec.canonical and series.unit == comparison.unit:
            values = [value for block in series.values for value in block]
            if values and all(map(math.isfinite, values)) and min(values) > 0.0:
                return median_of_sorted(sorted(values))
    return None
