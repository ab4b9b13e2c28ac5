"""Tails, rates, missing and extra activations of two traces."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from benchvise.trace.analysis.compare import irregular_periods, quantile_shift, rate_ratio


@pytest.mark.parametrize("counts", [(10, 20), (1, 1), (500, 430), (3, 90_000)])
def test_the_interval_of_a_ratio_of_rates_is_scipys(counts: tuple[int, int]) -> None:
    ratio, interval = rate_ratio(counts, (2.0, 4.0))
    exact = scipy.stats.binomtest(counts[1], sum(counts)).proportion_ci(0.95, method="exact")
    assert ratio == counts[1] / counts[0] / 2
    assert interval is not None
    expected = [share / (1 - share) / 2 for share in (exact.low, exact.high)]
    assert [interval.low, interval.high] == pytest.approx(expected, rel=1e-6)


def test_without_activations_there_is_no_ratio() -> None:
    assert rate_ratio((0, 5), (1.0, 1.0)) == (None, None)


def test_the_interval_of_a_shifted_quantile_holds_the_truth() -> None:
    chance = np.random.default_rng(1)
    held = changed = 0
    for _ in range(200):
        a = np.sort(chance.exponential(1e6, 2000).astype(np.int64))
        b = np.sort(1.5 * chance.exponential(1e6, 1500)).astype(np.int64)
        shift = quantile_shift(a, b)
        assert shift is not None and shift.quantile == 0.99
        held += shift.interval.low <= 1.5 <= shift.interval.high
        changed += shift.changed
    assert held >= 190
    assert changed > 100
    same = quantile_shift(a, a)
    assert same is not None and not same.changed


def test_few_values_have_no_shifted_quantile() -> None:
    few = np.arange(1, 9)
    assert quantile_shift(few, few) is None


def test_missing_and_extra_activations_of_a_regular_actor() -> None:
    regular = np.sort(np.full(100, 80_000) + np.arange(100))
    other = np.sort([*[80_000] * 50, 160_500, 325_000, 12_000])
    assert irregular_periods(regular, other) == (1 + 3, 1)
    assert irregular_periods(regular, regular) == (0, 0)
    assert irregular_periods(np.sort(np.geomspace(1, 1e6, 100).astype(np.int64)), other) is None
