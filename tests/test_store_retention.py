"""Old runs thinned by a policy: what stays, what is protected, and what is told."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from in_process import benchvise
from store_places import OTHER, PLANNED, SPEC, Place, begin

from benchvise.errors import UsageError
from benchvise.flows.retention import thin
from benchvise.measure.model import RunStatus, Sample, SeriesStatus
from benchvise.measure.validity import summarise
from benchvise.report.data import summary_or_reason
from benchvise.report.tables import run_rows
from benchvise.store import Store
from benchvise.store.retention import BASELINE, THINNED, RetentionPolicy

pytest_plugins = ["store_fixtures"]

DAY = timedelta(days=1)
EVIDENCE = {"elapsed_ns": 5, "load": 1.5, "flags": ["preempted"], "detail": {"p99": 7.0}}


def measured(store: Store, label: str = "base", values: int = 12) -> str:
    """A run with samples of both of its series, the second in two processes."""
    run = begin(store, label)
    for position, index in ((0, 0), (1, 0), (1, 1)):
        process = store.begin_process(run, position, index, {"benchmark": "x"})
        samples = [Sample(n, 100.0 + n + position, EVIDENCE) for n in range(values)]
        store.add_samples(process, samples)
        store.end_process(process, True)
        store.end_series(run, position, SeriesStatus.MEASURED)
    store.annotate(run, "a note")
    store.end_run(run, RunStatus.COMPLETE)
    return run


def at(days: float) -> datetime:
    """So many days after the runs of these tests, which begin now."""
    return datetime.now(UTC) + days * DAY


def policy(
    evidence: float | None = None, samples: float | None = None, keep: int = 0
) -> RetentionPolicy:
    ages = [None if age is None else age * DAY for age in (evidence, samples)]
    return RetentionPolicy(ages[0], ages[1], keep)


def test_nothing_changes_before_it_is_applied(store: Store) -> None:
    run = measured(store)
    before = store.load(run)
    said = thin(store, policy(samples=30), apply=False, now=at(31))
    assert [(due.id, due.step) for due in said.runs] == [(run, "samples")]
    assert (said.applied, said.samples) == (False, 0)
    assert store.load(run) == before
    assert thin(store, policy(samples=30), apply=True, now=at(29)).runs == ()


def test_without_evidence_every_value_and_verdict_stays(store: Store) -> None:
    run = measured(store)
    before = [summarise(series) for series in store.load(run).series]
    said = thin(store, policy(evidence=30), apply=True, now=at(31))
    assert said.samples == 36
    series = store.load(run).series
    after = [summarise(one) for one in series]
    for old, new in zip(before, after, strict=True):
        same = ("n", "median", "low", "high", "flagged", "stable", "processes", "p95")
        assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    kept = {"flags": ["preempted"], "detail": {"p99": 7.0}}
    assert all(s.evidence == kept for one in series for p in one.processes for s in p.samples)
    assert "without the evidence of its samples; before, it was" in str(series[0].reason)
    # It is done once.
    assert thin(store, policy(evidence=30), apply=True, now=at(31)).runs == ()


def test_samples_that_are_rows_are_thinned_too(store: Store) -> None:
    """As a process that was killed has left them."""
    run = begin(store, "killed", PLANNED[:1])
    process = store.begin_process(run, 0, 0, {})
    for n in range(3):
        store.add_sample(process, Sample(n, float(n), EVIDENCE))
    store.end_run(run, RunStatus.INTERRUPTED)
    assert thin(store, policy(evidence=30), apply=True, now=at(31)).samples == 3
    [left] = store.load(run).series[0].processes
    kept = {"flags": ["preempted"], "detail": {"p99": 7.0}}
    assert left.samples == tuple(Sample(n, float(n), kept) for n in range(3))
    assert thin(store, policy(10, 30), apply=True, now=at(31)).samples == 3
    assert (store.info(run).samples, store.series().series) == (0, [])


def test_without_samples_medians_and_intervals_are_told(store: Store, place: Place) -> None:
    other = measured(store, "stays")
    store.tag(other, ["release"])
    run = measured(store)
    [first, second] = [summarise(series) for series in store.load(run).series]
    both = {SPEC.key: 2, OTHER.key: 2}
    assert {info.key: info.runs for info in store.series().series} == both
    assert thin(store, policy(10, 30), apply=True, now=at(31)).samples == 36
    assert {info.key: info.runs for info in store.series().series} == dict.fromkeys(both, 1)
    assert sum(info.samples for info in store.runs()) == 36
    assert place.query("SELECT count(*) FROM evidence") == [(3,)]
    assert place.query("SELECT count(*) FROM process") == [(3,)]

    loaded = store.load(run)
    assert (loaded.note.raw, loaded.status) == ("a note", RunStatus.COMPLETE)
    summary, reason = summary_or_reason(loaded.series[1])
    assert summary is None
    assert f"median {second.median:.4g} ns, 98 % interval" in str(reason).replace("%", " %")
    assert "of 24 samples" in str(reason)
    table = run_rows(loaded, [])
    assert [row[1].text for row in table.rows] == ["samples removed"] * 2
    assert str(reason) in " ".join(map(str, table.remarks))
    record = json.loads(store.attachment(run, THINNED) or b"")
    assert record["step"] == "samples"
    told = record["series"][0]
    assert (told["median"], told["low"], told["high"]) == (first.median, first.low, first.high)
    assert thin(store, policy(10, 30), apply=True, now=at(31)).runs == ()

    store.untag(other, ["release"])
    thin(store, policy(10, 30), apply=True, now=at(31))
    assert store.series().series == []
    assert place.query("SELECT count(*) FROM series_count") == [(0,)]


def test_the_second_step_tells_what_was_known_before_the_first(store: Store) -> None:
    run = measured(store, values=3)
    [old, _] = [summarise(series) for series in store.load(run).series]
    thin(store, policy(10, 30), apply=True, now=at(11))
    thin(store, policy(10, 30), apply=True, now=at(31))
    record = json.loads(store.attachment(run, THINNED) or b"")
    assert record["series"][0]["causes"] == list(old.causes)
    assert old.causes[0] in str(store.load(run).series[0].reason)
    assert "without the evidence" not in str(store.load(run).series[0].reason)


def test_what_is_referred_to_stays_whole(store: Store) -> None:
    kinds = {
        "tagged": measured(store),
        "named by a diagnosis": measured(store),
        "among the newest 1 of its board and suite": "",
    }
    night = measured(store, "job 2026-01-01")
    newer = measured(store, "job 2026-01-02")
    for run in (night, newer):
        store.tag(run, ["nightly-good"])
    store.protect_baseline(kinds["tagged"])
    assert BASELINE in store.tags()
    store.keep_diagnosis(
        {
            **dict.fromkeys(("good", "bad", "verdict", "headline"), "x"),
            "metric": {"name": "memory.copy"},
            "simulated": False,
            "evidence": [f"as in run {kinds['named by a diagnosis']}"],
        }
    )
    running = begin(store, "is measured")
    measured(store)
    said = thin(store, policy(samples=30, keep=1), apply=True, now=at(31))
    assert [due.id for due in said.runs] == [night]
    assert dict(said.kept) == {
        **dict.fromkeys(kinds, 1),
        "still measured": 1,
        "the newest good night, with which the next one is compared": 1,
    }
    assert store.load(running).series[0].reason == ""


def test_values_that_are_no_numbers_have_no_median(store: Store) -> None:
    run = begin(store, "odd", PLANNED[:1])
    process = store.begin_process(run, 0, 0, {})
    store.add_samples(process, [Sample(0, math.nan, EVIDENCE)])
    store.end_run(run, RunStatus.COMPLETE)
    assert thin(store, policy(samples=30), apply=True, now=at(31)).samples == 1
    assert json.loads(store.attachment(run, THINNED) or b"")["series"] == []


@pytest.mark.parametrize(("evidence", "samples"), [(None, None), (30, 10)])
def test_a_policy_that_means_nothing_is_refused(
    evidence: float | None, samples: float | None
) -> None:
    with pytest.raises(UsageError):
        policy(evidence, samples)


def test_the_command_shows_first_and_then_thins(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    with Store.open(str(file)) as store:
        run = measured(store, "old")
    words = ("store", "thin", "--samples-after", "0s", "--keep", "0", "--store", str(file))
    shown = benchvise(*words, cwd=tmp_path)
    assert shown.code == 0
    assert "1 run would be thinned" in shown.out
    assert run in shown.out
    assert "Nothing was changed: add --apply." in shown.out
    assert "36 samples thinned." in benchvise(*words, "--apply", cwd=tmp_path).out
    told = benchvise("show", run, "--store", str(file), cwd=tmp_path)
    assert (told.code, "the samples were removed on" in " ".join(told.out.split())) == (0, True)
    again = benchvise(*words, cwd=tmp_path)
    assert "No run is due for thinning." in again.out
    assert benchvise("store", "thin", cwd=tmp_path).code == 2
    assert "is no age" in benchvise("store", "thin", "--samples-after", "x", cwd=tmp_path).err
