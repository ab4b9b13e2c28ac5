"""Further metrics of a series: percentiles, CPU cost, whatever a benchmark says beside its value.

The probe describes them in ``begin`` and puts their numbers into each sample's ``detail``. Each
can be made a series of its own, so that it is summarised and compared as values are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchvise.documents import array_at, decode, number_at, object_at
from benchvise.measure.model import (
    Better,
    Figure,
    ProcessRecord,
    Sample,
    SeriesRecord,
    SeriesSpec,
)

_POOLS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": lambda values: float(np.median(values)),
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
