"""Change points of a series over runs."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from benchvise.measure import changepoints
from benchvise.measure.changepoints import LEAST_RUNS, change_points


def noisy(seed: int, *levels: tuple[int, float], noise: float = 0.01) -> list[float]:
    chance = random.Random(seed)
    return [
        level * math.exp(chance.gauss(0, noise)) for count, level in levels for _ in range(count)
    ]


def test_a_step_is_found_where_it_is_with_its_size() -> None:
    (change,) = change_points(noisy(1, (12, 5.9e9), (10, 2.8e9)))
    assert change.at == 12
    assert change.low < 2.8 / 5.9 < change.high
    assert change.p <= 0.01


def test_two_steps_are_found_and_each_is_measured_up_to_the_other() -> None:
    first, second = change_points(noisy(2, (10, 100.0), (8, 108.0), (10, 97.0)))
    assert (first.at, second.at) == (10, 18)
    assert first.ratio == pytest.approx(1.08, abs=0.02)
    assert second.ratio == pytest.approx(97 / 108, abs=0.02)


def test_noise_alone_rarely_looks_like_a_change() -> None:
    found = sum(bool(change_points(noisy(seed, (20, 50.0), noise=0.05))) for seed in range(100))
    assert found <= 5  # 1 % is meant; more than 5 of 100 come by chance in one of 1000


def test_a_burst_and_a_change_within_the_noise_floor_are_none() -> None:
    burst = noisy(3, (10, 100.0), noise=0.004)
    burst[5] = 140.0
    assert change_points(burst) == []
    assert change_points(noisy(4, (20, 100.0), (20, 100.6), noise=0.001)) == []


def test_swapping_time_turns_the_ratio_over() -> None:
    values = noisy(5, (9, 3.0), (9, 4.0))
    (forth,), (back,) = change_points(values), change_points(values[::-1])
    assert forth.ratio == pytest.approx(1 / back.ratio)


def test_too_few_runs_show_nothing() -> None:
    assert change_points([]) == []
    assert change_points([1.0] * (LEAST_RUNS - 1) + [9.0] * LEAST_RUNS) == []
    five = [1.0, 1.01, 1.02, 0.99, 0.98]
    assert len(change_points([*five, *(9.0 * value for value in five)])) == 1


def test_ten_runs_show_a_change_with_four_after_it() -> None:
    """metric2 of Apache Otava's `local_sample.csv`, in which Otava has a change at 6."""
    (change,) = change_points([10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03])
    assert change.at == 6
    assert change.p == pytest.approx(2 / math.comb(10, 4))
    assert change_points([10.43, 10.23, 10.29, 10.91, 10.34, 9.23, 9.11, 9.13, 9.03]) == []


@pytest.mark.parametrize("seed", range(6))
def test_the_share_of_all_orders_is_what_counting_them_one_by_one_gives(seed: int) -> None:
    chance = random.Random(seed)
    # Values of few kinds, so that different orders are equally good.
    values = [math.exp(chance.choice([0.0, 0.1, 0.3, 0.7]) + chance.random() * 0.05 * (seed % 2))
              for _ in range(7)]  # fmt: skip
    distances = changepoints._Distances(list(map(math.log, values)))
    best = distances.best_split(range(7))[1]
    as_good = sum(
        distances.best_split(order)[1] >= best * (1 - 1e-9)
        for order in itertools.permutations(range(7))
    )
    assert distances.share_of_orders(best) == pytest.approx(as_good / math.factorial(7))


@pytest.mark.parametrize("seed", range(3))
def test_the_best_split_is_that_of_the_matrix_of_distances(seed: int) -> None:
    values = np.random.default_rng(seed).normal(12.0, 0.01, 40) + 0.02 * (np.arange(40) > 25)
    apart = np.abs(values[:, None] - values[None, :])

    def energy(m: int) -> float:
        left, right, between = apart[:m, :m], apart[m:, m:], apart[:m, m:]
        k = 40 - m
        inside = left.sum() / (m * (m - 1)) + right.sum() / (k * (k - 1))
        return float(2 * between.mean() - inside) * m * k / 40

    best = max(range(LEAST_RUNS, 41 - LEAST_RUNS), key=energy)
    at, weighted = changepoints._Distances(values.tolist()).best_split(range(40))
    assert at == best
    assert weighted == pytest.approx(energy(best))


def test_equal_values_are_no_change() -> None:
    assert change_points([7.0] * 30) == []


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_what_has_no_logarithm_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        change_points([1.0, value])
