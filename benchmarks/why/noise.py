"""How measurements of a simulated board scatter, drift and jump."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

_BATCHES = 5


@dataclass(frozen=True, slots=True)
class Noise:
    """All in goodness, so about parts of the value.

    ``cv`` is the standard deviation from process to process. ``outliers`` is how many of them are
    worse by ``outlier_size``. ``modes`` is how many processes are in the second of two modes, which
    is worse by ``mode_size``. ``trend`` is the drift of an hour, ``wave`` the size of one that
    comes and goes with ``period`` seconds; both boards share a room, but drift by themselves.

    ``boot`` is the standard deviation of a boot's level: where a boot puts things in memory moves
    all that is measured in it alike (page placement, cache colours). ``boots_repeated`` says that
    each process has a boot of its own, so that this is noise like any other.
    """

    cv: float
    outliers: float = 0.0
    outlier_size: float = 0.0
    modes: float = 0.0
    mode_size: float = 0.0
    trend: float = 0.0
    wave: float = 0.0
    period: float = 1200.0
    boot: float = 0.0
    boots_repeated: bool = False

    @property
    def deviation(self) -> float:
        """Standard deviation of a process, modes included, outliers and drift not; boots where
        each process has its own."""
        within = math.hypot(self.cv, self.mode_size * math.sqrt(self.modes * (1 - self.modes)))
        return math.hypot(within, self.boot) if self.boots_repeated else within

    @property
    def floor(self) -> float:
        """What 95 % of two measurements of the same side, eight processes each, differ by less;
        each measurement in one boot, unless boots are repeated."""
        between = 0.0 if self.boots_repeated else self.boot
        return 1.96 * math.sqrt(2.0) * math.hypot(self.deviation / math.sqrt(8.0), between)

    def of_boot(self, name: str) -> float:
        """The level of one boot, by a name that no other boot has: always the same."""
        return random.Random(name).gauss(0, self.boot) if self.boot else 0.0  # noqa: S311

    def of_process(self, rng: random.Random, seconds: float) -> float:
        """One process's share of it, at a time of the simulated clock."""
        found = rng.gauss(0, self.cv)
        found -= self.outlier_size * (rng.random() < self.outliers) * (0.5 + rng.random())
        found -= self.mode_size * ((rng.random() < self.modes) - self.modes)
        found += self.trend * seconds / 3600
        return found + self.wave * math.sin(2 * math.pi * seconds / self.period)

    def of_batches(self, rng: random.Random) -> list[float]:
        """What the batches of a process differ by."""
        return [rng.gauss(0, self.cv / 3) for _ in range(_BATCHES)]
