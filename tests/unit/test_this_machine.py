"""One command at a time measures this machine, whoever's it is; the others are told or wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchvise.flows import boards
from benchvise.rig import locks, this_machine
from benchvise.rig.environment import WAIT_VARIABLE
from benchvise.rig.faults import Fault, RigError
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
