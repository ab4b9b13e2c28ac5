"""Faults put into the product: the table stands, sources are what they were afterwards."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import PATIENCE

from benchmarks.mutation import suite
from benchmarks.mutation.draw import AREAS, ROOT, draw
from benchmarks.mutation.faults import Mutant, WorkTree, faults
from benchmarks.mutation.operators import KINDS, sites


def test_every_fault_can_be_put_into_todays_code() -> None:
    gone = []
    for fault in faults():
        try:
            fault.applied((ROOT / fault.file).read_text())
        except (ValueError, FileNotFoundError) as error:
            gone.append(str(error))
        gone += [f"{fault.name}: no {test}" for test in fault.tests if not _is_there(test)]
    assert gone == []


def _is_there(test: str) -> bool:
    return (ROOT / test.split("::")[0].split()[0]).exists()


def test_the_first_thirty_are_one_of_each_area() -> None:
    first = [fault for fault in faults() if fault.seed == 15]
    assert sorted(fault.area for fault in first) == sorted(AREAS)
    assert len(first) == 30
    assert {fault.kind for fault in faults()} <= set(KINDS)
    assert len({fault.name for fault in faults()}) == len(faults())


def test_the_same_seed_draws_the_same_faults() -> None:
    first, again = (list(draw(7, areas=1)) for _ in range(2))
    assert first == again
    assert len(first) == 1
    assert {candidate.area for candidate in first[0]} == {first[0][0].area}


@pytest.mark.parametrize(
    ("suffix", "line", "kind", "wrong"),
    [
        ("py", "if a <= b:", "comparison", "if a < b:"),
        ("py", "x = rows[1:]", "off by one", "x = rows[2:]"),
        ("py", 'f"{printable(name, 40)}" + printable(name, 40)', "escape", None),
        ("py", "y = printable(name, 40)", "escape", "y = name"),
        ("c", "ns = us * 1000;", "unit", "ns = us * 1024;"),
        ("rs", "place(row, column);", "arguments", "place(column, row);"),
        ("ts", "return low - margin;", "sign", "return low + margin;"),
        ("py", "    self.board.restore(now)", "dropped step", "    pass"),
        ("c", "\tpthread_mutex_unlock(&m);", "lock or close", None),
        ("c", "\tclose(fd);", "lock or close", "\t;"),
        ("py", "with self._lock:", "lock or close", "if True:"),
        ("rs", "if !self.open {", "missing not", "if self.open {"),
        ("py", "def f(x: int = 5) -> None:", "default", "def f(x: int = 15) -> None:"),
        ("c", "return -EINVAL;", "ignored error", "return 0;"),
        ("py", "for row in rows:", "last element", "for row in list(rows)[:-1]:"),
        ("ts", "x = Math.round(y);", "rounding", "x = Math.floor(y);"),
    ],
)  # fmt: skip
def test_what_a_line_could_have_wrong(suffix: str, line: str, kind: str, wrong: str | None) -> None:
    of_kind = [site.new for site in sites(line + "\n", suffix) if site.kind == kind]
    assert (wrong in of_kind) if wrong else of_kind != [line], of_kind


@pytest.mark.parametrize(
    ("suffix", "line"),
    [("py", 's = "a <= b"  # c < d'), ("c", "/* a <= b */"), ("ts", "s = `a <= b`; // c < d")],
)
def test_texts_and_comments_hold_no_faults(suffix: str, line: str) -> None:
    assert list(sites(line + "\n", suffix)) == []


FAULT = Mutant("f", 1, "web", "sign", "a.py", "a + b", "a - b", "all", ("tests/test_a.py",))


def test_a_fault_stands_in_its_tree_until_the_tests_end(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("x = a + b\n")
    with pytest.raises(KeyboardInterrupt), WorkTree(tmp_path).fault(FAULT):
        assert source.read_text() == "x = a - b\n"
        raise KeyboardInterrupt
    assert source.read_text() == "x = a + b\n"


def test_what_is_built_of_a_fault_is_built_anew_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    monkeypatch.setattr(WorkTree, "build", lambda tree, *of: built.append((*of, text())))
    source = tmp_path / "probe" / "a.c"
    source.parent.mkdir()
    source.write_text("x = a + b;\n")

    def text() -> str:
        return source.read_text()

    with WorkTree(tmp_path).fault(replace(FAULT, file="probe/a.c")):
        pass
    assert built == [("probe", "x = a - b;\n"), ("probe", "x = a + b;\n")]


@pytest.mark.parametrize("source", ["x = 1\n", "a + b\na + b\n"])
def test_a_text_that_does_not_stand_there_once_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(source)
    with pytest.raises(ValueError, match=r"stands [02] times"), WorkTree(tmp_path).fault(FAULT):
        pass
    assert (tmp_path / "a.py").read_text() == source


def test_tests_that_are_not_run_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(code: int, text: str) -> None:
        result = subprocess.CompletedProcess([], code, text, "")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: result)

    said(0, "3 passed in 1 s")
    assert suite.first_failure(Path(), "tests/test_a.py") is None
    said(1, "FAILED tests/test_a.py::test_b\n1 failed, 2 passed")
    assert suite.first_failure(Path(), "tests/test_a.py") == "tests/test_a.py::test_b"
    broken = "error: could not compile"
    said(0, "4 skipped in 1 s")  # what cannot run here finds nothing, and is no error
    assert suite.first_failure(Path(), "tests/test_a.py") is None
    for code, text in ((5, "no tests ran"), (101, broken)):
        said(code, text)
        with pytest.raises(RuntimeError):
            suite.first_failure(Path(), "tests/test_a.py")


def test_what_a_fault_leaves_running_is_ended(tmp_path: Path) -> None:
    """One that holds something and gives it back when asked, one that does not listen: as long as
    the first takes."""
    program = f"""
import os, subprocess, time
from types import SimpleNamespace
from benchmarks.mutation import suite
suite.adopt_orphans()
held = {str(tmp_path / "held")!r}
gives_back = f"(trap 'rm {{held}}; exit' TERM; touch {{held}}; while :; do sleep 0.1; done)"
subprocess.run(["sh", "-c", f"{{gives_back}} & (trap '' TERM; exec sleep 1017) & "
                f"until [ -e {{held}} ]; do sleep 0.1; done"], check=True)
time_is_up = lambda: 1e9 * (not os.path.exists(held))
suite.time = SimpleNamespace(monotonic=time_is_up, sleep=time.sleep)
suite.end_children()
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=PATIENCE)
    assert not (tmp_path / "held").exists()
    assert not _running("sleep 1017")


def _running(command: str) -> bool:
    words = command.replace(" ", "\0").encode() + b"\0"
    return any(_command_line(place) == words for place in Path("/proc").glob("[0-9]*/cmdline"))


def _command_line(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:  # it has ended
        return b""
