"""Further figures as series of their own, and what an iteration costs by the counters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from report_runs import series, spec

from benchvise.measure.compare import SeriesVerdict, compare_runs
from benchvise.measure.metrics import (
    compare_counters,
    counters_per_iteration,
    figure_series,
    figures_of,
    missing_counters,
    pooled_figures,
)
from benchvise.measure.model import RunRecord, RunRemark, RunStatus, Sample, SeriesRecord
from benchvise.text import NO_TEXT

P99 = {"key": "p99", "unit": "ns", "better": "lower", "pool": "median", "summary": "99th"}
WORST = {"key": "max", "unit": "ns", "better": "lower", "pool": "max", "summary": "the worst"}
MSS = {"key": "mss", "unit": "B", "better": "", "pool": "min", "summary": "segment size"}


def with_evidence(
    record: SeriesRecord, evidence: Any, figures: object = (P99, WORST, MSS)
) -> SeriesRecord:
    """The series with ``evidence(process, index, value)`` added to each batch."""
    return replace(
        record,
        processes=tuple(
            replace(
                process,
                begin={**process.begin, "figures": figures},
                samples=tuple(
                    Sample(
                        s.index,
                        s.value,
                        {**s.evidence, **evidence(process.index, s.index, s.value)},
                    )
                    for s in process.samples
                ),
            )
            for process in record.processes
        ),
    )


def wakeup(factor: float = 1.0, seed: int = 1) -> SeriesRecord:
    record = series(spec("timer.wakeup"), 50_000, seed=seed)
    return with_evidence(
        record,
        lambda _process, index, value: {
            "detail": {"p99": value * 2 * factor, "max": 1000.0 * index, "mss": 1448}
        },
    )


def run_of(*measured: SeriesRecord, identity: str = "a") -> RunRecord:
    return RunRecord(
        id=identity,
        label=identity,
        board="local",
        suite="",
        status=RunStatus.COMPLETE,
        reason=NO_TEXT,
        started="2026-01-02T03:04:05+00:00",
        finished=None,
        seed=1,
        host={},
        tool_version="0",
        simulated=False,
        series=measured,
    )


def test_figures_are_pooled_as_the_probe_says() -> None:
    pooled = {p.figure.key: p for p in pooled_figures(wakeup())}
    assert pooled["max"].value == 20_000
    assert pooled["mss"].value == 1448
    assert 90_000 < pooled["p99"].value < 110_000
    assert pooled["p99"].n == 63


@pytest.mark.parametrize(
    "garbage",
    [
        "text",
        7,
        [1, None, {"key": "x"}],
        [{**P99, "pool": "mean"}],
        {"key": 1},
        [{**P99, "better": 1}],
    ],
)
def test_what_is_no_figure_is_left_out(garbage: object) -> None:
    record = with_evidence(wakeup(), lambda *_: {}, garbage)
    assert figures_of(record) == ()
    assert pooled_figures(record) == ()


def test_a_batch_without_the_number_is_left_out() -> None:
    values = [1.0, "text", None, True, math.nan, math.inf, {"na": "no wakeup"}, 3.0]
    record = with_evidence(
        series(spec("timer.wakeup"), 1, batches=len(values), processes=1),
        lambda _process, index, _value: {"detail": {"p99": values[index]}},
    )
    (pooled,) = pooled_figures(record)
    assert (pooled.n, pooled.minimum, pooled.maximum, pooled.value) == (2, 1.0, 3.0, 2.0)


def test_figures_with_a_direction_become_series() -> None:
    keys = [s.spec.key for s in figure_series(wakeup())]
    assert keys == ["timer.wakeup [p99]", "timer.wakeup [max]"]
    assert len({s.spec.canonical for s in figure_series(wakeup())}) == 2


def test_a_changed_figure_is_seen_when_asked_for() -> None:
    a, b = run_of(wakeup()), run_of(wakeup(2.0, seed=2), identity="b")
    assert {c.spec.key for c in compare_runs(a, b).comparisons} == {"timer.wakeup"}
    found = {c.spec.key: c.verdict for c in compare_runs(a, b, figures=True).comparisons}
    assert found["timer.wakeup"] is SeriesVerdict.NO_DIFFERENCE
    assert found["timer.wakeup [p99]"] is SeriesVerdict.SLOWER


def counted(misses: float, cycles: float) -> SeriesRecord:
    """Two passes in turn: cycles and instructions in every batch, misses in every other one."""

    def evidence(_process: int, index: int, _value: float) -> dict[str, Any]:
        counters: dict[str, Any] = {
            "cycles": cycles * 1000,
            "instructions": 2000.0,
            "page_faults": {"na": "not permitted"},
        }
        if index % 2:
            counters["cache_misses"] = misses * 1000
        return {"iterations": 1000, "counters": counters}

    return with_evidence(series(spec("memory.copy"), 1e9), evidence)


def test_counters_are_those_of_one_iteration_over_the_passes() -> None:
    assert counters_per_iteration(counted(17.2, 4.0)) == {
        "cycles": 4.0,
        "instructions": 2.0,
        "cache_misses": 17.2,
        "cycles_per_instruction": 2.0,
    }
    assert missing_counters(counted(1, 1)) == {"not permitted": ("page_faults",)}


def test_the_percent_change_of_each_counter() -> None:
    """The table of the memcpy story: fewer cache misses, half the cycles."""
    table = compare_counters(counted(17.2, 17.54), counted(0.77, 8.63))
    change = {c.name: c.ratio for c in table.changes}
    assert change["cycles"] == pytest.approx(0.492, abs=0.001)
    assert change["cache_misses"] == pytest.approx(0.0448, abs=0.001)
    assert change["instructions"] == 1.0
    assert change["cycles_per_instruction"] == pytest.approx(0.492, abs=0.001)


def test_a_counter_of_one_side_only_has_no_ratio() -> None:
    table = compare_counters(counted(1, 1), series(spec("memory.copy"), 1e9))
    assert {c.ratio for c in table.changes} == {None}


def test_counters_that_are_garbage_are_not_counted() -> None:
    record = with_evidence(
        series(spec("memory.copy"), 1e9),
        lambda *_: {"iterations": "many", "counters": ["cycles"]},
    )
    assert counters_per_iteration(record) == {}


def test_a_remark_touches_its_families_or_all() -> None:
    assert RunRemark("swap", "").touches("memory.copy")
    assert RunRemark("throttled", "", ("cpu", "memory")).touches("memory.copy")
    assert not RunRemark("throttled", "", ("cpu",)).touches("cpuset.x")
