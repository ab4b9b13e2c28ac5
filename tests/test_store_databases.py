"""The store against real databases: an SQLite file and a PostgreSQL server, by the same tests."""

from __future__ import annotations

import contextlib
import math
import secrets
import sqlite3
import struct
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from store_contents import shape
from store_places import OTHER, PLANNED, SPEC, Place, begin, begin_process
from why_documents import explained, no_difference

import benchvise
from benchvise.errors import StoreError, UsageError
from benchvise.health.model import LogMark
from benchvise.health.watch.tracker import SensorRange
from benchvise.measure.model import (
    MetricKind,
    ProcessRecord,
    RunRecord,
    RunRemark,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesStatus,
)
from benchvise.report.tables import list_rows
from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.store import RunFilter, Store, reading
from benchvise.store.database import NEWEST, VERSION_TABLE, Database, migrate
from benchvise.store.location import locate
from benchvise.store.tables import METADATA
from benchvise.store.watches import Watched
from benchvise.text import NO_TEXT, Untrusted

pytest_plugins = ["store_fixtures"]

# What is stored


def test_a_run_comes_back_as_it_was_measured(store: Store) -> None:
    host = {"machine": "aarch64", "features": ["neon"], "timer_cost_ns": 31.25, "Größe": "✓"}
    evidence = {"elapsed_ns": 2**64 - 1, "flags": ["preempted"], "counters": {"na": "no PMU"}}
    samples = [Sample(0, 0.1 + 0.2, evidence), Sample(1, 5e-324), Sample(2, math.inf)]
    run = store.begin_run("a label", "ssh://pi", "full", 2**63 - 1, {}, {}, True, PLANNED)
    process = store.begin_process(run, 0, 0, {"caveats": ["not pinned"]})
    for sample in samples:
        store.add_sample(process, sample)
    store.end_process(process, True)
    store.begin_process(run, 0, 1, {})
    store.end_series(run, 0, SeriesStatus.MEASURED)
    store.end_series(run, 1, SeriesStatus.NOT_AVAILABLE, "no pipe\0here")
    store.update_host(run, host)
    store.end_run(run, RunStatus.COMPLETE)

    loaded = store.load(run)
    assert loaded == RunRecord(
        id=run,
        label="a label",
        board="ssh://pi",
        suite="full",
        status=RunStatus.COMPLETE,
        reason=NO_TEXT,
        started=loaded.started,
        finished=loaded.finished,
        seed=2**63 - 1,
        host=host,
        tool_version=benchvise.__version__,
        simulated=True,
        series=(
            SeriesRecord(
                *(SPEC, "B/s", "higher", "read", SeriesStatus.MEASURED, ""),
                (
                    ProcessRecord(0, {"caveats": ["not pinned"]}, tuple(samples), True),
                    ProcessRecord(1, {}, (), False),
                ),
            ),
            SeriesRecord(
                *(OTHER, "ns", "lower", "trips", SeriesStatus.NOT_AVAILABLE, "no pipe\ufffdhere"),
                (),
            ),
        ),
    )
    assert loaded.finished is not None
    assert loaded.started <= loaded.finished
    assert loaded.started.endswith("+00:00")
    [info] = store.runs()
    assert (info.id, info.status, info.series, info.samples) == (run, "complete", 2, 3)
    assert (info.started, info.finished) == (loaded.started, loaded.finished)
    assert info.simulated


def test_what_a_value_is_may_be_known_only_when_it_is_measured(store: Store) -> None:
    run, _ = begin_process(store)
    store.describe_series(run, 0, MetricKind("B", "lower", "most memory"))
    series = store.load("@").series[0]
    assert (series.unit, series.better, series.counted) == ("B", "lower", "most memory")
    with pytest.raises(StoreError, match="series 7 of run"):
        store.describe_series(run, 7, MetricKind("B", "lower", "most memory"))


def test_floats_come_back_bit_for_bit_and_in_order(store: Store) -> None:
    numbers = struct.unpack("<400d", secrets.token_bytes(3200))
    finite = [number for number in numbers if math.isfinite(number)]
    _, process = begin_process(store)
    evidence = {f"{index:x}{index}": number for index, number in enumerate(finite)}
    for index, number in enumerate(finite[:40]):
        store.add_sample(process, Sample(index, number, evidence if index == 0 else {}))
    samples = store.load("@").series[0].processes[0].samples
    assert [sample.value for sample in samples] == finite[:40]
    assert list(samples[0].evidence.items()) == list(evidence.items())


def test_a_value_that_is_not_a_number_is_kept_as_that(store: Store, place: Place) -> None:
    _, process = begin_process(store)
    store.add_sample(process, Sample(0, math.nan, {"elapsed_ns": math.nan, "name": "a\0b"}))
    [sample] = store.load("@").series[0].processes[0].samples
    assert math.isnan(sample.value)
    assert sample.evidence == {"elapsed_ns": {"na": "not a number"}, "name": "a\ufffdb"}
    assert place.query("SELECT value FROM sample") == [(None,)]


def test_a_sample_is_committed_when_it_has_been_added(store: Store, place: Place) -> None:
    _, process = begin_process(store)
    for index in range(3):
        store.add_sample(process, Sample(index, 1.5))
        assert place.query("SELECT count(*), max(value) FROM sample") == [(index + 1, 1.5)]


def test_a_sample_cannot_be_added_twice(store: Store) -> None:
    _, process = begin_process(store)
    store.add_sample(process, Sample(0, 1.0))
    with pytest.raises(StoreError, match="refused an item"):
        store.add_sample(process, Sample(0, 2.0))
    with pytest.raises(StoreError, match=r"out of range|too large"):
        store.add_sample(process, Sample(2**70, 2.0))


def test_writing_to_a_run_that_was_deleted_is_said(store: Store, place: Place) -> None:
    run, process = begin_process(store)
    store.add_sample(process, Sample(0, 1.0))
    with place.connect() as connection:
        connection.execute("PRAGMA foreign_keys = ON" if place.is_file else "SELECT 1")
        connection.execute("DELETE FROM run")
        assert connection.execute("SELECT count(*) FROM sample").fetchone() == (0,)
    for write in (
        lambda: store.add_sample(process, Sample(1, 1.0)),
        lambda: store.end_process(process, True),
        lambda: store.begin_process(run, 0, 1, {}),
        lambda: store.end_series(run, 0, SeriesStatus.MEASURED),
        lambda: store.end_run(run, RunStatus.COMPLETE),
    ):
        with pytest.raises(StoreError, match="deleted"):
            write()


def test_runs_are_listed_newest_first_and_filtered(store: Store) -> None:
    ids = [begin(store, label) for label in ("a", "b", "a")]
    assert [run.id for run in store.runs()] == ids[::-1]
    assert [run.id for run in store.runs(1)] == ids[2:]
    assert [run.id for run in store.runs(matching=RunFilter(label="a"))] == [ids[2], ids[0]]
    assert store.runs(matching=RunFilter(board="elsewhere")) == []


def test_a_board_is_found_by_its_name_as_it_is_shown(store: Store) -> None:
    names = ("pi \x1b[31mred\x07", "pi", "tab\tbed")
    ids = [store.begin_run("", name, "quick", 7, {}, {}, False, []) for name in names]
    for name, run_id in zip(names, ids, strict=True):
        shown = list_rows(store.runs(matching=RunFilter(id=run_id))).rows[0][2].text
        for text in (name, str(shown)):
            assert [run.id for run in store.runs(matching=RunFilter(board=text))] == [run_id]
            assert store.count(RunFilter(board=text)) == 1


@pytest.mark.parametrize("most_values", [0, reading._MOST_VALUES])
def test_runs_are_found_by_text_tag_and_what_they_are(
    store: Store, monkeypatch: pytest.MonkeyPatch, most_values: int
) -> None:
    monkeypatch.setattr(reading, "_MOST_VALUES", most_values)
    first, second = begin(store, "Alpha 50%"), begin(store, "beta")
    store.end_run(first, RunStatus.COMPLETE)
    store.tag(first, ["nightly", "arm"])
    store.annotate(second, "the heat sink was off")
    found = {
        RunFilter(text="ALPHA"): [first],
        RunFilter(text="Heat SINK"): [second],
        RunFilter(text="0%"): [first],
        RunFilter(text="_"): [],
        RunFilter(text=first[:9].upper()): [first],
        RunFilter(tag="arm", status="complete"): [first],
        RunFilter(tag="arm", status="failed"): [],
        RunFilter(id=second): [second],
        RunFilter(board="local", suite="quick"): [second, first],
    }
    for matching, ids in found.items():
        assert [run.id for run in store.runs(None, matching)] == ids, matching
        assert store.count(matching) == len(ids)
    assert [run.id for run in store.runs(skip=1)] == [first]
    choices = store.choices()
    assert choices.boards == {"local": 2}
    assert choices.tags == {"arm": 1, "nightly": 1}


def test_tags_and_notes_are_given_and_taken(store: Store) -> None:
    run = begin(store, "a")
    store.tag(run, ["b", "a", "b"])
    store.tag(run, ["a", "c"])
    store.untag(run, ["b"])
    store.annotate(run, " first\r\nsecond\0 ")
    info, record = store.info(run), store.load(run)
    assert info.tags == record.tags == ("a", "c")
    assert info.note.raw == record.note.raw == "first\nsecond\ufffd"
    store.annotate(run, "")
    assert not store.info(run).note
    for names in (["a b"], [""], ["x" * 41], ["-x"], ["a,b"], ["\x1b[31m"]):
        with pytest.raises(UsageError, match="cannot be a tag"):
            store.tag(run, names)
    with pytest.raises(UsageError, match=r"no tag 'z'.*it has a, c"):
        store.untag(run, ["a", "z"])
    with pytest.raises(UsageError, match="at most 32 tags"):
        store.tag(run, [f"t{number}" for number in range(40)])
    assert store.info(run).tags == ("a", "c")
    with pytest.raises(UsageError, match="a note of 4001 characters"):
        store.annotate(run, "x" * 4001)
    with pytest.raises(StoreError, match="no run 000"):
        store.info("000")


def test_a_series_is_found_in_all_runs_that_measured_it(store: Store) -> None:
    runs = [begin_process(store) for _ in range(3)]
    for value, (_, process) in enumerate(runs[:2], 1):
        store.add_sample(process, Sample(0, float(value), {"flags": ["preempted"]}))
    (one,) = store.series().series
    assert (one.key, one.runs) == (SPEC.key, 2)
    past, total = store.history(SPEC.key)
    assert total == 3
    assert [p.run.id for p in past] == [run for run, _ in runs]
    assert [p.series.values for p in past] == [((1.0,),), ((2.0,),), ()]
    newest, total = store.history(SPEC.key, limit=1)
    assert (total, newest[0].run.id) == (3, runs[2][0])
    assert store.history("no.such") == ([], 0)
    assert store.history(SPEC.key, RunFilter(board="elsewhere")) == ([], 0)
    assert store.boards_of(SPEC.key) == {"local": 2}
    (series,) = store.series_of(runs[1][0], SPEC.key)
    assert series == store.load(runs[1][0]).series[0]
    assert store.neighbours(runs[1][0]) == (runs[0][0], runs[2][0])
    assert store.neighbours(runs[2][0]) == (runs[1][0], None)


def test_attachments_are_listed(store: Store) -> None:
    run = begin(store, "a")
    store.attach(run, "console", b"x" * 1000)
    assert list(store.attachments(run)) == ["console"]
    assert store.host_of(run) == {}
    with pytest.raises(StoreError, match="no run 000"):
        store.host_of("000")


# How a run is named


def test_a_run_is_named_by_id_prefix_label_or_how_far_back(store: Store, place: Place) -> None:
    first, second, third = (begin(store, label) for label in ("one", "abc", "one"))
    for run, run_id in ((first, "abc000000001"), (second, "abd000000001"), (third, "0" * 12)):
        place.query(f"UPDATE run SET id = '{run_id}' WHERE id = '{run}'")  # noqa: S608
    named = {
        "@": "0" * 12,
        "latest": "0" * 12,
        "@1": "abd000000001",
        "@2": "abc000000001",
        "one": "0" * 12,  # the newest with that label
        "ABC000000001": "abc000000001",
        "abc": "abd000000001",  # a label before a beginning of an id
        "abc0": "abc000000001",
        " 0 ": "0" * 12,
    }
    assert {name: store.resolve(name) for name in named} == named


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("ab", "2 runs .* say which one: abd000000001 'fast', abc000000001 'base'"),
        ("bsae", "no run 'bsae' in .* did you mean 'base'"),
        ("abc000000002", "did you mean 'abc000000001'"),
        ("%", "no run '%' in .* the newest are abd000000001 'fast', abc000000001 'base'"),
        ("", "no run ''"),
        ("@2", "no run @2 in .* it has 2: the oldest one is @1"),
        ("a\0b", "no run"),
    ],
)
def test_a_name_that_is_no_run_is_answered_with_what_is_near(
    store: Store, place: Place, reference: str, message: str
) -> None:
    for run_id, label in (("abc000000001", "base"), ("abd000000001", "fast")):
        run = begin(store, label)
        place.query(f"UPDATE run SET id = '{run_id}' WHERE id = '{run}'")  # noqa: S608
    with pytest.raises(UsageError, match=message):
        store.resolve(reference)


def test_an_empty_store_says_so_and_reserved_labels_are_refused(store: Store) -> None:
    for reference in ("@", "latest", "base"):
        with pytest.raises(UsageError, match="no runs in"):
            store.load(reference)
    for label in ("latest", "@", "@1", " a"):
        with pytest.raises(UsageError, match="cannot be a label"):
            begin(store, label)
    begin(store, "x" * 200)
    with pytest.raises(UsageError, match="a label of 201 characters"):
        begin(store, "x" * 201)
    with pytest.raises(UsageError, match="seed"):
        store.begin_run("a", "local", "quick", 2**63, {}, {}, False, [])


# Snapshots


def snapshot(value: str, count: int) -> Snapshot:
    return Snapshot(
        board="local",
        taken="2026-01-02T03:04:05.000+00:00",
        boot_id="b",
        privilege="root",
        settings=(
            StateEntry("memory.thp", "mode", value, path="/sys/x"),
            StateEntry("cpu.governor", "0", missing=Missing.ABSENT, reason=Untrusted("ENOENT")),
        ),
        observations=(StateEntry("system.load", "processes", count),),
        board_time_ns=1,
        host_time_ns=2,
        notes=("a note",),
    )


def test_snapshots_come_back_and_equal_settings_are_kept_once(store: Store, place: Place) -> None:
    runs = [begin(store, name) for name in ("a", "b")]
    store.add_snapshot(runs[0], "before", snapshot("always", 1))
    store.add_snapshot(runs[0], "after", snapshot("always", 2))
    store.add_snapshot(runs[1], "before", snapshot("never", 3))
    assert store.snapshot("a") == snapshot("always", 1)
    assert store.snapshot("a", "after") == snapshot("always", 2)
    assert store.snapshot("b") == snapshot("never", 3)
    assert store.snapshot("b", "after") is None
    assert place.query("SELECT count(*) FROM state") == [(2,)]
    with pytest.raises(StoreError, match="no run 000"):
        store.add_snapshot("000", "before", snapshot("never", 3))


def test_remarks_come_back(store: Store) -> None:
    run = begin(store, "a")
    remarks = (
        RunRemark("throttled", "the clock went down", ("cpu", "memory")),
        RunRemark("swap", "x"),
    )
    store.set_remarks(run, remarks)
    assert store.load("a").remarks == remarks


# Diagnoses


def test_diagnoses_come_back_and_are_listed_newest_first(store: Store) -> None:
    document = explained()
    first = store.keep_diagnosis(document)
    second = store.keep_diagnosis({**no_difference(), "headline": "none\0 at all"})
    assert store.diagnosis(first) == document
    assert list(store.diagnosis(first[:11]) or ()) == list(document)
    newest, oldest = store.diagnoses()
    assert (newest.id, newest.headline, newest.verdict) == (
        second,
        "none\ufffd at all",
        "no difference shown",
    )
    assert (oldest.id, oldest.good, oldest.metric) == (
        first,
        "ssh://root@vendor",
        "memory.copy:source=untouched",
    )
    assert oldest.kept.endswith("+00:00") and not oldest.simulated
    assert [info.id for info in store.diagnoses(1)] == [second]


def test_a_diagnosis_is_named_where_no_run_is_meant(store: Store, place: Place) -> None:
    run, labelled = begin(store, "one"), begin(store, "abd")
    kept = [store.keep_diagnosis(no_difference()) for _ in range(3)]
    for table, old, new in (
        ("run", run, "abc000000001"),
        ("run", labelled, "f" * 12),
        ("diagnosis", kept[0], "abc000000002"),
        ("diagnosis", kept[1], "abd000000001"),
        ("diagnosis", kept[2], "abe000000001"),
    ):
        place.query(f"UPDATE {table} SET id = '{new}' WHERE id = '{old}'")  # noqa: S608
    for reference in ("abc000000002", "abc000000002 ", "abd0", "ABE"):
        assert store.diagnosis(reference) is not None
    for reference in ("abc000000001", "one", "abd", "f", "@", "latest", "0", "", "%"):
        assert store.diagnosis(reference) is None
    with pytest.raises(UsageError, match=r"2 runs and diagnoses .* abc000000002 'a diagnosis'"):
        store.diagnosis("abc")
    with pytest.raises(UsageError, match="4 runs and diagnoses"):
        store.diagnosis("ab")


def test_notes_on_a_trace_are_kept_changed_once_and_deleted(store: Store) -> None:
    notes = store.trace_notes
    late = notes.add("b" * 64, 2**61, 2**61, "late\r\n<b>\x00\udcff", author="ada")
    span = notes.add("b" * 64, -5, 10, " stall \n", row="thread 812 kworker", author="ada")
    assert notes.of("a" * 64) == []
    first, second = notes.of("b" * 64)
    assert (first.id, first.begin, first.end, first.row) == (span, -5, 10, "thread 812 kworker")
    assert (first.text, first.author, first.revision) == ("stall", "ada", 1)
    assert (second.id, second.text) == (late, "late\n<b>\ufffd\ufffd")

    notes.change("b" * 64, span, 1, 3, 4, "other", author="bob")
    with pytest.raises(UsageError, match="changed by somebody else"):
        notes.change("b" * 64, span, 1, 3, 4, "lost")
    changed = notes.of("b" * 64)[0]
    assert (changed.begin, changed.text, changed.row) == (3, "other", "")
    assert (changed.author, changed.revision) == ("bob", 2)

    with pytest.raises(UsageError, match="gone"):
        notes.delete("a" * 64, span)
    notes.delete("b" * 64, span)
    with pytest.raises(UsageError, match="gone"):
        notes.change("b" * 64, span, 2, 3, 4, "lost")
    assert [note.id for note in notes.of("b" * 64)] == [late]


def test_what_cannot_be_a_note_on_a_trace_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchvise.store.trace_notes.MOST_NOTES", 1)
    notes = store.trace_notes
    for first, last, text, row, fault in (
        (0, 0, " \n", "", "no text"),
        (0, 0, "x" * 2001, "", "too long"),
        (0, 0, "x", "r" * 301, "row"),
        (2, 1, "x", "", "no span"),
        (0, 2**70, "x", "", "no span"),
    ):
        with pytest.raises(UsageError, match=fault):
            notes.add("a" * 64, first, last, text, row=row)
    notes.add("a" * 64, 0, 0, "x")
    with pytest.raises(UsageError, match="at most 1"):
        notes.add("a" * 64, 0, 0, "y")


# Migrations


def test_the_tables_are_what_the_models_say(store: Store, place: Place) -> None:
    assert store.runs() == []
    engine = create_engine(locate(place.url).url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_migrations_make_of_nothing_what_a_new_store_has(place: Place) -> None:
    database = Database(locate(place.url), timeout=10)
    with database.writing() as connection:
        migrate(connection, None, "it")
    migrated = shape(place)
    assert place.query(f"SELECT * FROM {VERSION_TABLE}") == [(NEWEST,)]  # noqa: S608
    with database.writing() as connection:
        METADATA.drop_all(connection)
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")
    database.close()
    Store.open(place.url).close()
    assert shape(place) == migrated
    assert place.query(f"SELECT * FROM {VERSION_TABLE}") == [(NEWEST,)]  # noqa: S608
    assert len(migrated) == len(METADATA.tables) + 1


def test_the_newest_revision_is_the_head_of_the_migrations() -> None:
    directory = Path(benchvise.__file__).parent / "store" / "migrations"
    assert ScriptDirectory(str(directory)).get_heads() == [NEWEST]


def test_a_store_that_six_migrations_made_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    script = Path(__file__).parent / "data" / "store-of-six-migrations.sql"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(script.read_text())
    with Store.open(str(file)) as store:
        record = store.load("old")
        assert [series.spec.key for series in record.series] == ["cpu.clock"]
        assert record.series[0].values == ((3694875120.0, 3694875120.0),)
        memory = store.watches.memory(Watched(1))
        assert memory.mark == LogMark("b", 1448.018615, 1)
        assert memory.ranges["x"] == SensorRange(1.0, 2.0, 3, 4.0, 5.0, 6.0)
        assert memory.alerts["rule\nsubject"].recent == ((1.0, 2.0),)
        run = begin(store, "new")
        assert store.load("new").id == run
        assert store.load("old") == record
        assert store.trace_notes.of("a" * 64) == []


def test_a_store_from_before_them_is_refused(place: Place) -> None:
    Store.open(place.url).close()
    place.query(f"UPDATE {VERSION_TABLE} SET version_num = '0003'")  # noqa: S608
    with pytest.raises(StoreError, match=r"before the first release \(its schema is 0003\)"):
        Store.open(place.url)


def test_opening_again_changes_nothing(place: Place) -> None:
    with Store.open(place.url) as store:
        run = begin(store)
    before = Path(place.url).read_bytes() if place.is_file else b""
    for _ in range(2):
        with Store.open(place.url) as store:
            assert store.load("@").id == run
    assert before == (Path(place.url).read_bytes() if place.is_file else b"")
    assert place.query(f"SELECT * FROM {VERSION_TABLE}") == [(NEWEST,)]  # noqa: S608


def test_a_store_of_a_newer_benchvise_is_refused_untouched(place: Place) -> None:
    Store.open(place.url).close()
    place.query(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")  # noqa: S608
    with pytest.raises(StoreError, match=r"newer Benchvise \(its schema is 9999") as caught:
        Store.open(place.url)
    assert "upgrade benchvise" in caught.value.remedy
    assert place.query(f"SELECT * FROM {VERSION_TABLE}") == [("9999",)]  # noqa: S608


def test_the_database_of_another_program_is_refused_untouched(place: Place) -> None:
    place.query("CREATE TABLE alembic_version (version_num varchar(32))")
    place.query("INSERT INTO alembic_version VALUES ('0001')")
    before = Path(place.url).read_bytes() if place.is_file else b""
    with pytest.raises(StoreError, match=r"not a Benchvise database.*alembic_version"):
        Store.open(place.url)
    assert before == (Path(place.url).read_bytes() if place.is_file else b"")


def test_a_migration_that_fails_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(locate(place.url), timeout=10)
    with monkeypatch.context() as patched:
        patched.setattr("alembic.operations.Operations.create_index", _fail)
        with pytest.raises(RuntimeError, match="power lost"), database.writing() as connection:
            migrate(connection, None, "it")
    database.close()
    assert shape(place) == {}


def test_a_new_store_of_which_a_part_cannot_be_made_is_none(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("sqlalchemy.sql.ddl.SchemaGenerator.visit_index", _fail)
        with pytest.raises(RuntimeError, match="power lost"):
            Store.open(place.url)
    assert shape(place) == {}
    with Store.open(place.url) as store:
        begin(store)


def _fail(*_arguments: object, **_more: object) -> None:
    raise RuntimeError("power lost")
