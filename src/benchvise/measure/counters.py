"""Counters of a series for one iteration, and how they differ between two series.

Hardware events are counted a few at a time, batch by batch in turn, so each has the batches of its
own pass. What is compared is the median over them of the count of a batch divided by its
iterations: that is what the same work costs on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchvise.documents import JsonObject, computed, number_at, object_at, reason_at
from benchvise.measure.model import SeriesRecord

_ABSENT = "not counted"


@dataclass(frozen=True, slots=True)
class CounterChange:
    """A counter on both sides, for one iteration; None where it was not available.

    ``ratio`` is B/A, None when it cannot be had (A is 0, say).
    """

    name: str
    a: float | None
    b: float | None

    @computed
    def ratio(self) -> float | None:
        """B/A."""
        return self.b / self.a if self.a and self.b is not None else None


@dataclass(frozen=True, slots=True)
class CounterTable:
    """The counters of a series in two runs. ``missing`` says of which side what is not available,
    as a reason and the names of the counters that have it."""

    changes: tuple[CounterChange, ...]
    missing: Mapping[str, tuple[str, ...]]


def counters_per_iteration(series: SeriesRecord) -> dict[str, float]:
    """Median count an iteration by counter, in the probe's order, and ``cycles_per_instruction``
    (a ratio) where both were counted."""
    counts: defaultdict[str, list[float]] = defaultdict(list)
    for _, counters, iterations in _batches(series):
        for name in counters:
            count = number_at(counters, name)
            if count is not None:
                counts[name].append(count / iterations)
    table = {name: float(np.median(values)) for name, values in counts.items()}
    if table.get("instructions") and "cycles" in table:
        table["cycles_per_instruction"] = table["cycles"] / table["instructions"]
    return table


def missing_counters(series: SeriesRecord) -> dict[str, tuple[str, ...]]:
    """Why counters are not available: each reason with the names that have it."""
    reasons: defaultdict[str, dict[str, None]] = defaultdict(dict)
    counted = counters_per_iteration(series)
    for _, counters, _ in _batches(series):
        for name in counters:
            if name not in counted:
                reasons[reason_at(counters, name) or _ABSENT].setdefault(name)
    return {reason: tuple(names) for reason, names in reasons.items()}


def compare_counters(a: SeriesRecord, b: SeriesRecord) -> CounterTable:
    """The counters of ``b`` beside those of ``a``; those that neither has are left out."""
    of_a, of_b = counters_per_iteration(a), counters_per_iteration(b)
    names = dict.fromkeys([*of_a, *of_b])
    changes = tuple(CounterChange(name, of_a.get(name), of_b.get(name)) for name in names)
    return CounterTable(
        tuple(c for c in changes if c.a or c.b), {**missing_counters(a), **missing_counters(b)}
    )


def _batches(series: SeriesRecord) -> list[tuple[int, JsonObject, float]]:
    """Process, counters and iterations of each batch that has them."""
    return [
        (process.index, counters, float(iterations))
        for process in series.processes
        for sample in process.samples
        if (counters := object_at(sample.evidence, "counters"))
        and (iterations := number_at(sample.evidence, "iterations") or 0) > 0
    ]
