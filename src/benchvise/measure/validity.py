"""What a series says of itself: its values, and whether one number may stand for it.

A series is *unstable* when no single number describes it: its interval is wide, it has two
modes, its processes disagree, or the scheduler chose where it ran. Then the causes are looked for
in the evidence that the probe took around each batch. Nothing is ever dropped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

from benchvise.documents import in_json, number_at, object_at
from benchvise.measure.model import Sample, SeriesRecord
from benchvise.quantities import is_number
from benchvise.statistics.quantiles import (
    mad,
    median_interval,
    median_of_sorted,
    percentile_of_sorted,
)
from benchvise.statistics.series_shape import Drift, Mode, drift, modes

# A series is unstable when its interval's half-width, or the spread of its processes, exceeds
# this share of the median.
TOLERANCE = 0.05
# An interval that covers less than this says nothing: fewer than five batches.
LEAST_COVERAGE = 0.9
# What happened in fewer batches than one in twenty cannot have moved a median far.
_COMMON = 0.05
# Thresholds of the evidence: relative, in CPUs, in degrees Celsius.
_CLOCK_CHANGE = 0.03
_DRIFT_CHANGE = 0.01
_DRIFT_P = 0.01
_BUSY_CPUS = 0.2
_STOLEN_CPUS = 0.01
_TEMPERATURE_RISE = 10.0
_TEMPERATURE_HOT = 80.0
# The probe tells faults from those that every batch takes by this number.
_FEW_FAULTS = 8.0

_NO_CAUSE = "no cause found in the evidence"

_SCALES: Mapping[str, tuple[tuple[float, str], ...]] = {
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us")),
    "1/s": ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}

_Mask = Sequence[bool]
_Flags = Sequence[frozenset[str]]
"""Of each batch."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The statistics of a series over all its batches, and why they may not be trusted.

    ``median`` to ``mad`` are in the unit of the series; ``low`` and ``high`` bound the median
    with probability ``coverage``. ``half_width`` is half of that interval relative to the median.
    ``modes`` is set when there are two. ``drift`` is the trend within processes, None with too
    few batches. ``process_spread`` is the largest process median divided by the smallest, less
    one; None with one process. ``flagged`` counts the batches that carry each flag.
    ``causes`` (when not ``stable``) and ``notes`` are sentences without a full stop.
    """

    n: int
    processes: int
    median: float
    low: float
    high: float
    coverage: float
    minimum: float
    maximum: float
    p95: float
    mad: float
    half_width: float
    modes: tuple[Mode, Mode] | None = field(metadata=in_json(hidden=True))
    drift: Drift | None = field(metadata=in_json(hidden=True))
    process_spread: float | None
    flagged: Mapping[str, int] = field(metadata=in_json(hidden=True))
    stable: bool
    causes: tuple[str, ...]
    notes: tuple[str, ...]


def summarise(series: SeriesRecord) -> Summary:
    """The summary of a series; ``ValueError`` when it has no samples or one is not finite."""
    blocks = [list(map(float, values)) for values in series.values]
    if not blocks:
        raise ValueError(f"{series.spec.key}: no samples to summarise")
    samples = [sample for process in series.processes for sample in process.samples]
    pooled = list(chain.from_iterable(blocks))
    ordered = sorted(pooled)
    flags = [frozenset(sample.flags) for sample in samples]
    middle = median_of_sorted(ordered)
    interval = median_interval(pooled)
    half_width = _relative((interval.high - interval.low) / 2.0, middle)
    clusters = modes(pooled)
    trend = drift(*blocks) if max(map(len, blocks)) >= 5 else None
    medians = [_median(block) for block in blocks]

    rules = _phrases(
        _too_few(len(pooled), interval.coverage),
        _free_placement(series, samples),
        _errors(samples, flags),
    )
    scatter = _phrases(
        _two_modes(clusters, blocks, series.unit), _processes_differ(blocks, medians, series.unit)
    )
    noise = _phrases(_drifts(trend), *_disturbances(samples, flags, pooled))
    scattered = bool(scatter) or half_width > TOLERANCE
    causes = rules + scatter + (noise if scattered else ())
    if scattered and not causes:
        causes = (_NO_CAUSE,)
    flagged = Counter(flag for of_one in flags for flag in of_one)
    return Summary(
        n=len(pooled),
        processes=len(blocks),
        median=middle,
        low=interval.low,
        high=interval.high,
        coverage=interval.coverage,
        minimum=ordered[0],
        maximum=ordered[-1],
        p95=percentile_of_sorted(ordered, 95.0),
        mad=mad(pooled),
        half_width=half_width,
        modes=clusters,
        drift=trend,
        process_spread=_spread(medians) if len(medians) > 1 else None,
        flagged=dict(sorted(flagged.items())),
        stable=not causes,
        causes=causes,
        notes=() if scattered else noise,
    )


def _phrases(*phrases: str) -> tuple[str, ...]:
    return tuple(phrase for phrase in phrases if phrase)


def _median(values: Iterable[float]) -> float:
    return median_of_sorted(sorted(values))


def _spread(medians: Sequence[float]) -> float:
    """The largest of the medians divided by the smallest, less one; infinite below zero."""
    smallest, largest = min(medians), max(medians)
    if smallest == largest:
        return 0.0
    return largest / smallest - 1.0 if smallest > 0.0 else math.inf


def _relative(width: float, middle: float) -> float:
    if width == 0.0:
        return 0.0
    return width / abs(middle) if middle else math.inf


def quantity(value: float, unit: str) -> str:
    """``3.98 us``: a value in its handiest unit, four digits of it, for a sentence."""
    for factor, name in _SCALES.get(unit, ()):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {name}"
    return f"{value:.4g} {unit}"


# -- what makes a series unstable ------------------------------------------------------------------


def _too_few(n: int, coverage: float) -> str:
    if coverage >= LEAST_COVERAGE:
        return ""
    return f"too few batches ({n}) for an interval of the median"


def _free_placement(series: SeriesRecord, samples: Sequence[Sample]) -> str:
    """Where the scheduler put the two ends: ``detail.same_cpu`` is the share of time together."""
    if ("place", "free") not in series.spec.params:
        return ""
    phrase = "placement is free, so the scheduler decides"
    details = [object_at(sample.evidence, "detail") for sample in samples]
    shares = [share for d in details if (share := number_at(d, "same_cpu")) is not None]
    together = list(filter(math.isfinite, shares))
    if not together:
        return phrase
    on_one = sum(share >= 0.9 for share in together)
    on_two = sum(share <= 0.1 for share in together)
    phrase += f": {on_one} of {len(together)} batches ran on one CPU, {on_two} on two"
    mixed = len(together) - on_one - on_two
    return f"{phrase}, {mixed} on both in turn" if mixed else phrase


def _errors(samples: Sequence[Sample], flags: _Flags) -> str:
    """Work that failed was not done: ``detail.errors`` says how often in a batch."""
    failed = [s for s, of_one in zip(samples, flags, strict=True) if "errors" in of_one]
    if not failed:
        return ""
    count = sum(number_at(object_at(s.evidence, "detail"), "errors") or 0 for s in failed)
    return f"{count:.0f} requests failed, in {len(failed)} of {len(samples)} batches"


def _two_modes(
    clusters: tuple[Mode, Mode] | None, blocks: Sequence[Sequence[float]], unit: str
) -> str:
    if clusters is None:
        return ""
    lower, upper = clusters
    phrase = (
        f"two modes: {quantity(lower.median, unit)} ({lower.share * 100:.0f} % of the batches)"
        f" and {quantity(upper.median, unit)} ({upper.share * 100:.0f} %)"
    )
    between = math.sqrt(lower.median) * math.sqrt(upper.median)
    shares = [_mean([value > between for value in block]) for block in blocks]
    if len(blocks) > 1 and all(share <= 0.1 or share >= 0.9 for share in shares):
        phrase += ", each process staying in one"
    return phrase


def _processes_differ(
    blocks: Sequence[Sequence[float]], medians: Sequence[float], unit: str
) -> str:
    """Processes differ clearly when the intervals of the outermost medians do not overlap."""
    lowest, highest = medians.index(min(medians)), medians.index(max(medians))
    below, above = median_interval(blocks[lowest]), median_interval(blocks[highest])
    if (
        _spread(medians) <= TOLERANCE
        or min(below.coverage, above.coverage) < LEAST_COVERAGE
        or below.high >= above.low
    ):
        return ""
    return (
        f"processes differ by {_spread(medians) * 100:.1f} %: their medians lie from "
        f"{quantity(medians[lowest], unit)} to {quantity(medians[highest], unit)}"
    )


# -- what may have disturbed it --------------------------------------------------------------------


def _drifts(trend: Drift | None) -> str:
    if trend is None or trend.p >= _DRIFT_P or abs(trend.relative_change) < _DRIFT_CHANGE:
        return ""
    return f"values drift by {trend.relative_change * 100:+.1f} % while a process runs"


def _disturbances(
    samples: Sequence[Sample], flags: _Flags, values: Sequence[float]
) -> Iterator[str]:
    """A phrase, or nothing, for each kind of evidence."""
    yield _preempted(samples, flags, values)
    yield _stolen(samples)
    yield _neighbours(samples)
    yield _clock(samples)
    yield _migrated(samples, values)
    yield _faulted(samples, values)
    yield _temperature(samples)
    yield _generator(flags, values)


def _column(samples: Sequence[Sample], name: str) -> list[float]:
    """An evidence item of all samples; NaN where it is no number, or none that is finite."""
    return [_number(sample.evidence.get(name)) for sample in samples]


def _number(value: object) -> float:
    try:
        return float(value) if is_number(value) and math.isfinite(value) else math.nan
    except OverflowError:  # of a whole number
        return math.nan


def _without_missing(values: Iterable[float]) -> list[float]:
    """Those that are not NaN."""
    return [value for value in values if value == value]


def _mean(mask: _Mask) -> float:
    """The share of batches."""
    return sum(mask) / len(mask)


def _batches(mask: _Mask, values: Sequence[float]) -> str:
    """ "n of N batches", and by how much their median differs if that can be told."""
    count = sum(mask)
    phrase = f"{count} of {len(mask)} batches"
    if min(count, len(mask) - count) < 3:
        return phrase
    rest = _median(value for value, of_it in zip(values, mask, strict=True) if not of_it)
    of_them = _median(compress(values, mask))
    change = of_them / rest - 1.0 if rest > 0.0 else 0.0
    if abs(change) < 0.01:
        return phrase
    word = "higher" if change > 0.0 else "lower"
    return f"{phrase} (their median is {abs(change) * 100:.1f} % {word} than that of the others)"


def _preempted(samples: Sequence[Sample], flags: _Flags, values: Sequence[float]) -> str:
    """By flag, as switching is the very work of some benchmarks: the probe knows which."""
    mask = [not of_one.isdisjoint(("preempted", "waited")) for of_one in flags]
    if _mean(mask) < _COMMON:
        return ""
    phrase = f"other work took the CPU in {_batches(mask, values)}"
    waited = list(compress(samples, mask))
    share = _share(_column(waited, "wait_ns"), _column(waited, "elapsed_ns"))
    return f"{phrase}, for {share * 100:.1f} % of their time" if share > 0.0 else phrase


def _share(parts: Sequence[float], wholes: Sequence[float]) -> float:
    """Sum of parts over sum of wholes where both are known; 0 when nothing is."""
    pairs = [(p, w) for p, w in zip(parts, wholes, strict=True) if p == p and w == w]
    whole = sum(w for _, w in pairs)
    return sum(p for p, _ in pairs) / whole if whole > 0.0 else 0.0


def _cpus(samples: Sequence[Sample], name: str) -> float:
    """Ticks of CPU time as a number of CPUs, averaged over the whole series."""
    possible = [
        window * 1e-9 * ticks
        for window, ticks in zip(
            _column(samples, "window_ns"), _column(samples, "ticks_per_second"), strict=True
        )
    ]
    return _share(_column(samples, name), possible)


def _stolen(samples: Sequence[Sample]) -> str:
    cpus = _cpus(samples, "steal_ticks")
    return f"the hypervisor stole {cpus:.2f} CPU on average" if cpus > _STOLEN_CPUS else ""


def _neighbours(samples: Sequence[Sample]) -> str:
    cpus = _cpus(samples, "other_busy_ticks")
    return f"other CPUs were busy: {cpus:.1f} CPU on average" if cpus > _BUSY_CPUS else ""


def _clock(samples: Sequence[Sample]) -> str:
    """By percentiles, as a single reading may have been disturbed itself."""
    both = _column(samples, "clock_before_hz") + _column(samples, "clock_after_hz")
    readings = sorted(reading for reading in both if reading > 0.0)
    if not readings:
        return ""
    low, high = percentile_of_sorted(readings, 5.0), percentile_of_sorted(readings, 95.0)
    if high / low - 1.0 <= _CLOCK_CHANGE:
        return ""
    return f"the CPU clock ranged from {quantity(low, 'Hz')} to {quantity(high, 'Hz')}"


def _migrated(samples: Sequence[Sample], values: Sequence[float]) -> str:
    mask = [moves > 0.0 for moves in _column(samples, "migrations")]
    return f"moved to another CPU in {_batches(mask, values)}" if _mean(mask) >= _COMMON else ""


def _faulted(samples: Sequence[Sample], values: Sequence[float]) -> str:
    """Faults that some batches take and others do not; the same in all may be the work itself."""
    minor, major = _column(samples, "minor_faults"), _column(samples, "major_faults")
    counts = _without_missing(minor)
    most = max(2.0 * (_median(counts) if counts else 0.0), _FEW_FAULTS)
    mask = [few > most or others > 0.0 for few, others in zip(minor, major, strict=True)]
    return f"page faults disturbed {_batches(mask, values)}" if _mean(mask) >= _COMMON else ""


def _temperature(samples: Sequence[Sample]) -> str:
    degrees = [reading / 1000.0 for reading in _without_missing(_column(samples, "temperature_mc"))]
    if not degrees:
        return ""
    low, high = min(degrees), max(degrees)
    if high >= _TEMPERATURE_HOT:
        return f"the board was hot: up to {high:.0f} degrees C"
    if high - low >= _TEMPERATURE_RISE:
        return f"the temperature ranged from {low:.0f} to {high:.0f} degrees C"
    return ""


def _generator(flags: _Flags, values: Sequence[float]) -> str:
    """Where the other end had no CPU time left, the value is its limit and not the board's."""
    mask = ["generator" in of_one for of_one in flags]
    if _mean(mask) < _COMMON:
        return ""
    return f"the load generator was at its own limit in {_batches(mask, values)}"
