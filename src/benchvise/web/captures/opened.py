"""The captures that are open, and what was decoded of them: the last few that were looked at."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchvise.errors import CaptureError
from benchvise.signal.capture import MOST_EDGES, Capture
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.reading import open_capture
from benchvise.signal.response import Responses, responses
from benchvise.web.captures.asked import Asked
from benchvise.web.captures.decoded import NOTHING_DECODED, Decoded, decoded
from benchvise.web.errors import Busy

MOST = 6
"""Captures that stay open, as long as they have no more edges than one may have."""
WAITING = 16
"""Requests that may wait while captures are opened and decoded: each takes a thread."""

Stat = tuple[int, int, int]


@dataclass
class Opened:
    """An open capture as it was asked for, with what is made of it when it is first wanted."""

    path: Path
    stat: Stat
    asked: Asked
    capture: Capture
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _decoded: Decoded | None = field(default=None, init=False)

    @property
    def tick(self) -> float:
        """Nanoseconds a tick."""
        return self.capture.clock.tick_s * 1e9

    @property
    def duration(self) -> float:
        """Nanoseconds from the first tick to the last."""
        return self.capture.ticks * self.tick

    @property
    def edges(self) -> int:
        """Of all lines."""
        return sum(line.edges.size for line in self.capture.lines)

    @property
    def decoded(self) -> Decoded:
        """What was decoded; while one thread does it, the others wait. Raises CaptureError."""
        if not self.asked.decode:
            return NOTHING_DECODED
        with self._lock:
            if self._decoded is None:
                self._decoded = decoded(self.capture, self.asked.decode)
            return self._decoded

    @cached_property
    def responses(self) -> Responses | None:
        """Response times, where both edges were named. Raises CaptureError."""
        edges = self.asked.edges
        return None if edges is None else responses(self.capture, *edges, self.asked.window)

    @property
    def tag(self) -> str:
        """Changes whenever an answer about the capture may."""
        return hashlib.sha256(repr((self.stat, self.asked)).encode()).hexdigest()[:24]

    def like(self, asked: Asked) -> Opened:
        """The same edges, asked for otherwise."""
        return Opened(self.path, self.stat, asked, self.capture)


class OpenCaptures:
    """The captures that were asked for last; one that has changed is opened again."""

    def __init__(
        self, read: Callable[[Path, ReadOptions], Capture] = open_capture, most: int = MOST
    ) -> None:
        self._read = read
        self._most = most
        self._known: OrderedDict[tuple[Path, Asked], Opened] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._waiting = 0

    def get(self, path: Path, asked: Asked) -> Opened:
        """The capture. Raises CaptureError for one that cannot be read, Busy when many wait."""
        stat = _stat(path)
        found = self._find(path, asked, stat)
        if found is not None:
            return found
        with self._turn():
            found = self._find(path, asked, stat)
            if found is None:
                found = self._open(path, asked, stat)
                self._keep(found)
            return found

    def _find(self, path: Path, asked: Asked, stat: Stat) -> Opened | None:
        with self._lock:
            found = self._known.get((path, asked))
            if found is None or found.stat != stat:
                return None
            self._known.move_to_end((path, asked))
            return found

    def _open(self, path: Path, asked: Asked, stat: Stat) -> Opened:
        with self._lock:
            for one in self._known.values():
                if one.path == path and one.stat == stat and one.asked.options == asked.options:
                    return one.like(asked)
        return Opened(path, stat, asked, self._read(path, asked.options))

    def _keep(self, opened: Opened) -> None:
        """Keeps it and lets go of the oldest, so that memory stays bounded."""
        with self._lock:
            self._known[opened.path, opened.asked] = opened
            while len(self._known) > 1 and (
                len(self._known) > self._most or self._edges() > MOST_EDGES
            ):
                self._known.popitem(last=False)

    def _edges(self) -> int:
        """Of all captures that are held, each once."""
        held = {id(one.capture): one.edges for one in self._known.values()}
        return sum(held.values())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One at a time: what is opened may take all the memory that there is for it."""
        with self._lock:
            if self._waiting >= WAITING:
                raise Busy("other captures are being opened", "try again in a moment")
            self._waiting += 1
        try:
            with self._opening:
                yield
        finally:
            with self._lock:
                self._waiting -= 1


def _stat(path: Path) -> Stat:
    try:
        found = path.stat()
    except OSError as error:
        raise CaptureError(f"{path.name}: {error.strerror}", "was it moved?") from error
    return found.st_ino, found.st_size, found.st_mtime_ns
