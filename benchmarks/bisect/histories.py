"""Histories with a planted change, and the noise of their samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.long_arrays import Floats

NORMAL = "normal"
HELD_OUT = ("lognormal", "bursts", "drift")
"""Shapes of noise that nothing was tuned on."""

STRAYS = "strays"
STRAYS_SHARE = 0.1
STRAYS_TIMES = (1.5, 3.0)
"""One sample in ten, at random, takes so many times as long."""

SCATTER = 0.02
"""Of a sample, as a share of its value, where the noise is not in scatters alone."""

HELD_OUT_SEEDS = 20_000
"""Seeds below were used to tune the search."""

TURNS = 4000
"""Samples of a history at most."""


@dataclass(frozen=True, slots=True)
class History:
    """``count`` versions; from ``place`` on values are higher by ``effect`` scatters of a sample.

    ``noise`` is that of each turn, whichever version is measured then.
    """

    count: int
    place: int
    effect: float
    noise: Floats

    def value(self, version: int, turn: int) -> float:
        """The sample of a version at a turn."""
        return (self.effect if version >= self.place else 0.0) + float(self.noise[turn])


def make_history(seed: int, count: int, effect: float, shape: str = NORMAL) -> History:
    """A history; the same seed gives the same one.

    The noise has a standard deviation of 1; of "strays", what is not disturbed has it.
    """
    chance = np.random.default_rng([seed, count, int(effect), sum(shape.encode())])
    place = int(chance.integers(1, count))
    noise = chance.standard_normal(TURNS)
    if shape == "lognormal":  # a long tail to the slow side
        raw = np.exp(0.7 * noise)
        mean, square = np.exp(0.7**2 / 2), np.exp(0.7**2)
        noise = (raw - mean) / np.sqrt((square - 1.0) * square)
    elif shape == "bursts":  # another program runs for some samples, now and then
        busy = np.zeros(TURNS)
        starts = np.flatnonzero(chance.random(TURNS) < 0.02)
        for start in starts:
            busy[start : start + int(chance.integers(2, 6))] = 3.0
        noise = (noise + busy) / np.std(noise + busy)
    elif shape == "drift":  # it warms up: a slow wave of the size of the noise
        wave = np.sin(2 * np.pi * (np.arange(TURNS) / 120.0 + chance.random()))
        noise = (noise + wave) / np.sqrt(1.5)
    elif shape == STRAYS:
        disturbed = chance.random(TURNS) < STRAYS_SHARE
        noise = noise + disturbed * np.log(chance.uniform(*STRAYS_TIMES, TURNS)) / SCATTER
    return History(count, place, effect, noise)
