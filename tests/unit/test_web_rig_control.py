"""What pages are told of a rig: of notes and consoles that others wrote, only what is harmless."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import PATIENCE, wait_until

from benchvise.documents import encode
from benchvise.rig import locks
from benchvise.rig.console.recorder import POWER_ON, ConsoleRecorder, logs_directory
from benchvise.rig.hold.messages import BoardActivity
from benchvise.rig.locks import Holder
from benchvise.web.http import NotFound
from benchvise.web.rig import console, control, watching
from benchvise.web.rig.watching import holding

ATTACK = "\x1b[31m<script>\u202e\x00"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "benchvise" / "boots"


def record(state: Path, board: str, stamp: str, said: bytes, *, booted: bool = True) -> Path:
    """A console's log: power on, then a piece each second."""
    directory = state / board / f"{stamp}-abc"
    directory.mkdir(parents=True)
    now = iter(range(10**9, 10**13, 10**9))
    with ConsoleRecorder(directory / "console.log", clock=lambda: next(now)) as recorder:
        if booted:
            recorder.mark(POWER_ON)
        for line in said.splitlines(keepends=True):
            recorder.received(line)
    return directory / "console.log"


BOOT = b"U-Boot 2023.01\r\nStarting kernel ...\r\n[    0.000000] Linux version 6.1.0\r\nlogin: "


def test_a_boot_is_listed_with_its_phases(state: Path) -> None:
    record(state, "one", "20261122T080000", BOOT)
    record(state, "one", "20261122T090000", b"# ls\r\nfile\r\n", booted=False)
    newest, boot = (encode(console.summary(log)) for log in console.logs("one"))
    assert newest["kind"] == "console"
    assert boot["kind"] == "boot" and boot["started"] == "2026-11-22T08:00:00+00:00"
    assert boot["phases"]["kernel"] == 2.0 and boot["seconds"] == 4.0
    assert next(iter(boot["phases"])) == "power-on"


def test_a_long_log_is_listed_without(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(state, "one", "20261122T080000", BOOT)
    monkeypatch.setattr(console, "REPLAY_BYTES", 10)
    (found,) = (encode(console.summary(log)) for log in console.logs("one"))
    assert found["phases"] is None and found["na"] == "the log is long"


def test_the_newest_of_a_second_is_first(state: Path) -> None:
    """A page follows it: what was typed after a fast boot was written where nobody looked."""
    made = [logs_directory("one") for _ in range(20)]
    for directory in made:
        (directory / "console.log").write_bytes(b"")
    assert [log.key for log in console.logs("one")] == [each.name for each in reversed(made)]


@pytest.mark.parametrize("board", ["..", "../one", "one/../one", "", "/etc", "one/x"])
def test_a_board_is_no_path(state: Path, board: str) -> None:
    record(state, "one", "20261122T080000", BOOT)
    record(state.parent, "20261122T080000-abc", "20261122T080000", BOOT)
    assert console.logs(board) == []


@pytest.mark.parametrize("key", ["..", "../20261122T080000-abc", "20261122T080000-abcd", ""])
def test_a_boot_is_no_path(state: Path, key: str) -> None:
    record(state, "one", "20261122T080000", BOOT)
    with pytest.raises(NotFound, match="no such boot"):
        console.find("one", key)


def test_the_text_is_bounded_and_harmless(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "TEXT_BYTES", 5000)
    record(state, "one", "20261122T080000", b"x" * 20_000 + b"\r\n" + ATTACK.encode() + b"\r\n")
    (log,) = console.logs("one")
    lines, cut = console.text(log)
    assert cut
    assert lines[-1] == "<script>\ufffd"
    assert max(map(len, lines)) <= console.LINE_LIMIT


def test_columns_stay_columns(state: Path) -> None:
    record(state, "one", "20261122T080000", b"a   b\tc\r\n")
    (log,) = console.logs("one")
    assert console.text(log)[0] == ["a   b   c"]


def test_a_console_is_followed_from_log_to_log(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(console, "_SEARCH_SECONDS", 0.05)
    told: list[tuple[str, Any]] = []
    stopped = threading.Event()
    source = console.following("one")

    def publish(name: str, said: Any) -> None:
        told.append((name, base64.b64decode(said.base64) if name == "output" else said))

    thread = threading.Thread(target=source, args=(publish, stopped))
    thread.start()

    def until(name: str, what: str) -> None:
        wait_until(lambda: any(n == name and what in str(data) for n, data in told), (name, what))

    try:
        until("none", "")
        path = record(state, "one", "20261122T080000", b"first\r\nlog")
        until("log", "20261122T080000-abc")
        until("output", "first")
        with path.open("ab") as file:
            file.write(b"in: \xff")
        until("output", "in: \\xff")
        record(state, "one", "20261122T090000", b"second\r\n")
        until("log", "20261122T090000-abc")
        until("output", "second")
    finally:
        stopped.set()
        thread.join(PATIENCE)


def test_of_a_board_that_talks_without_end_the_end_is_told(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "TAIL_BYTES", 100)
    path = record(state, "one", "20261122T080000", b"line of text\r\n" * 1000)
    followed = console._Followed(path)
    first = followed.more()
    assert first is not None and first.skipped == 14_000 - 100
    assert followed.more() is None


def test_a_note_of_somebody_else_says_figures_and_known_words_only() -> None:
    doing = {
        "op": ATTACK,
        "since": "now",
        "flash": {"phase": ATTACK, "done": float("inf"), "total": -1, "rate": True, "x": ATTACK},
        "phases": {"kernel": 3.5, ATTACK: 1.0, "login": "soon", "init": float("nan")},
    }
    found = encode(holding(Holder(1, ATTACK * 1000, 0.0, doing=doing), "one"))
    assert found is not None
    assert found["doing"] is None and found["doing_since"] is None
    assert found["flash"] == {
        "phase": "write", "done": None, "total": None, "rate": None, "remaining_s": None
    }  # fmt: skip
    assert found["phases"] == {"kernel": 3.5}
    assert len(found["what"]) <= 120 and "\x1b" not in found["what"]
    hostile: Any
    for hostile in ([], "x", 3, None):
        noted = {"op": hostile, "flash": hostile, "log": hostile}
        assert holding(Holder(1, "x", 0.0, doing=noted), "one") is not None


KEY = "20261122T080000-abc"


def test_the_last_line_of_a_boot_is_that_of_its_own_log(state: Path) -> None:
    path = record(state, "one", "20261122T080000", BOOT + b"\r\n\x1b[31mhalf a l")
    record(state, "one", "20261122T090000", b"of a later one\r\n")
    assert console.last_line_of("one", KEY) == "half a l"
    with path.open("ab") as file:
        file.write(b"ine" + b"\r\n" * 3 + ATTACK.encode())
    assert console.last_line_of("one", KEY) == "<script>\ufffd"
    with path.open("ab") as file:
        file.write(b"x" * 100_000)
    assert len(console.last_line_of("one", KEY)) == 160


@pytest.mark.parametrize(
    ("board", "key"),
    [("one", "../one"), ("one", ""), ("../one", KEY), ("x\x00", KEY), ("y" * 5000, KEY), ("", KEY)],
)
def test_a_note_names_no_file_outside_the_logs(state: Path, board: str, key: str) -> None:
    record(state, "one", "20261122T080000", BOOT)
    assert console.last_line_of(board, key) == ""


@contextmanager
def noted(key: str, activity: dict[str, object]) -> Iterator[None]:
    """A lock that is held, by one who notes that."""
    with locks.held(key, "rig boot"):
        locks.note_activity(key, activity)
        yield


def test_boards_that_boot_are_found_whichever_rig_they_are_in(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    assert watching.booting() == {}
    record(state, "one", "20261122T080000", BOOT)
    boot = BoardActivity("boot", 1e9, "one", KEY)
    hostile: list[dict[str, object]] = [
        {"op": "boot"},
        {"op": "boot", "board": 3},
        {"op": "boot", "board": "no time"},
        {"op": "boot", "board": "never", "since": "now"},
    ]
    with ExitStack() as stack:
        stack.enter_context(noted("a board", {**encode(boot), "phases": {"kernel": 2.0}}))
        stack.enter_context(noted("a writer", encode(BoardActivity("flash", 1e9, "two"))))
        stack.enter_context(noted("an attack", {"op": "boot", "since": 1.0, "board": ATTACK}))
        for number, note in enumerate(hostile):
            stack.enter_context(noted(f"hostile {number}", note))
        os.mkfifo(tmp_path / "locks" / "pipe")  # what anybody may leave there
        (tmp_path / "locks" / "link").symlink_to("/dev/zero")
        attack, one = watching.booting().items()
    assert one[0] == "one" and one[1].line == "login:"
    assert (one[1].what, one[1].doing_since, one[1].phases) == ("rig boot", 1e9, {"kernel": 2.0})
    assert attack[0] == "<script>\ufffd" and attack[1].line == ""
    assert watching.booting() == {}, "all were released"


class SilentBoard:
    """A board that says nothing: a reading takes all of its time, and what is sent waits for it."""

    def __init__(self, *_order: object) -> None:
        self.channel = threading.Lock()
        self.turn = threading.Lock()
        """That of the session."""
        self.overtaking = 0
        """Readings that began while somebody who types had the turn."""
        self.sent: list[bytes] = []
        self.says = b""

    def open_console(self, log: Path) -> None:
        pass

    def read_console(self, timeout: float) -> bytes:
        with self.channel:
            self.overtaking += self.turn.locked()
            threading.Event().wait(timeout)
            says, self.says = self.says, b""
            return says

    def write_console(self, data: bytes) -> None:
        with self.channel:
            self.sent.append(data)

    def close(self, *, off: bool) -> None:
        pass

    def abort(self) -> None:
        pass


def test_keys_wait_for_one_reading_of_the_console(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = SilentBoard()
    monkeypatch.setattr(control, "HeldBoard", lambda *_order: board)
    consoles = control.ConsoleSessions()
    rig: Any = SimpleNamespace(names=["one"])
    consoles.begin(rig, "one")
    board.turn = consoles._boards["one"].turn
    for number in range(20):
        board.overtaking = 0
        consoles.type("one", str(number))
        assert board.overtaking <= 1
    board.says = b"\x1b[999;999H\x1b[6n"
    deadline = time.monotonic() + PATIENCE
    while len(board.sent) < 21:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    consoles.close()
    assert b"".join(board.sent) == b"".join(b"%d" % n for n in range(20)) + b"\x1b[24;80R"


def test_a_console_that_is_released_while_it_is_being_opened(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever finds the session can wait for its end."""
    released: list[control.ConsoleState] = []

    class SlowToStart(threading.Thread):
        def start(self) -> None:
            ending.start()
            ending.join(0.1)  # it goes on first, where it is not held back
            super().start()

    monkeypatch.setattr(control, "HeldBoard", SilentBoard)
    consoles = control.ConsoleSessions()
    ending = threading.Thread(target=lambda: released.append(consoles.end("one")))
    monkeypatch.setattr(control, "threading", SimpleNamespace(Thread=SlowToStart))
    rig: Any = SimpleNamespace(names=["one"])
    consoles.begin(rig, "one")
    ending.join()
    assert released == [control.ConsoleState(typing=False)]
