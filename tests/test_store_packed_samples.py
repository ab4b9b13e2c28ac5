"""Samples are rows while a process measures and packed when it has ended: nobody sees which."""

from __future__ import annotations

import json
import math
import secrets
import sqlite3
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event
from store_places import BEFORE_PACKING, SPEC, Place, begin, begin_process

from benchvise.errors import StoreError
from benchvise.measure.model import Sample
from benchvise.store import ProcessHandle, RunFilter, Store, packed_samples
from benchvise.store.database import VERSION_TABLE

pytest_plugins = ["store_fixtures"]

ROWS, PACKED = "SELECT count(*) FROM sample", "SELECT packed_samples FROM process ORDER BY id"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SAMPLES = st.lists(
    st.builds(
        Sample,
        st.integers(0, 2**31 - 1),
        st.floats(),
        st.dictionaries(st.text(), JSON, max_size=4) | st.just({}),
    ),
    unique_by=lambda sample: sample.index,
    max_size=6,
)


def loaded(store: Store, process: int = 0) -> tuple[Sample, ...]:
    return store.load("@").series[0].processes[process].samples


def test_samples_are_packed_when_their_process_has_ended(store: Store, place: Place) -> None:
    _, process = begin_process(store)
    samples = tuple(
        Sample(n, n / 3, {"flags": ["preempted"], "start_ns": n, "counters": {"na": "none"}})
        for n in range(21)
    )
    for sample in samples:
        store.add_sample(process, sample)
    assert (place.query(ROWS), place.query(PACKED)) == ([(21,)], [(0,)])
    before = (store.load("@").series[0].processes[0].samples, store.info(store.resolve("@")))
    store.end_process(process, True)
    assert (place.query(ROWS), place.query(PACKED)) == ([(0,)], [(21,)])
    assert before == (samples, store.info(store.resolve("@")))
    assert loaded(store) == samples
    assert type(store.runs()[0].samples) is int  # which PostgreSQL's sums are not
    assert store.series(RunFilter(label="base")).series[0].runs == 1
    [(values, evidence)] = place.query(
        "SELECT packed_values, packed FROM process JOIN evidence ON process_id = id"
    )
    assert isinstance(values, bytes)
    assert isinstance(evidence, bytes)
    assert struct.unpack("<21d", values) == tuple(n / 3 for n in range(21))
    assert json.loads(zlib.decompress(evidence))[20] == samples[20].evidence


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(samples=SAMPLES)
def test_rows_and_packed_samples_are_read_alike(store: Store, samples: list[Sample]) -> None:
    _, at_once = begin_process(store)
    store.add_samples(at_once, samples)
    run, one_by_one = begin_process(store)
    for sample in samples:
        store.add_sample(one_by_one, sample)
    rows = repr(loaded(store))  # NaN is not equal to itself
    store.end_process(one_by_one, True)
    packed = repr(loaded(store))
    at_once_packed = repr(store.load("@1").series[0].processes[0].samples)
    assert rows == packed == at_once_packed
    assert store.info(run).samples == len(samples)


def test_what_cannot_be_packed_stays_a_row(
    store: Store, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_samples, "MOST_EVIDENCE", 1000)
    _, process = begin_process(store)
    samples = tuple(Sample(n, 1.0, {"noise": secrets.token_hex(200)}) for n in range(3))
    for sample in samples:
        store.add_sample(process, sample)
    store.end_process(process, True)
    assert (place.query(ROWS), place.query(PACKED)) == ([(3,)], [(0,)])
    assert loaded(store) == samples
    assert store.info(store.resolve("@")).samples == 3


@pytest.mark.parametrize("indexes", [[0, 0], [2**70]])
def test_samples_that_no_row_could_be_are_refused(store: Store, indexes: list[int]) -> None:
    _, process = begin_process(store)
    with pytest.raises(StoreError, match=r"refused an item|out of range|too large"):
        store.add_samples(process, [Sample(index, 1.0) for index in indexes])
    assert loaded(store) == ()


def test_samples_of_an_ended_process_come_beside_the_packed_ones(store: Store) -> None:
    _, process = begin_process(store)
    store.add_samples(process, [Sample(0, 1.0, {"a": 1}), Sample(4, 2.0)])
    store.end_process(process, True)
    store.add_sample(process, Sample(2, 3.0))
    store.end_process(process, True)
    assert loaded(store) == (Sample(0, 1.0, {"a": 1}), Sample(2, 3.0), Sample(4, 2.0))
    [running] = store.progress(datetime.now(UTC))
    assert (running.samples, store.info(running.id).samples) == (3, 3)


def test_a_write_that_fails_while_samples_are_packed_leaves_rows_or_all_packed(
    store: Store,
) -> None:
    """Each statement in turn fails, as where a disk is full."""
    _, process = begin_process(store)
    samples = tuple(Sample(n, n / 7, {"start_ns": n}) for n in range(4))
    for sample in samples:
        store.add_sample(process, sample)
    left = 0

    def fail(*_arguments: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError("no space")

    event.listen(Engine, "before_cursor_execute", fail)
    failures = 0
    try:
        for step in range(10):
            left = step
            try:
                store.end_process(process, True)
                break
            except StoreError:
                failures += 1
                left = 1000
                assert loaded(store) == samples
    finally:
        event.remove(Engine, "before_cursor_execute", fail)
    assert failures >= 3
    assert loaded(store) == samples


# What others wrote


DAMAGES: list[tuple[bytes | None, bytes | None, str]] = [
    (bytes(15), None, "15 bytes of values for 2 samples"),
    (None, None, "0 bytes of values for 2 samples"),
    (bytes(16), b"no zlib", "evidence that cannot be read"),
    (bytes(16), zlib.compress(b"[{},{}]")[:-2], "evidence that is cut"),
    (bytes(16), zlib.compress(b"[" * 100_000), "evidence that cannot be read"),
    (bytes(16), zlib.compress(b"[{}]"), "evidence that is not of 2 samples"),
    (bytes(16), zlib.compress(b'{"a":1,"b":2}'), "evidence that is not of 2 samples"),
    (bytes(16), zlib.compress(b"[{},1]"), "evidence that is no JSON object"),
    (bytes(16), zlib.compress(b" " * (17 << 20)), "or more than 16 MiB"),
]


def test_a_damaged_value_is_said_with_its_series_and_run(store: Store, place: Place) -> None:
    run, process = begin_process(store)
    store.add_samples(process, [Sample(0, 1.0, {"a": 1}), Sample(1, 2.0, {"a": 2})])
    for values, evidence, fault in DAMAGES:
        _write(place, "UPDATE process SET packed_values = ?", values)
        if evidence is not None:
            _write(place, "UPDATE evidence SET packed = ?", evidence)
        with pytest.raises(StoreError, match="is damaged") as caught:
            store.load(run)
        assert f"{SPEC.key} of run {run} has " in caught.value.message
        assert fault in caught.value.message
        assert len(store.runs()) == 1
        if evidence is not None:  # which is not read for values alone
            assert store.past(RunFilter(), limit=1)[0].series.values == ((0.0, 0.0),)


def _write(place: Place, statement: str, value: bytes | None) -> None:
    with place.connect() as connection:
        if isinstance(connection, sqlite3.Connection):
            connection.execute(statement, (value,))
        else:
            connection.execute(statement.replace("?", "%s").encode(), (value,))


def test_samples_of_an_older_store_are_packed_when_it_is_opened(place: Place) -> None:
    """Also of more processes than are packed at once; one has an index that no probe sends."""
    with Store.open(place.url) as store:
        run, process = begin_process(store)
        processes = [
            [Sample(n, n / 3, {"z": n, "a": {"na": "none"}}) for n in range(5)],
            [Sample(7, math.nan), Sample(9, math.inf, {"flags": ["preempted"]})],
            [Sample(-1, 1.0, {"z": 1}), Sample(0, 2.0)],
        ]
        for index, samples in enumerate(processes):
            if index:
                process = store.begin_process(run, 0, index, {})
            for sample in samples:
                store.add_sample(process, sample)
        store.begin_process(run, 1, 0, {})
        place.query(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)"
            ' INSERT INTO process (series_id, "index", begin, complete)'
            " SELECT (SELECT max(series_id) FROM process), i, '{}', 1 = 1 FROM n"
        )
        place.query(
            'INSERT INTO sample (process_id, "index", value, evidence)'
            """ SELECT id, 0, id, '{}' FROM process WHERE "index" > 0"""
            " AND series_id = (SELECT max(series_id) FROM process)"
        )
        before, listed = repr(store.load(run)), store.runs()
    _make_old(place)
    with Store.open(place.url) as store:
        assert repr(store.load(run)) == before
        assert store.runs() == listed
    assert place.query(ROWS) == [(2,)]
    assert place.query("SELECT sum(packed_samples) FROM process") == [(607,)]


@pytest.mark.parametrize("garbage", ["value = x'ff'", "evidence = 7", "evidence = x'ff00'"])
def test_a_damaged_row_keeps_no_older_store_from_being_opened(tmp_path: Path, garbage: str) -> None:
    """SQLite lets any program put anything into any column."""
    file = str(tmp_path / "old.db")
    with Store.open(file) as store:
        whole, _ = _measured(store, "whole")
        broken, process = _measured(store, "broken")
    Place(file).query(f"UPDATE sample SET {garbage} WHERE process_id = {process.id}")  # noqa: S608
    _make_old(Place(file))
    with Store.open(file) as store:
        assert len(store.load(whole).series[0].processes[0].samples) == 1
        with pytest.raises(StoreError, match="damaged"):
            store.load(broken)


def _measured(store: Store, label: str) -> tuple[str, ProcessHandle]:
    run = begin(store, label)
    process = store.begin_process(run, 0, 0, {})
    store.add_sample(process, Sample(0, 1.0, {"a": 1}))
    return run, process


def _make_old(place: Place) -> None:
    """A store whose samples are rows as it was before they were packed."""
    for statement in BEFORE_PACKING:
        place.query(statement)
    place.query(f"UPDATE {VERSION_TABLE} SET version_num = '0009'")  # noqa: S608
