"""Histograms of latencies: buckets, percentiles with bounds, merging."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy  # loads its parts when they are first used, not in each worker that collects this
from latency_runs import described, index_of, latencies
from report_runs import spec

from benchvise.measure.histogram import BUCKETS, Histogram, bucket_range, merged_histogram
from benchvise.measure.model import ProcessRecord, Sample, SeriesRecord, SeriesStatus


def histogram(latencies: list[int]) -> Histogram:
    made = Histogram.from_detail(described(latencies))
    assert made
    return made


def test_buckets_follow_on_each_other() -> None:
    for index in range(BUCKETS):
        low, high = bucket_range(index)
        assert low < high == bucket_range(index + 1)[0]
        assert high - low == 1 or high - low <= low / 64
        assert index_of(low) == index_of(high - 1) == index
    assert bucket_range(BUCKETS - 1)[1] == 1 << 40


@pytest.mark.parametrize("percent", [1, 25, 50, 90, 99, 99.9])
def test_percentiles_are_those_of_the_latencies(percent: float) -> None:
    values = latencies(5000)
    exact = float(np.percentile(values, percent, method="inverted_cdf"))
    assert histogram(values).percentile(percent) == pytest.approx(exact, rel=1 / 64)


def test_the_ends_are_exact() -> None:
    values = latencies(100)
    made = histogram(values)
    assert (made.percentile(0), made.percentile(100)) == (min(values), max(values))
    assert histogram([777_777]).percentile(50) == 777_777


def test_merged_is_as_if_recorded_together() -> None:
    parts = [latencies(200, seed) for seed in range(5)]
    together = histogram([value for part in parts for value in part])
    assert Histogram.merge(histogram(part) for part in parts) == together
    assert Histogram.merge([]) is None


@pytest.mark.parametrize(
    ("n", "percent"),
    [(1, 50), (10, 50), (63, 90), (200, 99), (2200, 99.99), (2000, 50), (2000, 99.9), (30, 5)],
)
def test_bounds_hold_with_the_confidence_that_they_claim(n: int, percent: float) -> None:
    """The ranks of the bounds, against SciPy's binomial distribution: one latency a bucket."""
    made = Histogram(tuple((index, 1) for index in range(n)), n, 0, 1 << 50)
    found = made.quantile(percent)
    first = index_of(int(found.low)) + 1 if found.low or n < 20 else 0
    below = scipy.stats.binom(n, percent / 100)  # how many lie below the quantile
    if first > 1:
        # the first-th lies above the quantile when fewer than that many lie below
        assert below.cdf(first - 1) <= 0.0255
        assert below.cdf(first) > 0.0245  # and none nearer would do
    if found.high is None:
        assert below.sf(n - 1) > 0.025  # that all lie below is not unlikely
    else:
        last = index_of(int(found.high) - 1) + 1
        assert below.sf(last - 1) <= 0.0255
        assert below.sf(last - 2) > 0.0245


def test_bounds_cover_the_truth_about_as_often_as_they_say() -> None:
    truth = float(scipy.stats.expon.ppf(0.99)) * 1e5
    source = np.random.default_rng(7)
    hits = 0
    for _ in range(300):
        found = histogram([int(v) for v in source.exponential(1e5, 1500)]).quantile(99)
        assert found.high is not None
        hits += found.low <= truth <= found.high
    assert hits >= 280  # 95 % is 285; widened to buckets they cover more


def test_too_few_latencies_give_no_far_percentile() -> None:
    values = latencies(9_999)
    found = histogram(values).quantile(99.99)
    assert found.value is None
    assert found.reason == "p99.99 needs 10 000 latencies or more, not 9 999"
    assert found.high is None
    assert found.low > 0
    enough = histogram([*values, 1]).quantile(99.99)
    assert enough.value is not None
    assert enough.high is None  # one in ten thousand was seen once: there may be longer ones
    assert histogram(values).quantile(99).high is not None


def test_coarse_buckets_hold_the_same() -> None:
    made = histogram([0, 1, 5, 63, 64, 127, 128, *latencies(1000), 1 << 45])
    drawn = list(made.coarse())
    assert sum(count for *_, count in drawn) == made.count
    for (_, end, _), (begin, high, _) in pairwise(drawn):
        assert end <= begin < high
        assert high - begin <= max(1, begin / 8)


GOOD = {"count": 3, "min": 5, "max": 900, "buckets": [5, 2, 300, 1]}


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 4},
        {"count": 0, "buckets": []},
        {"count": True},
        {"min": 901},
        {"max": None},
        {"max": 1e300},
        {"buckets": "5230"},
        {"buckets": [5, 2, 300]},
        {"buckets": [300, 1, 5, 2]},
        {"buckets": [5, 1, 5, 2]},
        {"buckets": [5, 3, 300, 0]},
        {"buckets": [5, 2, BUCKETS, 1]},
        {"buckets": [5, 2, -1, 1]},
        {"buckets": [5, 2.0, 300, 1]},
        {"buckets": None},
    ],
)
def test_what_is_no_histogram_is_none(changes: dict[str, object]) -> None:
    assert Histogram.from_detail(GOOD) is not None
    assert Histogram.from_detail({**GOOD, **changes}) is None


def test_nonsense_is_no_histogram() -> None:
    things: tuple[object, ...] = (None, 1, [], "x", {"na": "reason"})
    for nonsense in things:
        assert Histogram.from_detail(nonsense) is None


def with_details(*details: object) -> SeriesRecord:
    samples = tuple(Sample(i, 1.0, {"detail": detail}) for i, detail in enumerate(details))
    return SeriesRecord(
        spec=spec("timer.wakeup"),
        unit="ns",
        better="lower",
        counted="",
        status=SeriesStatus.MEASURED,
        reason="",
        processes=(ProcessRecord(0, {}, samples, True), ProcessRecord(1, {}, samples[:1], True)),
    )


def test_a_series_has_that_of_all_its_batches() -> None:
    first, second = described([5, 5, 900]), described([70_000])
    merged = merged_histogram(with_details({"histogram": first}, {"histogram": second}))
    assert merged == histogram([5, 5, 900, 70_000, 5, 5, 900])


def test_a_series_without_histograms_has_none() -> None:
    assert merged_histogram(with_details({}, None, {"histogram": {"na": "none"}})) is None
