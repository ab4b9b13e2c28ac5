"""The processes of a run, counted while it goes on: how many, and their memory."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.fleet.field import descendants

_BETWEEN_SECONDS = 0.5
_MIB = 1 << 10  # of KiB


@dataclass
class Most:
    """The most that was seen at one time; memory in MiB, of which ``rss`` counts shared pages once
    for each process, and ``pss`` once."""

    processes: int = 0
    rss: float = 0.0
    pss: float = 0.0


class Census:
    """Within its context it counts a process, all below it, and all that name a file.

    ssh's shared connections are in the background, and so below no process of ours.
    """

    def __init__(self, pid: int, file: Path, between_s: float = _BETWEEN_SECONDS) -> None:
        self.most = Most()
        self._between_s = between_s
        self._pid = pid
        self._file = file
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ends.set()
        self._thread.join()

    def _count(self) -> None:
        while not self._ends.wait(self._between_s):
            ours = {self._pid, *descendants(self._pid), *processes_naming(self._file)}
            rss = sum(_kib(pid, "status", "VmRSS") for pid in ours) / _MIB
            pss = sum(_kib(pid, "smaps_rollup", "Pss") for pid in ours) / _MIB
            self.most = Most(
                max(self.most.processes, len(ours)),
                max(self.most.rss, rss),
                max(self.most.pss, pss),
            )


def processes_naming(file: Path) -> set[int]:
    """Processes whose command line has this file, but for this one."""
    return _having(str(file), "cmdline")


def processes_marked(mark: str) -> set[int]:
    """Processes whose environment has this variable and value, but for this one."""
    return _having(mark, "environ")


def _having(text: str, part: str) -> set[int]:
    found = set()
    for entry in Path("/proc").glob(f"[0-9]*/{part}"):
        try:
            content = entry.read_bytes()
        except OSError:
            continue
        if text.encode() in content and int(entry.parent.name) != os.getpid():
            found.add(int(entry.parent.name))
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of all below it that have ended, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _kib(pid: int, file: str, key: str) -> int:
    try:
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
