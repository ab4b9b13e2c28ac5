"""Which files each process had where in memory, and what its threads were called, as perf tells it.

perf tells what was there when it began (``existing``), then each mapping, fork, exit and change of
a name. A fork has the mappings of its parent; a program that is executed has none of those before;
a later mapping takes the place of what lay there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from benchvise.trace.analysis.model import Analysis, Ints, Rows
from benchvise.trace.kernel_symbols import KERNEL, RecordedKernel

EVENTS = ("perf_mmap", "perf_comm", "perf_fork", "perf_exit")
_MASK = (1 << 64) - 1
_EVER, _NEVER = -(1 << 63), (1 << 63) - 1
_MOST = 1 << 14
"""Mappings of one process at once."""


@dataclass(slots=True)
class Mapping:
    """Part of a file in memory, from ``since`` to before ``until`` (ns)."""

    start: int
    end: int
    offset: int
    path: str
    build_id: bytes
    inode: tuple[str, int] | None
    since: int
    until: int = _NEVER

    def part(self, start: int, end: int, since: int) -> Mapping:
        """What is left of it, or its copy in a child."""
        offset = self.offset + start - self.start
        return Mapping(start, end, offset, self.path, self.build_id, self.inode, since)


@dataclass(slots=True)
class _Process:
    all: list[Mapping] = field(default_factory=list)
    present: list[Mapping] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    """When its mappings changed, ascending."""

    def add(self, mapping: Mapping) -> None:
        kept = []
        for other in self.present:
            if other.end <= mapping.start or mapping.end <= other.start:
                kept.append(other)
                continue
            other.until = mapping.since
            for start, end in ((other.start, mapping.start), (mapping.end, other.end)):
                if start < end:  # what is left of it on a side
                    part = other.part(start, end, mapping.since)
                    kept.append(part)
                    self.all.append(part)
        self.present = kept[: _MOST - 1]
        self.present.append(mapping)
        self.all.append(mapping)
        self.changes.append(mapping.since)

    def clear(self, time: int) -> None:
        for mapping in self.present:
            mapping.until = time
        self.present = []
        self.changes.append(time)


class Mappings:
    """The mappings of all processes, and the names of all threads, over time; and what the kernel
    made at run time (programs of BPF, trampolines): ``made_code``, by address."""

    def __init__(self, analysis: Analysis) -> None:
        self._processes: dict[int, _Process] = defaultdict(_Process)
        self._names: dict[int, tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
        self._process_of: dict[int, int] = {}
        self.kernel: RecordedKernel | None = None
        self.made_code = _made_code(analysis)
        for time, kind, rows, at in _sideband_records(analysis):
            if kind != "perf_fork" and (process := rows.number("pid", at)) >= 0:
                self._process_of[rows.thread(at)] = process
            if kind == "perf_mmap":
                self._map(rows, at, time)
            elif kind == "perf_comm":
                self._call(rows.thread(at), time, rows.text("comm", at))
                if rows.is_set("exec", at):
                    self._processes[rows.number("pid", at)].clear(time)
            elif kind == "perf_fork":
                self._fork(rows, at, time)

    def _map(self, rows: _SidebandRows, at: int, time: int) -> None:
        start, length = (rows.number(name, at) & _MASK for name in ("start", "length"))
        path, build_id = rows.text("file", at), rows.binary("build_id", at)
        offset = rows.number("offset", at) & _MASK
        if rows.text("mode", at) == "kernel":
            if path.startswith(KERNEL) and self.kernel is None:
                self.kernel = RecordedKernel(build_id, path.removeprefix(KERNEL), offset)
        elif rows.is_set("executable", at) and length:
            device = rows.text("device", at)
            inode = (device, rows.number("inode", at)) if device else None
            mapping = Mapping(start, start + length, offset, path, build_id, inode, time)
            self._processes[rows.number("pid", at)].add(mapping)

    def _fork(self, rows: _SidebandRows, at: int, time: int) -> None:
        process, parent = rows.number("pid", at), rows.number("parent", at)
        self._process_of[rows.number("tid", at)] = process
        if process != parent and parent in self._processes:
            for mapping in list(self._processes[parent].present):
                copy = mapping.part(mapping.start, mapping.end, time)
                self._processes[process].add(copy)
        self._call(rows.number("tid", at), time, self.name(rows.thread(at), time))

    def _call(self, thread: int, time: int, name: str) -> None:
        times, names = self._names[thread]
        if name:
            times.append(time)
            names.append(name)

    def name(self, thread: int, time: int) -> str:
        """What a thread was called at a time; empty where that is not known."""
        times, names = self._names.get(thread, ([], []))
        if not times:
            return ""
        return names[max(bisect_right(times, time) - 1, 0)]

    def threads(self) -> dict[int, list[int]]:
        """When each thread got another name."""
        return {thread: times for thread, (times, _) in self._names.items()}

    def process(self, thread: int) -> int:
        """The process of a thread; its own number if nobody tells."""
        return self._process_of.get(thread, thread)

    def processes(self, threads: Ints) -> Ints:
        """The same of many."""
        numbers, place = np.unique(threads, return_inverse=True)
        own: Ints = np.array([self.process(n) for n in numbers.tolist()], dtype=np.int64)
        return own[place] if numbers.size else threads

    def epochs(self, process: int, times: Ints) -> Ints:
        """How often the mappings of a process had changed at each of these times."""
        changes = self._processes[process].changes if process in self._processes else []
        return np.searchsorted(np.array(changes, dtype=np.int64), times, side="right")

    def epoch(self, process: int, time: int) -> int:
        """The same of one time."""
        own = self._processes.get(process)
        return bisect_right(own.changes, time) if own else 0

    def files(self) -> dict[tuple[str, bytes], set[tuple[str, int] | None]]:
        """The files that were mapped, by path and build-id, and their numbers on the disk."""
        files: dict[tuple[str, bytes], set[tuple[str, int] | None]] = defaultdict(set)
        for process in self._processes.values():
            for mapping in process.all:
                files[mapping.path, mapping.build_id].add(mapping.inode)
        return files

    def at(self, process: int, address: int, time: int) -> Mapping | None:
        """What a process had at an address at a time."""
        if process not in self._processes:
            return None
        for mapping in reversed(self._processes[process].all):
            if mapping.start <= address < mapping.end and mapping.since <= time < mapping.until:
                return mapping
        return None


@dataclass(frozen=True, slots=True)
class MadeCode:
    """A piece of code that the kernel made."""

    start: int
    end: int
    name: str


class MadeCodes:
    """Pieces by address; of several at one place, the last that was told."""

    def __init__(self, pieces: Iterable[MadeCode]) -> None:
        by_start = {piece.start: piece for piece in pieces}
        self._starts = sorted(by_start)
        self._pieces = [by_start[start] for start in self._starts]

    def name(self, address: int) -> str | None:
        """The name of the piece that holds an address; None where there is none."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._pieces[at].end:
            return None
        return self._pieces[at].name


def _made_code(analysis: Analysis) -> MadeCodes:
    table = analysis.events("perf_ksymbol")
    if table is None:
        return MadeCodes(())
    rows = _SidebandRows(table)
    loaded = [at for at in range(len(rows)) if not rows.is_set("removed", at)]
    return MadeCodes(
        MadeCode(start, start + rows.number("length", at), rows.text("name", at))
        for at in loaded
        if (start := rows.number("start", at) & _MASK) and rows.text("name", at)
    )


class _SidebandRows(Rows):
    """What perf tells of one kind."""

    def thread(self, at: int) -> int:
        return self.number("common_pid", at)

    def number(self, name: str, at: int) -> int:
        return int(self[name][at])

    def is_set(self, name: str, at: int) -> bool:
        return bool(self[name][at] == 1)

    def text(self, name: str, at: int) -> str:
        return str(self.table.column(name)[at] or "")

    def binary(self, name: str, at: int) -> bytes:
        return bytes(self.table.column(name)[at] or b"")


def _sideband_records(analysis: Analysis) -> list[tuple[int, str, _SidebandRows, int]]:
    """All that perf tells, in order of time; what existed before, first."""
    events = []
    for order, name in enumerate(("perf_fork", "perf_comm", "perf_mmap")):
        table = analysis.events(name)
        if table is None:
            continue
        rows = _SidebandRows(table)
        existing = rows["existing"] == 1
        times = np.where(existing, _EVER, rows["time"]).tolist()
        events += [(time, order, name, rows, at) for at, time in enumerate(times)]
    events.sort(key=lambda event: event[:2])
    return [(time, name, rows, at) for time, _, name, rows, at in events]
