"""Signs of life: what readers make of a run or a boot on a host whose processes they cannot see.

The other host is made here: the owner that the store has noted is given another host name.
"""

from __future__ import annotations

import time

import pytest
from store_places import Place, begin, begin_process
from waiting import PATIENCE

from benchvise.measure.model import RunStatus, Sample
from benchvise.store import Store, heartbeat
from benchvise.store.heartbeat import FELL_SILENT

pytest_plugins = ["store_fixtures"]

ELSEWHERE = (
    '{"pid": 7, "started": 1, "boot_id": "b", "pid_namespace": "n", "machine_id": "m",'
    ' "hostname": "hall-2"}'
)


def ago(place: Place, seconds: float) -> str:
    """That time before now, as SQL, by the clock that the store has."""
    if place.is_file:
        return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '-{seconds:g} seconds')"
    return f"clock_timestamp() - interval '{seconds:g} seconds'"


def of_another_host(place: Place, table: str, heard: str) -> None:
    place.query(f"UPDATE {table} SET owner = '{ELSEWHERE}', heard = {heard}")  # noqa: S608


def test_a_run_that_falls_silent_on_another_host_is_interrupted_and_keeps_its_samples(
    store: Store, place: Place
) -> None:
    run, process = begin_process(store)
    store.add_sample(process, Sample(0, 1.5, {}))
    of_another_host(place, "run", ago(place, 170))
    assert store.load(run).status is RunStatus.RUNNING
    of_another_host(place, "run", ago(place, 190))
    loaded = store.load(run)
    assert (loaded.status, loaded.reason.raw) == (RunStatus.INTERRUPTED, FELL_SILENT)
    assert [sample.value for sample in loaded.series[0].processes[0].samples] == [1.5]
    assert place.query("SELECT status FROM run") == [("interrupted",)]
    [listed] = store.runs()
    assert (listed.status, listed.finished is not None) == (RunStatus.INTERRUPTED, True)


def test_a_process_that_was_only_cut_off_takes_it_back_with_its_next_sample(
    store: Store, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, process = begin_process(store)
    of_another_host(place, "run", ago(place, 300))
    assert store.load(run).status is RunStatus.INTERRUPTED
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.0)
    store.add_sample(process, Sample(0, 1.5, {}))
    loaded = store.load(run)
    assert (loaded.status, loaded.reason.raw, loaded.finished) == (RunStatus.RUNNING, "", None)
    store.end_run(run, RunStatus.INTERRUPTED, "stopped by the user")
    store.add_sample(process, Sample(1, 1.5, {}))
    assert store.load(run).reason.raw == "stopped by the user"


def test_a_run_of_an_earlier_release_is_given_a_day(store: Store, place: Place) -> None:
    run = begin(store)
    of_another_host(place, "run", "NULL")
    assert store.load(run).status is RunStatus.RUNNING
    place.query(f"UPDATE run SET started = {ago(place, 25 * 3600)}")  # noqa: S608
    assert store.load(run).status is RunStatus.INTERRUPTED


def test_a_process_of_this_machine_is_believed_to_its_face(store: Store, place: Place) -> None:
    run = begin(store)
    place.query(f"UPDATE run SET heard = {ago(place, 9999)}")  # noqa: S608
    assert store.load(run).status is RunStatus.RUNNING


def test_a_batch_that_takes_long_leaves_signs_too(
    store: Store, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LATE_SECONDS", 0.03)
    begin(store)
    boot = store.begin_boot("rig:one", "benchvise run", "eve")
    of_another_host(place, "run", ago(place, 300))
    of_another_host(place, "boot", ago(place, 300))
    deadline = time.monotonic() + PATIENCE
    while store.runs()[0].status is not RunStatus.RUNNING or store.boots()[0].is_silent:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    store.end_boot(boot)
    assert store.boots() == []


def test_boots_of_another_host_are_told_and_the_silent_ones_too(store: Store, place: Place) -> None:
    first = store.begin_boot("rig:one", "benchvise run rig:one", "eve")
    store.note_phase(first, "kernel", 3.5)
    (boot,) = store.boots()
    assert (boot.board.raw, boot.user.raw, boot.phase.raw, boot.phase_s) == (
        *("rig:one", "eve", "kernel"),
        3.5,
    )
    assert boot.is_here and not boot.is_silent
    of_another_host(place, "boot", ago(place, 10))
    (boot,) = store.boots()
    assert (boot.host.raw, boot.is_here, boot.is_silent) == ("hall-2", False, False)
    of_another_host(place, "boot", ago(place, 200))
    assert store.boots()[0].is_silent
    of_another_host(place, "boot", ago(place, 3700))
    assert store.boots() == []
    second = store.begin_boot("rig:two", "benchvise run rig:two", "eve")
    assert place.query("SELECT number FROM boot") == [(second,)]
