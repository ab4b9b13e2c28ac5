"""Watching a command on boards: recorded by this machine's kernel, followed by the probe."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from trace_boards import left_behind, recording, tracing_state

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.board.local import LocalBoard
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.errors import BoardUnreachable
from benchvise.measure.suite import SuiteEntry
from benchvise.why.benches.live import LiveBench
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.model import Side
from benchvise.why.witness import watch as watching
from benchvise.why.witness.compare import MeasuredTimes, compare
from benchvise.why.witness.confinement import confinement_suspects
from benchvise.why.witness.model import Activity, SideWatch, Witness

UNKNOWN = MeasuredTimes(None, None, {}, {})


class Prepared(LocalBoard):
    """This machine with other variables: what a second board would be."""

    def __init__(self, name: str, variables: Mapping[str, str]) -> None:
        super().__init__()
        self.name = f"local:{name}"
        self._words = ["env", *(f"{key}={value}" for key, value in variables.items())]

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        return super().run([*self._words, *argv], input=input, timeout=timeout)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return super().spawn([*self._words, *argv])


Bench = Callable[..., LiveBench]


def same(board: Board) -> Board:
    """How it is reached once more."""
    return board


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A bench of two boards on which a command finds other values of a variable."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened: list[LiveBench] = []

    def open_bench(command: str, good: Mapping[str, str], bad: Mapping[str, str]) -> LiveBench:
        entry = SuiteEntry("command.time", {"run": (command,)})
        boards = {Side.GOOD: Prepared("good", good), Side.BAD: Prepared("bad", bad)}
        sides = {s: LiveBoard(board, partial(same, board), entry) for s, board in boards.items()}
        opened.append(LiveBench(sides))
        return opened[-1]

    yield open_bench
    for one in opened:
        one.close()


def watch(bench: LiveBench, place: Path) -> Witness:
    seen = {side: bench.watch(side, place / f"{side}.dat") for side in Side}
    return compare(seen[Side.GOOD], seen[Side.BAD], UNKNOWN)


@pytest.fixture
def recorded() -> Iterator[None]:
    with recording():
        yield


PACE = ("sleep $PACE", {"PACE": "0.01"}, {"PACE": "0.6"})


@pytest.mark.usefixtures("recorded")
def test_a_command_that_waits_says_so_and_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    before = tracing_state()
    found = watch(bench(*PACE), tmp_path)
    assert not found.missing
    assert found.parts[0].activity is Activity.TIMER
    assert found.parts[0].share > 0.8
    assert "waiting in clock_nanosleep: timer" in found.sentence
    assert {Path(found.good_trace).name, Path(found.bad_trace).name} == {"good.dat", "bad.dat"}
    assert (tmp_path / found.bad_trace).read_bytes()[3:10] == b"tracing"
    assert tracing_state() == before
    assert not left_behind()


@pytest.mark.usefixtures("recorded")
def test_the_way_leads_into_a_child_and_out_again(bench: Bench, tmp_path: Path) -> None:
    program = "import os, time; end = time.perf_counter() + float(os.environ['PACE'])"
    program += "; any(time.perf_counter() > end for _ in iter(int, 1))"
    command = f"true; {shlex.quote(sys.executable)} -S -c {shlex.quote(program)}; true"
    found = watch(bench(command, {"PACE": "0.01"}, {"PACE": "1.5"}), tmp_path)
    # Where this machine is busy, it waits for a CPU as well: all else is its own.
    own = [part for part in found.parts if part.activity is not Activity.RUNNABLE]
    assert own[0].activity is Activity.USER, found.parts
    assert own[0].program.startswith("python")
    assert sum(part.share for part in found.parts if part in own[1:]) < 0.1, found.parts


def test_without_root_the_calls_tell_all_the_same(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> object:
        raise BoardUnreachable("there is but one connection", "")

    monkeypatch.setattr(watching, "TraceRecorder", refused)
    found = watch(bench(*PACE), tmp_path)
    assert {gap.means for gap in found.missing} == {watching.TRACE}
    assert found.parts[0].activity is Activity.TIMER
    assert not found.bad_trace
    assert not list(tmp_path.glob("*.dat"))


def test_programs_that_one_side_alone_runs_are_told(bench: Bench, tmp_path: Path) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "work").write_text("#!/bin/sh\nsleep 0.3\n")
    (own / "work").chmod(0o755)
    other = tmp_path / "other"
    other.mkdir()
    (other / "work").symlink_to("/bin/true")
    path = os.environ["PATH"]
    opened = bench("work", {"PATH": f"{other}:{path}"}, {"PATH": f"{own}:{path}"})
    found = watch(opened, tmp_path)
    assert str(own / "work") in found.bad_files
    assert str(other / "work") in found.good_files


def test_what_a_wrapper_takes_from_the_command_is_told(bench: Bench, tmp_path: Path) -> None:
    wrap = "setpriv --no-new-privs --bounding-set -sys_nice"
    opened = bench("$WRAP cat /dev/null", {"WRAP": "env"}, {"WRAP": wrap})
    seen = {side: opened.watch(side, tmp_path / f"{side}.dat") for side in Side}
    found = {suspect.id: suspect for suspect in confinement_suspects(seen)}
    assert found["process.confined:no_new_privs"].bad == "0, 1"
    assert found["process.confined:capabilities"].bad == "without CAP_SYS_NICE"


def test_two_names_of_one_directory_are_no_difference(bench: Bench, tmp_path: Path) -> None:
    """Where /bin is a link to /usr/bin, which comes first on PATH."""
    paths = ("/usr/bin:/usr/sbin:/bin", "/bin:/usr/sbin:/usr/bin")
    opened = bench("cat /dev/null; sleep 0", *({"PATH": path} for path in paths))
    found = watch(opened, tmp_path)
    if Path("/bin").is_symlink():
        assert not found.bad_files and not found.good_files


def test_a_benchmark_of_the_probe_is_not_watched(bench: Bench, tmp_path: Path) -> None:
    opened = bench(*PACE)
    board = opened._live[Side.BAD]
    board.entry = SuiteEntry("os.syscall", {})
    with pytest.raises(NotAvailable, match="only commands"):
        opened.watch(Side.BAD, tmp_path / "x")


def test_a_command_that_hangs_is_ended(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = bench(*PACE)
    monkeypatch.setattr(watching, "LEAST_S", 0.1)
    board = opened._live[Side.BAD]
    found: SideWatch = watching.watch(board.board, board.channel, "sleep 4324", 0.05, None)
    assert any("took too long" in remark for remark in found.remarks)
    assert board.channel.is_open
    assert opened.watch(Side.GOOD, None).calls
