"""How many runs measured a series is kept while they are written, as if they were counted."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_places import BEFORE_PACKING, OTHER, SPEC, Place

from benchvise.measure.model import RunStatus, Sample, SeriesSpec
from benchvise.store import PlannedSeries, RunFilter, Store, history
from benchvise.store.database import VERSION_TABLE
from benchvise.text import printable

pytest_plugins = ["store_fixtures"]

COUNTED = (
    "SELECT series.key, run.board, count(DISTINCT run.number) FROM series"
    " JOIN run ON run.number = series.run_number JOIN process ON process.series_id = series.id"
    " WHERE packed_samples > 0 OR EXISTS (SELECT 1 FROM sample WHERE process_id = process.id)"
    " GROUP BY series.key, run.board"
)
KEPT = "SELECT key, board, runs FROM series_count"

NAMES = st.sampled_from(["pi", "Pi", "pi ", "'; DROP TABLE run; --", "a\0b", "a\ufffdb", "\udcff"])
RUNS = st.lists(
    st.tuples(
        NAMES | st.text(max_size=20),
        st.lists(st.tuples(NAMES, st.lists(st.integers(0, 2), max_size=2)), max_size=4),
        st.booleans(),
    ),
    max_size=3,
)
"""Board; of each series, its key and how many samples its processes have; whether it is imported
too, from a store that measured it."""


def measure(
    store: Store, board: str, series: Sequence[tuple[str, Sequence[int]]], label: str = ""
) -> str:
    planned: list[PlannedSeries] = [
        (SeriesSpec("memory.copy", (), f"memory.copy:{key}"), "ns", "lower", "")
        for key, _ in series
    ]
    run = store.begin_run(label, board, "quick", 1, {}, {}, False, planned)
    for position, (_, processes) in enumerate(series):
        for index, samples in enumerate(processes):
            process = store.begin_process(run, position, index, {})
            for number in range(samples):
                store.add_sample(process, Sample(number, 1.0))
            if index % 2:
                store.end_process(process, True)
    return run


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(runs=RUNS)
def test_what_is_kept_is_what_counting_gives(store: Store, place: Place, runs: object) -> None:
    with Store.open(f"{place.url}-elsewhere" if place.is_file else place.url) as elsewhere:
        for board, series, is_imported in runs:  # type: ignore[attr-defined]
            measure(store, board, series)
            if is_imported and place.is_file:
                run = measure(elsewhere, board, series)
                elsewhere.end_run(run, RunStatus.COMPLETE)
                assert store.take_in([elsewhere.travelling(run)]) == [run]
                assert store.take_in([elsewhere.travelling(run)]) == []
    assert sorted(place.query(KEPT)) == sorted(place.query(COUNTED))


def test_writers_at_the_same_time_lose_no_count(place: Place) -> None:
    Store.open(place.url).close()

    def write(_number: int) -> None:
        with Store.open(place.url) as store:
            for _ in range(4):
                measure(store, "pi", [("a", [1, 1]), ("b", [1])])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    kept = place.query(KEPT)
    assert sorted(kept) == [("memory.copy:a", "pi", 16), ("memory.copy:b", "pi", 16)]
    assert sorted(place.query(COUNTED)) == sorted(kept)


def test_a_sample_that_was_refused_is_not_counted(store: Store, place: Place) -> None:
    run = store.begin_run("", "pi", "quick", 1, {}, {}, False, [(SPEC, "ns", "lower", "")])
    process = store.begin_process(run, 0, 0, {})
    with pytest.raises(Exception, match=r"out of range|too large"):
        store.add_sample(process, Sample(2**70, 1.0))
    assert place.query(KEPT) == []
    store.add_sample(process, Sample(3, 1.0))
    assert place.query(KEPT) == [(SPEC.key, "pi", 1)]


def test_a_store_of_the_revision_before_is_counted_when_it_is_opened(place: Place) -> None:
    long = secrets.token_hex(5000)  # longer than what an index of PostgreSQL can hold
    with Store.open(place.url) as store:
        for board in ("pi", "pi", "b\udcffoard"):
            measure(store, board, [("a", [2]), (long, [1]), ("a", [1]), ("never", [0])])
        assert len(store.history(f"memory.copy:{long}")[0]) == 3
    kept = sorted(place.query(KEPT))
    assert len(kept) == 4
    for statement in (
        *BEFORE_PACKING,
        "DROP TABLE series_count",
        "DROP INDEX ix_series_key_hash_run_number",
        "DROP INDEX ix_run_suite",
        "DROP INDEX ix_run_noted",
        "ALTER TABLE series DROP COLUMN key_hash",
        f"UPDATE {VERSION_TABLE} SET version_num = '0007'",  # noqa: S608
    ):
        place.query(statement)
    with Store.open(place.url) as store:
        assert sorted(place.query(KEPT)) == kept == sorted(place.query(COUNTED))
        assert [past.run.board for past in store.history(f"memory.copy:{long}")[0]] == [
            *("pi", "pi", "b\ufffdoard")
        ]
        measure(store, "pi", [("a", [1])])
    assert ("memory.copy:a", "pi", 3) in place.query(KEPT)


def test_series_are_listed_by_board_and_by_what_else_runs_have(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, board in enumerate(("pi", "pi", "fox \x1b[31m")):
        run = measure(store, board, [("a", [1]), *([("b", [1])] if number else [])])
        store.tag(run, ["nightly"])
    listed = store.series()
    assert [(one.key, one.benchmark, one.runs) for one in listed.series] == [
        ("memory.copy:a", "memory.copy", 3),
        ("memory.copy:b", "memory.copy", 2),
    ]
    assert not listed.older_left_out
    assert store.boards_of("memory.copy:b") == {"fox \x1b[31m": 1, "pi": 1}
    shown = RunFilter(board=printable("fox \x1b[31m"))
    assert [one.runs for one in store.series(shown).series] == [1, 1]
    assert store.series(RunFilter(board="fo")).series == []
    tagged = store.series(RunFilter(tag="nightly"))
    assert tagged == listed
    monkeypatch.setattr(history, "LISTED_RUNS", 2)
    tagged = store.series(RunFilter(tag="nightly"))
    assert tagged.older_left_out
    assert [one.runs for one in tagged.series] == [2, 2]


def test_a_history_counts_no_more_runs_than_it_says(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        measure(store, "pi", [("a", [1]), ("a", [1])])
    monkeypatch.setattr(history, "MOST_COUNTED", 2)
    past, total = store.history("memory.copy:a", limit=2)
    assert (len(past), total) == (4, 3)  # two series a run, and more than two runs
    assert len({p.run.id for p in past}) == 2
    monkeypatch.setattr(history, "MOST_COUNTED", 50)
    assert store.history("memory.copy:a", limit=2)[1] == 4
    assert store.history("memory.copy:a", limit=9)[1] == 4


def test_two_keys_of_one_hash_are_two_series(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.store.tables.hash_of", lambda _key: 7)
    planned: list[PlannedSeries] = [(spec, "ns", "lower", "") for spec in (SPEC, OTHER)]
    run = store.begin_run("", "pi", "quick", 1, {}, {}, False, planned)
    for position in (0, 1):
        store.add_sample(store.begin_process(run, position, 0, {}), Sample(0, float(position)))
    for position, spec in enumerate((SPEC, OTHER)):
        ((past,), _) = store.history(spec.key)
        assert past.series.values == ((float(position),),)
        assert len(store.series_of(run, spec.key)) == 1
