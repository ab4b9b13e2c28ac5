"""Power switched once, in turn, within the budget, and by one at a time; relays that are files."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, wait_until

from benchvise import file_locks
from benchvise.errors import BenchviseError
from benchvise.rig import locks, power, turns
from benchvise.rig.environment import RigOptions
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.power import Outlet

spawned = multiprocessing.get_context("fork")


@dataclass
class FileRelay:
    """Keeps a log of what it was told; ``stuck`` means that it does not follow."""

    log: Path
    board: str
    stuck: bool = False
    slow_s: float = 0.0

    def on(self) -> None:
        self._told("on")

    def off(self) -> None:
        self._told("off")

    def get(self) -> bool:
        state = False
        for _, board, word in entries(self.log):
            if board == self.board and word in ("on", "off"):
                state = word == "on"
        return state

    def _told(self, word: str) -> None:
        self._note("begin")
        time.sleep(self.slow_s)
        self._note("refused" if self.stuck else word)

    def _note(self, word: str) -> None:
        with self.log.open("a") as file:
            file.write(f"{time.monotonic_ns()} {self.board} {word}\n")


class Blind:
    """A relay that cannot be asked."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on(self) -> None:
        self.told.append("on")

    def off(self) -> None:
        self.told.append("off")


def entries(log: Path) -> list[tuple[int, str, str]]:
    if not log.exists():
        return []
    lines = (line.split() for line in log.read_text().splitlines())
    return [(int(at), board, word) for at, board, word in lines]


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(locks.DIRECTORY_VARIABLE, str(tmp_path / "locks"))
    monkeypatch.setattr(power, "_READ_BACK_SECONDS", 0.1)


def outlet(
    place: Path,
    board: str,
    *,
    device: str = "box",
    stuck: bool = False,
    slow_s: float = 0.0,
    watts: float = 0.0,
    stagger_s: float = 0.0,
    budget_w: float | None = None,
) -> Outlet:
    relay = FileRelay(place / "relays", board, stuck, slow_s)
    options = RigOptions(stagger_s=stagger_s, budget_w=budget_w)
    return Outlet(board, relay, device, options, place / "ledger", watts)


def in_processes(*outlets: Outlet) -> None:
    """Each is switched on by a process of its own, all at once."""
    children = [spawned.Process(target=one.on) for one in outlets]
    for child in children:
        child.start()
    for child in children:
        child.join(PATIENCE)
        assert child.exitcode == 0


def test_what_is_as_wanted_is_not_switched_again(tmp_path: Path) -> None:
    one = outlet(tmp_path, "one")
    one.off()
    one.on()
    one.on()
    assert [word for _, _, word in entries(tmp_path / "relays")] == ["begin", "on"]


def test_off_is_tried_although_asking_fails(tmp_path: Path) -> None:
    class Mute(Blind):
        def get(self) -> bool:
            raise OSError("no answer")

    relay = Mute()
    with pytest.raises(OSError, match="no answer"):
        Outlet("one", relay, "box", RigOptions(), tmp_path / "ledger").off()
    assert relay.told == ["off"]


def test_a_relay_that_cannot_be_asked_is_told_each_time(tmp_path: Path) -> None:
    relay = Blind()
    one = Outlet("one", relay, "box", RigOptions(stagger_s=0), tmp_path / "ledger")
    assert one.state() is None
    one.off()
    one.on()
    one.off()
    assert relay.told == ["off", "on", "off"]


@pytest.mark.parametrize("word", ["on", "off"])
def test_a_relay_that_does_not_follow_is_stuck(tmp_path: Path, word: str) -> None:
    if word == "off":
        outlet(tmp_path, "one").on()
    with pytest.raises(RigError, match=f"was switched {word} but reports") as raised:
        getattr(outlet(tmp_path, "one", stuck=True), word)()
    assert raised.value.fault is Fault.RELAY_STUCK
    assert "by hand" in raised.value.remedy


def test_commands_to_one_box_come_one_after_another(tmp_path: Path) -> None:
    in_processes(*(outlet(tmp_path, name, slow_s=0.1) for name in ("one", "two", "three")))
    told = [(board, word) for _, board, word in entries(tmp_path / "relays")]
    for begun, done in zip(told[::2], told[1::2], strict=True):
        assert (begun[1], done[1]) == ("begin", "on")
        assert begun[0] == done[0]


def test_boxes_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with locks.held("power switch box", "a test"):
        outlet(tmp_path, "other", device="other box").on()


def test_switching_on_is_staggered_over_processes(tmp_path: Path) -> None:
    boards = ("one", "two", "three")
    in_processes(*(outlet(tmp_path, b, device=b, stagger_s=0.3) for b in boards))
    begun = sorted(at for at, _, word in entries(tmp_path / "relays") if word == "begin")
    gaps = [(b - a) / 1e9 for a, b in itertools.pairwise(begun)]
    assert min(gaps) >= 0.3


def test_the_budget_holds_over_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "_BUDGET_WAIT_SECONDS", 0.3)
    names = ("one", "two", "three")
    ends: list[Connection] = []
    for name in names:
        mine, theirs = spawned.Pipe()
        spawned.Process(target=try_on, args=(tmp_path, name, theirs), daemon=True).start()
        ends.append(mine)
    said = dict(zip(names, (end.recv() for end in ends), strict=True))
    refused = [name for name, text in said.items() if text]
    assert len(refused) == 1
    others = ", ".join(sorted(set(names) - set(refused)))
    assert (
        said[refused[0]] == f"{refused[0]}: its 10 W do not fit the budget of 25 W beside {others}"
    )
    on = [board for _, board, word in entries(tmp_path / "relays") if word == "on"]
    assert sorted(on) == sorted(set(names) - set(refused))


def test_room_is_taken_before_another_board_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first one's process has not the CPU to go on with."""
    monkeypatch.setattr(power, "_BUDGET_WAIT_SECONDS", 0.0)
    first, second = (outlet(tmp_path, n, device=n, watts=10, budget_w=15) for n in ("one", "two"))
    held = Outlet._ledger_lock
    refused: list[str] = []

    @contextmanager
    def then_the_second(own: Outlet) -> Iterator[None]:
        with held(own):
            yield
        if own is first and not refused:
            with pytest.raises(RigError) as caught:
                second.on()
            refused.append(caught.value.message)

    monkeypatch.setattr(Outlet, "_ledger_lock", then_the_second)
    first.on()
    assert refused == ["two: its 10 W do not fit the budget of 15 W beside one"]


def try_on(place: Path, name: str, end: Connection) -> None:
    try:
        outlet(place, name, device=name, watts=10, budget_w=25).on()
        end.send("")
    except RigError as error:
        end.send(error.message if error.fault is Fault.BUSY else f"{error.fault}")


def test_room_in_the_budget_is_waited_for(tmp_path: Path) -> None:
    first = outlet(tmp_path, "one", watts=10, budget_w=15)
    first.on()
    second = outlet(tmp_path, "two", watts=10, budget_w=15)
    child = spawned.Process(target=second.on)
    child.start()
    time.sleep(0.3)
    assert second.state() is False
    first.off()
    child.join(PATIENCE)
    assert second.state() is True


def test_a_board_that_wants_more_than_all_runs_alone(tmp_path: Path) -> None:
    outlet(tmp_path, "one", watts=30, budget_w=15).on()
    assert outlet(tmp_path, "one").state() is True


def test_a_holder_that_is_killed_leaves_nothing_locked(tmp_path: Path) -> None:
    child = spawned.Process(target=outlet(tmp_path, "one", slow_s=60).on)
    child.start()
    deadline = time.monotonic() + PATIENCE
    while not entries(tmp_path / "relays"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    outlet(tmp_path, "one").on()
    assert outlet(tmp_path, "one").state() is True


def test_a_ledger_of_which_half_was_written_is_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text('{"last": 12.5, "on": {"tw')
    outlet(tmp_path, "one", watts=10, budget_w=15).on()
    outlet(tmp_path, "one", watts=10, budget_w=15).off()


def test_one_who_only_asks_refuses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for a lock's holder has it for a moment; or for as long as its CPU is taken."""
    monkeypatch.setattr(locks, "_UNNOTED_SECONDS", PATIENCE)
    stop = spawned.Event()

    def ask() -> None:
        while not stop.is_set():
            locks.holder("a board")

    child = spawned.Process(target=ask, daemon=True)
    child.start()
    try:
        for _ in range(300):
            with locks.held("a board", "a test"):
                pass
    finally:
        stop.set()
        child.join(PATIENCE)


def test_one_who_is_leaving_is_waited_for(tmp_path: Path) -> None:
    mine, theirs = spawned.Pipe()

    def leave() -> None:
        with locks.held("a board", "a test that ends"):
            locks.note_leaving("a board")
            theirs.send("held")
            time.sleep(0.5)

    child = spawned.Process(target=leave)
    child.start()
    mine.recv()
    with locks.held("a board", "the next"):
        pass
    child.join()


def test_what_a_holder_does_is_seen_by_others() -> None:
    with locks.held("a board", "rig flash"):
        locks.note_activity("a board", {"op": "flash", "flash": {"done": 1, "total": 2}})
        found = locks.holder("a board")
        assert found is not None and found.what == "rig flash"
        assert found.doing == {"op": "flash", "flash": {"done": 1, "total": 2}}
        locks.note_activity("a board", {})
        found = locks.holder("a board")
        assert found is not None and found.doing == {}
        locks.note_activity("a board", {"text": "x" * 10_000})
        found = locks.holder("a board")
        assert found is not None and found.doing == {}, "what is too long is left out"
    assert locks.holder("a board") is None


def test_a_holder_of_another_container_is_another_though_its_number_is_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = locks.Holder(os.getpid(), "rig flash", time.time(), numbers="pid:[1]")
    monkeypatch.setattr(locks.Holder, "here", lambda _what: there)
    with locks.held("a board", "rig flash"):
        locks.note_leaving("a board")
        locks.note_activity("a board", {"op": "boot"})
        assert locks.holder("a board") == there


def test_only_the_holder_says_what_it_does() -> None:
    locks.note_activity("a board", {"op": "boot"})
    assert locks.holder("a board") is None
    mine, theirs = spawned.Pipe()

    def say() -> None:
        locks.note_activity("a board", {"op": "boot"})
        theirs.send("said")

    with locks.held("a board", "a test"):
        child = spawned.Process(target=say)
        child.start()
        mine.recv()
        child.join()
        found = locks.holder("a board")
        assert found is not None and found.doing == {}


def test_a_note_is_read_whole_while_it_changes() -> None:
    stop = spawned.Event()

    def change() -> None:
        with locks.held("a board", "a test"):
            number = 0
            while not stop.is_set():
                locks.note_activity("a board", {"number": "9" * (number % 500)})
                number += 1

    child = spawned.Process(target=change, daemon=True)
    child.start()
    try:
        while locks.holder("a board") is None:
            time.sleep(0.01)
        assert all(locks.holder("a board") is not None for _ in range(2000))
    finally:
        stop.set()
        child.join(PATIENCE)


def test_a_note_of_which_half_is_old_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a note is what a reader finds whose writer has lost its CPU within the write."""
    with locks.held("a board", "a test"):
        locks.note_activity("a board", {"op": "boot"})
        (path,) = locks.directory().iterdir()
        whole = path.read_bytes()
        path.write_bytes(whole[:40] + whole[40:].replace(b"boot", b"foot"))
        monkeypatch.setattr(time, "sleep", lambda _: path.write_bytes(whole))
        found = locks.holder("a board")
        assert found is not None and found.doing == {"op": "boot"}


def test_what_is_no_note_is_no_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_HALF_SECONDS", 0.01)
    with locks.held("a board", "a test"):
        (path,) = locks.directory().iterdir()
        for text in (b"{}", b"00000000 {}", b"x" * 9000, b"\0" * 9):
            path.write_bytes(text)
            assert locks.holder("a board") is None


def holding(key: str, what: str, seconds: float, pipe: Any) -> Any:
    """A process that waits for a lock, says so once it has it, and keeps it until it is told.

    A process of its own, as a lock is also that of all who are forked from its holder.
    """

    def run() -> None:
        with locks.held(key, what, wait_s=seconds):
            pipe.send(what)
            pipe.recv()

    child = spawned.Process(target=run, daemon=True)
    child.start()
    return child


def _waits(key: str, what: str) -> bool:
    return what in [waiter.what for waiter in locks.waiters(key)]


def test_those_who_wait_have_their_turn_in_the_order_in_which_they_came() -> None:
    pipes = {name: spawned.Pipe() for name in ("holder", "first", "second", "third")}
    children = {}
    for name, (mine, theirs) in pipes.items():
        children[name] = holding("a board", name, PATIENCE, theirs)
        if name == "holder":
            assert mine.recv() == name
        else:
            wait_until(partial(_waits, "a board", name), name)
    assert [w.what for w in locks.waiters("a board")] == ["first", "second", "third"]
    children["second"].kill()  # the kernel releases its ticket
    children["second"].join()
    assert [w.what for w in locks.waiters("a board")] == ["first", "third"]
    for name, after in (("holder", "first"), ("first", "third"), ("third", "")):
        pipes[name][0].send("go")
        if after:
            assert pipes[after][0].recv() == after
    for child in children.values():
        child.join(PATIENCE)
    assert locks.waiters("a board") == () and locks.holder("a board") is None


def test_who_only_tries_does_not_push_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is free, and somebody waits who has not looked since."""
    monkeypatch.setattr(locks, "_UNNOTED_SECONDS", 0.0)
    path = locks._path("a board")
    note = partial(locks._note, who=locks.Holder(1, "a nightly run", time.time()))
    with (
        turns.ticket(path, note),
        pytest.raises(RigError, match=r"the board one is next for a nightly run \(process 1"),
        locks.held("a board", "another", name="the board one"),
    ):
        pass
    with locks.held("a board", "another"):
        pass


def test_what_lies_among_tickets_is_none(tmp_path: Path) -> None:
    path = locks._path("a board")
    with turns.ticket(path, lambda _: None) as own:
        (own.parent / "0000").write_bytes(b"a file of nobody")
        (own.parent / "0001").symlink_to("/etc/passwd")
        (own.parent / "0002").mkdir()
        assert turns.waiting(path) == [own]
        assert locks.waiters("a board") == ()  # it has no note
    assert Path("/etc/passwd").exists()


def test_a_dead_ticket_is_removed_and_not_one_that_comes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = locks._path("a board")
    with turns.ticket(path, lambda _: None, "7") as dead:
        pass
    dead.touch()  # as one who was killed leaves it: no lock
    with contextlib.ExitStack() as stack:
        come: list[Path] = []

        def is_locked(_descriptor: int) -> bool:
            come.append(stack.enter_context(turns.ticket(path, lambda _: None, "7")))
            return False

        with monkeypatch.context() as patch:
            patch.setattr(file_locks, "is_locked", is_locked)
            assert turns.waiting(path) == []
        assert not dead.exists()
        assert turns.waiting(path) == come


def test_a_directory_has_its_rights_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, seen = tmp_path / "locks", []
    change = Path.chmod

    def chmod(path: Path, mode: int) -> None:
        seen.append(place.exists())
        change(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    turns.make_directory(place, 0o1777)
    assert seen == [False] and stat.S_IMODE(place.stat().st_mode) == 0o1777
    turns.make_directory(place, 0o700)  # it is there
    assert stat.S_IMODE(place.stat().st_mode) == 0o1777


def test_a_directory_that_another_makes_meanwhile_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "locks"

    def chmod(_path: Path, _mode: int) -> None:
        place.mkdir()
        (place / "a lock").touch()

    monkeypatch.setattr(Path, "chmod", chmod)
    turns.make_directory(place, 0o1777)
    assert [entry.name for entry in tmp_path.iterdir()] == ["locks"]
    assert (place / "a lock").exists()


def test_waiting_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_IN_TURN_SECONDS", 0.05)
    told: list[locks.Holder] = []
    mine, theirs = spawned.Pipe()
    child = holding("a board", "a long test", 0.0, theirs)
    mine.recv()
    with (
        pytest.raises(RigError, match="in use: a long test"),
        locks.held("a board", "another", wait_s=0.1, observe=told.append),
    ):
        pass
    assert [who.what for who in told] == ["a long test"] and locks.waiters("a board") == ()
    mine.send("go")
    child.join(PATIENCE)


def test_one_who_is_not_leaving_is_named(tmp_path: Path) -> None:
    with (
        locks.held("a board", "flashing", name="the board one"),
        pytest.raises(RigError, match=r"the board one is in use: flashing \(process \d+") as found,
        locks.held("a board", "another", name="the board one"),
    ):
        pass
    assert found.value.fault is Fault.BUSY
    assert f"kill {os.getpid()}" in found.value.remedy


def test_locks_of_a_machine_without_a_shared_place_are_in_one_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(locks.DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setattr(locks, "_SHARED", tmp_path / "missing")
    monkeypatch.setattr(locks, "_OWN", tmp_path / "locks")
    path = locks.directory()
    assert path == tmp_path / f"locks-{os.getuid()}"
    assert path.stat().st_mode & 0o777 == 0o700

    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    path.rename(tmp_path / "locks-4000000")  # somebody else has made it
    with pytest.raises(BenchviseError, match="another user"):
        locks.directory()
