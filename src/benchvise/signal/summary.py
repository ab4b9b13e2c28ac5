"""What a capture holds, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.signal.capture import Capture, SignalLine


@dataclass(frozen=True, slots=True)
class LineSummary:
    """One line of a capture; times in seconds, ``rate`` of its rising edges in Hz.

    ``high`` is the share of time for which it is high. What too few edges do not tell is None.
    """

    name: str
    starts_high: bool
    edges: int
    first_edge: float | None = field(metadata=in_json(hidden=True))
    shortest_level: float | None = field(metadata=in_json(hidden=True))
    rate: float | None = field(metadata=in_json(hidden=True))
    high: float = field(metadata=in_json(hidden=True))


@dataclass(frozen=True, slots=True)
class CaptureSummary:
    """A capture without its edges; ``resolution`` is the greatest error of an interval, in
    seconds, ``rate`` that of its clock in Hz."""

    path: str
    form: str
    rate: float
    sampled: bool
    resolution: float
    seconds: float
    lines: tuple[LineSummary, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedCapture(CaptureSummary):
    """A capture that was just recorded; ``exit_code`` is that of the command that ran meanwhile."""

    exit_code: int | None


def summarise(capture: Capture) -> CaptureSummary:
    """The capture and each of its lines."""
    return CaptureSummary(
        str(capture.path),
        capture.form,
        capture.clock.rate,
        capture.clock.sampled,
        capture.clock.resolution_s,
        capture.seconds,
        tuple(_summarise_line(capture, line) for line in capture.lines),
        capture.notes,
    )


def _summarise_line(capture: Capture, line: SignalLine) -> LineSummary:
    lengths = np.diff(line.edges)
    rising = line.of("rising")
    span = int(rising[-1] - rising[0]) if rising.size > 1 else 0
    bounds = np.concatenate(([0], line.edges, [capture.ticks]))
    high = np.diff(bounds)[(0 if line.starts_high else 1) :: 2].sum() / capture.ticks
    return LineSummary(
        line.name,
        line.starts_high,
        int(line.edges.size),
        capture.time(int(line.edges[0])) if line.edges.size else None,
        capture.time(int(lengths.min())) if lengths.size else None,
        (rising.size - 1) / capture.time(span) if span else None,
        float(high),
    )
