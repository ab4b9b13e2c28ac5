"""When a series is unstable, what is named as the cause, and what stays a note."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from benchvise.measure.model import ProcessRecord, Sample, SeriesRecord, SeriesSpec, SeriesStatus
from benchvise.measure.validity import summarise

NO_CAUSE = "no cause found in the evidence"


def make_series(
    blocks: Sequence[Sequence[float]],
    evidence: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    *,
    unit: str = "B/s",
    place: str = "same",
) -> SeriesRecord:
    """A measured series; ``evidence`` is one mapping for all samples, or one a sample."""
    count = sum(len(block) for block in blocks)
    items = iter([evidence] * count if isinstance(evidence, Mapping) else evidence or [{}] * count)
    processes = tuple(
        ProcessRecord(
            index, {}, tuple(Sample(i, float(v), next(items)) for i, v in enumerate(block)), True
        )
        for index, block in enumerate(blocks)
    )
    spec = SeriesSpec("memory.copy", (("size", "1M"), ("place", place)), "memory.copy:size=1M")
    return SeriesRecord(spec, unit, "higher", "copied", SeriesStatus.MEASURED, "", processes)


def quiet(processes: int = 3, batches: int = 21, noise: float = 0.005) -> list[list[float]]:
    g = np.random.default_rng(7)
    return [list(1e9 * np.exp(g.normal(0, noise, batches))) for _ in range(processes)]


def wide() -> list[list[float]]:
    """Unimodal, without trend, alike in all processes, but far too scattered."""
    return quiet(noise=0.4)


# -- the figures -----------------------------------------------------------------------------------


def test_a_quiet_series_is_stable_and_has_its_figures() -> None:
    blocks = quiet()
    summary = summarise(make_series(blocks))
    pooled = np.sort(np.concatenate(blocks))
    assert (summary.stable, summary.causes, summary.notes) == (True, (), ())
    assert (summary.n, summary.processes) == (63, 3)
    assert summary.median == pytest.approx(float(np.median(pooled)))
    assert (summary.low, summary.high) == (pooled[23], pooled[39])
    assert summary.coverage == pytest.approx(0.957, abs=0.001)
    assert (summary.minimum, summary.maximum) == (pooled[0], pooled[-1])
    assert summary.p95 == pytest.approx(float(np.percentile(pooled, 95)))
    assert summary.mad == pytest.approx(float(np.median(np.abs(pooled - np.median(pooled)))))
    assert summary.half_width == pytest.approx((pooled[39] - pooled[23]) / 2 / summary.median)
    medians = [float(np.median(block)) for block in blocks]
    assert summary.process_spread == pytest.approx(max(medians) / min(medians) - 1)
    assert summary.modes is None
    assert summary.drift is not None


def test_one_process_has_no_spread_and_one_batch_no_interval() -> None:
    assert summarise(make_series(quiet(1))).process_spread is None
    single = summarise(make_series([[5e8]]))
    assert (single.coverage, single.drift, single.stable) == (0.0, None, False)
    assert single.causes == ("too few batches (1) for an interval of the median",)


def test_five_batches_are_enough_and_four_are_not() -> None:
    assert summarise(make_series([[100, 101, 100, 99, 100]])).stable
    assert not summarise(make_series([[100, 101, 100, 99]])).stable


def test_processes_without_samples_are_left_out() -> None:
    assert summarise(make_series([*quiet(2), []])).processes == 2


def test_a_series_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        summarise(make_series([[]]))


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        summarise(make_series([[1.0, math.nan]]))


def test_values_about_zero_have_no_relative_width() -> None:
    summary = summarise(make_series([[-1.0, 0.0, 1.0] * 7], unit="ns"))
    assert summary.half_width == math.inf
    assert not summary.stable
    assert summarise(make_series([[0.0] * 21])).stable


def test_flags_are_counted_by_batch() -> None:
    evidence = [{"flags": ["clock", "clock", "preempted"]}] + [{"flags": ["clock"]}] + [{}] * 61
    assert summarise(make_series(quiet(), evidence)).flagged == {"clock": 2, "preempted": 1}


def test_a_summary_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        summarise(make_series(quiet())).n = 4  # type: ignore[misc]


# -- what makes it unstable ------------------------------------------------------------------------


def test_a_wide_interval_is_unstable_even_without_a_cause() -> None:
    summary = summarise(make_series(wide()))
    assert summary.half_width > 0.05
    assert (summary.stable, summary.causes, summary.notes) == (False, (NO_CAUSE,), ())


def test_two_modes_are_named_with_their_shares() -> None:
    blocks = [[v * (1.3 if i % 3 == 0 else 1.0) for i, v in enumerate(b)] for b in quiet()]
    summary = summarise(make_series(blocks))
    assert summary.modes is not None
    assert [m.share for m in summary.modes] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    (cause,) = summary.causes
    assert cause == "two modes: 1 GB/s (67 % of the batches) and 1.298 GB/s (33 %)"


def test_modes_that_are_processes_are_said_to_be() -> None:
    first, second, third = quiet()
    causes = summarise(make_series([first, [1.2 * v for v in second], third])).causes
    assert len(causes) == 2
    assert causes[0].endswith(", each process staying in one")
    assert causes[1].startswith("processes differ by ")
    assert causes[1].endswith("from 997.7 MB/s to 1.199 GB/s")


def test_processes_that_differ_clearly_are_unstable() -> None:
    first, second, third = quiet()
    summary = summarise(make_series([first, [1.03 * v for v in second], [1.06 * v for v in third]]))
    assert summary.modes is None
    assert summary.half_width < 0.05
    (cause,) = summary.causes
    assert cause.startswith("processes differ by 6")


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (5e8, "from 500 M/s to 550 M/s"),
        (600, "from 600 /s to 660 /s"),
        (0.5, "from 0.5 1/s to 0.55 1/s"),
    ],
)
def test_rates_of_any_size_can_be_said(rate: float, said: str) -> None:
    blocks = [[rate] * 21, [1.1 * rate] * 21]
    causes = summarise(make_series(blocks, unit="1/s")).causes
    assert any(cause.endswith(said) for cause in causes), causes


def test_processes_that_differ_by_batch_noise_are_not_blamed() -> None:
    g = np.random.default_rng(3)
    blocks = [list(100 * np.exp(g.normal(0, 0.15, 7))) for _ in range(9)]
    summary = summarise(make_series(blocks))
    assert summary.process_spread is not None
    assert summary.process_spread > 0.05
    assert not any("processes" in cause for cause in summary.causes)


@pytest.mark.parametrize("batches", [1, 3])
def test_a_few_batches_cannot_show_that_processes_differ(batches: int) -> None:
    blocks = [
        [level + i * 0.01 for i in range(batches)] for level in (100, 103, 106, 104, 101, 102)
    ]
    assert not any("processes" in cause for cause in summarise(make_series(blocks)).causes)


def test_free_placement_is_unstable_whatever_the_figures() -> None:
    summary = summarise(make_series(quiet(), place="free"))
    assert summary.half_width < 0.05
    assert summary.causes == ("placement is free, so the scheduler decides",)


def test_free_placement_says_how_many_batches_ran_where() -> None:
    shares = [1.0] * 40 + [0.0] * 20 + [0.5] * 3
    evidence = [{"detail": {"same_cpu": share}} for share in shares]
    (cause,) = summarise(make_series(quiet(), evidence, place="free")).causes
    assert cause == (
        "placement is free, so the scheduler decides: 40 of 63 batches ran on one CPU, 20 on two, "
        "3 on both in turn"
    )
    unknown: list[dict[str, Any]] = [{"detail": {"same_cpu": {"na": "no schedstat"}}}] * 62
    (cause,) = summarise(
        make_series(quiet(), [*unknown, {"detail": {"same_cpu": 1}}], place="free")
    ).causes
    assert cause.endswith("decides: 1 of 1 batches ran on one CPU, 0 on two")


# -- causes and notes ------------------------------------------------------------------------------

NOISE: dict[str, tuple[list[dict[str, Any]], str]] = {
    "preempted": (
        [{"flags": ["preempted"], "wait_ns": 2e5, "elapsed_ns": 5e6}] * 21 + [{"flags": []}] * 42,
        "other work took the CPU in 21 of 63 batches",
    ),
    "stolen": (
        [{"steal_ticks": 1, "window_ns": 1e8, "ticks_per_second": 100}] * 63,
        "the hypervisor stole 0.10 CPU on average",
    ),
    "neighbours": (
        [{"other_busy_ticks": 9, "window_ns": 1e8, "ticks_per_second": 100}] * 63,
        "other CPUs were busy: 0.9 CPU on average",
    ),
    "clock": (
        [{"clock_before_hz": 1.8e9, "clock_after_hz": 1.4e9}] * 10
        + [{"clock_before_hz": 1.8e9, "clock_after_hz": 1.8e9}] * 53,
        "the CPU clock ranged from 1.4 GHz to 1.8 GHz",
    ),
    "migrations": (
        [{"migrations": 1}] * 6 + [{"migrations": 0}] * 57,
        "moved to another CPU in 6 of 63 batches",
    ),
    "faults": (
        [{"minor_faults": 900, "major_faults": 0}] * 6 + [{"minor_faults": 0}] * 57,
        "page faults disturbed 6 of 63 batches",
    ),
    "major faults": (
        [{"minor_faults": 900, "major_faults": 1}] * 6 + [{"minor_faults": 900}] * 57,
        "page faults disturbed 6 of 63 batches",
    ),
    "hot": ([{"temperature_mc": 84_000}] * 63, "the board was hot: up to 84 degrees C"),
    "warming": (
        [{"temperature_mc": 1000 * (40 + i // 3)} for i in range(63)],
        "the temperature ranged from 40 to 60 degrees C",
    ),
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_is_a_cause_when_unstable_and_a_note_when_not(kind: str) -> None:
    evidence, phrase = NOISE[kind]
    unstable = summarise(make_series(wide(), evidence))
    assert [cause.startswith(phrase) for cause in unstable.causes] == [True]
    assert unstable.notes == ()
    stable = summarise(make_series(quiet(), evidence))
    assert [note.startswith(phrase) for note in stable.notes] == [True]
    assert stable.causes == ()


def test_noise_is_a_note_when_only_a_rule_makes_it_unstable() -> None:
    summary = summarise(make_series(quiet(), NOISE["hot"][0], place="free"))
    assert len(summary.causes) == 1
    assert summary.notes == (NOISE["hot"][1],)


QUIET_EVIDENCE: dict[str, dict[str, Any] | list[dict[str, Any]]] = {
    "nothing available": {
        name: {"na": "not here"}
        for name in (
            "clock_before_hz",
            "clock_after_hz",
            "migrations",
            "minor_faults",
            "major_faults",
            "wait_ns",
            "window_ns",
            "steal_ticks",
            "other_busy_ticks",
            "ticks_per_second",
            "temperature_mc",
            "detail",
            "counters",
        )
    },
    "not of the protocol": {
        "migrations": "many",
        "minor_faults": None,
        "detail": 3,
        "steal_ticks": [1],
        "temperature_mc": True,
        "clock_before_hz": -1.0,
    },
    "below the thresholds": {
        "flags": [],
        "clock_before_hz": 1.8e9,
        "clock_after_hz": 1.79e9,
        "migrations": 0,
        "minor_faults": 2,
        "major_faults": 0,
        "wait_ns": 1000,
        "elapsed_ns": 5e6,
        "window_ns": 1e8,
        "steal_ticks": 0,
        "other_busy_ticks": 1,
        "ticks_per_second": 100,
        "temperature_mc": 55_000,
    },
    "faults are the work itself": {"minor_faults": 5000, "major_faults": 0},
    "switches are the work itself": {"involuntary_switches": 900, "wait_ns": 4e6, "flags": []},
    "one reading, one batch": [
        {"clock_before_hz": 9e8, "migrations": 1, "flags": ["preempted"], "major_faults": 1},
        *[{"clock_before_hz": 1.8e9, "migrations": 0, "flags": [], "major_faults": 0}] * 62,
    ],
}


@pytest.mark.parametrize("kind", QUIET_EVIDENCE)
def test_evidence_that_shows_nothing_is_not_blamed(kind: str) -> None:
    assert summarise(make_series(wide(), QUIET_EVIDENCE[kind])).causes == (NO_CAUSE,)


def test_the_effect_of_disturbed_batches_is_told() -> None:
    evidence, _ = NOISE["preempted"]
    blocks = quiet()
    blocks[0] = [0.96 * v for v in blocks[0]]
    notes = summarise(make_series(blocks, evidence)).notes
    assert notes == (
        "other work took the CPU in 21 of 63 batches (their median is 4.2 % lower than that of "
        "the others), for 4.0 % of their time",
    )


def test_drift_within_processes_is_told_with_its_size() -> None:
    blocks = [[v * (1 - 0.0015 * i) for i, v in enumerate(block)] for block in quiet()]
    (note,) = summarise(make_series(blocks)).notes
    assert note.startswith("values drift by -3")
    assert note.endswith(" % while a process runs")


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [("B/s", 2e6, "2 MB/s"), ("Hz", 1.8e9, "1.8 GHz"), ("ns", 4100.0, "4.1 us"), ("ns", 7, "7 ns")],
)
def test_quantities_are_readable(unit: str, value: float, text: str) -> None:
    causes = summarise(make_series([[value] * 30 + [3 * value] * 30], unit=unit)).causes
    assert causes[0].startswith(f"two modes: {text} (50 % of the batches)")


# -- what only benchmarks with another end have ----------------------------------------------------


def test_requests_that_failed_leave_no_headline() -> None:
    items: list[Mapping[str, Any]] = [{"flags": []}] * 63
    items[5] = {"flags": ["errors"], "detail": {"errors": 3}}
    items[40] = {"flags": ["errors"], "detail": {"errors": 4}}
    summary = summarise(make_series(quiet(), items))
    assert not summary.stable
    assert summary.causes == ("7 requests failed, in 2 of 63 batches",)


def test_a_load_generator_at_its_limit_is_noted() -> None:
    (note,) = summarise(make_series(quiet(), {"flags": ["generator"]})).notes
    assert note == "the load generator was at its own limit in 63 of 63 batches"
    items: list[Mapping[str, Any]] = [{"flags": []}] * 63
    items[7] = {"flags": ["generator"]}
    assert summarise(make_series(quiet(), items)).notes == ()
