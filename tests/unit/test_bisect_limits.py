"""The searches that show what no bisection can beat are what they say they are."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from benchmarks.bisect.histories import make_history
from benchmarks.bisect.limits import (
    _most_telling,
    _sides,
    noise_known,
    oracle_of_outcomes,
    oracle_of_values,
)


def test_who_knows_more_needs_fewer_samples() -> None:
    histories = [make_history(seed, 64, 2.0) for seed in range(40)]
    searches = (oracle_of_values, oracle_of_outcomes, noise_known)
    means = []
    for search in searches:
        outcomes = [search(history) for history in histories]
        assert np.mean([outcome.found for outcome in outcomes]) >= 0.85
        assert min(outcome.posterior for outcome in outcomes) >= 0.95
        means.append(float(np.mean([outcome.samples for outcome in outcomes])))
    assert means == sorted(means)
    assert means[0] > log2(63) / (0.5 * log2(1.0 + 1.0**2))  # more than a channel's capacity lets


def test_places_are_those_of_a_direct_integration_over_the_levels() -> None:
    samples = {0: [0.3, -0.5], 2: [0.4], 3: [1.9, 1.1], 5: [1.7]}
    counts = np.array([len(samples.get(v, ())) for v in range(6)], dtype=np.float64)
    sums = np.array([sum(samples.get(v, ())) for v in range(6)])
    level = np.linspace(-8.0, 10.0, 361)
    prior = np.exp(-0.5 * ((level[None, :] - level[:, None]) / 3.0) ** 2)
    expected = []
    for place in range(1, 6):
        sides = [np.zeros_like(level), np.zeros_like(level)]
        for version, values in samples.items():
            for value in values:
                sides[version >= place] -= 0.5 * (value - level) ** 2
        expected.append(float(np.exp(sides[0]) @ prior @ np.exp(sides[1])))
    assert _sides(counts, sums).shares == pytest.approx(np.array(expected) / sum(expected))


def test_the_middle_of_what_is_possible_tells_most_once_levels_are_known() -> None:
    counts, sums = np.zeros(33), np.zeros(33)
    counts[[0, -1]], sums[-1] = 1000.0, 3000.0
    assert _most_telling(_sides(counts, sums)) == 16
