"""Recorders of several boards at once: which ends which."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import pytest

from benchvise import interruption
from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import BenchviseError, BoardUnreachable, Interrupted, UsageError
from benchvise.flows import recordings
from benchvise.flows.recordings import record_boards
from benchvise.state.interrupts import deferred
from benchvise.trace.clock_alignment import RoundTrip
from benchvise.trace.recording import Recorded, RecordingPlan
from benchvise.trace.recording_set import RecordingSet, read_set

LONG = 600.0


class Recorder:
    """Records nothing, until it has ended by itself or is stopped; each board's name says how."""

    under_way: ClassVar[list[Recorder]] = []

    def __init__(
        self, board: Board, _program: str, plan: RecordingPlan, observe: Any, *, held: bool
    ) -> None:
        assert held, "all begin together"
        self.how, self.observe = board.name, observe
        self.stopped = self.closed = False
        assert not plan.wall_time, "the times of all count by one clock"
        if self.how == "refuses":
            raise NotAvailable("no tracefs", "mount it")
        self.under_way.append(self)
        self.told = False

    def start(self) -> None:
        self.told = True

    def await_begin(self) -> None:
        assert all(recorder.told for recorder in self.under_way), "all are told before one begins"
        if self.how == "meets":
            self.observe("met", {"type": "met"})
        elif self.how == "interrupts":
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)  # which wakes it, whatever it waits for

    def close(self) -> None:
        self.closed = True

    def round_trip(self, number: int) -> RoundTrip:
        now = time.monotonic_ns()
        return RoundTrip(number, now, now + 1)

    def ends_within(self, seconds: float) -> bool:
        if self.how == "breaks":
            raise BoardUnreachable("it is gone", "")
        if self.how in ("short", "meets"):
            return True
        interruption.sleep(min(seconds, LONG))
        return False

    def stop(self) -> None:
        self.stopped = True

    def fetch(self, path: Path) -> Recorded:
        path.write_bytes(b"no trace")
        return Recorded(path, {}, {"ended": "stopped" if self.stopped else "time", "events": 3})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., RecordingSet]:
    monkeypatch.setattr(recordings, "TraceRecorder", Recorder)
    monkeypatch.setattr(recordings, "deploy", lambda _board: SimpleNamespace(path="bvprobe"))
    monkeypatch.setattr(Recorder, "under_way", [])

    def run(*boards: str, plan: RecordingPlan | None = None) -> RecordingSet:
        named: Any = [SimpleNamespace(name=name, kind="ssh") for name in boards]
        wanted = plan or RecordingPlan(until="wakeup>1", after=0.0)
        with deferred():
            return record_boards(named, wanted, tmp_path / "set", lambda *_told: None)

    return run


def ended(found: RecordingSet) -> list[str]:
    return [f"{member.board}: {member.ended}" for member in found.members]


def test_a_condition_that_one_meets_stops_all(
    record: Callable[..., RecordingSet], tmp_path: Path
) -> None:
    found = record("goes on", "meets", "short")
    assert ended(found) == ["goes on: stopped", "meets: time", "short: time"]
    assert read_set(tmp_path / "set") == found
    assert all(recorder.closed for recorder in Recorder.under_way)
    assert {member.not_lined_up.partition(":")[0] for member in found.members} != {""}


def test_one_that_cannot_record_ends_all_and_nothing_is_kept(
    record: Callable[..., RecordingSet], tmp_path: Path
) -> None:
    with pytest.raises(NotAvailable):
        record("goes on", "refuses")
    assert all(recorder.closed for recorder in Recorder.under_way)
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_lost_leaves_the_others(
    record: Callable[..., RecordingSet], tmp_path: Path
) -> None:
    with pytest.raises(BoardUnreachable, match=r"it is gone; .* kept in"):
        record("breaks", "short")
    assert ended(read_set(tmp_path / "set")) == ["short: time"]
    (tmp_path / "set").rename(tmp_path / "first")
    with pytest.raises(BenchviseError, match=r"it is gone$"):
        record("breaks", "breaks")
    assert not (tmp_path / "set").exists()


def test_ctrl_c_ends_all_and_keeps_them(
    record: Callable[..., RecordingSet], tmp_path: Path
) -> None:
    found = record("goes on", "interrupts", plan=RecordingPlan())
    assert ended(found) == ["goes on: stopped", "interrupts: stopped"]
    (tmp_path / "set").rename(tmp_path / "first")
    with pytest.raises(Interrupted, match="kept in"):
        record("goes on", "interrupts", plan=RecordingPlan(seconds=LONG))
    assert len(read_set(tmp_path / "set").members) == 2


def test_a_console_has_no_clock_to_line_up(record: Callable[..., RecordingSet]) -> None:
    boards: Any = [SimpleNamespace(name="a", kind="console")]
    with pytest.raises(UsageError, match="over a console"):
        record_boards(boards, RecordingPlan(), Path("set"), lambda *_told: None)
    assert Recorder.under_way == []
