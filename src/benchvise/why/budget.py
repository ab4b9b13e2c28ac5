"""How long a diagnosis may take."""

from __future__ import annotations

import math
from dataclasses import dataclass


class BudgetSpent(Exception):  # noqa: N818
    """The next step would not end in time. ``step`` says which one."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step


@dataclass(frozen=True, slots=True)
class Budget:
    """A time limit in seconds since the diagnosis began; infinite when there is none."""

    seconds: float = math.inf

    @classmethod
    def of(cls, minutes: float | None) -> Budget:
        """The budget of ``--budget``."""
        return cls(math.inf if minutes is None else 60.0 * minutes)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.seconds)

    def allows(self, now: float, seconds: float) -> bool:
        """Whether something that takes so long would end in time."""
        return now + seconds <= self.seconds
