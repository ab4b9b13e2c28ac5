"""One command at a time measures this machine, whoever's it is; the others are told or wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_process import benchvise

from benchvise.errors import BenchviseError
from benchvise.flows import boards
from benchvise.flows.bisect import bisect
from benchvise.flows.bisect_request import BisectOptions
from benchvise.rig import locks, this_machine
from benchvise.rig.environment import WAIT_VARIABLE, BoardRequest, Rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import choice
from benchvise.rig.hold.messages import BoardAwaited

HOLDING = """
import sys
from benchvise.rig import this_machine
with this_machine.held("benchvise run --suite full"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> subprocess.Popen[str]:
    """Another process that measures; a line on its standard input ends it."""
    monkeypatch.setenv(locks.DIRECTORY_VARIABLE, str(tmp_path))
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.communicate("\n")
    assert child.returncode == 0


def test_who_comes_second_is_told_who_measures_and_who_looks_on_is_let_in(
    other: subprocess.Popen[str],
) -> None:
    with ExitStack() as stack, pytest.raises(RigError) as caught:
        boards.open_boards(["local"], stack)
    assert caught.value.fault is Fault.BUSY
    assert "local (this machine) is in use: benchvise run --suite full" in caught.value.message
    assert f"process {other.pid}" in caught.value.message and "--wait" in caught.value.remedy
    with ExitStack() as stack:
        [(board, _)], failed = boards.open_boards(["local"], stack, measures=False)
        assert board.name == "local" and not failed
    end(other)
    with ExitStack() as stack:
        boards.open_boards(["local"], stack)
        holder = locks.holder(this_machine.KEY)
        assert holder is not None and holder.pid == os.getpid()
        boards.open_boards(["local"], stack)  # a part of what this process does
    assert locks.holder(this_machine.KEY) is None


def test_who_waits_is_told_whom_for_and_comes_next(
    other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "10min")
    told = []

    def observe(name: str, event: object) -> None:
        told.append((name, event))
        end(other)

    with ExitStack() as stack:
        boards.open_boards(["local"], stack, observe=observe)
    [(name, event)] = told
    assert name == "local" and isinstance(event, BoardAwaited)
    assert event.what == "benchvise run --suite full"


RIG = """
targets:
  one: {features: [simulated, arm], drivers: {CardStrategy: {}}}
  two: {features: [simulated], drivers: {CardStrategy: {}}}
  here: {resources: {NetworkService: {address: 127.0.0.1, port: 1}}, drivers: [SSHDriver: {}]}
  apart:
    resources: {NetworkService: {address: 127.0.0.1, port: 1}}
    drivers: [SSHDriver: {}]
    options: {benchvise: {shares: []}}
  pi: {features: [arm], resources: {NetworkService: {address: 198.51.100.1}}}
"""


@pytest.fixture
def rig(tmp_path: Path) -> str:
    file = tmp_path / "rig.yaml"
    file.write_text(RIG)
    return str(file)


def test_boards_on_this_machine_are_refused_and_others_are_not(
    other: subprocess.Popen[str], rig: str
) -> None:
    """Simulated ones, and those at its addresses; not what the rig file says shares nothing."""
    for name in ("rig:one", "rig:here", "ssh://127.0.0.1:1"):
        with ExitStack() as stack, pytest.raises(RigError) as caught:
            boards.NamedBoards.of([name], rig, stack)
        assert f"this machine, on which {name} runs, is in use: benchvise" in caught.value.message
        assert ("shares: []" in caught.value.remedy) is name.startswith("ssh")
        with ExitStack() as stack:
            boards.NamedBoards.of([name], rig, stack, measures=False)
    with ExitStack() as stack:
        named = boards.NamedBoards.of(["rig:apart", "rig:pi", "rig:two"], rig, stack)
        assert named.names == ("rig:apart", "rig:pi", "rig:two")
        assert list(named.refused) == ["rig:two"]
    end(other)
    with ExitStack() as stack:
        assert not boards.NamedBoards.of(["rig:all", "local"], rig, stack).refused
        holder = locks.holder(this_machine.KEY)
        assert holder is not None and holder.pid == os.getpid()
    assert locks.holder(this_machine.KEY) is None


def test_a_board_that_is_refused_fails_alone(other: subprocess.Popen[str], rig: str) -> None:
    with ExitStack() as stack:
        named = boards.NamedBoards.of(["local", "rig:two", "rig:pi"], rig, stack)
        with pytest.raises(BenchviseError) as caught:  # nobody is at the address of pi
            boards.open_named(named.some(["local", "rig:two"]), stack)
    assert "local (this machine) is in use" in caught.value.message
    assert "rig:two failed too" in caught.value.message
    end(other)


def test_nobody_waits_for_this_machine_with_a_board_in_hand(
    other: subprocess.Popen[str], rig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was chosen is released, as the command that measures may wait for it."""
    monkeypatch.setenv(WAIT_VARIABLE, "10min")
    held: list[str] = []
    while_waiting = []

    def choose(rig: Rig, request: BoardRequest, *_: object) -> list[SimpleNamespace]:
        name = rig.matching(request)[0]
        held.append(name)
        return [SimpleNamespace(name=name)]

    def release(holds: list[SimpleNamespace]) -> None:
        for hold in holds:
            held.remove(hold.name)

    def observe(name: str, _event: object) -> None:
        while_waiting.append((name, list(held)))
        end(other)

    monkeypatch.setattr(choice, "choose", choose)
    monkeypatch.setattr(choice, "release", release)
    with ExitStack() as stack:
        named = boards.NamedBoards.of(["rig:any=simulated"], rig, stack, observe)
        assert (named.names, held) == (("rig:one",), ["one"])
        holder = locks.holder(this_machine.KEY)
        assert holder is not None and holder.pid == os.getpid()
    assert while_waiting == [("rig:one", [])]
    assert held == [] and locks.holder(this_machine.KEY) is None


def test_bisect_waits_too(
    other: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "")  # which --wait sets for the process
    words = ("bisect", "--versions", "1,2", "--good", "1", "--bad", "2", "--command", "true {}")
    refused = benchvise(*words, "-o", tmp_path / "refused")
    assert (refused.code, "is in use: benchvise run" in refused.err) == (3, True)
    assert "'soon' is no time to wait" in benchvise(*words, "--wait", "soon").err
    told = []

    def observe(line: str) -> None:
        told.append(line)
        if line.startswith("local: "):
            end(other)

    options = BisectOptions(
        versions="1,2", good="1", bad="2", command="true {}", budget=0, wait="10min",
        output=tmp_path / "waited", observe=observe,
    )  # fmt: skip
    bisect(options)
    assert "local: in use: benchvise run --suite full; waiting" in told


def test_what_the_holder_starts_needs_no_lock_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(locks.DIRECTORY_VARIABLE, str(tmp_path))
    with this_machine.held("benchvise bisect --command make"):
        child = subprocess.run(
            ["sh", "-c", f"echo | '{sys.executable}' -c '{HOLDING}'"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert child.stdout == "held\n", child.stderr


def test_a_number_of_another_container_is_nothing_to_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is that of the parent of this process."""
    monkeypatch.setenv(locks.DIRECTORY_VARIABLE, str(tmp_path))
    there = locks.Holder(os.getppid(), "benchvise run", time.time(), numbers="pid:[1]")
    monkeypatch.setattr(locks.Holder, "here", lambda what: there)
    with (
        this_machine.held("benchvise run"),
        pytest.raises(RigError) as caught,
        this_machine.held("benchvise why"),
    ):
        pass
    assert f"process {there.pid} of another container" in caught.value.message
    assert "kill" not in caught.value.remedy


def test_without_a_place_for_locks_it_is_measured_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(locks.DIRECTORY_VARIABLE, str(tmp_path / "file" / "locks"))
    with this_machine.held("benchvise run"):
        pass
