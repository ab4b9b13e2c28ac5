"""Further metrics of a series: percentiles, CPU cost, whatever a benchmark says beside its value;
and the counters of the CPU.

The probe describes the former in ``begin`` and puts their numbers into each sample's ``detail``.
Each can be made a series of its own, so that it is summarised and compared as values are.

Hardware events are counted a few at a time, batch by batch in turn, so each has the batches of its
own pass. What is compared is the median over them of the count of a batch divided by its
iterations: that is what the same work costs on both sides.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchvise.documents import (
    JsonObject,
    array_at,
    computed,
    decode,
    number_at,
    object_at,
    reason_at,
)
from benchvise.measure.model import (
    Better,
    Figure,
    ProcessRecord,
    Sample,
    SeriesRecord,
    SeriesSpec,
)
from benchvise.statistics.quantiles import median_of_sorted

_POOLS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": lambda values: median_of_sorted(sorted(values)),
    "max": max,
    "min": min,
    "sum": math.fsum,
}


@dataclass(frozen=True, slots=True)
class PooledFigure:
    """A figure over all batches of a series, in its unit; ``minimum`` and ``maximum`` of them."""

    figure: Figure
    value: float
    minimum: float
    maximum: float
    n: int


def figures_of(series: SeriesRecord) -> tuple[Figure, ...]:
    """What the probe said that its batches tell beside their value; malformed ones left out."""
    for process in series.processes:
        if array_at(process.begin, "figures"):
            items = array_at(process.begin, "figures")
            return tuple(figure for item in items if (figure := _figure(item)) is not None)
    return ()


def _figure(item: object) -> Figure | None:
    try:
        return decode(Figure, item)
    except ValueError:
        return None


def pooled_figures(series: SeriesRecord) -> tuple[PooledFigure, ...]:
    """Every figure that at least one batch has a number for."""
    pooled = []
    for figure in figures_of(series):
        values = [value for process in _values(series, figure) for value in process]
        if values:
            value = _POOLS[figure.pool](values)
            pooled.append(PooledFigure(figure, value, min(values), max(values), len(values)))
    return tuple(pooled)


def figure_series(series: SeriesRecord) -> tuple[SeriesRecord, ...]:
    """A series for each figure of which less or more is better; batches without it left out."""
    return tuple(
        _as_series(series, figure, figure.better)
        for figure in figures_of(series)
        if figure.better and any(_values(series, figure))
    )


def _as_series(series: SeriesRecord, figure: Figure, better: Better) -> SeriesRecord:
    spec = series.spec
    return replace(
        series,
        spec=SeriesSpec(
            spec.benchmark, (*spec.params, ("figure", figure.key)), f"{spec.key} [{figure.key}]"
        ),
        unit=figure.unit,
        better=better,
        counted=figure.summary,
        processes=tuple(_process(process, figure) for process in series.processes),
    )


def _process(process: ProcessRecord, figure: Figure) -> ProcessRecord:
    samples = tuple(
        Sample(sample.index, value, sample.evidence)
        for sample in process.samples
        if (value := _value(sample, figure)) is not None
    )
    return replace(process, samples=samples)


def _values(series: SeriesRecord, figure: Figure) -> list[list[float]]:
    return [
        [value for s in process.samples if (value := _value(s, figure)) is not None]
        for process in series.processes
    ]


def _value(sample: Sample, figure: Figure) -> float | None:
    return number_at(object_at(sample.evidence, "detail"), figure.key)


# -- counters of the CPU ---------------------------------------------------------------------------

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
    table = {name: median_of_sorted(sorted(values)) for name, values in counts.items()}
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
