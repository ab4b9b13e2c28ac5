"""The fixture ``benchvise_board``, as pytest itself runs it, with and without labgrid's plugin."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_TESTS = """
import benchvise as bv

def test_board(benchvise_board):
    assert isinstance(benchvise_board, bv.Board) and benchvise_board.name == "local"
    assert benchvise_board.store_url == "results.db"

def test_run(benchvise_board):
    run = benchvise_board.run(bench="os.syscall", processes=1, batches=3, snapshots=False)
    assert run.series[0].n == 3
    assert bv.open_store("results.db").run("@").id == run.id

def test_without():
    pass
"""


def outcome(place: Path, *options: str, settings: str = "") -> str:
    """The last line of a run of pytest in a directory with these tests."""
    (place / "test_boards.py").write_text(_TESTS)
    (place / "pytest.ini").write_text(f"[pytest]\n{settings}")
    words = ["-q", "-rs", "-p", "no:benchvise", "-p", "benchvise.api.pytest_plugin", *options]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-p", "no:cacheprovider"],
        capture_output=True, text=True, check=False, cwd=place,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("named_by", ["options", "settings"])
def test_the_board_that_is_named(tmp_path: Path, named_by: str) -> None:
    if named_by == "options":
        options = ("--benchvise-board", "local", "--benchvise-store", "results.db")
        text = outcome(tmp_path, *options, "-p", "no:labgrid")
    else:
        text = outcome(tmp_path, settings="benchvise_board = local\nbenchvise_store = results.db\n")
    assert re.search(r"3 passed", text)


def test_without_a_board_it_is_skipped_and_says_so(tmp_path: Path) -> None:
    text = outcome(tmp_path, "-p", "no:labgrid")
    assert "1 passed, 2 skipped" in text and "no board: give --benchvise-board BOARD" in text


def test_the_package_announces_the_plugin() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"benchvise": "benchvise.api.pytest_plugin"}


def test_pytest_loads_nothing_else_of_benchvise() -> None:
    code = (
        "import json, sys, benchvise.api.pytest_plugin;"
        "print(json.dumps([m for m in sys.modules if m.startswith('benchvise.')]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(out.stdout)) <= {
        "benchvise.api", "benchvise.api.pytest_plugin", "benchvise._version"
    }  # fmt: skip
