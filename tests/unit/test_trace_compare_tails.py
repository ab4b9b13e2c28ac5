"""Tails, rates, missing and extra activations of two traces."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # loads its parts when they are first used, not in each worker that collects this

from benchmarks import trace_pairs
from benchvise.trace.analysis.dependence import design_effect, dispersion, share_interval
from benchvise.trace.analysis.model import TraceSpan
from benchvise.trace.analysis.rate_changes import irregularity, rate_ratio
from benchvise.trace.analysis.tail_changes import longest_ones, tail_ratios, window_maxima

SECOND = 1_000_000_000


@pytest.mark.parametrize("counts", [(10, 30), (1, 3), (500, 930), (12.5, 1234.5), (3, 90_000)])
def test_the_interval_of_a_share_is_scipys_and_never_narrower(counts: tuple[float, float]) -> None:
    hits, of = counts
    low, high = share_interval(hits, of)
    exact = scipy.stats.beta.ppf(0.025, hits, of - hits + 1)
    assert exact / 2.5 <= low <= exact * 1.001
    exact = scipy.stats.beta.ppf(0.975, hits + 1, of - hits)
    assert high == pytest.approx(exact, rel=1e-2)


def test_hits_that_come_together_count_less() -> None:
    apart, together = np.arange(5, 1000, 50), np.arange(300, 320)
    assert design_effect(apart, 1000) == 1.0
    assert design_effect(together, 1000) == pytest.approx(20, rel=0.05)
    assert design_effect(together[:5], 90) == 1.0  # too few values to see it
    regular, burst = np.arange(0, SECOND, SECOND // 200), np.arange(200) + SECOND // 3
    assert dispersion(regular, 0, SECOND) == pytest.approx(0.25 / 200)
    assert dispersion(burst, 0, SECOND) > 100


@pytest.mark.parametrize("process", trace_pairs.DURATIONS)
def test_intervals_of_tails_hold_the_truth(process: str) -> None:
    """A few of the pairs of ``python -m benchmarks.trace_pairs``, which draws hundreds."""
    for score in trace_pairs.durations(process, 1.5, 12, seed=5, sizes=(1200, 1000)):
        assert score.held >= 0.8 * score.with_interval, score.line()
    same = trace_pairs.durations(process, 1.0, 12, seed=6, sizes=(1200, 1000))
    assert sum(score.claimed for score in same) <= 3


@pytest.mark.parametrize("process", trace_pairs.ARRIVALS)
def test_intervals_of_rates_hold_the_truth(process: str) -> None:
    score = trace_pairs.rates(process, 1.2, 20, seed=7)
    assert score.with_interval == 20 and score.held >= 17, score.line()
    assert trace_pairs.rates(process, 1.0, 20, seed=8).claimed <= 3


def test_a_timer_is_known_to_one_and_a_burst_is_one() -> None:
    spans = TraceSpan(0, SECOND), TraceSpan(0, SECOND)
    slow, fast = np.arange(0, SECOND, SECOND // 200), np.arange(0, SECOND, SECOND // 206)
    found = rate_ratio((slow, fast), spans)
    assert found is not None and found.changed and found.interval is not None
    assert 1.0 < found.interval.low < 1.03 < found.interval.high < 1.06
    burst = np.arange(200) + SECOND // 3
    found = rate_ratio((slow, burst), spans)
    assert found is not None and found.interval is None and not found.changed
    assert rate_ratio((slow, burst[:0]), spans) is None


def test_few_values_have_no_interval_and_say_why() -> None:
    few = np.arange(1, 9)
    for tail in tail_ratios((few, few), (few, few), 1):
        assert tail.interval is None and tail.reason and not tail.changed
    zeros = np.zeros(500, dtype=np.int64)
    some = np.arange(500)
    assert all(tail.interval is None for tail in tail_ratios((zeros, some), (zeros, some), 1))
    assert longest_ones((zeros, some), (zeros, some), 1) is None


def test_windows_have_as_many_activations_in_both() -> None:
    a, b = np.tile([1, 2, 9], 100), np.tile([2, 4, 18], 400)
    p99, _, longest = tail_ratios((a, b), (np.sort(a), np.sort(b)), 1)
    assert (longest.window, longest.a, longest.b) == (15, 9.0, 18.0)
    assert longest.ratio == pytest.approx(2.0) and longest.changed
    assert p99.a == 9.0
    assert window_maxima(np.array([3, 1, 4, 1, 5]), 2).tolist() == [3, 4]


def test_a_burst_of_late_ones_is_no_more_than_one_late_one() -> None:
    usual = np.full(1000, 50)
    burst, spread = usual.copy(), usual.copy()
    burst[400:420] = 900
    spread[5::50] = 900
    together = longest_ones((usual, burst), (np.sort(usual), np.sort(burst)), 1)
    apart = longest_ones((usual, spread), (np.sort(usual), np.sort(spread)), 1)
    assert together and apart and together.beyond == apart.beyond == 20
    assert apart.shown and not together.shown


def test_missing_and_extra_activations_of_a_regular_actor() -> None:
    regular = np.full(100, 80_000) + np.arange(100)
    other = np.array([*[80_000] * 50, 160_500, 325_000, 12_000])
    found = irregularity((regular, other))
    assert found is not None and found.period == 80_050
    assert (found.missing, found.gaps, found.extra) == ((0, 4), (0, 2), (0, 1))
    assert not found.missing_changed and not found.extra_changed
    often = np.tile([80_000, 80_000, 80_000, 160_000, 12_000], 100)
    found = irregularity((np.tile(regular, 5), often))
    assert found is not None and found.missing_changed and found.extra_changed
    assert irregularity((np.geomspace(1, 1e6, 100).astype(np.int64), other)) is None
