"""The captures that the workbench has open, and what was decoded of them: the last few."""

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
from benchvise.web.captures.decoded import NOTHING_DECODED, DecodedCapture, decode_rows
from benchvise.web.captures.view import CaptureView
from benchvise.web.errors import Busy

MOST = 6
"""Captures that stay open, as long as they have no more edges than one may have."""
WAITING = 16
"""Requests that may wait while captures are opened and decoded: each takes a thread."""

Stat = tuple[int, int, int]


@dataclass
class ServedCapture:
    """An open capture as it was asked for, with what is made of it when it is first wanted."""

    path: Path
    stat: Stat
    view: CaptureView
    capture: Capture
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _decoded: DecodedCapture | None = field(default=None, init=False)

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
    def decoded(self) -> DecodedCapture:
        """What was decoded; while one thread does it, the others wait. Raises CaptureError."""
        if not self.view.decode:
            return NOTHING_DECODED
        with self._lock:
            if self._decoded is None:
                self._decoded = decode_rows(self.capture, self.view.decode)
            return self._decoded

    @cached_property
    def responses(self) -> Responses | None:
        """Response times, where both edges were named. Raises CaptureError."""
        edges = self.view.edges
        return None if edges is None else responses(self.capture, *edges, self.view.window)

    @property
    def tag(self) -> str:
        """Changes whenever an answer about the capture may."""
        return hashlib.sha256(repr((self.stat, self.view)).encode()).hexdigest()[:24]

    def like(self, view: CaptureView) -> ServedCapture:
        """The same edges, asked for otherwise."""
        return ServedCapture(self.path, self.stat, view, self.capture)


class ServedCaptures:
    """The captures that were asked for last; one that has changed is opened again."""

    def __init__(
        self, read: Callable[[Path, ReadOptions], Capture] = open_capture, most: int = MOST
    ) -> None:
        self._read = read
        self._most = most
        self._served: OrderedDict[tuple[Path, CaptureView], ServedCapture] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._waiting = 0

    def get(self, path: Path, view: CaptureView) -> ServedCapture:
        """The capture. Raises CaptureError for one that cannot be read, Busy when many wait."""
        stat = _stat(path)
        served = self._find(path, view, stat)
        if served is not None:
            return served
        with self._turn():
            served = self._find(path, view, stat)
            if served is None:
                served = self._open(path, view, stat)
                self._keep(served)
            return served

    def _find(self, path: Path, view: CaptureView, stat: Stat) -> ServedCapture | None:
        with self._lock:
            served = self._served.get((path, view))
            if served is None or served.stat != stat:
                return None
            self._served.move_to_end((path, view))
            return served

    def _open(self, path: Path, view: CaptureView, stat: Stat) -> ServedCapture:
        with self._lock:
            for served in self._served.values():
                if (served.path, served.stat) != (path, stat):
                    continue
                if served.view.reading == view.reading:
                    return served.like(view)
        return ServedCapture(path, stat, view, self._read(path, view.reading))

    def _keep(self, served: ServedCapture) -> None:
        """Keeps it and releases the oldest, so that memory stays bounded."""
        with self._lock:
            self._served[served.path, served.view] = served
            while len(self._served) > 1 and (
                len(self._served) > self._most or self._edges() > MOST_EDGES
            ):
                self._served.popitem(last=False)

    def _edges(self) -> int:
        """Of all captures that are held, each once."""
        by_capture = {id(served.capture): served.edges for served in self._served.values()}
        return sum(by_capture.values())

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
        status = path.stat()
    except OSError as error:
        raise CaptureError(f"{path.name}: {error.strerror}", "was it moved?") from error
    return status.st_ino, status.st_size, status.st_mtime_ns
