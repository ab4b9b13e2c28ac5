"""What needs more memory than a command may take lies in a file: the answers are the same."""

from __future__ import annotations

import gzip
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


def test_events_take_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a format that is read as a whole, packed, so that what it unpacks to is bounded, too."""
    events = [
        {"ph": "X", "pid": 1, "tid": 2, "ts": at, "dur": 1, "name": f"n{at}"} for at in range(9000)
    ]
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(events).encode()))
    assert run(["trace", "events", str(path)]) == 0
    whole = capsys.readouterr().out
    assert whole.count("\n") == 18_000
    command = ["trace", "events", str(path), "--memory", "256M"]
    done = subprocess.run(
        [sys.executable, "-m", "benchvise", *command], capture_output=True, text=True, check=True
    )
    assert done.stdout == whole
    assert run(["trace", "events", str(path), "--memory", "1"]) == 2
    assert "is no size from 256M on" in capsys.readouterr().err


def test_arrays_of_numpy_lie_in_the_file_and_grow_there() -> None:
    """As large as they are, they are no memory of the process; what was in one stays in it."""
    script = """
import sys
import numpy as np
from benchvise.trace.decoder import decoder

def memory(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024

before = np.arange(1 << 20)
decoder().bound_memory(sys.argv[1], 1)
anonymous = memory("RssAnon")
large = np.arange(1 << 24)
zeros = np.zeros(1 << 24, dtype=np.int64)
grown = np.arange(1 << 12)
grown.resize(1 << 22)
small = [np.full(at, at) for at in range(2000)]
assert memory("RssAnon") - anonymous < 64 << 20, "270 MB are in memory"
assert (large[-1], int(large[:: 1 << 20].sum() >> 20)) == ((1 << 24) - 1, 15 * 16 // 2)
assert not zeros.any()
assert grown[: 1 << 12].tolist() == list(range(1 << 12)) and not grown[1 << 12 :].any()
assert all((array == at).all() and array.size == at for at, array in enumerate(small))
# What was made before, and an empty one, go away as they came.
before.resize(1 << 21, refcheck=False)
assert before[(1 << 20) - 1] == (1 << 20) - 1
del before, large, zeros, grown, small
assert np.empty(0).sum() == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "build")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", ["", "10", "255M", "much", "-1G", "1.5G", "\x1b[2J"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="is no size from 256M on"):
        bound_memory(size)


def test_a_file_system_in_memory_is_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        monkeypatch.setenv("XDG_CACHE_HOME", directory)
        with pytest.raises(UsageError, match=r"benchvise/traces: it is in memory itself"):
            bound_memory("1G")
