"""A capture: when each line changed, by the clock that sampled it.

Whatever recorded it, a capture is held as the edges of its lines, in ticks of one clock. An edge
at tick *t* means that the line was first seen at its new level at *t*: the change itself lies
within one tick before, which is what ``CaptureClock.resolution_s`` says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from benchvise.documents import in_json
from benchvise.errors import CaptureError

Ticks = npt.NDArray[np.int64]

MOST_EDGES = 100_000_000
"""Of all lines together: what takes more memory than this is refused."""

Polarity = Literal["rising", "falling", "any"]


@dataclass(frozen=True, slots=True)
class CaptureClock:
    """What the times of a capture are counted by.

    ``tick`` is its period in seconds. ``sampled`` is whether lines were looked at once a tick; if
    not, edges are events whose times are rounded to a tick. How far the clock itself may be off,
    no file says.
    """

    tick: Fraction
    sampled: bool

    @property
    def tick_s(self) -> float:
        """The period in seconds."""
        return float(self.tick)

    @property
    def resolution_s(self) -> float:
        """The greatest error of the time between two edges, in seconds: each is late by up to a
        tick where lines are sampled, and rounded by half a tick where they are not."""
        return self.tick_s

    @property
    def rate(self) -> float:
        """Ticks a second."""
        return float(1 / self.tick)


@dataclass(frozen=True, slots=True)
class SignalLine:
    """One digital line: its level at the start, and the ticks at which it changed."""

    name: str
    starts_high: bool
    edges: Ticks

    @property
    def first_rising(self) -> int:
        """The place of the first rising edge among the edges."""
        return 1 if self.starts_high else 0

    def of(self, polarity: Polarity) -> Ticks:
        """The ticks of the edges of that polarity, in order."""
        if polarity == "any":
            return self.edges
        first = self.first_rising if polarity == "rising" else 1 - self.first_rising
        return self.edges[first::2]

    def is_high(self, ticks: Ticks) -> npt.NDArray[np.bool_]:
        """The level at each of these ticks."""
        changes = np.searchsorted(self.edges, ticks, side="right")
        return np.asarray((changes % 2 == 1) ^ self.starts_high, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Capture:
    """The lines of a capture from tick 0 to ``ticks``.

    ``form`` names the file's format. ``notes`` are what must be known with every answer: a file
    that ends early, a voltage that became a level.
    """

    path: Path
    form: str
    clock: CaptureClock
    ticks: int
    lines: tuple[SignalLine, ...]
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it is."""
        return float(self.ticks * self.clock.tick)

    def line(self, name: str) -> SignalLine:
        """The line of that name, or of that number where names are not wanted (``0`` is the
        first). CaptureError names the lines there are."""
        for line in self.lines:
            if line.name == name:
                return line
        folded = [line for line in self.lines if line.name.lower() == name.lower()]
        if len(folded) == 1:
            return folded[0]
        if name.isdecimal() and int(name) < len(self.lines):
            return self.lines[int(name)]
        raise CaptureError(
            f"{self.path}: there is no line '{name}'",
            f"its lines are {', '.join(line.name for line in self.lines)}",
        )

    @property
    def busiest(self) -> SignalLine:
        """The line that changes most."""
        return max(self.lines, key=lambda line: line.edges.size)

    def cut(self, begin: int, end: int) -> Capture:
        """The part from one tick to before another, as a capture of its own."""
        lines = []
        for line in self.lines:
            first, last = np.searchsorted(line.edges, (begin + 1, end))
            high = line.starts_high ^ bool(first % 2)
            lines.append(SignalLine(line.name, high, line.edges[first:last] - begin))
        part = f"part of {self.form}"
        return Capture(self.path, part, self.clock, end - begin, tuple(lines), self.notes)

    def time(self, ticks: float | int) -> float:
        """Seconds since the start of the capture."""
        return float(ticks) * self.clock.tick_s


def edges_of(levels: npt.NDArray[np.bool_]) -> tuple[bool, Ticks]:
    """The level at the start and the ticks of the changes of a line sampled once a tick."""
    if levels.size == 0:
        return False, np.empty(0, dtype=np.int64)
    return bool(levels[0]), np.flatnonzero(levels[1:] != levels[:-1]).astype(np.int64) + 1


def levels_of(
    values: npt.NDArray[np.floating], threshold: float, hysteresis: float, *, high: bool
) -> npt.NDArray[np.bool_]:
    """A voltage as levels: high from ``threshold + hysteresis / 2`` on, low from below
    ``threshold - hysteresis / 2`` on, as before in between; ``high`` is the level before.

    As a Schmitt trigger does it, so that noise on a slow edge makes one edge of it.
    """
    sides = np.zeros(values.size, dtype=np.int8)
    sides[values >= threshold + hysteresis / 2] = 1
    sides[values <= threshold - hysteresis / 2] = -1
    places = np.where(sides != 0, np.arange(values.size), -1)
    last = np.maximum.accumulate(places)
    return np.where(last >= 0, sides[np.maximum(last, 0)] > 0, high)


def clock_of_rate(rate: Fraction | int) -> CaptureClock:
    """The clock of lines sampled ``rate`` times a second."""
    return CaptureClock(1 / Fraction(rate), sampled=True)


def too_many_edges(path: Path) -> CaptureError:
    """The error of a capture that would not fit into memory."""
    return CaptureError(
        f"{path}: its lines change more than {MOST_EDGES // 1_000_000} million times",
        "name fewer lines with --line, or cut the capture: a line that floats changes at each "
        "sample",
    )


# -- what a capture holds, line by line ------------------------------------------------------------


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
