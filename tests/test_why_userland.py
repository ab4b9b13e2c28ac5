"""A command that is slower on one board because of its own programs: the userland is swapped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchvise.board.local import LocalBoard
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.measure.suite import Entry
from benchvise.why import loop
from benchvise.why.bench import Refused
from benchvise.why.evidence import EvidenceLog
from benchvise.why.known import Known
from benchvise.why.live import LiveBench
from benchvise.why.live_board import LiveBoard
from benchvise.why.model import Arm, Diagnosis, Layer, LayerMeans, Side, Verdict
from benchvise.why.options import Options
from benchvise.why.userland import Closure, File, Incomplete, Program, closure_of, rewritten

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

WORK = """
unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < ROUNDS * n; i++)
		sum += i ^ (sum >> 3);
	return sum;
}
"""
MAIN = """
unsigned long work(unsigned long n);
int main(void) { return work(10000000) == 1; }
"""


class Other(LocalBoard):
    """This machine with other programs and libraries: what a second board would be."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self.name = f"local:{root.name}"

    def _with(self, argv: Sequence[str]) -> list[str]:
        path = f"PATH={self._root}/bin:{os.environ['PATH']}"
        return ["env", path, f"LD_LIBRARY_PATH={self._root}/lib", *argv]

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        return super().run(self._with(argv), input=input, timeout=timeout)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return super().spawn(self._with(argv))


def build(root: Path, *, program: str, library: str) -> None:
    """``count``, with its work in a library; compiled with these words."""
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "work.c").write_text(WORK)
    (root / "main.c").write_text(MAIN)
    shared = ["-shared", "-fPIC", "-Wl,-soname,libwork.so.1", "-o", "lib/libwork.so.1", "work.c"]
    subprocess.run(["cc", library, *shared], cwd=root, check=True)
    linked = ["-o", "bin/count", "main.c", "lib/libwork.so.1"]
    subprocess.run(["cc", program, *linked], cwd=root, check=True)


@pytest.fixture
def boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Side, Other]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    build(tmp_path / "good", program="-O2", library="-DROUNDS=1")
    build(tmp_path / "bad", program="-O1", library="-DROUNDS=6")
    yield {side: Other(tmp_path / side) for side in Side}


def bench(boards: Mapping[Side, Other], command: str) -> LiveBench:
    # CPU time: the machine may have other things to do.
    entry = Entry("command.time", {"run": (command,), "metric": ("cpu",)})
    return LiveBench(
        {side: LiveBoard(board, lambda b=board: b, entry) for side, board in boards.items()}  # type: ignore[misc]
    )


class NothingElse(Known):
    """Of two views of one machine, nothing else can differ."""

    def find(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(suspects=(), excluded={})

    def examine(self, *_: Any) -> Any:
        return ()

    def explain(self, *_: Any, **__: Any) -> Any:
        return None


def diagnose(bench: LiveBench, place: Path) -> Diagnosis:
    log = EvidenceLog.create(place)
    try:
        return loop.diagnose(bench, Options(seed=1), log, lambda _: None, NothingElse())
    finally:
        log.close()


@pytest.mark.alone
def test_the_library_with_the_slow_function_is_found(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    opened = bench(boards, "count")
    try:
        found = diagnose(opened, tmp_path / "why")
        assert list(tmp_path.glob("benchvise-userland.*")), found.headline
    finally:
        opened.close()
    assert found.verdict is Verdict.EXPLAINED, found.headline
    (cause,) = found.causes
    (suspect,) = cause.suspects
    assert suspect.id == "userland:libwork.so.1"
    assert suspect.layer is Layer.USERLAND
    assert 0.8 < cause.share.value < 1.2
    assert {str(tmp_path / side / "lib/libwork.so.1") for side in Side} == {
        origin.file for origin in cause.origins
    }
    assert any(finding.rule == "userland in part" for finding in found.findings)
    assert not list(tmp_path.glob("benchvise-userland.*"))


def test_a_closure_has_what_the_loader_finds_and_scripts_bring_their_interpreter(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    script = tmp_path / "bad/bin/report"
    script.write_text("#!/bin/sh -e\ncount\n")
    script.chmod(0o755)
    found = closure_of(boards[Side.BAD], "report && count >/dev/null")
    assert [(p.word, p.script, p.argument) for p in found.programs] == [
        ("report", "report", "-e"),
        ("count", "", ""),
    ]
    assert found.files["libwork.so.1"].path == str(tmp_path / "bad/lib/libwork.so.1")
    assert {"libc.so.6", found.programs[1].loader} <= {
        name for name, file in found.files.items() if file.part == "libc"
    }


def test_nothing_is_swapped_where_nothing_differs(boards: dict[Side, Other]) -> None:
    same = {Side.GOOD: boards[Side.BAD], Side.BAD: boards[Side.BAD]}
    opened = bench(same, "count")
    try:
        assert opened.layers() == []
    finally:
        opened.close()


def test_a_swapped_program_that_does_not_run_is_refused(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    opened = bench(boards, "count")
    try:
        library = tmp_path / "good/lib/libwork.so.1"
        empty = ["-shared", "-x", "c", "/dev/null", "-o", str(library)]
        subprocess.run(["cc", *empty, "-Wl,-soname,libwork.so.1"], check=True)
        (whole,) = opened.layers()
        assert whole.means == LayerMeans("userland")
        with pytest.raises(Refused, match="symbol lookup error") as caught:
            opened.measure(Arm(Side.BAD, (whole,)))
        assert caught.value.suspects == ("userland",)
        assert opened.measure(Arm(Side.BAD)).value > 0
    finally:
        opened.close()
    assert not list(tmp_path.glob("benchvise-userland.*"))


def test_what_cannot_be_taken_along_is_said(boards: dict[Side, Other]) -> None:
    opened = bench(boards, "true")
    try:
        (found,) = opened.layers()
    finally:
        opened.close()
    assert found.means is None
    assert "no program of 'true' is a file there" in found.untestable


def test_commands_are_rewritten_only_where_programs_are_words() -> None:
    file = File("/usr/bin/count", "0", "program count")
    programs = (
        Program("count", "count", "ld.so"),
        Program("report", "sh", "ld.so", "report", "-e"),
    )
    closure = Closure(programs, {"count": file}, ("x86_64", 64, False))
    assert rewritten("x=count count --of count | report 1", closure, "/d") == (
        "x=count /d/ld.so --library-path /d /d/count --of count"
        " | /d/ld.so --library-path /d /d/sh -e /d/report 1"
    )
    with pytest.raises(Incomplete):
        rewritten("sh -c 'count'; my-report", closure, "/d")
