"""The rare late times of stored runs beside each other, as `signal response` compares them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from latency_runs import index_of, wakeups
from report_runs import demonstration_run, series, spec

from benchvise.cli.main import run
from benchvise.measure.compare import compare_runs
from benchvise.measure.kept_times import kept_times
from benchvise.measure.model import RunRecord, SeriesRecord
from benchvise.report.data import report_data
from benchvise.report.html import Assets, render_page
from benchvise.tails import MOST_TIMES, CountedTimes, fisher_exact, tail_differences

ASSETS = Assets(script="/* script */", style="/* style */")


def measured(label: str, *parts: SeriesRecord) -> RunRecord:
    return demonstration_run(id=label * 3, label=label, series=parts)


def late(part: SeriesRecord, shots: int) -> SeriesRecord:
    """The same with so many latencies of the first batch 30 ms late, as the probe would say it."""
    process, *others = part.processes
    first, *rest = process.samples
    detail = first.evidence["detail"]
    assert isinstance(detail, dict)
    histogram: dict[str, Any] = detail["histogram"]
    buckets = [*histogram["buckets"], index_of(30_000_000), shots]
    told = {
        **histogram,
        "buckets": buckets,
        "count": histogram["count"] + shots,
        "max": 30_000_000,
    }
    sample = replace(first, evidence={**first.evidence, "detail": {"histogram": told}})
    changed = replace(process, samples=(sample, *rest))
    return replace(part, processes=(changed, *others))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kept configurations of 1000 response times: equal but for twelve late ones."""
    place = tmp_path_factory.mktemp("tails")
    random = np.random.default_rng(3)
    for name, shots in (("masked", 0), ("busy", 12)):
        seconds = random.uniform(7e-6, 9e-6, 1000)
        seconds[:shots] = 15e-6
        text = "".join(f"{shot}\t{value:.9e}\n" for shot, value in enumerate(seconds))
        (place / f"{name}.out").write_text(text)
    files = [str(place / "masked.out"), str(place / "busy.out")]
    kept = str(place / "runs.db")
    assert run(["signal", "response", *files, "--save", "A", "--store", kept]) == 0
    return place


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(list(words)) == 0
    return capsys.readouterr().out


def test_stored_response_times_have_the_tails_of_the_command(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--store", str(store / "runs.db"))
    files = (str(store / "masked.out"), str(store / "busy.out"))
    told = json.loads(printed(capsys, "signal", "response", *files, "--json"))["data"]
    compared = json.loads(printed(capsys, "compare", "A masked", "A busy", *kept, "--json"))["data"]
    (change,) = compared["changes"]
    of_command = told["configurations"][1]["tails"]
    assert len(change["tails"]) == len(of_command) == 2
    for mine, other in zip(change["tails"], of_command, strict=True):
        assert mine.pop("threshold") == pytest.approx(other.pop("threshold"), rel=1e-12)
        assert mine == other
    assert change["tails"] == of_command
    assert change["verdict"] == "no difference shown"  # medians know nothing of twelve late ones

    short = " ".join(printed(capsys, "compare", "A masked", "A busy", *kept).split())
    assert "Tails of A busy, beside A masked" in short
    assert "12 of 1000 none of 1000" in short
    assert "times the 2 tests made" in short
    assert "not listed 1 that are not shown to differ" in short
    whole = " ".join(printed(capsys, "compare", "A masked", "A busy", "--all", *kept).split())
    assert "99 % quantile of both" in whole


def test_equal_tails_take_one_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = ("--store", str(store / "runs.db"))
    shown = " ".join(printed(capsys, "compare", "A masked", "A masked", *kept).split())
    assert "no difference of rare late times is shown; --all lists them" in shown
    assert "Beyond" not in shown


def test_latencies_of_histograms_are_compared_by_bucket() -> None:
    part = wakeups(seed=1)
    base, other = measured("a", part), measured("b", late(part, 40))
    (comparison,) = compare_runs(base, other).comparisons
    by_maximum, by_quantile = comparison.tails
    assert by_maximum.reference_count == 3 * 21 * 200
    assert (by_maximum.beyond, by_maximum.reference_beyond) == (40, 0)
    assert by_maximum.significant
    assert by_quantile.beyond - by_quantile.reference_beyond == 40
    (same,) = compare_runs(base, base).comparisons
    assert all(tail.p == 1.0 for tail in same.tails)


def test_p_counts_the_tests_of_all_series() -> None:
    parts = [wakeups(load="none"), wakeups(load="cpu"), series(spec("os.syscall"), 100)]
    compared = compare_runs(measured("a", *parts), measured("b", *parts))
    assert {tail.tests for _, tail in compared.tails} == {4}
    assert len(compared.tails) == 4


def test_batches_are_no_single_times() -> None:
    assert kept_times(series(spec("os.syscall"), 100)) is None
    run = measured("a", series(spec("os.syscall"), 100))
    assert compare_runs(run, run).tails == []
    assert "Tails" not in render_page(report_data([run, replace(run, id="b" * 12)]), ASSETS)


def test_the_page_has_the_table_of_each_comparison() -> None:
    part = wakeups(seed=1)
    runs = [measured("a", part), measured("b", late(part, 40)), measured("c", part)]
    page = render_page(report_data(runs), ASSETS)
    assert "Tails of b, beside a" in page
    assert "Tails of c, beside a" in page
    assert "40 of 12640" in page


def test_absurd_counts_are_not_counted_through() -> None:
    """A stored histogram may say anything: counting its tables must end."""
    few, many = CountedTimes.of(map(float, range(1, 200))), 10**10
    huge = CountedTimes([1.0, 2.0], [many - many // 200, many // 200])
    assert tail_differences(huge, huge)[1].p == 1.0
    assert tail_differences(huge, few)
    over = CountedTimes([1.0], [MOST_TIMES + 1])
    assert tail_differences(over, few) == ()


def test_fishers_p_of_large_tables_is_that_of_the_normal_distribution() -> None:
    # 50,300 and 49,700 of ten million each: z = 1.9021 without, 1.8989 with continuity correction.
    assert fisher_exact(50_300, 10**7, 49_700, 10**7) == pytest.approx(0.0576, rel=0.01)
