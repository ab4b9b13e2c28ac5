"""The small picture in a table row: where the samples of a series lie around its median.

All rows share one axis, so that a noisy series stands out from quiet ones at a glance.
"""

from __future__ import annotations

from dataclasses import dataclass

REACH = 0.10
"""The axis goes from this share below the median to as much above it."""

WIDTH = 96
_MIDDLE = WIDTH / 2
_NARROWEST = 1.5


@dataclass(frozen=True, slots=True)
class SpreadBar:
    """Positions from 0 to ``WIDTH``; ``cut_*`` says that the samples reach past that end."""

    minimum: float
    maximum: float
    low: float
    high: float
    cut_left: bool
    cut_right: bool

    @property
    def interval_width(self) -> float:
        """How wide the interval is drawn: never so narrow that it cannot be seen."""
        return max(self.high - self.low, _NARROWEST)


def spread_bar(
    *, median: float, minimum: float, maximum: float, low: float, high: float
) -> SpreadBar | None:
    """Places the values of a series; None when its median is not positive."""
    if median <= 0:
        return None

    def place(value: float) -> float:
        relative = (value / median - 1.0) / REACH
        return round(_MIDDLE * (1.0 + min(1.0, max(-1.0, relative))), 1)

    return SpreadBar(
        minimum=place(minimum),
        maximum=place(maximum),
        low=place(low),
        high=place(high),
        cut_left=minimum < median * (1 - REACH),
        cut_right=maximum > median * (1 + REACH),
    )
