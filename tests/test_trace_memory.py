"""What needs more memory than a command may take lies in a file: the answers are the same."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import skips
from probe_programs import ROOT
from trace_data import trace

from benchvise.cli.main import run
from benchvise.errors import UsageError
from benchvise.trace.decoder import bound_memory

skips.need_decoder()

NAMES = ("stats", "wakeups", "syscalls")
SCRIPT = """
import json, os, sys
import benchvise as bv
from benchvise.trace.decoder import decoder

directory, path, *names = sys.argv[1:]
if directory:
    # Whatever is large is put out of memory all the time, and so is the trace.
    decoder().bound_memory(directory, 1)
trace = bv.open_trace(path, use_cache=False)
answers = [trace.analyse(name).to_csv() for name in names]
files = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
out = sum(
    os.stat(file).st_blocks * 512
    for file in files
    if directory and os.path.exists(file) and os.readlink(file).startswith(directory)
)
print(json.dumps([out, answers]))
"""


def answers(directory: str, path: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, directory, str(path), *NAMES],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out, texts = json.loads(done.stdout)
    return out, texts


def test_answers_are_the_same_where_most_is_put_out() -> None:
    path = trace("f1m")
    out, bounded = answers(str(ROOT / "build"), path)
    none, whole = answers("", path)
    assert (out > 1 << 20, none) == (True, 0)
    for name, mine, other in zip(NAMES, bounded, whole, strict=True):
        assert mine == other, name
        assert mine.count("\n") > 1


def test_a_command_takes_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    small = str(Path(__file__).parent / "data/traces/small.dat")
    assert run(["trace", "stats", small, "--csv"]) == 0
    whole = capsys.readouterr().out
    command = ["trace", "stats", small, "--csv", "--memory", "256M"]
    done = subprocess.run(
        [sys.executable, "-m", "benchvise", *command], capture_output=True, text=True, check=True
    )
    assert done.stdout == whole


@pytest.mark.parametrize("size", ["", "10", "255M", "much", "-1G", "1.5G", "\x1b[2J"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="is no size from 256M on"):
        bound_memory(size)


def test_a_file_system_in_memory_is_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        monkeypatch.setenv("XDG_CACHE_HOME", directory)
        with pytest.raises(UsageError, match=r"benchvise/traces: it is in memory itself"):
            bound_memory("1G")
