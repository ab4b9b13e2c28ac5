"""Verdicts, their reasons, and how often they are right on simulated boards."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchvise.measure.compare import (
    Comparison,
    RunComparison,
    SeriesVerdict,
    compare_runs,
    compare_series,
)
from benchvise.measure.model import (
    Better,
    ProcessRecord,
    RunRecord,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.text import NO_TEXT


def make_series(
    blocks: Sequence[Sequence[float] | npt.NDArray[np.float64]],
    *,
    benchmark: str = "memory.copy",
    better: Better = "higher",
    place: str = "same",
    **changes: Any,
) -> SeriesRecord:
    processes = tuple(
        ProcessRecord(index, {}, tuple(Sample(i, float(v)) for i, v in enumerate(block)), True)
        for index, block in enumerate(blocks)
    )
    spec = SeriesSpec(benchmark, (("place", place),), benchmark)
    series = SeriesRecord(spec, "B/s", better, "copied", SeriesStatus.MEASURED, "", processes)
    return dataclasses.replace(series, **changes)


def make_run(identity: str, *series: SeriesRecord, label: str = "") -> RunRecord:
    return RunRecord(
        id=identity,
        label=label,
        board="local",
        suite="quick",
        status=RunStatus.COMPLETE,
        reason=NO_TEXT,
        started="2025-01-01T00:00:00Z",
        finished=None,
        seed=1,
        host={},
        tool_version="0",
        simulated=False,
        series=series,
    )


def board(
    g: np.random.Generator,
    ratio: float = 1.0,
    *,
    processes: int = 3,
    batches: int = 21,
    process_noise: float = 0.01,
) -> SeriesRecord:
    """A run of a board: process effects, batch noise of 1 %, outliers, a slow warming."""
    warming = g.normal(-0.005, 0.002)
    blocks = []
    for process in range(processes):
        time = (np.arange(batches) + process * batches) / (processes * batches)
        outliers = np.where(g.random(batches) < 0.03, -g.exponential(0.2, batches), 0.0)
        logs = g.normal(0, process_noise) + g.normal(0, 0.01, batches) + outliers + warming * time
        blocks.append(1e9 * ratio * np.exp(logs))
    return make_series(blocks)


def steady(level: float, seed: int = 1, noise: float = 0.003) -> list[list[float]]:
    g = np.random.default_rng(seed)
    return [list(level * np.exp(g.normal(0, noise, 21))) for _ in range(3)]


# -- how often it is right -------------------------------------------------------------------------

TRIALS = 800


@cache
def simulated(
    ratio: float, paired: bool = False, **noise: float
) -> tuple[Mapping[SeriesVerdict, float], float]:
    """The share of each verdict, and how often the interval holds the true ratio."""
    g = np.random.default_rng(11)
    options: dict[str, Any] = dict(noise)
    results = [
        compare_series(board(g, **options), board(g, ratio, **options), paired=paired)
        for _ in range(TRIALS)
    ]
    verdicts = Counter(result.verdict for result in results)
    covered = sum((r.low or 0.0) <= ratio <= (r.high or 0.0) for r in results)
    return {verdict: verdicts[verdict] / TRIALS for verdict in SeriesVerdict}, covered / TRIALS


def test_the_same_board_twice_shows_no_difference() -> None:
    verdicts, _ = simulated(1.0)
    assert verdicts[SeriesVerdict.NO_DIFFERENCE] >= 0.97


def test_a_change_of_five_percent_is_found() -> None:
    verdicts, _ = simulated(1.05)
    assert verdicts[SeriesVerdict.FASTER] >= 0.9
    assert verdicts[SeriesVerdict.SLOWER] == 0.0


@pytest.mark.parametrize("ratio", [1.0, 1.05])
def test_the_interval_of_the_ratio_covers(ratio: float) -> None:
    assert 0.93 <= simulated(ratio)[1] <= 0.99


def test_paired_blocks_are_judged_as_well() -> None:
    noise = {"processes": 8, "batches": 9, "process_noise": 0.005}
    verdicts, covered = simulated(1.0, paired=True, **noise)
    assert verdicts[SeriesVerdict.NO_DIFFERENCE] >= 0.97
    assert 0.93 <= covered <= 0.99
    assert simulated(1.05, paired=True, **noise)[0][SeriesVerdict.FASTER] >= 0.9


def test_processes_that_scatter_are_seldom_taken_for_a_difference() -> None:
    verdicts, _ = simulated(1.0, process_noise=0.1)
    assert verdicts[SeriesVerdict.FASTER] + verdicts[SeriesVerdict.SLOWER] <= 0.03


# -- one pair of series ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "ratio", "verdict"),
    [
        ("higher", 1.2, SeriesVerdict.FASTER),
        ("higher", 0.8, SeriesVerdict.SLOWER),
        ("lower", 1.2, SeriesVerdict.SLOWER),
        ("lower", 0.8, SeriesVerdict.FASTER),
    ],
)
def test_faster_means_better(better: Better, ratio: float, verdict: SeriesVerdict) -> None:
    a = make_series(steady(1e9), better=better)
    result = compare_series(a, make_series(steady(1e9 * ratio, seed=2), better=better))
    assert (result.verdict, result.changed) == (verdict, True)
    assert result.ratio == pytest.approx(ratio, rel=0.003)
    assert result.low is not None
    assert result.high is not None
    assert result.low < ratio < result.high
    assert result.change_percent == pytest.approx(100 * (ratio - 1), abs=0.3)
    assert result.effect == (1.0 if ratio > 1 else -1.0)
    assert result.noise_floor == pytest.approx(0.01)
    assert result.reason == (
        "p < 0.0001, the 95 % interval of the ratio excludes 1, and the ratio is beyond the noise "
        "floor of 1.0 %"
    )
    assert result.a is not None
    assert result.a.n == 63


def test_nothing_shown_says_what_is_missing() -> None:
    result = compare_series(make_series(steady(1e9)), make_series(steady(1e9, seed=2)))
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE
    assert result.reason.startswith("the batches do not differ clearly (p = 0.")
    assert "the 95 % interval of the ratio includes 1" in result.reason
    assert result.reason.endswith("the ratio is within the noise floor of 1.0 %")


def test_a_clear_difference_below_one_percent_is_noise() -> None:
    a, b = make_series([[100.0] * 21] * 3), make_series([[100.8] * 21] * 3)
    result = compare_series(a, b)
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE
    assert result.reason == "the ratio is within the noise floor of 1.0 %"
    assert result.low == pytest.approx(1.008)
    assert result.high == pytest.approx(1.008)


def test_the_spread_of_processes_raises_the_noise_floor() -> None:
    levels = (1.0, 1.015, 1.03)
    a = make_series([[v * x for v in b] for b, x in zip(steady(1e9), levels, strict=True)])
    result = compare_series(a, make_series(steady(1.025e9, seed=2)))
    assert result.noise_floor == pytest.approx(0.03, abs=0.004)
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE
    assert "within the noise floor" in result.reason


def test_a_single_process_is_halved_and_that_is_said() -> None:
    a, b = make_series(steady(1e9)[:1]), make_series(steady(1.3e9, seed=2))
    result = compare_series(a, b, names=("before", "after"))
    assert result.verdict is SeriesVerdict.FASTER
    assert result.reason.endswith("; only one process in before: its halves stand in for processes")
    drifting = make_series([[100.0] * 10 + [102.0] * 10])
    assert compare_series(drifting, drifting).noise_floor == pytest.approx(0.02)


positive = st.floats(0.1, 10.0)
unequal = st.lists(st.lists(positive, min_size=2, max_size=8), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(unequal, unequal, st.booleans())
def test_swapping_the_sides_swaps_the_verdict(
    x: list[list[float]], y: list[list[float]], paired: bool
) -> None:
    a, b = make_series(x), make_series(y)
    there, back = compare_series(a, b, paired=paired), compare_series(b, a, paired=paired)
    swapped = {
        SeriesVerdict.FASTER: SeriesVerdict.SLOWER,
        SeriesVerdict.SLOWER: SeriesVerdict.FASTER,
    }
    assert back.verdict == swapped.get(there.verdict, there.verdict)
    assert back.p == pytest.approx(there.p)
    assert back.noise_floor == there.noise_floor
    assert there.ratio is not None
    assert there.low is not None
    assert there.high is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high)
    assert back.high == pytest.approx(1 / there.low)
    assert there.low <= there.ratio <= there.high


@settings(max_examples=60, deadline=None)
@given(unequal, st.booleans())
def test_a_series_does_not_differ_from_itself(x: list[list[float]], paired: bool) -> None:
    result = compare_series(make_series(x), make_series(x), paired=paired)
    assert not result.changed
    assert result.ratio == pytest.approx(1.0)
    assert result.p is not None
    assert result.p > 0.5


def test_absurd_values_are_compared_without_overflow() -> None:
    a, b = make_series([[1e-300] * 9 + [1e300] * 9]), make_series([[1e-300] * 18])
    result = compare_runs(make_run("a" * 12, a), make_run("b" * 12, b)).comparisons[0]
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE
    assert result.ratio is not None
    assert 0.0 < result.ratio < math.inf


# -- pairs -----------------------------------------------------------------------------------------


def test_pairing_removes_what_both_sides_share() -> None:
    shared = 1 + 0.01 * np.arange(10)
    noise = np.random.default_rng(1).normal(0, 0.001, (2, 10, 5))
    a = make_series([1e9 * s * np.exp(n) for s, n in zip(shared, noise[0], strict=True)])
    b = make_series([1.04e9 * s * np.exp(n) for s, n in zip(shared, noise[1], strict=True)])
    paired, unpaired = compare_series(a, b, paired=True), compare_series(a, b)
    assert paired.p == 2 / 2**10
    assert paired.effect is None
    assert unpaired.effect is not None
    assert paired.low is not None
    assert unpaired.low is not None
    assert unpaired.low < paired.low < 1.04


def test_fewer_than_eight_processes_are_paired_by_batch() -> None:
    a, b = make_series(steady(1e9)), make_series(steady(1.05e9, seed=2))
    result = compare_series(a, b, paired=True)
    assert result.p == pytest.approx(1e-4)
    assert result.verdict is SeriesVerdict.FASTER


def test_what_does_not_pair_up_is_compared_unpaired() -> None:
    a, b = make_series(steady(1e9)), make_series(steady(1.05e9, seed=2)[:2])
    result = compare_series(a, b, paired=True)
    assert result.effect == 1.0
    assert "; compared unpaired, as the processes and batches do not pair up" in result.reason


# -- unstable and not comparable -------------------------------------------------------------------


def two_modes(level: float) -> SeriesRecord:
    return make_series([[v * (1.5 if i % 2 else 1.0) for i, v in enumerate(b)]
                        for b in steady(level)])  # fmt: skip


def test_an_unstable_side_that_differs_with_values_that_overlap_is_unstable() -> None:
    result = compare_series(two_modes(1e9), make_series(steady(1.7e9)))
    assert result.verdict is SeriesVerdict.FASTER  # apart
    result = compare_series(two_modes(1e9), make_series(steady(1.5e9)), names=("old", "new"))
    assert result.verdict is SeriesVerdict.UNSTABLE
    assert result.reason.startswith("unstable in old: two modes: 1 GB/s (52 % of the batches)")
    assert "in new" not in result.reason
    assert result.ratio is not None
    both = compare_series(two_modes(1e9), two_modes(1.2e9))
    assert "; unstable in B: two modes" in both.reason


def test_an_unstable_side_that_does_not_differ_says_so_and_why_that_is_weak() -> None:
    result = compare_series(two_modes(1e9), make_series(steady(1.2e9)), names=("old", "new"))
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE
    assert "unstable in old: two modes" in result.reason


def test_what_noise_may_hide_is_told_apart() -> None:
    scattered = [
        [v * level for v in block]
        for level, block in zip((0.8, 1.0, 1.25), steady(1e9), strict=True)
    ]
    shifted = [[v * 1.1 for v in block] for block in scattered]
    result = compare_series(make_series(scattered), make_series(shifted))
    assert result.verdict is SeriesVerdict.NO_DIFFERENCE and result.hidden_by_noise
    assert not compare_series(make_series(scattered), make_series(scattered)).hidden_by_noise


def test_what_is_no_number_is_never_compared_as_one() -> None:
    free = SeriesSpec("pipe.latency", (("place", "free"),), "pipe.latency:place=free")
    a, b = (dataclasses.replace(make_series(steady(1e9)), spec=free) for _ in range(2))
    assert compare_series(a, b).verdict is SeriesVerdict.UNSTABLE


def test_unstable_series_that_hardly_overlap_still_differ() -> None:
    scattered = [
        [v * k for v in block] for k, block in zip((0.9, 1.0, 1.1), steady(1e9), strict=True)
    ]
    scattered[0][0] = 4e9  # one batch as high as the other run's
    other = [[v * 2.5 for v in block] for block in scattered]
    result = compare_series(make_series(scattered), make_series(other))
    assert result.verdict is SeriesVerdict.FASTER
    assert result.reason.startswith("the values hardly overlap, though unstable in A: processes")


def test_unstable_series_whose_ranges_are_apart_still_differ() -> None:
    result = compare_series(two_modes(1e9), make_series(steady(3e9)))
    assert result.verdict is SeriesVerdict.FASTER
    assert result.reason.startswith(
        "the ranges of the values do not overlap, though unstable in A: two modes"
    )
    assert compare_series(make_series(steady(3e9)), two_modes(1e9)).verdict is SeriesVerdict.SLOWER


def test_a_few_batches_far_apart_are_no_proof() -> None:
    a, b = make_series([[100.0, 101.0]]), make_series([[300.0, 301.0]])
    result = compare_series(a, b)
    assert result.verdict is SeriesVerdict.UNSTABLE
    assert "too few batches (2)" in result.reason


GOOD = make_series(steady(1e9))


def test_a_series_of_a_run_that_was_cut_short_is_as_good_as_its_samples() -> None:
    cut = dataclasses.replace(GOOD, status=SeriesStatus.PLANNED)
    assert compare_series(GOOD, cut).verdict is SeriesVerdict.NO_DIFFERENCE


NOT_COMPARABLE: dict[str, tuple[dict[str, Any], str]] = {
    "na": (
        {"status": SeriesStatus.NOT_AVAILABLE, "reason": "no SMT sibling"},
        "not available in after: no SMT sibling",
    ),
    "failed": ({"status": SeriesStatus.FAILED, "reason": ""}, "failed in after"),
    "one batch": ({"processes": make_series([[1.0]]).processes}, "fewer than two batches in after"),
    "none": ({"processes": ()}, "fewer than two batches in after"),
    "unit": ({"unit": "ns"}, "different units: B/s in before, ns in after"),
    "better": ({"better": "lower"}, "different directions: higher in before, lower in after"),
    "counted": ({"counted": ""}, "different ways of counting: copied in before, none in after"),
    "infinite": (
        {"processes": make_series([[math.inf, 1.0]]).processes},
        "a value in after is not a finite number",
    ),
    "zero": (
        {"processes": make_series([[0.0, 1.0]]).processes},
        "values of zero or less in after have no ratio",
    ),
}


@pytest.mark.parametrize("case", NOT_COMPARABLE)
def test_what_cannot_be_compared_says_why(case: str) -> None:
    changes, reason = NOT_COMPARABLE[case]
    other = dataclasses.replace(GOOD, **changes)
    result = compare_series(GOOD, other, names=("before", "after"))
    assert (result.verdict, result.reason) == (SeriesVerdict.NOT_COMPARABLE, reason)
    assert (result.ratio, result.p, result.a, result.change_percent) == (None, None, None, None)
    assert not result.changed


# -- runs ------------------------------------------------------------------------------------------


def named(benchmark: str, level: float, **changes: Any) -> SeriesRecord:
    return make_series(steady(level), benchmark=benchmark, **changes)


@pytest.fixture
def compared() -> RunComparison:
    before = make_run(
        "aaaaaaaaaaaa",
        named("t.gone", 1e9),
        named("t.same", 1e9),
        named("t.slower", 1e9),
        named("t.free", 1e9, place="free"),
        named("t.twice", 1e9),
        named("t.slow", 1e9, better="lower"),
        named("t.same", 1e9),
        label="before",
    )
    after = make_run(
        "bbbbbbbbbbbb",
        named("t.new", 1e9),
        named("t.slow", 1.1e9, better="lower"),
        named("t.slower", 0.7e9),
        named("t.twice", 2e9),
        named("t.same", 1e9),
        named("t.free", 1e9, place="free"),
    )
    return compare_runs(before, after)


def test_runs_are_sorted_by_what_matters(compared: RunComparison) -> None:
    assert [(c.spec.benchmark, str(c.verdict)) for c in compared.comparisons] == [
        ("t.twice", "faster"),
        ("t.slower", "slower"),
        ("t.slow", "slower"),
        ("t.free", "unstable"),
        ("t.same", "no difference shown"),
        ("t.gone", "not comparable"),
        ("t.same", "not comparable"),
        ("t.new", "not comparable"),
    ]


def test_runs_say_where_a_series_is_missing(compared: RunComparison) -> None:
    missing = [c.reason for c in compared.comparisons if c.verdict is SeriesVerdict.NOT_COMPARABLE]
    assert missing == ["only in before", "only in before", "only in bbbbbbbbbbbb"]
    assert (compared.a, compared.b) == ("before", "bbbbbbbbbbbb")


def test_runs_are_counted(compared: RunComparison) -> None:
    assert compared.counts == {
        SeriesVerdict.FASTER: 1,
        SeriesVerdict.SLOWER: 2,
        SeriesVerdict.NO_DIFFERENCE: 1,
        SeriesVerdict.UNSTABLE: 1,
        SeriesVerdict.NOT_COMPARABLE: 3,
    }
    assert len(compared.changed) == 3
    assert [c.spec.benchmark for c in compared.unchanged] == ["t.same"]


def test_the_worst_regression_is_the_largest_slow_down(compared: RunComparison) -> None:
    assert compared.worst_regression == pytest.approx(30, abs=0.1)
    nothing = compare_runs(make_run("a" * 12, GOOD), make_run("b" * 12, GOOD))
    assert nothing.worst_regression == 0.0


def test_runs_of_one_label_are_told_apart_by_id() -> None:
    result = compare_runs(make_run("a" * 12, label="x"), make_run("b" * 12, label="x"))
    assert result == RunComparison("a" * 12, "b" * 12, ())


def test_comparisons_are_plain_data() -> None:
    result = compare_series(GOOD, GOOD)
    assert isinstance(result, Comparison)
    assert dataclasses.asdict(result)["verdict"] == "no difference shown"
