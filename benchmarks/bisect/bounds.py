"""How few samples any search needs, by information theory alone.

A search that names the right one of ``places`` in a share of 1 - e of all histories has learned at
least log2(places) - h(e) - e log2(places - 1) bits (Fano's inequality). A sample tells at most the
capacity of the channel from the side of a version to its value, whatever was measured before and
however the version is chosen; so the mean number of samples is at least their ratio (M. V.
Burnashev, Problems of Information Transmission 12 (1976) 250, lemma 1, for searches that stop when
they are certain). Levels and noise are known here: who has to learn them needs more.
"""

from __future__ import annotations

from math import erfc, log2, sqrt

import numpy as np

_REACH = 9.0  # standard deviations beyond the levels
_POINTS = 4001


def bits_to_learn(places: int, confidence: float) -> float:
    """What a search that is right as often as ``confidence`` says has learned at the least."""
    wrong = 1.0 - confidence
    return log2(places) - _entropy(wrong) - wrong * log2(places - 1)


def capacity_of_value(effect: float) -> float:
    """Bits that the value of a sample tells at most: a version whose side is as likely as not."""
    x = np.linspace(-_REACH, effect + _REACH, _POINTS)
    sides = [np.exp(-0.5 * (x - level) ** 2) / sqrt(2.0 * np.pi) for level in (0.0, effect)]
    mixed = 0.5 * (sides[0] + sides[1])
    bits = sum(
        0.5 * np.where(side > 0.0, side * np.log2(np.maximum(side, 1e-300) / mixed), 0.0)
        for side in sides
    )
    return float(np.sum(bits) * (x[1] - x[0]))


def capacity_of_outcome(effect: float) -> float:
    """The same where only good or bad is told, at the best threshold."""
    return 1.0 - _entropy(0.5 * erfc(effect / 2.0 / sqrt(2.0)))


def least_samples(places: int, effect: float, confidence: float) -> float:
    """The mean number of samples below which no search is right as often as it says."""
    return bits_to_learn(places, confidence) / capacity_of_value(effect)


def _entropy(share: float) -> float:
    """Bits of a coin."""
    return -share * log2(share) - (1.0 - share) * log2(1.0 - share)
