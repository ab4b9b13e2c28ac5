"""A board's recorded consoles: the live one followed, the boots with their phases, their texts.

Each command that boots, measures or types records the console; so it is shown whatever command that
is, and without a second reader on the line.
"""

from __future__ import annotations

import base64
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from benchvise.documents import in_json
from benchvise.rig.boot.timeline import replay
from benchvise.rig.console.lines import LineSplitter, LineWriter
from benchvise.rig.console.recorder import POWER_ON, boots_directory, read_log, times_path
from benchvise.text import aligned, last_line
from benchvise.web.http import NotFound
from benchvise.web.live import Publish, Source

TAIL_BYTES = 64 << 10
PIECE_BYTES = 32 << 10
"""More than this in one poll is skipped: it could not be read."""
POLL_SECONDS = 0.05
"""Who types waits for the echo of a key."""
SLOW_POLL_SECONDS = 0.25
_SLOW_AFTER_SECONDS = 10.0
"""Of silence, after which polls become slow."""
_SEARCH_SECONDS = 1.0
"""Of silence, after which a newer log is searched for."""


def following(board: str) -> Source:
    """A source of ``log`` (a new one begins), ``output`` and ``none`` (there is nothing to show).

    The output is the board's own, byte for byte: only a terminal that leaves alone what may do harm
    may show it.
    """

    def source(publish: Publish, stopped: threading.Event) -> None:
        log: ConsoleLog | None = None
        followed: _Followed | None = None
        spoke = time.monotonic()
        searched = -math.inf
        while not stopped.is_set():
            now = time.monotonic()
            if now - max(spoke, searched) >= _SEARCH_SECONDS or searched < 0:
                searched = now
                newest = next(iter(logs(board)), None)
                if newest is None and log is None:
                    publish("none", {})
                elif newest is not None and (log is None or newest.key != log.key):
                    log, followed = newest, _Followed(newest.path)
                    publish("log", {"key": log.key, "started": log.started})
            output = followed.more() if followed is not None else None
            if output is not None:
                publish("output", output)
                spoke = now
            is_slow = now - spoke > _SLOW_AFTER_SECONDS
            stopped.wait(SLOW_POLL_SECONDS if is_slow else POLL_SECONDS)

    return source


@dataclass(frozen=True, slots=True)
class ConsoleOutput:
    """New output: its bytes, and how many were left out before."""

    base64: str
    skipped: int


class _Followed:
    """A log from near its end on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = -1

    def more(self) -> ConsoleOutput | None:
        """New output since the last call; None when there is none, or the log is gone."""
        try:
            size = self._path.stat().st_size
            limit = TAIL_BYTES if self._at < 0 else PIECE_BYTES
            at = max(self._at, 0)
            skipped = max(size - at - limit, 0)
            if size <= at:
                return None
            with self._path.open("rb") as file:
                file.seek(at + skipped)
                data = file.read(limit)
        except OSError:
            return None
        self._at = at + skipped + len(data)
        return ConsoleOutput(base64.b64encode(data).decode("ascii"), skipped)


# -- the boots that were recorded ------------------------------------------------------------------


LISTED = 12
REPLAY_BYTES = 2 << 20
"""Of a longer log the phases are not worked out, which takes a second for each such piece."""
TEXT_BYTES = 1 << 20
LINE_LIMIT = 1000
_LAST_LINE_BYTES, _LAST_LINE_LIMIT = 4096, 160

_STAMP = re.compile(r"\d{8}T\d{6}-\w+")
_LOG = "console.log"


@dataclass(frozen=True, slots=True)
class ConsoleLog:
    """A console's log: its key is the name of its directory, which begins with its time."""

    key: str
    path: Path
    size: int

    @property
    def started(self) -> str:
        """ISO 8601."""
        key = self.key
        return f"{key[:4]}-{key[4:6]}-{key[6:8]}T{key[9:11]}:{key[11:13]}:{key[13:15]}+00:00"


def logs(board: str) -> list[ConsoleLog]:
    """The logs of a board, the newest first. ``board`` is a name of the rig file."""
    directory = boots_directory(board)
    if directory.parent != boots_directory("x").parent:
        return []  # a name with slashes would lead elsewhere
    try:
        names = [path.name for path in directory.iterdir() if _STAMP.fullmatch(path.name)]
    except OSError:
        return []
    return list(_there(directory, sorted(names, reverse=True)))


def find(board: str, key: str) -> ConsoleLog:
    """The log with this key. NotFound when there is none."""
    for log in logs(board):
        if log.key == key:
            return log
    raise NotFound("there is no such boot of this board", "see the list of its boots")


def last_line_of(board: str, key: str) -> str:
    """The last line that a console said by now, printable; empty where there is no such log.

    Neither name needs to be believed.
    """
    directory = boots_directory(board)
    if not _STAMP.fullmatch(key) or directory.parent != boots_directory("x").parent:
        return ""
    try:
        with (directory / key / _LOG).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LAST_LINE_BYTES, 0))
            return last_line(file.read(_LAST_LINE_BYTES), _LAST_LINE_LIMIT)
    except (OSError, ValueError):  # of a name that no file can have
        return ""


@dataclass(frozen=True, slots=True)
class BootPhases:
    """What the log tells of a boot: ``phases`` in seconds since power on, and why there are none.

    ``kind`` is ``console`` where power was not switched on: the console was only open.
    """

    kind: Literal["boot", "console"]
    phases: Mapping[str, float] | None
    na: str | None
    restarts: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class BootSummary:
    """A boot in a list."""

    key: str
    started: str
    size: int
    phases: BootPhases = field(metadata=in_json(inline=True))


def summary(log: ConsoleLog) -> BootSummary:
    """What is known of a boot."""
    try:
        changed = log.path.stat().st_mtime_ns
    except OSError:
        changed = 0
    return BootSummary(log.key, log.started, log.size, _phases(log.path, log.size, changed))


def text(log: ConsoleLog) -> tuple[list[str], bool]:
    """The last lines of a log without what only does something to a terminal, and whether there
    were more."""
    with log.path.open("rb") as file:
        begin = max(log.size - TEXT_BYTES, 0)
        file.seek(begin)
        data = file.read(TEXT_BYTES)
    splitter = LineSplitter()
    lines = [
        aligned(line.stamped, LINE_LIMIT)
        for line in splitter.feed(data)
        if line.writer is not LineWriter.FRAGMENT
    ]
    return [*lines, *filter(None, [aligned(splitter.open, LINE_LIMIT)])], begin > 0


def _there(directory: Path, names: list[str]) -> Iterator[ConsoleLog]:
    for name in names:
        path = directory / name / _LOG
        try:
            yield ConsoleLog(name, path, path.stat().st_size)
        except OSError:
            continue


@lru_cache(maxsize=256)
def _phases(path: Path, size: int, _changed: int) -> BootPhases:
    """The same as long as the file is the same."""
    if size > REPLAY_BYTES or not times_path(path).is_file():
        why = "the log is long" if size > REPLAY_BYTES else "the log has no times"
        return BootPhases("boot", None, why, None, None)
    kind: Literal["boot", "console"] = "console"
    first = last = 0
    for piece in read_log(path):
        first = first or piece.at_ns
        last = piece.at_ns
        if piece.mark == POWER_ON:
            kind, first = "boot", piece.at_ns
    timeline = replay(path)
    return BootPhases(
        kind, timeline.phases, None, timeline.restarts, round((last - first) / 1e9, 3)
    )
