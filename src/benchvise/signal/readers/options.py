"""What a user says about a capture before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from benchvise.errors import UsageError

_FACTORS = {"k": 10**3, "M": 10**6, "G": 10**9}


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


def parse_rate(text: str) -> Fraction:
    """Samples a second: ``24M``; UsageError for what is no rate."""
    number = text[:-1] if text[-1:] in _FACTORS else text
    try:
        rate = Fraction(number) * _FACTORS.get(text[-1:], 1)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if rate <= 0:
        raise UsageError(f"'{text}' is no sample rate", "write it in Hz: 24M, 1000000")
    return rate
