"""The single times that a stored series keeps, for comparisons of its rare late ones.

Most series keep batches, whose values are means or medians of many: they have no single times.
"""

from __future__ import annotations

from benchvise.measure.histogram import bucket_range, merged_histogram
from benchvise.measure.model import SeriesRecord
from benchvise.tails import MOST_TIMES, CountedTimes

SIGNAL_RESPONSE = "signal.response"
"""What response times of signals are called in the store: each sample is one of them."""

_SECONDS = 1e-9


def kept_times(series: SeriesRecord) -> CountedTimes | None:
    """Response times of signals, or latencies of a benchmark that keeps histograms; None for a
    series that keeps no single times.

    A latency of a histogram is taken for the longest of its bucket (1/64 more at most): of two
    series the same.
    """
    histogram = merged_histogram(series)
    if histogram is not None:
        if histogram.count > MOST_TIMES:
            return None
        longest = tuple((bucket_range(b)[1] - 1) * _SECONDS for b, _ in histogram.buckets)
        return CountedTimes(longest, tuple(count for _, count in histogram.buckets))
    if series.spec.benchmark != SIGNAL_RESPONSE or series.unit != "ns" or not series.values:
        return None
    return CountedTimes.of(value * _SECONDS for values in series.values for value in values)
