"""What is hard to beat: searches that know beforehand what others have to learn.

The oracle knows the levels on both sides and the noise. With values it shows how few samples there
can be; with outcomes at the best threshold, how much a threshold loses. ``noise_known`` knows the
noise only: beside the oracle it shows what learning the levels costs. ``noise_learned`` learns its
size, too, and knows that it is normal and that versions do not scatter: beside ``benchvise bisect``
it shows what being safe from other noise costs. All are for normal noise. What no search at all
can beat is in ``bounds``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, log, sqrt

import numpy as np

from benchmarks.bisect.histories import TURNS, History
from benchmarks.bisect.searches import CONFIDENCE, Outcome
from benchvise.long_arrays import Floats

_WIDE = 3.0  # standard deviation of a change beforehand, in scatters of one sample
_POSSIBLE = 1e-6  # a place that is less likely has no part in the choice
_FIRST = 1  # samples of each end before others
_LEVELS_SHARE = 0.5  # of a bit about the levels, in bits about the place: 0 and 1 are no better
_VALUES = 61  # of the grid on which entropies are summed


def oracle_of_values(history: History) -> Outcome:
    """Knows levels and noise: each sample multiplies the odds of its side by what it says."""
    effect = history.effect
    return _oracle(history, lambda value: effect * (value - effect / 2.0))


def oracle_of_outcomes(history: History) -> Outcome:
    """Knows how often the best threshold misleads, and sees good or bad only."""
    wrong = 0.5 * erfc(history.effect / 2.0 / sqrt(2.0))
    sure = log((1.0 - wrong) / wrong)
    return _oracle(history, lambda value: sure if value > history.effect / 2.0 else -sure)


def _oracle(history: History, evidence: Callable[[float], float]) -> Outcome:
    """Measures the version whose side is least known, which then tells most: sides are alike."""
    logs = np.zeros(history.count - 1)  # by the place, from the second version on
    for turn in range(TURNS):
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        best = int(np.argmax(shares))
        if shares[best] >= CONFIDENCE:
            return Outcome(best + 1 == history.place, turn, float(shares[best]))
        version = 1 + int(np.argmin(np.abs(np.cumsum(shares) - 0.5)))
        logs[:version] += evidence(history.value(version, turn))
    return Outcome(found=False, samples=TURNS, posterior=0.0)


@dataclass(frozen=True, slots=True)
class _Sides:
    """For each place, from the second version on: P(place), means of both sides, 1 / samples."""

    shares: Floats
    before: Floats
    after: Floats
    before_doubt: Floats
    after_doubt: Floats


def noise_known(history: History) -> Outcome:
    """Knows the noise, and learns the levels as it goes.

    The first level can be anywhere, the change is normal with 3 scatters: all is then in closed
    form. Measured next is the version that tells most of the place and, at half the weight, of the
    levels.
    """
    counts, sums = np.zeros(history.count), np.zeros(history.count)
    for turn in range(TURNS):
        version = (0, history.count - 1)[turn] if turn < 2 else -1
        if version < 0:
            sides = _sides(counts, sums)
            best = int(np.argmax(sides.shares))
            if sides.shares[best] >= CONFIDENCE:
                return Outcome(best + 1 == history.place, turn, float(sides.shares[best]))
            version = _most_telling(sides)
        counts[version] += 1.0
        sums[version] += history.value(version, turn)
    return Outcome(found=False, samples=TURNS, posterior=0.0)


def noise_learned(history: History) -> Outcome:
    """Learns the levels and the size of the noise as it goes; the latter can be anything."""
    counts, sums, squares = np.zeros(history.count), np.zeros(history.count), 0.0
    for turn in range(TURNS):
        if turn < 2 * _FIRST:
            version = (0, history.count - 1)[turn % 2]
        else:
            sides = _sides(counts, sums, squares)
            best = int(np.argmax(sides.shares))
            if sides.shares[best] >= CONFIDENCE:
                return Outcome(best + 1 == history.place, turn, float(sides.shares[best]))
            version = _most_telling(sides)
        value = history.value(version, turn)
        counts[version] += 1.0
        sums[version] += value
        squares += value * value
    return Outcome(found=False, samples=TURNS, posterior=0.0)


def _sides(counts: Floats, sums: Floats, squares: float | None = None) -> _Sides:
    """What is known by now; without the sum of ``squares`` the noise is 1. Levels are in units of
    the noise."""
    before_count = np.cumsum(counts)[:-1]
    before_sum = np.cumsum(sums)[:-1]
    after_count, after_sum = counts.sum() - before_count, sums.sum() - before_sum
    before, after = before_sum / before_count, after_sum / after_count
    width = 1.0 / before_count + 1.0 / after_count + _WIDE**2
    explained = before_sum * before + after_sum * after - (after - before) ** 2 / width
    if squares is None:
        logs = 0.5 * explained
    else:
        freedom = counts.sum() - 1.0
        left = np.maximum(squares - explained, 1e-12)
        logs = -0.5 * freedom * np.log(left)
    logs -= 0.5 * np.log(before_count * after_count * width)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    if squares is not None:
        noise = sqrt(float(shares @ left) / freedom)
        before, after = before / noise, after / noise
    return _Sides(shares, before, after, 1.0 / before_count, 1.0 / after_count)


def _most_telling(sides: _Sides) -> int:
    """The version with most bits: entropy of its next value, less what place or levels leave."""
    possible = np.flatnonzero(sides.shares > _POSSIBLE)
    near = slice(possible[0], possible[-1] + 1)
    shares = sides.shares[near]
    means = np.concatenate([sides.before[near], sides.after[near]])
    values = np.linspace(means.min() - 5.0, means.max() + 5.0, _VALUES)

    def density(mean: Floats, doubt: Floats) -> Floats:
        square = (values - mean[:, None]) ** 2 / (1.0 + doubt[:, None])
        heights: Floats = shares / np.sqrt(2.0 * np.pi * (1.0 + doubt))
        parts: Floats = np.exp(-0.5 * square) * heights[:, None]
        return parts

    def up_to(parts: Floats) -> Floats:
        """Row v: the sum over places that are at most the v-th."""
        return np.concatenate([np.zeros((1, *parts.shape[1:])), np.cumsum(parts, axis=0)])

    def either(before: Floats, after: Floats) -> Floats:
        sums: Floats = np.maximum(before.sum(axis=0) - up_to(before) + up_to(after), 0.0)
        return sums

    mixed = either(
        density(sides.before[near], sides.before_doubt[near]),
        density(sides.after[near], sides.after_doubt[near]),
    )
    step = values[1] - values[0]
    entropy = -(mixed * np.log2(np.maximum(mixed, 1e-300))).sum(axis=1) * step
    of_levels = either(
        shares * 0.5 * np.log2(1.0 + sides.before_doubt[near]),
        shares * 0.5 * np.log2(1.0 + sides.after_doubt[near]),
    )
    bits = entropy - (1.0 - _LEVELS_SHARE) * of_levels
    return int(possible[0]) + int(np.argmax(bits))
