"""The page of what is measured now: how far, what failed, how it ended, and who fell silent."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from store_places import OTHER, PLANNED, SPEC, Place
from waiting import PATIENCE
from web_client import Client

from benchvise.documents import encode
from benchvise.measure.model import RunStatus, Sample, SeriesStatus
from benchvise.rig import locks
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.hold.messages import BoardActivity
from benchvise.store import Store, StoredProgress
from benchvise.store.store import ABANDONED
from benchvise.text import NO_TEXT
from benchvise.web.last_words import LastWords

pytest_plugins = ["store_fixtures"]

ATTACK = "<script>document.body.dataset.attacked=1</script>\u202e"
PLAN = {"processes": 3, "time_s": None}


def begun(store: Store, board: str, plan: dict[str, Any] = PLAN) -> str:
    return store.begin_run("night", board, "quick", 7, plan, {}, False, PLANNED)


def measured(store: Store, run: str, processes: int, *, position: int = 0, open_with: int) -> None:
    """So many complete processes, then one that has begun and has so many samples."""
    for number in range(processes):
        process = store.begin_process(run, position, number, {})
        store.add_sample(process, Sample(0, 1.0))
        store.end_process(process, True)
    process = store.begin_process(run, position, processes, {})
    store.add_samples(process, [Sample(index, 1.0) for index in range(open_with)])


def since_an_hour() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)


def test_how_far_runs_are(store: Store) -> None:
    first, timed, new = (
        begun(store, board, plan)
        for board, plan in (("a", PLAN), ("b", {"processes": 3, "time_s": 60.0}), ("c", PLAN))
    )
    measured(store, first, 2, open_with=4)
    store.end_series(first, 1, SeriesStatus.FAILED, f"it died {ATTACK}")
    measured(store, timed, 1, position=1, open_with=0)
    newest, middle, oldest = store.progress(since_an_hour())
    assert (newest.id, newest.key, newest.processes, newest.planned) == (new, "", 0, 6)
    assert (middle.key, middle.process, middle.samples) == (OTHER.key, 1, 0)
    assert (middle.processes, middle.planned) == (1, None)  # time decides
    assert (oldest.key, oldest.process, oldest.samples) == (SPEC.key, 2, 4)
    assert (oldest.processes, oldest.planned) == (2, 3)  # the failed series is not waited for
    (failed,) = oldest.unmeasured
    assert (failed.key, failed.status, failed.reason.raw) == (
        OTHER.key,
        "failed",
        f"it died {ATTACK}",
    )


def test_what_ended_is_listed_for_a_while_and_what_is_killed_is_told(
    store: Store, place: Place
) -> None:
    old, ended = begun(store, "old"), begun(store, "ended")
    for run in (old, ended):
        store.end_run(run, RunStatus.FAILED, "no series could be measured")
    place.query(f"UPDATE run SET finished = '2020-01-01 00:00:00' WHERE id = '{old}'")  # noqa: S608
    other = multiprocessing.get_context("fork").Process(target=_begin_and_die, args=(place.url,))
    other.start()
    other.join(PATIENCE)
    killed, failed = store.progress(since_an_hour())
    assert (killed.status, killed.reason.raw) == (RunStatus.INTERRUPTED, ABANDONED)
    assert (killed.finished, killed.key) == (None, SPEC.key)
    assert (failed.id, failed.reason.raw) == (ended, "no series could be measured")


def _begin_and_die(url: str) -> None:
    store = Store.open(url)
    measured(store, begun(store, "killed"), 0, open_with=1)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [1e9]
    monkeypatch.setattr("benchvise.web.last_words.time.time", lambda: now[0])
    yield now


def test_a_run_is_silent_from_its_last_word_on(clock: list[float]) -> None:
    """As one of another host whose power is gone, of which nobody here can know."""
    run = StoredProgress(
        *("a", "", "b", "s", RunStatus.RUNNING, NO_TEXT, "", None, False, 2, (), 1, 6, "k", 1, 3),
    )
    words = LastWords()
    assert words.silent_since([run]) == {}
    clock[0] += 59
    further = replace(run, samples=4)
    assert words.silent_since([further]) == {}
    clock[0] += 61
    assert words.silent_since([further]) == {"a": 1e9 + 59}
    assert words.silent_since([replace(further, process=2)]) == {}
    clock[0] += 61
    assert words.silent_since([replace(further, status=RunStatus.COMPLETE)]) == {}
    assert words.silent_since([further]) == {}  # it was forgotten


def test_the_page_shows_what_strangers_wrote_as_text(tmp_path: Path) -> None:
    url = str(tmp_path / "runs.db")
    with Store.open(url) as store:
        run = begun(store, f"ssh://{ATTACK}")
        measured(store, run, 1, open_with=2)
        store.end_series(run, 1, SeriesStatus.NOT_AVAILABLE, ATTACK)
        over = begun(store, "ssh://b")
        store.end_run(over, RunStatus.FAILED, f"the board {ATTACK}")
        client = Client.of(store=url)
        text = client.get("/progress").text
        assert "1 of 3 processes" in text and "process 2, 2 samples" in text
        assert SPEC.key in text and "1 of 2 series" in text
        assert "<script>document" not in text and "\u202e" not in text
        document = client.get("/progress.json").data
        assert [shown["run"]["id"] for shown in document["running"]] == [run]
        assert [shown["run"]["status"] for shown in document["ended"]] == ["failed"]
        assert document["running"][0]["silent_since"] is None
        assert 'href="/progress"' in client.get("/runs").text


def test_an_empty_store_says_what_would_be_there(tmp_path: Path) -> None:
    text = Client.of(store=str(tmp_path / "runs.db")).get("/progress").text
    assert "Nothing is measured now" in text


def test_boards_that_boot_stand_before_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = logs_directory("one")
    (log / "console.log").write_bytes(b"Starting kernel ...\r\n<b>last</b> line")
    client = Client.of(store=str(tmp_path / "runs.db"))
    assert client.get("/progress.json").data["booting"] == []
    activity = BoardActivity("boot", 1e9, "one", log.name)
    with locks.held("a board", f"run {ATTACK}"):
        locks.note_activity("a board", {**encode(activity), "phases": {"kernel": 3.5, "spl": 1}})
        (boot,) = client.get("/progress.json").data["booting"]
        text = client.get("/progress").text
    assert boot == {
        "board": "rig:one",
        "what": "run <script>document.body.dataset.attacked=1</script>\ufffd",
        "since": "2001-09-09T01:46:40+00:00",
        "phase": "kernel",
        "phase_s": 3.5,
        "line": "<b>last</b> line",
        "by": "",
        "silent_since": None,
        "in_rig": False,
    }
    assert "Booting (1)" in text and "rig:one" in text and "3.5 s after power on" in text
    assert "&lt;b&gt;last" in text
    assert "<script>document" not in text and "\u202e" not in text
    assert "Booting" not in client.get("/progress").text


def test_boots_of_other_hosts_stand_there_with_who_and_where_and_the_silent_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    place = Place(str(tmp_path / "runs.db"))
    client = Client.of(store=place.url)
    with Store.open(place.url) as store:
        boot = store.begin_boot("rig:two", f"benchvise run {ATTACK}", "eve")
        store.note_phase(boot, "kernel", 3.5)
        owner = '{"pid": 7, "started": 1, "boot_id": "b", "machine_id": "m", "hostname": "hall-2"}'
        place.query(f"UPDATE boot SET owner = '{owner}'")  # noqa: S608
        (shown,) = client.get("/progress.json").data["booting"]
        assert (shown["board"], shown["by"]) == ("rig:two", "eve on hall-2, process 7")
        assert (shown["phase"], shown["silent_since"]) == ("kernel", None)
        text = client.get("/progress").text
        assert "eve on hall-2, process 7" in text and "3.5 s after power on" in text
        assert "<script>document" not in text and "not heard of" not in text
        place.query("UPDATE boot SET heard = strftime('%Y-%m-%d %H:%M:%f000', 'now', '-5 minutes')")
        assert "not heard of since" in client.get("/progress").text
        assert client.get("/progress.json").data["booting"][0]["silent_since"]
        store.end_boot(boot)
        assert client.get("/progress.json").data["booting"] == []
