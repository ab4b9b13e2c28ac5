"""What the measured runs of a command leave on a board that the command by itself does not.

A run is ended with all that it left in its process group, so that the next one begins as it did. A
command that starts a service anew leaves none behind then, though it ran before: the command is run
once more at the end, outside of any measurement, where a program that ran before is gone.

A command that is given the other side's configuration writes what it does not write otherwise, such
as a cache in the home, and one whose last step fails leaves temporary files. These are removed: new
files in a directory that the command was seen to write to, by names that it was seen to use, which
a plain run on that board does not leave there.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from benchvise.board import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable
from benchvise.why.model import Finding, Grade
from benchvise.why.witness.compare import opened_in
from benchvise.why.witness.model import CallsAbout
from benchvise.why.witness.opened import is_result
from benchvise.why.witness.written import renamed_paths, written_paths

_READ_S = 20.0
_AGAIN_S = 60.0
_TIMES = 5.0
_WAIT_S = "0.5"
_CLOCK = "date +%s"
_PROGRAMS = "cat /proc/[0-9]*/stat 2>/dev/null; true"
_OF_INIT = re.compile(r"^\d+ \((.{0,64})\) [^ZX] 1 ", re.MULTILINE)
_ONCE = 'exec sh -c "$1" </dev/null >/dev/null 2>&1'
_NOT_MEANT = re.compile(
    r"kworker|.*/|(?:sh|bash|dash|busybox|cat|sleep|sshd|ssh|ps|grep|sed|ls|bvprobe)$"
)
_LIST = 'for d in "$@"; do echo "directory $d"; ls -A "$d" 2>/dev/null | head -n 5000; done; true'
_TIMES_OF = "stat -c '%Y %n' -- \"$@\" 2>/dev/null; true"
_REMOVE = 'for f in "$@"; do [ -f "$f" ] && [ ! -L "$f" ] && rm -f -- "$f"; done; true'
_NEVER = re.compile(r"/(?:proc|sys|dev|run)(?:/|$)|/$")
_MOST = 30
_MOST_NAMED = 5
_MOST_REMOVED = 2000


@dataclass(slots=True)
class RunningPrograms:
    """The programs that ran on a board before the command was first measured there, as services do:
    children of process 1. Others come and go with whoever started them."""

    board: Board
    before: Counter[str] = field(default_factory=Counter)
    since: int = 0
    """When that was, in seconds by the board's clock; 0 where it cannot tell."""

    def look(self) -> None:
        """Remembers what runs now; nothing where the board cannot tell."""
        self.before = self._now() or Counter()
        with suppress(BoardUnusable, ValueError):
            self.since = int(self.board.run(["sh", "-c", _CLOCK], timeout=_READ_S).stdout)

    def bring_back(self, command: str, usual_s: float) -> tuple[str, ...]:
        """Runs the command once more where programs are gone that ran before; those that still are.

        Raises BoardUnreachable.
        """
        if not self._gone():
            return ()
        try:
            limit_s = _AGAIN_S + _TIMES * usual_s
            self.board.run(["sh", "-c", _ONCE, "sh", command], timeout=limit_s)
            self.board.run(["sleep", _WAIT_S], timeout=_READ_S)
        except BoardUnusable:
            return ()
        return self._gone()

    def _gone(self) -> tuple[str, ...]:
        now = self._now() if self.before else None
        return () if now is None else tuple(name for name in self.before if not now[name])

    def _now(self) -> Counter[str] | None:
        """None where the board cannot tell; that nothing runs is an answer, as in a container."""
        try:
            done = self.board.run(["sh", "-c", _PROGRAMS], timeout=_READ_S)
        except BoardUnusable:
            return None
        if not done.stdout.strip():
            return None
        names = _OF_INIT.findall(done.stdout.decode("utf-8", "replace"))
        return Counter(printable(name) for name in names if not _NOT_MEANT.match(name))


def not_back(board: str, programs: Sequence[str]) -> Finding:
    """That programs which ran on a board before do not run any more."""
    listed = ", ".join(programs[:_MOST_NAMED])
    return Finding(
        "not running",
        Grade.WARNS,
        f"{board}: {listed} ran before the command was measured, and does not now",
        "a measured run ends with all that it left running; the command was run once more for it",
        "start it by hand",
    )


@dataclass(slots=True)
class MadeFiles:
    """What a command leaves on a board only because an experiment was made there.

    ``own`` are its system calls in a plain run on that board, ``other`` those on the other side.
    ``since`` is when the diagnosis began by the board's clock: temporary files that are newer are
    of runs that were ended.
    """

    board: Board
    own: tuple[CallsAbout, ...]
    other: tuple[CallsAbout, ...]
    since: int = 0
    known: frozenset[str] = frozenset()

    def look(self) -> None:
        """Remembers what is there before the first experiment."""
        there = self._there()
        temporary = [path for path in sorted(there) if self._is_temporary(path)]
        self.known = there - self._newer(temporary[:_MOST_REMOVED])

    def remove(self) -> tuple[str, ...]:
        """Removes what is new and can only be of an experiment; the paths. Raises
        BoardUnreachable."""
        if not self.known:
            return ()
        patterns = [_pattern(path) for path in self._made_files()]
        new = [
            path
            for path in sorted(self._there() - self.known)
            if self._is_temporary(path) or any(pattern.fullmatch(path) for pattern in patterns)
        ][:_MOST_REMOVED]
        try:
            for begin in range(0, len(new), _MOST):
                command = ["sh", "-c", _REMOVE, "sh", *new[begin : begin + _MOST]]
                self.board.run(command, timeout=_READ_S)
        except BoardUnusable:
            return ()
        return tuple(new)

    def _is_temporary(self, path: str) -> bool:
        """Whether it is called as what a plain run moves away again: by the command's calls, or by
        the name of what it keeps for itself in a home."""
        patterns = [_pattern(p) for p in self._moved_files()]
        patterns += [
            _pattern(p, r"\.[\w.-]+") for p in (*_results(self.own), *_results(self.other))
        ]
        return any(pattern.fullmatch(path) for pattern in patterns)

    def _moved_files(self) -> list[str]:
        moved = (*renamed_paths(self.own), *renamed_paths(self.other))
        return [path for path in moved if not _NEVER.match(path)]

    def _made_files(self) -> list[str]:
        """What the command makes or keeps for itself on the other side, and not here."""
        here = [_pattern(path) for path in (*written_paths(self.own), *_results(self.own))]
        return [
            path
            for path in (*written_paths(self.other), *_results(self.other))
            if not _NEVER.match(path) and not any(pattern.fullmatch(path) for pattern in here)
        ]

    def _newer(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of these files that were written since the diagnosis began."""
        if not paths or not self.since:
            return frozenset()
        try:
            done = self.board.run(["sh", "-c", _TIMES_OF, "sh", *paths], timeout=_READ_S)
        except BoardUnusable:
            return frozenset()
        lines = [
            line.partition(" ") for line in done.stdout.decode("utf-8", "replace").splitlines()
        ]
        return frozenset(path for at, _, path in lines if at.isdecimal() and int(at) >= self.since)

    def _there(self) -> frozenset[str]:
        paths = (*self._moved_files(), *self._made_files(), *_results(self.own))
        places = dict.fromkeys(posixpath.dirname(path) for path in paths)
        if not places:
            return frozenset()
        try:
            done = self.board.run(["sh", "-c", _LIST, "sh", *list(places)[:_MOST]], timeout=_READ_S)
        except BoardUnusable:
            return frozenset()
        return frozenset(_paths(done.stdout.decode("utf-8", "replace").splitlines()))


def _results(calls: Iterable[CallsAbout]) -> list[str]:
    """What programs keep for themselves in a home, as they read it."""
    return [path for path in opened_in(calls) if is_result(path)]


def _paths(lines: Iterable[str]) -> Iterable[str]:
    place = ""
    for line in lines:
        if line.startswith("directory /"):
            place = line.removeprefix("directory ").rstrip("/")
            yield f"{place}/"  # so that one which is empty is known
        else:
            yield f"{place}/{line}"


def _pattern(path: str, end: str = "") -> re.Pattern[str]:
    """Names like it: the number of a process and what is drawn at random differ each time."""
    place, name = posixpath.split(path)
    return re.compile(re.escape(place) + "/" + re.sub(r"\d+", r"\\d+", re.escape(name)) + end)
