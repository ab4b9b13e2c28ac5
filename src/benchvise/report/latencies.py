"""The latencies of a series as a report shows them: percentiles with bounds, and what to draw."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.measure.histogram import PERCENTILES, Quantile, merged_histogram
from benchvise.measure.model import SeriesRecord


@dataclass(frozen=True, slots=True)
class LatencyStep:
    """How many latencies lie from ``low`` to ``high`` ns, as a share of all."""

    low: int
    high: int
    share: float


@dataclass(frozen=True, slots=True)
class LatencyData:
    """All latencies of a series, of every batch: how many, their ends in ns, and their shape."""

    count: int
    minimum: int
    maximum: int
    quantiles: tuple[Quantile, ...]
    steps: tuple[LatencyStep, ...]


def latency_data(series: SeriesRecord) -> LatencyData | None:
    """None for a series whose benchmark keeps no histogram."""
    histogram = merged_histogram(series)
    if histogram is None:
        return None
    return LatencyData(
        count=histogram.count,
        minimum=histogram.minimum,
        maximum=histogram.maximum,
        quantiles=tuple(histogram.quantile(percent) for percent in PERCENTILES),
        steps=tuple(
            LatencyStep(low, high, count / histogram.count)
            for low, high, count in histogram.coarse()
        ),
    )
