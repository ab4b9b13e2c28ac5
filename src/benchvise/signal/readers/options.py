"""What a user says about a capture before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is to be understood.

    ``lines`` are the names of those wanted, none for all. ``threshold`` and ``hysteresis`` are in
    the unit of analogue values; None: the middle of what occurs, and a tenth of its range.
    ``rate`` is in samples a second, for files that do not say.
    """

    lines: tuple[str, ...] = ()
    threshold: float | None = None
    hysteresis: float | None = None
    rate: Fraction | None = None

    def wants(self, name: str, number: int) -> bool:
        """Whether a line is wanted, by its name or its number."""
        return not self.lines or name in self.lines or str(number) in self.lines
