"""Series as nightly runs give them, with planted shifts; shares no code with Benchvise.

Noise is multiplicative, of five kinds: normal, heavy-tailed (Student's t with three degrees of
freedom), normal with a burst of outliers, neighbours that are alike (autoregressive, 0.4), and two
modes of a boot. Its size is the standard deviation that normal noise would have.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

KINDS = ("normal", "heavy tails", "outliers", "alike neighbours", "two modes")
APART = 12
"""Runs between planted shifts, and to either end, at least."""


@dataclass(frozen=True)
class Planted:
    """A series, where it shifts (the first run after), and how it was made."""

    kind: str
    noise: float
    effect: float
    values: list[float]
    shifts: list[int]


def planted(seed: int, kind: str, effect: float) -> Planted:
    """A series whose shifts are ``effect`` times the noise; 0 has none."""
    chance = random.Random(f"{seed} {kind} {effect}")  # noqa: S311
    length = chance.randint(40, 160)
    noise = chance.choice((0.005, 0.01, 0.02, 0.04))
    shifts = _places(chance, length) if effect else []
    level, values = chance.uniform(10, 1e6), []
    draw = _noise(chance, kind, length)
    for run in range(length):
        if run in shifts:
            level *= (1 + effect * noise) ** chance.choice((-1, 1))
        values.append(level * (1 + noise * draw(run)))
    return Planted(kind, noise, effect, values, shifts)


def _places(chance: random.Random, length: int) -> list[int]:
    wanted = chance.randint(1, 3)
    places: list[int] = []
    for _ in range(50):
        place = chance.randint(APART, length - APART)
        if len(places) < wanted and all(abs(place - other) >= APART for other in places):
            places.append(place)
    return sorted(places)


def _noise(chance: random.Random, kind: str, length: int) -> Callable[[int], float]:
    def normal(_run: int) -> float:
        return chance.gauss(0, 1)

    def heavy(_run: int) -> float:
        square = math.fsum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3
        return max(-8.0, min(8.0, chance.gauss(0, 1) / math.sqrt(square)))

    burst = chance.randrange(length)

    def outliers(run: int) -> float:
        return chance.gauss(0, 1) + (chance.uniform(5, 12) if burst <= run < burst + 2 else 0)

    def alike() -> Iterator[float]:
        last = chance.gauss(0, 1)
        while True:
            yield last
            last = 0.4 * last + (1 - 0.4**2) ** 0.5 * chance.gauss(0, 1)

    stream = alike()

    def neighbours(_run: int) -> float:
        return next(stream)

    def two_modes(_run: int) -> float:
        return chance.choice((-1, 1)) + 0.3 * chance.gauss(0, 1)

    return dict(zip(KINDS, (normal, heavy, outliers, neighbours, two_modes), strict=True))[kind]
