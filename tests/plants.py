"""Causes planted on this machine on purpose, each undone when its context ends.

A plant yields the words that go before ``benchvise``: nothing where the whole machine is changed,
or a program that changes only what it starts.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from waiting import PATIENCE

Words = list[str]


@contextlib.contextmanager
def nothing() -> Iterator[Words]:
    """The control: A against A."""
    yield []


@contextlib.contextmanager
def file_set(path: Path, value: str) -> Iterator[Words]:
    """A setting of the kernel, put back to what it was (the chosen word of a list)."""
    old = path.read_text().strip()
    chosen = old.partition("[")[2].partition("]")[0] or old
    path.write_text(value)
    try:
        yield []
    finally:
        path.write_text(chosen)


@contextlib.contextmanager
def neighbour(cpu: int) -> Iterator[Words]:
    """Another process that wants the measured CPU all the time."""
    busy = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
    try:
        # Whoever measures may be there sooner, and have the first process for itself.
        deadline = time.monotonic() + PATIENCE
        while _cpu_ticks(busy.pid) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        yield []
    finally:
        busy.kill()
        busy.wait()


def _cpu_ticks(pid: int) -> int:
    """What a process has had of a CPU in its programs, in clock ticks."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@contextlib.contextmanager
def quota(percent: int) -> Iterator[Words]:
    """A CPU quota with the shortest period, so that each batch feels it alike."""
    name, period = f"benchvise-test-{os.getpid()}", 1000 * 100 // percent
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        group = Path("/sys/fs/cgroup") / name
        settings = {"cpu.max": f"1000 {period}"}
    else:
        group = Path("/sys/fs/cgroup/cpu") / name
        settings = {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": "1000"}
    group.mkdir()
    try:
        for file, value in settings.items():
            (group / file).write_text(value)
        # The shell joins the group and becomes the program.
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        group.rmdir()


_FILTER = """
import ctypes, os, struct, sys
RET_ALLOW, LOAD, RETURN = 0x7FFF0000, 0x20, 0x06
length = 2000
code = struct.pack("HBBI", LOAD, 0, 0, 16) * (length - 1)
code += struct.pack("HBBI", RETURN, 0, 0, RET_ALLOW)
buffer = ctypes.create_string_buffer(code, len(code))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(length, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
for _ in range(int(sys.argv[1])):
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()
os.execvp(sys.argv[2], sys.argv[2:])
"""


@contextlib.contextmanager
def seccomp_filter(times: int = 1) -> Iterator[Words]:
    """A filter that looks at a call's argument two thousand times before it lets the call pass.

    At an argument, because a filter that decides by the number alone is run once and remembered.
    Installed as often as asked for, each costs as much again; a process may have fifteen.
    """
    yield [sys.executable, "-c", _FILTER, str(times)]


_SLACK = """
import ctypes, os, sys
PR_SET_TIMERSLACK = 29
assert ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, int(sys.argv[1]), 0, 0, 0) == 0
os.execvp(sys.argv[2], sys.argv[2:])
"""


@contextlib.contextmanager
def timer_slack(nanoseconds: int) -> Iterator[Words]:
    """Timers that may be late by so much, as a service manager sets it to save power."""
    yield [sys.executable, "-c", _SLACK, str(nanoseconds)]
