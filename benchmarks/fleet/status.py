"""What ``benchvise rig status`` takes of a lab that nobody uses, counted over all its processes."""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fleet.census import Census, Most
from benchmarks.fleet.field import Field, lab

_TIMES = 5
_PR_SET_CHILD_SUBREAPER = 36


def status_table(sizes: Sequence[int]) -> None:
    """Prints a row for each size of the lab: medians of five, the least and the greatest time."""
    # What the command leaves behind for a moment becomes a child of this process, and is counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print("| boards | time (s) | least, greatest | CPU of all (s) | processes | RSS (MiB) | load |")
    print("|" + "---:|" * 7)
    for boards in sizes:
        with (
            tempfile.TemporaryDirectory(prefix="benchvise-fleet-") as place,
            lab(Path(place), boards) as field,
        ):
            takes = [_once(field) for _ in range(_TIMES)]
        times = [seconds for seconds, _, _ in takes]
        cells = (
            f"{statistics.median(times):.2f}",
            f"{min(times):.2f}, {max(times):.2f}",
            f"{statistics.median(cpu for _, cpu, _ in takes):.2f}",
            max(most.processes for _, _, most in takes),
            f"{max(most.rss for _, _, most in takes):.0f}",
            f"{os.getloadavg()[0]:.1f}",
        )
        print(f"| {boards} | {' | '.join(map(str, cells))} |", flush=True)


def _once(field: Field) -> tuple[float, float, Most]:
    """Seconds, seconds of CPU time of it and all below it, and its memory and processes."""
    begun, cpu = time.monotonic(), _cpu_of_children()
    child = subprocess.Popen(
        [sys.executable, "-m", "benchvise", "rig", "status"],
        env=field.environment(),
        stdout=subprocess.DEVNULL,
    )
    with Census(child.pid, field.client_config, between_s=0.1) as census:
        _, status, _ = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"rig status ended with {child.returncode}")
    _wait_for_orphans({server.pid for server in field.daemons} | _servers(field))
    return seconds, _cpu_of_children() - cpu, census.most


def _servers(field: Field) -> set[int]:
    servers = (field.healthy, field.dying, field.hanging, field.full)
    return {server.process.pid for server in servers}


def _wait_for_orphans(ours: set[int]) -> None:
    """Until no child is left but those that stay."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    for pid in map(int, listed.read_text().split()):
        if pid not in ours:
            os.waitpid(pid, 0)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
