"""Each method against scipy or an exact enumeration, each interval's coverage by simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy  # loads its parts when they are first used, not in each worker that collects this
from hypothesis import given, settings
from hypothesis import strategies as st

from benchvise.long_arrays import Floats
from benchvise.statistics import means, permutation, quantiles, ranks, series_shape

checked = settings(max_examples=60, deadline=None)

finite = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))
samples = st.lists(finite, min_size=1, max_size=40)
small_samples = st.lists(finite, min_size=1, max_size=6)
tied_samples = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=40)
confidences = st.floats(0.5, 0.999)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- one sample ------------------------------------------------------------------------------------


def test_median_interval_of_21_values_is_the_6th_and_the_16th() -> None:
    interval = quantiles.median_interval(np.arange(1.0, 22.0))
    assert (interval.low, interval.high) == (6.0, 16.0)
    assert interval.coverage == pytest.approx(0.9734, abs=5e-5)


def test_median_interval_of_too_few_values_tells_its_true_coverage() -> None:
    interval = quantiles.median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.coverage) == (1.0, 3.0, 0.75)
    assert quantiles.median_interval([7.0]).coverage == 0.0


@checked
@given(samples, confidences)
def test_median_interval_is_the_narrowest_that_covers(
    values: list[float], confidence: float
) -> None:
    n, ordered = len(values), sorted(values)
    coverage = {k: 1.0 - 2.0 * float(scipy.stats.binom.cdf(k - 1, n, 0.5)) for k in range(1, n + 1)}
    k = max([k for k, c in coverage.items() if c >= confidence], default=1)
    interval = quantiles.median_interval(values, confidence)
    assert (interval.low, interval.high) == (ordered[k - 1], ordered[n - k])
    assert interval.coverage == pytest.approx(coverage[k], abs=1e-12)


@pytest.mark.parametrize("n", [6, 21, 63])
def test_median_interval_covers_the_median_of_a_skewed_distribution(n: int) -> None:
    draws = generator().exponential(size=(4000, n))
    intervals = [quantiles.median_interval(row) for row in draws]
    covered = np.mean([i.low <= math.log(2.0) <= i.high for i in intervals])
    assert covered == pytest.approx(intervals[0].coverage, abs=0.011)


def test_median_interval_of_a_large_sample_agrees_with_the_normal_approximation() -> None:
    interval = quantiles.median_interval(np.arange(1.0, 20_001.0))
    assert interval.low == pytest.approx(10_000 - 1.96 * math.sqrt(20_000) / 2, abs=2)
    assert interval.coverage == pytest.approx(0.95, abs=0.002)


@checked
@given(samples)
def test_mad_and_percentile_agree_with_scipy(values: list[float]) -> None:
    assert quantiles.mad(values) == pytest.approx(scipy.stats.median_abs_deviation(values))
    expected = scipy.stats.scoreatpercentile(values, 95)
    assert quantiles.percentile(values) == pytest.approx(expected)


UNIMODAL: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "narrow normal": lambda g, n: g.normal(100, 2, n),
    "wide normal": lambda g, n: np.abs(g.normal(100, 20, n)) + 1e-9,
    "lognormal 0.2": lambda g, n: g.lognormal(0, 0.2, n),
    "lognormal 1": lambda g, n: g.lognormal(0, 1, n),
    "short exponential tail": lambda g, n: 1 + g.exponential(0.05, n),
    "long exponential tail": lambda g, n: 1 + g.exponential(1, n),
    "exponential": lambda g, n: g.exponential(1, n),
    "uniform": lambda g, n: g.uniform(1, 2, n),
    "Laplace": lambda g, n: np.exp(g.laplace(0, 0.2, n)),
    "Pareto": lambda g, n: 1 + g.pareto(2, n),
}


@pytest.mark.parametrize("n", [21, 63, 200])
@pytest.mark.parametrize("shape", UNIMODAL)
def test_unimodal_data_are_seldom_called_bimodal(shape: str, n: int) -> None:
    draw, g = UNIMODAL[shape], generator()
    found = np.mean([series_shape.modes(draw(g, n)) is not None for _ in range(600)])
    assert found <= (0.02 if n >= 63 else 0.035)


def bimodal(g: np.random.Generator, n: int, share: float, ratio: float = 1.2) -> Floats:
    upper = np.arange(n) < round(share * n)
    return np.where(upper, ratio, 1.0) * (1 + 0.02 * g.standard_normal(n))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("n", [21, 63])
def test_two_modes_twenty_percent_apart_are_found(n: int, share: float) -> None:
    g = generator()
    found = [series_shape.modes(bimodal(g, n, share)) for _ in range(400)]
    assert np.mean([f is not None for f in found]) >= 0.95
    low, high = next(f for f in found if f is not None)
    assert low.median == pytest.approx(1.0, abs=0.03)
    assert high.median == pytest.approx(1.2, abs=0.03)
    assert high.share == pytest.approx(share, abs=1 / n)


def test_a_batch_between_the_modes_does_not_hide_them() -> None:
    values = np.append(bimodal(generator(), 62, 0.4), 1.1)
    assert series_shape.modes(values) is not None


def test_modes_need_both_sides_and_a_ratio() -> None:
    assert series_shape.modes([1.0] * 57 + [2.0] * 6) is None  # a tail of 10 % is no mode
    assert series_shape.modes([100.0] * 30 + [104.0] * 30) is None  # 4 % apart
    assert series_shape.modes([100.0] * 30 + [106.0] * 30) is not None
    assert series_shape.modes([1.0, 2.0] * 4) is None  # too few
    assert series_shape.modes([0.0] * 30 + [2.0] * 30) is None  # no ratio


@checked
@given(st.lists(st.floats(0.5, 2.0), min_size=10, max_size=40))
def test_modes_depend_neither_on_order_nor_on_unit(values: list[float]) -> None:
    found = series_shape.modes(values)
    assert series_shape.modes(sorted(values, reverse=True)) == found
    if found:
        assert found[0].share + found[1].share == pytest.approx(1.0)
        scaled = series_shape.modes([4.0 * v for v in values])
        assert scaled is not None
        assert [m.median for m in scaled] == [4.0 * m.median for m in found]


# -- trend -----------------------------------------------------------------------------------------


@checked
@given(st.one_of(st.lists(finite, min_size=3, max_size=40), tied_samples.filter(lambda v: v[2:])))
def test_drift_agrees_with_kendall_and_theil_sen(values: list[float]) -> None:
    n, found = len(values), series_shape.drift(values)
    pairs = itertools.combinations(values, 2)
    score = abs(sum((later > earlier) - (later < earlier) for earlier, later in pairs))
    if len(set(values)) == 1:
        assert found == series_shape.Drift(0.0, 1.0)
        return
    slope = scipy.stats.theilslopes(values).slope
    middle = abs(float(np.median(values)))
    expected = slope * (n - 1) / middle if middle else 0.0
    assert found.relative_change == pytest.approx(expected)
    plain = scipy.stats.kendalltau(range(n), values, method="asymptotic").pvalue
    z = scipy.stats.norm.isf(plain / 2) * max(0, score - 1) / score if score else 0.0
    assert found.p == pytest.approx(2 * scipy.stats.norm.sf(z), rel=1e-6)


def test_drift_finds_a_ramp_and_its_size() -> None:
    ramp = np.linspace(100, 110, 21) + generator().normal(0, 0.5, 21)
    found = series_shape.drift(ramp)
    assert found.relative_change == pytest.approx(0.095, abs=0.01)
    assert found.p < 1e-6


def test_a_difference_between_blocks_is_no_drift() -> None:
    g = generator()
    blocks = [g.normal(level, 1, 21) for level in (100, 110, 120)]
    assert series_shape.drift(*blocks).p > 0.05
    assert series_shape.drift(np.concatenate(blocks)).p < 1e-6


def test_drift_keeps_its_error_rate_in_blocks() -> None:
    g = generator()
    rate = np.mean([series_shape.drift(*g.normal(1, 0.1, (3, 21))).p < 0.05 for _ in range(1500)])
    assert rate == pytest.approx(0.05, abs=0.015)


def test_drift_of_a_long_series_is_bounded_in_memory() -> None:
    values = 1 + np.linspace(0, 0.1, 5000) + generator().normal(0, 0.01, 5000)
    assert series_shape.drift(values).relative_change == pytest.approx(0.1 / 1.05, rel=0.02)


# -- pairs -----------------------------------------------------------------------------------------


@checked
@given(st.lists(st.floats(-100, 100).map(lambda x: round(x, 6)), min_size=1, max_size=9))
def test_sign_flip_test_counts_all_sign_patterns(ratios: list[float]) -> None:
    slack = 1e-9  # the sums are multiples of 1e-6, but for rounding
    sums = [abs(math.fsum(p)) for p in itertools.product(*((r, -r) for r in ratios))]
    expected = np.mean([s >= abs(math.fsum(ratios)) - slack for s in sums])
    assert permutation.sign_flip_test(ratios) == pytest.approx(expected)


def test_sign_flip_test_has_the_published_floors() -> None:
    assert [permutation.sign_flip_test(np.linspace(1, 2, n)) for n in (5, 6, 8, 10)] == [
        0.0625,
        0.03125,
        0.0078125,
        0.001953125,
    ]


def test_sign_flip_test_by_monte_carlo_agrees_with_scipy() -> None:
    ratios = generator().normal(0.4, 1.0, 24)
    sampled = permutation.sign_flip_test(ratios)
    expected = scipy.stats.permutation_test(
        (ratios,), np.sum, permutation_type="samples", n_resamples=40_000, rng=generator(2)
    ).pvalue
    assert sampled == pytest.approx(expected, abs=0.015)
    assert sampled == permutation.sign_flip_test(ratios)
    assert permutation.sign_flip_test(np.full(30, 1.0)) == pytest.approx(1e-4)


@checked
@given(st.lists(finite, min_size=1, max_size=10), confidences)
def test_paired_estimate_inverts_the_signed_rank_test(
    values: list[float], confidence: float
) -> None:
    n = len(values)
    walsh = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    signs = np.array(list(itertools.product((0, 1), repeat=n)))
    sums = signs @ np.arange(1, n + 1)
    k = max((k for k in range(1, len(walsh) + 1)
             if np.mean(sums <= k - 1) <= (1 - confidence) / 2), default=1)  # fmt: skip
    found = ranks.hodges_lehmann_paired(values, confidence)
    assert found.value == pytest.approx(float(np.median(walsh)), abs=1e-9)
    assert found.interval.low == pytest.approx(walsh[k - 1], abs=1e-9)
    assert found.interval.high == pytest.approx(walsh[-k], abs=1e-9)
    assert found.interval.coverage == pytest.approx(max(0, 1 - 2 * np.mean(sums <= k - 1)))


@pytest.mark.parametrize("n", [8, 21, 80])
def test_paired_estimate_covers(n: int) -> None:
    found = [ranks.hodges_lehmann_paired(row) for row in generator().laplace(3, 1, (1500, n))]
    covered = np.mean([f.interval.low <= 3 <= f.interval.high for f in found])
    assert covered == pytest.approx(found[0].interval.coverage, abs=0.018)


def test_large_samples_are_condensed_without_harm() -> None:
    x, y = generator().normal(1, 1, 5000), generator(2).normal(0, 1, 4000)
    shift = ranks.hodges_lehmann_shift(x, y)
    margin = scipy.stats.norm.isf(0.025) * math.sqrt((1 / 5000 + 1 / 4000) * math.pi / 3)
    assert shift.value == pytest.approx(x.mean() - y.mean(), abs=0.01)
    assert shift.interval.high - shift.interval.low == pytest.approx(2 * margin, rel=0.05)
    paired = ranks.hodges_lehmann_paired(x)
    assert paired.value == pytest.approx(x.mean(), abs=0.01)
    assert paired.interval.low < x.mean() < paired.interval.high


# -- two samples -----------------------------------------------------------------------------------


@checked
@given(
    st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=50, unique=True),
    st.integers(1, 49),
)
def test_mann_whitney_without_ties_is_exact(values: list[int], cut: int) -> None:
    cut = min(cut, len(values) - 1)
    x, y = [float(v) for v in values[:cut]], [float(v) for v in values[cut:]]
    expected = scipy.stats.mannwhitneyu(x, y, method="exact").pvalue
    assert ranks.mann_whitney(x, y) == pytest.approx(expected, rel=1e-9)


@checked
@given(tied_samples, tied_samples)
def test_mann_whitney_with_ties_is_scipys_approximation(x: list[float], y: list[float]) -> None:
    if len(set(x + y)) == len(x + y):
        return
    p = ranks.mann_whitney(x, y)
    if len(set(x + y)) == 1:
        assert p == 1.0
    else:
        expected = scipy.stats.mannwhitneyu(x, y, method="asymptotic").pvalue
        assert p == pytest.approx(expected, rel=1e-9)


@checked
@given(st.one_of(samples, tied_samples), st.one_of(samples, tied_samples))
def test_cliffs_delta_counts_pairs(x: list[float], y: list[float]) -> None:
    pairs = [(a > b) - (a < b) for a in x for b in y]
    assert ranks.cliffs_delta(x, y) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert ranks.cliffs_delta(y, x) == pytest.approx(-np.mean(pairs), abs=1e-12)


@checked
@given(small_samples, small_samples, confidences)
def test_shift_inverts_the_mann_whitney_test(
    x: list[float], y: list[float], confidence: float
) -> None:
    n, m = len(x), len(y)
    pairs = sorted(a - b for a in x for b in y)
    patterns = itertools.combinations(range(n + m), n)
    u = np.array([sum(pattern) - n * (n - 1) // 2 for pattern in patterns])
    k = max((k for k in range(1, n * m + 1)
             if np.mean(u <= k - 1) <= (1 - confidence) / 2), default=1)  # fmt: skip
    found = ranks.hodges_lehmann_shift(x, y, confidence)
    assert found.value == pytest.approx(float(np.median(pairs)), abs=1e-9)
    assert found.interval.low == pytest.approx(pairs[k - 1], abs=1e-9)
    assert found.interval.high == pytest.approx(pairs[-k], abs=1e-9)
    assert found.interval.coverage == pytest.approx(max(0, 1 - 2 * np.mean(u <= k - 1)))


@pytest.mark.parametrize(("n", "m"), [(5, 8), (21, 21), (63, 40)])
def test_shift_covers(n: int, m: int) -> None:
    g = generator()
    found = [
        ranks.hodges_lehmann_shift(3 + g.gumbel(size=n), g.gumbel(size=m)) for _ in range(1500)
    ]
    covered = np.mean([f.interval.low <= 3 <= f.interval.high for f in found])
    assert covered == pytest.approx(found[0].interval.coverage, abs=0.018)


# -- processes -------------------------------------------------------------------------------------


@checked
@given(st.floats(0.0, 1.0), st.floats(0.1, 60.0), st.floats(0.1, 60.0))
def test_incomplete_beta_agrees_with_scipy(x: float, a: float, b: float) -> None:
    expected = float(scipy.special.betainc(a, b, x))
    assert means.incomplete_beta(x, a, b) == pytest.approx(expected, abs=1e-11)


@checked
@given(st.floats(0.55, 0.9999), st.floats(1.0, 5000.0))
def test_t_quantile_agrees_with_scipy(probability: float, freedom: float) -> None:
    expected = float(scipy.stats.t.ppf(probability, freedom))
    assert means.t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-8)


def test_t_quantile_of_the_tables() -> None:
    table = {1: 12.7062, 2: 4.30265, 4: 2.77645, 10: 2.22814, 120: 1.97993}
    for freedom, quantile in table.items():
        assert means.t_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-5)


groups = st.lists(st.floats(-1, 1).map(lambda x: round(x, 4)), min_size=2, max_size=8)


@pytest.mark.filterwarnings("ignore:Precision loss")
@checked
@given(groups, groups, st.floats(0.8, 0.99))
def test_process_interval_is_welchs_with_whole_degrees_of_freedom(
    x: list[float], y: list[float], confidence: float
) -> None:
    found = means.process_interval(x, y, confidence)
    assert (found.low + found.high) / 2 == pytest.approx(np.mean(x) - np.mean(y), abs=1e-12)
    if max(np.ptp(x), np.ptp(y)) > 0.0:
        welch = scipy.stats.ttest_ind(x, y, equal_var=False)
        whole = max(1, math.floor(float(welch.df) + 1e-9))
        error = math.sqrt(np.var(x, ddof=1) / len(x) + np.var(y, ddof=1) / len(y))
        margin = float(scipy.stats.t.ppf(0.5 + confidence / 2, whole)) * error
        assert (found.high - found.low) / 2 == pytest.approx(margin, rel=1e-7, abs=1e-12)


@pytest.mark.filterwarnings("ignore:Precision loss")
@checked
@given(groups, st.floats(0.8, 0.99))
def test_paired_process_interval_is_students(differences: list[float], confidence: float) -> None:
    found = means.paired_process_interval(differences, confidence)
    if np.ptp(differences) > 0.0:
        student = scipy.stats.ttest_1samp(differences, 0.0).confidence_interval(confidence)
        assert found.low == pytest.approx(student.low, rel=1e-7, abs=1e-9)
        assert found.high == pytest.approx(student.high, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("deviations", [(1.0, 1.0), (1.0, 5.0)])
@pytest.mark.parametrize("n", [3, 8])
def test_process_intervals_cover(n: int, deviations: tuple[float, float]) -> None:
    g = generator()
    x, y = g.normal(2, deviations[0], (2500, n)), g.normal(0, deviations[1], (2500, n))
    unpaired = [means.process_interval(a, b) for a, b in zip(x, y, strict=True)]
    paired = [means.paired_process_interval(row) for row in x - y]
    assert 0.94 <= np.mean([i.low <= 2 <= i.high for i in unpaired]) <= 0.99
    assert np.mean([i.low <= 2 <= i.high for i in paired]) == pytest.approx(0.95, abs=0.012)


def test_the_interval_of_a_quantile_covers_it_as_often_as_it_says() -> None:
    draws = np.random.default_rng(7).exponential(size=(2000, 400))
    truth = -math.log(0.05)
    intervals = [quantiles.quantile_interval(row, 0.95) for row in draws]
    assert np.mean([i.low <= truth <= i.high for i in intervals]) >= 0.945
    assert all(0.95 <= i.coverage <= 0.98 for i in intervals)
    large = quantiles.quantile_interval(np.arange(1.0, 20_001.0), 0.95)
    assert large.low < 19_000 < large.high
    assert large.high - large.low == pytest.approx(2 * 1.96 * math.sqrt(20_000 * 0.0475), rel=0.05)


def test_a_quantile_of_too_few_values_ends_at_the_maximum_and_says_so() -> None:
    for n in (50, 1200):
        interval = quantiles.quantile_interval(np.arange(1.0, n + 1.0), 0.999)
        assert interval.high == n
        assert interval.coverage < 0.9


def test_the_median_of_a_small_sample_agrees_with_the_interval_of_its_quantile() -> None:
    values = np.arange(1.0, 22.0)
    assert quantiles.quantile_interval(values, 0.5).low == 6.0
    assert quantiles.quantile_interval(values, 0.5).high == 16.0


def test_the_ratio_of_medians_covers_the_truth() -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for _ in range(500):
        x = 2.0 * generator.lognormal(size=80)
        y = generator.lognormal(size=60)
        found = quantiles.median_ratio(x, y)
        assert found is not None
        hits += found.interval.low <= 2.0 <= found.interval.high
    assert 0.93 <= hits / 500 <= 0.99
    assert quantiles.median_ratio([0.0, 0.0, 1.0], [1.0, 2.0]) is None


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_empty_and_infinite_data_are_refused(values: list[float]) -> None:
    for function in (
        quantiles.median_interval,
        quantiles.mad,
        quantiles.percentile,
        series_shape.modes,
        series_shape.drift,
        permutation.sign_flip_test,
        ranks.hodges_lehmann_paired,
        means.paired_process_interval,
    ):
        with pytest.raises(ValueError, match="finite numbers"):
            function(values)
    with pytest.raises(ValueError, match="y must be"):
        ranks.mann_whitney([1.0], values)


def test_senseless_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        quantiles.mad(np.ones((2, 2)))
    with pytest.raises(ValueError, match="confidence"):
        quantiles.median_interval([1.0], 1.0)
    with pytest.raises(ValueError, match="two values"):
        series_shape.drift([1.0], [2.0])
    with pytest.raises(ValueError, match="two a side"):
        means.process_interval([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="two pairs"):
        means.paired_process_interval([1.0])
    with pytest.raises(ValueError, match="no t quantile"):
        means.t_quantile(1.0, 3.0)


@pytest.mark.parametrize(
    "table", [(0, 40, 0, 38), (3, 37, 0, 38), (12, 28, 1, 39), (5, 5, 5, 5), (1, 0, 0, 1)]
)
def test_fisher_exact_is_scipys(table: tuple[int, int, int, int]) -> None:
    first, others, second, rest = table
    expected = scipy.stats.fisher_exact(np.array([[first, others], [second, rest]])).pvalue
    assert permutation.fisher_exact(*table) == pytest.approx(expected)


def test_fisher_exact_of_nothing_is_one() -> None:
    assert permutation.fisher_exact(0, 0, 3, 5) == 1.0
