"""The traces that are open: the last few that were looked at."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request

from benchvise.errors import BenchviseError, TraceError, UsageError
from benchvise.flows.trace_analyses import Loaded, ready
from benchvise.trace.analysis.model import Span
from benchvise.trace.decoder import decoder
from benchvise.trace.levels import Levels, Row
from benchvise.trace.opening import OpenTrace, open_trace
from benchvise.trace.signature import Stat, signature
from benchvise.web.errors import Busy

if TYPE_CHECKING:
    from benchvise.web.context import Context
    from benchvise.web.file_index import IndexedFile

MOST = 4
"""Traces that stay open. Their columns are mapped files: the kernel may take the memory back."""

WAITING = 16
"""Requests that may wait while a trace is opened: each takes one of the server's threads."""

QUIET_S = 1.0
"""What was made is kept when nobody has asked for this long: writing takes as long as making."""

PATIENCE_S = 30.0
"""However much is asked, it is kept after this long."""


@dataclass
class Opened:
    """An open trace, and what is made of it when it is first asked for.

    While one thread makes something, the others wait for it.
    """

    path: Path
    stats: list[Stat]
    trace: OpenTrace
    whole: Span
    """From its first event to its last."""
    tag: str
    """Changes whenever an answer about the trace may: with what it holds, and with us."""
    since: float = field(default_factory=time.monotonic)
    """When it was there, decoded."""
    asked: float = field(default_factory=time.monotonic)
    """When it was asked for last."""
    _loaded: Loaded | None = field(default=None, init=False)
    _levels: Levels | None = field(default=None, init=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, init=False)
    _levelling: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def loaded(self) -> Loaded:
        """The trace with its analysis, for all that is asked of both."""
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = ready(self.trace, self.path)
        return self._loaded

    @property
    def levels(self) -> Levels:
        """Its time line."""
        if self._levels is None:
            with self._levelling:
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
        return self.whole.begin


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
        self._closing = threading.Event()

    def prepare(self, path: Path) -> None:
        """Begins to open a trace that will be asked for; what is wrong with it is told then."""

        def open_it() -> None:
            with suppress(BenchviseError):
                self.get(path)

        threading.Thread(target=open_it, daemon=True).start()

    def get(self, path: Path) -> Opened:
        """The trace, with its events decoded.

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
            found.asked = time.monotonic()
            return found
        with self._waiting(path) as place, place.lock:
            found = place.opened
            if found is None or found.stats != stats:
                found = place.opened = self._open(path, stats)
            return found

    def close(self) -> None:
        """Lets go of all, when what is still to be kept has been."""
        self._closing.set()
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
        trace = open_trace(path, keep_later=True)
        if trace.span is None:
            raise UsageError(f"{path.name} holds no event", "")
        tag = _tag(trace.content or repr(stats))
        opened = Opened(path, stats, trace, Span(*trace.span), tag)
        thread = threading.Thread(target=self._keep, args=(opened,), daemon=True)
        with self._lock:
            self._keeping = [other for other in self._keeping if other.is_alive()]
            self._keeping.append(thread)
        thread.start()
        return opened

    def _keep(self, opened: Opened) -> None:
        """Keeps what was made, and puts the mapped files in its place: that frees the heap.

        What will be asked for first is made at once, all the rest before it is kept.
        """
        try:
            _ = opened.levels, opened.loaded
            late = time.monotonic() + PATIENCE_S
            while time.monotonic() < min(late, opened.asked + QUIET_S):
                if self._closing.wait(QUIET_S / 4):
                    break
            else:
                _ = dict(opened.trace.analysis)
            if not opened.trace.keep():
                return
            again = open_trace(opened.path)
            # Answers that were given stay valid.
            mapped = Opened(opened.path, opened.stats, again, opened.whole, opened.tag)
            _ = mapped.loaded, mapped.levels
            is_same = again.keeping.reused and _signature(opened.path) == opened.stats
        except BenchviseError:
            return  # it has changed since, or is gone: the next request sees that
        with self._lock:
            place = self._places.get(opened.path)
            if is_same and place is not None and place.opened is opened:
                place.opened = mapped


def _tag(content: str) -> str:
    return hashlib.sha256(f"{decoder().VERSION} {content}".encode()).hexdigest()[:24]


def opened(request: Request) -> Opened:
    """The trace that the request's address names.

    Raises:
        NotFound: there is none of that key.
        UsageError, TraceError, Busy: see ``OpenTraces.get``.
    """
    shared: Context = request.app.state.context
    file: IndexedFile = shared.traces.find(request.path_params["key"])
    return shared.opened.get(file.path)


def _signature(path: Path) -> list[Stat]:
    try:
        return signature(path)
    except OSError as error:
        raise TraceError(f"{path.name}: {error.strerror}") from error
