"""What was read around each batch of a series: the clock, the temperature, the waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchvise.measure.model import Sample, SeriesRecord
from benchvise.quantities import number_or_none
from benchvise.report.figures import SampleFigure, SamplePoint

_FLAGS = 8
_NOT_READ = "the probe did not say"

MOST_SAMPLES = 2000
"""Drawn in one picture; of more, every k-th."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch in the order of measuring, with what was read around it; None where it could not be.

    ``at`` is in seconds since the run began, ``clock`` in Hz (the mean of before and after),
    ``temperature`` in degrees Celsius, ``waited`` the share of the time in which it had no CPU.
    """

    process: int
    index: int
    at: float | None
    value: float
    flags: tuple[str, ...]
    clock: float | None
    temperature: float | None
    waited: float | None


@dataclass(frozen=True, slots=True)
class Strip:
    """One thing that was read at each sample, as drawn."""

    name: str
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class EvidenceFigure:
    """The samples of a series, and below them what was read at each."""

    id: str
    samples: SampleFigure
    strips: tuple[Strip, ...]


def batches(series: SeriesRecord, host: Mapping[str, Any]) -> tuple[Batch, ...]:
    """The batches of a series in the order of measuring; ``host`` knows when the run began."""
    began = number_or_none(host.get("time_monotonic_ns"))
    found = [
        Batch(
            process=process.index,
            index=sample.index,
            at=_at(sample, began),
            value=sample.value,
            flags=tuple(flag for flag in sample.flags[:_FLAGS]),
            clock=_clock(sample),
            temperature=_temperature(sample),
            waited=_waited(sample),
        )
        for process in series.processes
        for sample in process.samples
        if math.isfinite(sample.value)
    ]
    return tuple(sorted(found, key=lambda batch: batch.at if batch.at is not None else 0.0))


_STRIPS: tuple[tuple[str, str, Callable[[Batch], float | None]], ...] = (
    ("CPU clock", "Hz", lambda batch: batch.clock),
    ("temperature", "°C", lambda batch: batch.temperature),
    ("waited for the CPU", "%", lambda b: None if b.waited is None else 100.0 * b.waited),
)


def evidence_figure(series: SampleFigure, every_batch: Sequence[Batch]) -> EvidenceFigure:
    """The picture of a series; ``series`` says what its samples are, ``found`` has them all."""
    every = 1 + (len(every_batch) - 1) // MOST_SAMPLES
    drawn_batches = every_batch[::every]
    strips = [Strip(name, unit, tuple(map(read, drawn_batches))) for name, unit, read in _STRIPS]
    return EvidenceFigure(
        id="evidence",
        samples=SampleFigure(
            id=series.id,
            name=series.name,
            unit=series.unit,
            stable=series.stable,
            median=series.median,
            low=series.low,
            high=series.high,
            every=every,
            samples=tuple(SamplePoint(b.process, b.value, b.flags) for b in drawn_batches),
        ),
        strips=tuple(strip for strip in strips if any(v is not None for v in strip.values)),
    )


def missing_evidence(series: SeriesRecord) -> dict[str, str]:
    """What was not read at any batch, with the reason that the probe gave."""
    fields = {"CPU clock": "clock_before_hz", "temperature": "temperature_mc"}
    samples = [sample for process in series.processes for sample in process.samples]
    reasons_by_name = {}
    for name, field in fields.items():
        read = [sample.evidence.get(field) for sample in samples]
        if read and all(number_or_none(value) is None for value in read):
            reasons = (v.get("na") for v in read if isinstance(v, Mapping))
            reasons_by_name[name] = next(filter(None, reasons), _NOT_READ)
    return reasons_by_name


def _at(sample: Sample, began: float | None) -> float | None:
    start = number_or_none(sample.evidence.get("start_ns"))
    return None if start is None or began is None else (start - began) / 1e9


def _clock(sample: Sample) -> float | None:
    read = [number_or_none(sample.evidence.get(f"clock_{when}_hz")) for when in ("before", "after")]
    clocks = [hz for hz in read if hz is not None and hz > 0]
    return sum(clocks) / len(clocks) if clocks else None


def _temperature(sample: Sample) -> float | None:
    millidegrees = number_or_none(sample.evidence.get("temperature_mc"))
    return None if millidegrees is None else millidegrees / 1000.0


def _waited(sample: Sample) -> float | None:
    waited = number_or_none(sample.evidence.get("wait_ns"))
    window = number_or_none(sample.evidence.get("window_ns"))
    return None if waited is None or not window or window < 0 else waited / window
