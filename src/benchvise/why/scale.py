"""What an effect means beside the gap that is to be explained."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.why import estimate
from benchvise.why.gap import Measured, Yardstick
from benchvise.why.model import Bounds, Outcome

# Of the gap: what is smaller is not looked for.
_NEGLIGIBLE = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """The gap in goodness, its noise floor, and what shares are taken of."""

    gap: float
    floor: float
    yardstick: Yardstick

    @classmethod
    def of(cls, measured: Measured) -> Scale:
        """The scale of a gap that is shown."""
        return cls(measured.gap.goodness.value, measured.gap.floor, measured.yardstick)

    @property
    def least(self) -> float:
        """The smallest effect that counts, in goodness."""
        return max(self.floor, _NEGLIGIBLE * self.gap)

    def share(self, shift: Bounds) -> Bounds:
        """The share of the gap as if that were known exactly: enough to decide what is next."""
        return estimate.scaled(shift, 1.0 / self.gap)

    def outcome(self, effect: float, error: float = 0.0) -> Outcome:
        """What an effect with that standard error comes to."""
        if abs(effect) < max(self.least, 2.0 * error):
            return Outcome.DOES_NOT
        if effect < 0.0:
            return Outcome.WIDENS
        return Outcome.CLOSES if effect >= self.gap - self.least else Outcome.PARTLY
