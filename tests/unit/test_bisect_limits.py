"""The searches that show what no bisection can beat are what they say they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from benchmarks.bisect.bounds import (
    bits_to_learn,
    capacity_of_outcome,
    capacity_of_value,
    least_samples,
)
from benchmarks.bisect.histories import make_history
from benchmarks.bisect.limits import (
    _most_telling,
    _sides,
    noise_known,
    noise_learned,
    oracle_of_outcomes,
    oracle_of_values,
)
from benchvise.long_arrays import Floats


def test_who_knows_more_needs_fewer_samples() -> None:
    histories = [make_history(seed, 64, 2.0) for seed in range(40)]
    searches = (oracle_of_values, oracle_of_outcomes, noise_known, noise_learned)
    means = []
    for search in searches:
        outcomes = [search(history) for history in histories]
        assert np.mean([outcome.found for outcome in outcomes]) >= 0.85
        assert min(outcome.posterior for outcome in outcomes) >= 0.95
        means.append(float(np.mean([outcome.samples for outcome in outcomes])))
    assert means == sorted(means)
    assert means[0] > least_samples(63, 2.0, 0.95)


def test_capacities_are_those_of_tables_and_simulations() -> None:
    # Of a binary input at 0 dB, as textbooks have it: 0.486 bits; hard decisions there 0.369.
    assert capacity_of_value(2.0) == pytest.approx(0.486, abs=5e-4)
    assert capacity_of_outcome(2.0) == pytest.approx(0.369, abs=5e-4)
    chance = np.random.default_rng(1)
    for effect in (1.0, 4.0):
        values = effect * (chance.random(200_000) < 0.5) + chance.standard_normal(200_000)
        after = 1.0 / (1.0 + np.exp(-effect * (values - effect / 2.0)))
        left = -after * np.log2(after) - (1.0 - after) * np.log2(np.maximum(1.0 - after, 1e-300))
        assert capacity_of_value(effect) == pytest.approx(1.0 - left.mean(), abs=3e-3)
    assert bits_to_learn(2, 0.5) == pytest.approx(0.0)  # a guess is as good
    assert bits_to_learn(1024, 1.0 - 1e-12) == pytest.approx(10.0, abs=1e-6)


SAMPLES = {0: [0.3, -0.5], 2: [0.4], 3: [1.9, 1.1], 5: [1.7]}


def integrated(samples: Mapping[int, Sequence[float]], level: Floats) -> Floats:
    """How likely the samples are by the place, summed over levels; the noise is 1."""
    prior = np.exp(-0.5 * ((level[None, :] - level[:, None]) / 3.0) ** 2)
    likely = []
    for place in range(1, 6):
        sides = [np.zeros_like(level), np.zeros_like(level)]
        for version, values in samples.items():
            for value in values:
                sides[version >= place] -= 0.5 * (value - level) ** 2
        likely.append(float(np.exp(sides[0]) @ prior @ np.exp(sides[1])))
    return np.array(likely)


def test_places_are_those_of_a_direct_integration_over_levels_and_noise() -> None:
    counts = np.array([len(SAMPLES.get(v, ())) for v in range(6)], dtype=np.float64)
    sums = np.array([sum(SAMPLES.get(v, ())) for v in range(6)])
    squares = sum(value**2 for values in SAMPLES.values() for value in values)
    expected = integrated(SAMPLES, np.linspace(-8.0, 10.0, 361))
    assert _sides(counts, sums).shares == pytest.approx(expected / expected.sum())
    expected = np.zeros(5)
    for noise in np.exp(np.arange(-2.2, 4.0, 0.1)):  # anything is as likely, by its logarithm
        level = np.linspace(-8.0 / noise - 6.0, 10.0 / noise + 6.0, 400)
        own = {version: [v / noise for v in values] for version, values in SAMPLES.items()}
        step = (level[1] - level[0]) * noise
        expected += integrated(own, level) * (step / noise) ** 2 * noise ** (1.0 - counts.sum())
    shares = _sides(counts, sums, squares).shares
    assert shares == pytest.approx(expected / expected.sum(), rel=2e-3)


def test_the_middle_of_what_is_possible_tells_most_once_levels_are_known() -> None:
    counts, sums = np.zeros(33), np.zeros(33)
    counts[[0, -1]], sums[-1] = 1000.0, 3000.0
    assert _most_telling(_sides(counts, sums)) == 16
