"""What a command's memory is made of: what it read and never wrote is seen, and nothing else.

The programs are small ones of Python. Huge pages are asked for, or forbidden, by each program for
itself, so that the machine's own setting stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from probe_programs import Line, run

pytest_plugins = ["probe_fixtures"]

MIB = 1 << 20
SIZE = 256 * MIB
SLACK = 8 * MIB  # what an interpreter has only looked at
ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")

PROGRAM = """
import ctypes, mmap, sys, time
kind, pages = sys.argv[1:3]
libc = ctypes.CDLL(None)
if pages == "small":
    libc.prctl(41, 1, 0, 0, 0)
data = mmap.mmap(-1, {size}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if pages == "huge":
    data.madvise(mmap.MADV_HUGEPAGE)
if kind == "written":
    for at in range(0, {size}, {mib}):
        data[at : at + {mib}] = b"x" * {mib}
end = None  # counted from when all of it has been looked at, which may take a while
while end is None or time.monotonic() < end:
    sum(data[at] for at in range(0, {size}, 4096))
    end = end or time.monotonic() + 1.2
"""


def looked_at(probe: Path, program: str, *words: str, **options: Any) -> Line:
    command = f'exec {sys.executable} -c "$PROGRAM" {program}'
    environment = {**os.environ, "PROGRAM": PROGRAM.format(size=SIZE, mib=MIB)}
    base: list[str | Path] = [
        probe,
        "run",
        "command.time",
        "--run",
        command,
        "--batches",
        "1",
        "--warmup",
        "0",
    ]
    result = run(
        [*base, "--warm_ms", "0", "--observe", "pages", *words], env=environment, **options
    )
    detail = result.one("sample")["detail"]
    assert isinstance(detail, Mapping)
    return dict(detail)


each_page = pytest.mark.parametrize("pages", ["small", "huge"])


@each_page
def test_memory_that_was_never_written_is_seen(probe: Path, pages: str) -> None:
    detail = looked_at(probe, f"unwritten {pages}")
    assert SIZE - SLACK <= detail["zero_page_bytes"] <= SIZE + SLACK
    assert 0 < detail["rss_bytes"] < SIZE
    assert detail["looks"] > 1


@each_page
def test_written_memory_is_none(probe: Path, pages: str) -> None:
    detail = looked_at(probe, f"written {pages}")
    assert detail["zero_page_bytes"] < SLACK
    assert detail["rss_bytes"] > SIZE
    if pages == "small":
        assert detail["anon_huge_bytes"] == 0
    elif "[never]" not in ENABLED.read_text():
        assert detail["anon_huge_bytes"] > 0


def test_descendants_are_looked_at_too(static: Path) -> None:
    detail = looked_at(static, "unwritten small & wait")
    assert detail["zero_page_bytes"] >= SIZE - SLACK


def test_as_a_user(unprivileged: dict[str, Any]) -> None:
    """No right is needed to look at one's own processes."""
    program = "dd if=/dev/zero of=/dev/null bs=64M count=40"
    words = ["run", "command.time", "--run", program, "--batches", "1", "--observe", "pages"]
    probe: Path = unprivileged["probe"]
    result = run([probe, *words], **unprivileged["options"])
    detail = result.one("sample")["detail"]
    assert detail["zero_page_bytes"] < SLACK and detail["rss_bytes"] > 0


def test_a_user_who_is_told_no_frames_sees_the_same(
    sanitized: Path, unprivileged: dict[str, Any]
) -> None:
    """By another way than root: what is present and not the process's own."""
    program = unprivileged["directory"] / "zero_pages"
    shutil.copy(sanitized.with_name("zero_pages"), program)
    done = subprocess.run([program], capture_output=True, check=False, **unprivileged["options"])
    assert done.returncode in (0, 77), done.stderr.decode()


def test_what_ends_at_once_says_why_there_is_nothing(static: Path) -> None:
    base: list[str | Path] = [
        static,
        "run",
        "command.time",
        "--run",
        "exit 0",
        "--batches",
        "1",
        "--warmup",
        "0",
    ]
    detail = run([*base, "--observe", "pages"]).one("sample")["detail"]
    if detail["looks"] == 0:
        assert detail["zero_page_bytes"] == {"na": "it ended before it could be looked at"}


def test_nobody_looks_unasked(static: Path) -> None:
    base: list[str | Path] = [static, "run", "command.time", "--run", "true", "--batches", "1"]
    assert "zero_page_bytes" not in run(base).one("sample")["detail"]


@pytest.mark.parametrize("benchmark", ["memory.copy", "memory.read", "memory.libc_copy"])
@pytest.mark.parametrize(("source", "zeros"), [("untouched", 32 * MIB), ("random", 0), ("zero", 0)])
def test_our_own_benchmarks_source(static: Path, benchmark: str, source: str, zeros: int) -> None:
    words = ["--size", "32M", "--source", source, "--batches", "1", "--observe", "pages"]
    result = run([static, "run", benchmark, *words, "--warm_ms", "0"])
    detail = result.one("sample")["detail"]
    assert zeros <= detail["zero_page_bytes"] <= zeros + SLACK
