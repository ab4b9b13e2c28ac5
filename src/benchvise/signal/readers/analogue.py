"""Voltages to levels, piece by piece, for the readers of files that hold voltages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchvise.signal.capture import levels_of

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
        found = levels_of(values, middle, hysteresis, high=high)
        if found.size:
            self._high = bool(found[-1])
        return found
