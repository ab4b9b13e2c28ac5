"""The traces that are open: the last few that were looked at."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request

from benchvise.errors import BenchviseError, TraceError
from benchvise.flows.trace_analyses import Loaded, ready
from benchvise.trace.decoder import decoder
from benchvise.trace.levels import Levels, Row
from benchvise.trace.opening import OpenTrace, open_trace
from benchvise.trace.signature import Stat, signature
from benchvise.web.errors import Busy

if TYPE_CHECKING:
    from benchvise.web.context import Context
    from benchvise.web.files import Shelved

MOST = 4
"""Traces that stay open. Their columns are mapped files: the kernel may take the memory back."""

WAITING = 16
"""Requests that may wait while a trace is opened: each takes one of the server's threads."""


@dataclass
class Opened:
    """An open trace, and what is made of it when it is first asked for."""

    path: Path
    stats: list[Stat]
    trace: OpenTrace
    _levels: Levels | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @cached_property
    def loaded(self) -> Loaded:
        """The trace with its analysis, for all that is asked of both."""
        return ready(self.trace, self.path)

    @property
    def levels(self) -> Levels:
        """Its time line; while one thread makes it, the others wait."""
        if self._levels is None:
            with self._lock:
                if self._levels is None:
                    self._levels = Levels(self.trace)
        return self._levels

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the time line."""
        return self.levels.rows(self.loaded.analysis)

    @property
    def origin(self) -> int:
        """The clock's value at the first event, ns: zero of all times that are answered."""
        return self.loaded.analysis.whole.begin

    @cached_property
    def tag(self) -> str:
        """Changes whenever an answer about the trace may: with what it holds, and with us."""
        content = self.trace.content or repr(self.stats)
        return hashlib.sha256(f"{decoder().VERSION} {content}".encode()).hexdigest()[:24]


@dataclass
class _Place:
    """One trace: who opens it holds the lock, the others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    opened: Opened | None = None
    waiting: int = 0


class OpenTraces:
    """The traces that were asked for last; one that has changed is opened again."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._places: OrderedDict[Path, _Place] = OrderedDict()
        self._lock = threading.Lock()
        self._keeping: list[threading.Thread] = []

    def get(self, path: Path) -> Opened:
        """The trace, with its analysis made.

        Raises:
            UsageError: it holds no event, or there is no decoder.
            TraceError: it cannot be read.
            Busy: too many wait for it already.
        """
        stats = _signature(path)
        with self._lock:
            if path in self._places:
                self._places.move_to_end(path)
            known = self._places.get(path)
        found = known.opened if known else None
        if found is not None and found.stats == stats:
            return found
        with self._waiting(path) as place, place.lock:
            found = place.opened
            if found is None or found.stats != stats:
                found = place.opened = self._open(path, stats)
            return found

    def close(self) -> None:
        """Lets go of all, when what is still being kept has been."""
        with self._lock:
            self._places.clear()
            threads, self._keeping = self._keeping, []
        for thread in threads:
            thread.join()

    @contextmanager
    def _waiting(self, path: Path) -> Iterator[_Place]:
        with self._lock:
            place = self._places.setdefault(path, _Place())
            self._places.move_to_end(path)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
            if place.waiting >= WAITING:
                raise Busy(f"{path.name} is being opened", "try again in a moment")
            place.waiting += 1
        try:
            yield place
        finally:
            with self._lock:
                place.waiting -= 1
                if place.opened is None and not place.waiting:
                    self._places.pop(path, None)

    def _open(self, path: Path, stats: list[Stat]) -> Opened:
        trace = open_trace(path)
        # What is made is shown first and kept afterwards: writing takes as long as making.
        trace.keeping.later = []
        opened = Opened(path, stats, trace)
        _ = opened.loaded
        thread = threading.Thread(target=self._keep, args=(opened,), daemon=True)
        with self._lock:
            self._keeping = [other for other in self._keeping if other.is_alive()]
            self._keeping.append(thread)
        thread.start()
        return opened

    def _keep(self, opened: Opened) -> None:
        """Keeps what was made, and puts the mapped files in its place: that frees the heap."""
        _ = opened.levels
        if not opened.trace.keep():
            return
        try:
            again = open_trace(opened.path)
            mapped = Opened(opened.path, opened.stats, again)
            _ = mapped.loaded, mapped.levels
            is_same = again.keeping.reused and _signature(opened.path) == opened.stats
        except BenchviseError:
            return  # it has changed since, or is gone: the next request sees that
        with self._lock:
            place = self._places.get(opened.path)
            if is_same and place is not None and place.opened is opened:
                place.opened = mapped


def opened(request: Request) -> Opened:
    """The trace that the request's address names.

    Raises:
        NotFound: there is none of that key.
        UsageError, TraceError, Busy: see ``OpenTraces.get``.
    """
    shared: Context = request.app.state.context
    file: Shelved = shared.traces.find(request.path_params["key"])
    return shared.opened.get(file.path)


def _signature(path: Path) -> list[Stat]:
    try:
        return signature(path)
    except OSError as error:
        raise TraceError(f"{path.name}: {error.strerror}") from error
