"""Series with histograms of latencies, described as the probe describes them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from report_runs import series, spec

from benchvise.measure.histogram import BUCKETS
from benchvise.measure.model import Sample, SeriesRecord

DEFAULTS = {"interval_us": "1000", "policy": "other", "load": "none", "dma_latency": "leave"}


def index_of(ns: int) -> int:
    """The bucket of a latency, as the probe finds it (probe/core/histogram.c)."""
    shift = max(0, ns.bit_length() - 7)
    return min((shift << 6) + (ns >> shift), BUCKETS - 1)


def described(latencies: list[int]) -> dict[str, Any]:
    """A histogram as it is on the wire."""
    counts = Counter(map(index_of, latencies))
    return {
        "count": len(latencies),
        "min": min(latencies),
        "max": max(latencies),
        "buckets": [number for pair in sorted(counts.items()) for number in pair],
    }


def latencies(n: int, seed: int = 1, middle: float = 20e3) -> list[int]:
    """Most near ``middle`` ns, some far above."""
    source = random.Random(seed)
    return [
        int(middle * source.lognormvariate(0, 0.2) + (source.random() < 0.02) * 4e6)
        for _ in range(n)
    ]


def wakeups(*, each: int = 200, middle: float = 20e3, seed: int = 1, **params: str) -> SeriesRecord:
    """A series of timer.wakeup: three processes of 21 batches of so many wake-ups."""
    what = spec("timer.wakeup", **params)
    what = replace(what, params=tuple({**DEFAULTS, **dict(what.params)}.items()))
    measured = series(what, middle, seed=seed)

    def with_histogram(sample: Sample, process: int) -> Sample:
        found = latencies(each, seed * 1000 + process * 100 + sample.index, middle)
        detail = {"histogram": described(found)}
        return replace(sample, evidence={**sample.evidence, "detail": detail})

    return replace(
        measured,
        processes=tuple(
            replace(p, samples=tuple(with_histogram(s, p.index) for s in p.samples))
            for p in measured.processes
        ),
    )
