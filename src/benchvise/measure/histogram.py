"""Histograms of latencies: those of all batches merged, and the percentiles that only they have.

The probe keeps one for each batch (``detail.histogram``; docs/probe-protocol.md describes the
buckets). A batch of 200 says nothing about one case in ten thousand; all of them together may, and
how surely is said with each percentile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from benchvise.documents import decode, object_at
from benchvise.measure.model import SeriesRecord
from benchvise.quantities import format_count

_BITS = 6
_OCTAVES = 40
BUCKETS = (_OCTAVES - _BITS + 1) << _BITS
"""How many there are; the last also takes what is longer than it."""

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)

_CONFIDENCE = 0.95
_MOST = 1 << 53  # what a float holds exactly, and far more than anybody waits for
# From so many on either side, the normal distribution is as good as the binomial.
_MANY = 500


def bucket_range(index: int) -> tuple[int, int]:
    """Where a bucket begins and where the next one does, in ns."""
    return _floor(index), _floor(index + 1)


def _floor(index: int) -> int:
    shift = max(0, (index >> _BITS) - 1)
    return (index - (shift << _BITS)) << shift


@dataclass(frozen=True, slots=True)
class Quantile:
    """A percentile in ns, and between which it lies with 95 % confidence.

    ``high`` is None where the number of latencies sets no upper bound. ``value`` is None where not
    even one of them is to be expected above it: then ``reason`` says how many it would take.
    """

    percent: float
    value: float | None
    low: float
    high: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _HistogramKeys:
    """A histogram as the probe writes it (docs/probe-protocol.md)."""

    count: int
    min: int
    max: int
    buckets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latencies in buckets: ``buckets`` holds (index, count) by rising index, no count is zero.

    ``minimum`` and ``maximum`` are exact, in ns. There is at least one latency.
    """

    buckets: tuple[tuple[int, int], ...]
    count: int
    minimum: int
    maximum: int

    @classmethod
    def from_detail(cls, described: object) -> Histogram | None:
        """What the probe described; None when it is empty or no histogram."""
        try:
            keys = decode(_HistogramKeys, described)
        except ValueError:
            return None
        flat = keys.buckets[: 2 * BUCKETS]
        if len(keys.buckets) % 2:
            return None
        pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
        rising = all(a < b for a, b in pairwise([-1, *flat[::2], BUCKETS]))
        if (
            not rising
            or any(n < 1 for n in flat[1::2])
            or not keys.count == sum(flat[1::2]) > 0
            or not 0 <= keys.min <= keys.max < _MOST
        ):
            return None
        return cls(pairs, keys.count, keys.min, keys.max)

    @classmethod
    def merge(cls, parts: Iterable[Histogram]) -> Histogram | None:
        """All of them as one; None of none."""
        counts: Counter[int] = Counter()
        histograms = list(parts)
        if not histograms:
            return None
        for part in histograms:
            counts.update(dict(part.buckets))
        return cls(
            tuple(sorted(counts.items())),
            sum(part.count for part in histograms),
            min(part.minimum for part in histograms),
            max(part.maximum for part in histograms),
        )

    def percentile(self, percent: float) -> float:
        """The latency that so many per cent do not exceed, in ns; interpolated in its bucket."""
        rank = percent / 100.0 * self.count
        below = 0
        for index, count in self.buckets:
            if below + count >= rank:
                low, high = bucket_range(index)
                inside = max(0.0, rank - below) / count
                return min(max(low + (high - low) * inside, self.minimum), self.maximum)
            below += count
        return float(self.maximum)

    def quantile(self, percent: float) -> Quantile:
        """The percentile and its bounds.

        Bounds are order statistics (David & Nagaraja, *Order Statistics*, 7.1), widened to the
        buckets that these are in. They hold for latencies that do not depend on each other; those
        of one bad moment do, so the far percentiles of a short run are less sure than they look.
        """
        above = 1.0 - percent / 100.0
        first, last = _ranks(self.count, above)
        low = 0.0 if first < 1 else max(self._at(first)[0], self.minimum)
        high = None if last > self.count else min(self._at(last)[1], self.maximum)
        # a whole number of latencies, whatever a float makes of 1 - 0.9999
        if self.count * above < 1.0 - 1e-9:
            least = math.ceil(1.0 / above - 1e-9)
            enough, present = format_count(least), format_count(self.count)
            reason = f"p{percent:g} needs {enough} latencies or more, not {present}"
            return Quantile(percent, None, low, high, reason)
        return Quantile(percent, self.percentile(percent), low, high)

    def _at(self, rank: int) -> tuple[float, float]:
        """The ends of the bucket of the latency that is ``rank``-th from the shortest."""
        below = 0
        for index, count in self.buckets:
            below += count
            if below >= rank:
                low, high = bucket_range(index)
                return float(low), float(max(high, self.maximum) if index == BUCKETS - 1 else high)
        return float(self.maximum), float(self.maximum)

    def coarse(self, per_octave: int = 8) -> Iterator[tuple[int, int, int]]:
        """Wider buckets for drawing: from, to (in ns) and count of each that holds something."""
        counts: Counter[tuple[int, int]] = Counter()
        for index, count in self.buckets:
            low = _floor(index)
            width = max(1, (1 << max(0, low.bit_length() - 1)) // per_octave)
            begin = low // width * width
            counts[begin, begin + width] += count
        for (low, high), count in sorted(counts.items()):
            yield low, high, count


def merged_histogram(series: SeriesRecord) -> Histogram | None:
    """The latencies of all batches of a series; None when its benchmark keeps no histogram."""
    return Histogram.merge(
        histogram
        for process in series.processes
        for sample in process.samples
        if (detail := object_at(sample.evidence, "detail"))
        and (histogram := Histogram.from_detail(detail.get("histogram"))) is not None
    )


def _ranks(n: int, above: float) -> tuple[int, int]:
    """Ranks (from 1) of the order statistics that bound the quantile: 0 and n + 1 are none.

    Counted from the top: that many of n exceed the quantile, of which each does with probability
    ``above``.
    """
    tail = (1.0 - _CONFIDENCE) / 2.0
    if above > 0.5:
        low, high = _ranks(n, 1.0 - above)
        return n + 1 - high, n + 1 - low
    if n * above > _MANY:
        middle = n * above
        reach = NormalDist().inv_cdf(1.0 - tail) * math.sqrt(middle * (1.0 - above))
        fewest, most = math.floor(middle - reach), math.ceil(middle + reach)
    else:
        fewest, most = _binomial_range(n, above, tail)
    # With probability 1 - tail at least `fewest` exceed it, so the one that is `fewest`-th from the
    # top does; and at most `most` do, so the one after these does not.
    return n - most, n + 1 - fewest


def _binomial_range(n: int, p: float, tail: float) -> tuple[int, int]:
    """The largest k with P(K < k) <= tail and the smallest with P(K > k) <= tail."""
    term = math.exp(n * math.log1p(-p)) if p < 1.0 else 0.0
    below, fewest = 0.0, 0
    for k in range(n + 1):
        if below <= tail:
            fewest = k
        below += term
        if below >= 1.0 - tail:
            return fewest, k
        term *= (n - k) / (k + 1) * p / (1.0 - p)
    return fewest, n
