"""Samples that come in pieces: voltages to levels, and words, a bit a line, to edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchvise.signal.capture import MOST_EDGES, SignalLine, Ticks, levels_of, too_many_edges

Volts = npt.NDArray[np.floating]


@dataclass(slots=True)
class Range:
    """The least and greatest of all values seen, those that are no numbers left out."""

    low: float = float("inf")
    high: float = float("-inf")

    def take(self, values: Volts) -> None:
        """Looks at more values."""
        finite = values[np.isfinite(values)]
        if finite.size:
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))

    @property
    def is_known(self) -> bool:
        """Whether a value was seen."""
        return self.low <= self.high


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where a voltage becomes high and low, in its unit."""

    middle: float
    hysteresis: float

    @classmethod
    def of(cls, seen: Range, middle: float | None, hysteresis: float | None) -> Threshold:
        """What was asked for, else from the range: its middle, and a tenth of it."""
        span = seen.high - seen.low if seen.is_known else 0.0
        return cls(
            (seen.low + seen.high) / 2 if middle is None and seen.is_known else middle or 0.0,
            span / 10 if hysteresis is None else hysteresis,
        )

    def note(self, name: str) -> str:
        """What was done, for the reader of an answer."""
        return (
            f"{name} is a voltage: high from {self.middle + self.hysteresis / 2:.4g} on, "
            f"low from {self.middle - self.hysteresis / 2:.4g} down"
        )


class Slicer:
    """Levels of a voltage that comes in pieces; remembers the level between them."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold
        self._high: bool | None = None

    def levels(self, values: Volts) -> npt.NDArray[np.bool_]:
        """The levels of the next piece. What lies between the thresholds at the very start counts
        as what comes first."""
        middle, hysteresis = self._threshold.middle, self._threshold.hysteresis
        high = self._high
        if high is None:
            clear = values[np.abs(values - middle) >= hysteresis / 2]
            high = bool(clear[0] >= middle) if clear.size else False
        levels = levels_of(values, middle, hysteresis, high=high)
        if levels.size:
            self._high = bool(levels[-1])
        return levels


# -- edges of many lines from blocks of words, a bit a line ----------------------------------------

Words = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class BlockEdges:
    """What one block of samples holds: its first and last word, and the changes inside it.

    ``places`` are numbers of samples in the block at which any wanted line changed, ``words`` the
    samples there.
    """

    samples: int
    first: int
    last: int
    places: Ticks
    words: Words


def block_edges(words: Words, mask: int) -> BlockEdges:
    """Looks for changes of the bits in ``mask``. A block has at least one sample."""
    full = int(np.iinfo(words.dtype).max)
    if mask & full != full:
        words = words & words.dtype.type(mask)
    places = np.flatnonzero(words[1:] != words[:-1]) + 1
    return BlockEdges(
        samples=int(words.size),
        first=int(words[0]),
        last=int(words[-1]),
        places=places.astype(np.int64, copy=False),
        words=words[places],
    )


@dataclass
class Collector:
    """Puts blocks together, in order, into lines."""

    path: Path
    names: Sequence[tuple[int, str]]
    """Bit and name of each wanted line."""
    ticks: int = 0
    _previous: int | None = None
    _start: int = 0
    _edges: dict[int, list[Ticks]] = field(default_factory=dict)
    _count: int = 0

    @property
    def mask(self) -> int:
        """The bits that are wanted."""
        return sum(1 << bit for bit, _ in self.names)

    def add(self, block: BlockEdges) -> None:
        """Takes the next block. CaptureError when there are too many edges to hold."""
        previous = block.first if self._previous is None else self._previous
        if self._previous is None:
            self._start = block.first
        # The word before each change: that of the change before it, at first the block's first.
        before = np.concatenate(([block.first], block.words[:-1])).astype(block.words.dtype)
        changed = block.words ^ before if block.words.size else block.words
        for bit, _ in self.names:
            edges = self._edges.setdefault(bit, [])
            if (previous ^ block.first) >> bit & 1:
                edges.append(np.array([self.ticks], dtype=np.int64))
                self._count += 1
            mine = block.places[(changed >> changed.dtype.type(bit)) & changed.dtype.type(1) == 1]
            if mine.size:
                edges.append(mine + self.ticks)
                self._count += int(mine.size)
        if self._count > MOST_EDGES:
            raise too_many_edges(self.path)
        self._previous = block.last
        self.ticks += block.samples

    def lines(self) -> tuple[SignalLine, ...]:
        """The lines, once all blocks are in."""
        return tuple(
            SignalLine(
                name,
                bool(self._start >> bit & 1),
                np.concatenate(self._edges.get(bit) or [np.empty(0, dtype=np.int64)]),
            )
            for bit, name in self.names
        )
