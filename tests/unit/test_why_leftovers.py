"""What runs of a command leave on a board is as the command by itself leaves it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from waiting import has_ended, wait_until

from benchvise.board.local import LocalBoard
from benchvise.why.benches.leftovers import MadeFiles, RunningPrograms, not_back
from benchvise.why.model import Side
from benchvise.why.witness.model import CallsAbout, SideWatch
from benchvise.why.witness.opened import OPENED_FILE, file_suspects
from benchvise.why.witness.written import renamed_paths, written_paths


def calls(*of: str) -> tuple[CallsAbout, ...]:
    """Calls as ``name target``."""
    pairs = (text.split(" ", 1) for text in of)
    return tuple(CallsAbout(name, target, 1, 0, 0.0, 0.0) for name, target in pairs)


@pytest.mark.parametrize(
    ("seen", "written"),
    [
        (["write /root/.log"], ["/root/.log"]),
        (["read /root/.log", "write socket"], []),
        (["rename /srv/.git/index.lock"], ["/srv/.git/index"]),
        (["renameat2 /root/.zcompdump.board.70"], ["/root/.zcompdump.board", "/root/.zcompdump"]),
        (["rename /etc/ld.so.cache~"], ["/etc/ld.so.cache", "/etc/ld.so", "/etc/ld"]),
    ],
)
def test_what_a_command_writes_is_known_by_its_calls(seen: list[str], written: list[str]) -> None:
    assert set(written) == set(written_paths(calls(*seen)))


def test_the_other_sides_file_does_not_stand_before_one_that_the_command_makes_anew() -> None:
    cache, settings = "/root/.zcompdump", "/root/.zshrc"
    seen = calls(f"openat {cache}", f"openat {settings}", f"renameat2 {cache}.board.70")
    watches = {side: SideWatch(calls=seen) for side in Side}
    digests = {Side.GOOD: {settings: "a" * 64}, Side.BAD: {cache: "b" * 64, settings: "c" * 64}}
    found = {s.id: s for s in file_suspects(watches, digests, (), can_swap=True)}
    assert found[f"{OPENED_FILE}{settings}"].means is not None
    made = found[f"{OPENED_FILE}{cache}"]
    assert made.means is None
    assert "writes it anew" in made.untestable
    assert made.log_odds < found[f"{OPENED_FILE}{settings}"].log_odds


def test_what_only_an_experiment_made_is_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".profile").touch()
    own = calls(f"write {home}/report-12", f"renameat2 {home}/.dump.board.12")
    other = calls(f"write {home}/.cache9.db", f"write {home}/report-7")
    assert renamed_paths(own) == (f"{home}/.dump.board.12",)
    files = MadeFiles(LocalBoard(), own, other)
    files.look()
    made = [".dump.board.4711", ".dump.board.4712", ".cache11.db"]
    kept = ["report-99", ".dump.other", "notes"]
    for name in (*made, *kept):
        (home / name).touch()
    assert set(files.remove()) == {f"{home}/{name}" for name in made}
    assert sorted(p.name for p in home.iterdir()) == sorted([".profile", *kept])


def test_a_dump_that_only_the_other_side_reads_is_none_of_this_board() -> None:
    dump = "/root/.zcompdump"
    watches = {
        Side.GOOD: SideWatch(calls=calls("openat /root/.zshrc")),
        Side.BAD: SideWatch(calls=calls(f"openat {dump}", "openat /root/.zshrc")),
    }
    digests: dict[Side, dict[str, str]] = {Side.GOOD: {}, Side.BAD: {dump: "b" * 64}}
    (found,) = file_suspects(watches, digests, (), can_swap=True)
    assert found.means is None
    assert found.log_odds < -3
    (lost,) = file_suspects(
        watches, {Side.GOOD: digests[Side.BAD], Side.BAD: {}}, (), can_swap=True
    )
    assert lost.means is not None  # a cache that the bad side lacks


@pytest.mark.parametrize("is_new", [False, True])
def test_what_was_there_before_stays(tmp_path: Path, is_new: bool) -> None:
    """But for what a run left that was ended after the diagnosis had begun."""
    running = RunningPrograms(LocalBoard())
    running.look()
    left, kept = tmp_path / ".dump.board.1", tmp_path / ".dump"
    for path in (left, kept):
        path.touch()
    if not is_new:
        os.utime(left, (running.since - 60, running.since - 60))
    made = calls(f"rename {tmp_path}/.dump.board.12", f"write {kept}")
    files = MadeFiles(LocalBoard(), made, made, running.since)
    files.look()
    assert files.remove() == ((str(left),) if is_new else ())
    assert left.exists() is not is_new
    assert kept.exists()


def test_a_program_that_measuring_ended_is_started_again_by_the_command(tmp_path: Path) -> None:
    program, note = tmp_path / "bvmeterd", tmp_path / "pid"
    program.write_text("#!/bin/sh\nsleep 600 & echo $$ $! >>$1; wait\n")
    program.chmod(0o755)
    command = f"{program} {note} & until [ $(wc -l <{note}) = 2 ]; do sleep 0.02; done"
    running = RunningPrograms(LocalBoard())
    try:
        subprocess.run(["sh", "-c", f"exec >/dev/null 2>&1; {program} {note} &"], check=True)
        wait_until(lambda: _numbers(note), "it runs")
        running.look()
        assert running.before["bvmeterd"] == 1
        assert running.bring_back("exit 1", 0.1) == ()  # it runs: nothing is done
        (started, _) = _numbers(note)
        os.kill(started, signal.SIGKILL)
        wait_until(lambda: has_ended(started), "until then it is among the programs")
        gone = running.bring_back("true", 0.1)
        assert "bvmeterd" in gone
        assert "bvmeterd ran before" in not_back("bench-7", ["bvmeterd"]).sentence
        assert "bvmeterd" not in running.bring_back(command, 0.1)
    finally:
        for number in _numbers(note):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize(
    ("answer", "gone"),
    [("7 (sh) S 3 7 7 0", ("ownd",)), ("", ()), ("9 (ownd) Z 1 9 9 0", ("ownd",))],
)
def test_a_program_is_gone_also_where_no_other_runs(answer: str, gone: tuple[str, ...]) -> None:
    """As in a container, whose first process has no children; no answer says nothing."""
    board = MagicMock(LocalBoard)
    board.run.return_value = MagicMock(stdout=answer.encode())
    running = RunningPrograms(board, Counter({"ownd": 1}))
    assert running.bring_back("true", 0.1) == gone


def _numbers(note: Path) -> list[int]:
    """Of the processes that have noted themselves there."""
    return [int(word) for word in note.read_text().split()] if note.exists() else []
