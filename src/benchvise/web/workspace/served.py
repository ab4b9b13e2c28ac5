"""The traces that the workbench has open: the last few that were asked for."""

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

from benchvise.errors import BenchviseError, TraceError, UsageError
from benchvise.trace.analysis.containers import containers
from benchvise.trace.analysis.model import TraceSpan
from benchvise.trace.decoder import decoder
from benchvise.trace.levels import Levels, TimelineRow
from benchvise.trace.loaded import LoadedTrace, load_opened
from benchvise.trace.manifest import Stat, signature
from benchvise.trace.opening import OpenTrace, open_trace
from benchvise.web.http import Busy
from benchvise.web.workspace.calls import KeptCalls
from benchvise.web.workspace.counters import KeptSteps
from benchvise.web.workspace.flame import KeptStacks

MOST = 4
"""Traces that stay open. Their columns are mapped files: the kernel may take the memory back."""

WAITING = 16
"""Requests that may wait while a trace is opened: each takes one of the server's threads."""

FIRST_ROWS = 64
"""So many a page draws at first, or fewer."""

QUIET_S = 1.0
"""What was made is kept when nobody has asked for this long: writing takes as long as making."""

PATIENCE_S = 30.0
"""However much is asked, it is kept after this long."""


@dataclass
class ServedTrace:
    """An open trace, and what is made of it when it is first asked for.

    While one thread makes something, the others wait for it.
    """

    path: Path
    stats: list[Stat]
    trace: OpenTrace
    whole: TraceSpan
    """From its first event to its last."""
    tag: str
    """Changes whenever an answer about the trace may: with what it holds, and with us."""
    since: float = field(default_factory=time.monotonic)
    """When it was there, decoded."""
    last_request: float = field(default_factory=time.monotonic)
    """When it was asked for last."""
    steps: KeptSteps = field(default_factory=KeptSteps, init=False)
    """Values of counters."""
    calls: KeptCalls = field(default_factory=KeptCalls, init=False)
    """Calls of functions."""
    stacks: KeptStacks = field(default_factory=KeptStacks, init=False)
    """Stacks of functions."""
    _loaded: LoadedTrace | None = field(default=None, init=False)
    _levels: Levels | None = field(default=None, init=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, init=False)
    _levelling: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def loaded(self) -> LoadedTrace:
        """The trace with its analysis, for all that is asked of both."""
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = load_opened(self.trace, self.path)
        return self._loaded

    @property
    def levels(self) -> Levels:
        """Its timeline."""
        if self._levels is None:
            with self._levelling:
                if self._levels is None:
                    self._levels = Levels(self.trace)
        return self._levels

    @cached_property
    def rows(self) -> list[TimelineRow]:
        """The rows of its timeline."""
        analysis = self.loaded.analysis
        # Known before the levels are, which another thread makes.
        actors, of_threads = analysis.actors, containers(analysis)
        return self.levels.rows(actors, of_threads)

    @property
    def origin(self) -> int:
        """The clock's value at the first event, ns: zero of all times that are answered."""
        return self.whole.begin


@dataclass
class _Place:
    """One trace: who opens it holds the lock, the others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    served: ServedTrace | None = None
    waiting: int = 0


class ServedTraces:
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
            with suppress(BenchviseError, OSError):
                self.get(path)

        threading.Thread(target=open_it, daemon=True).start()

    def get(self, path: Path) -> ServedTrace:
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
            place = self._places.get(path)
        served = place.served if place else None
        if served is not None and served.stats == stats:
            served.last_request = time.monotonic()
            return served
        with self._waiting(path) as place, place.lock:
            served = place.served
            if served is None or served.stats != stats:
                served = place.served = self._open(path, stats)
            return served

    def close(self) -> None:
        """Releases all, when what is still to be kept has been."""
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
                if place.served is None and not place.waiting:
                    self._places.pop(path, None)

    def _open(self, path: Path, stats: list[Stat]) -> ServedTrace:
        trace = open_trace(path, keep_later=True)
        if trace.span is None:
            raise UsageError(f"{path.name} holds no event", "")
        tag = _tag(trace.content or repr(stats))
        served = ServedTrace(path, stats, trace, TraceSpan(*trace.span), tag)
        thread = threading.Thread(target=self._keep, args=(served,), daemon=True)
        with self._lock:
            self._keeping = [other for other in self._keeping if other.is_alive()]
            self._keeping.append(thread)
            thread.start()  # before others find it, who forget or wait for what has not begun
        return served

    def _keep(self, served: ServedTrace) -> None:
        """Keeps what was made, and puts the mapped files in its place: that frees the heap.

        What will be asked for first is made at once, all the rest before it is kept.
        """
        try:
            served.levels.prepare(FIRST_ROWS)  # while a page lays out the rows that it was told
            _ = served.loaded
            late = time.monotonic() + PATIENCE_S
            while time.monotonic() < min(late, served.last_request + QUIET_S):
                if self._closing.wait(QUIET_S / 4):
                    break
            else:
                _ = dict(served.trace.analysis)
            if not served.trace.keep():
                return
            again = open_trace(served.path)
            # Answers that were given stay valid.
            mapped = ServedTrace(served.path, served.stats, again, served.whole, served.tag)
            _ = mapped.loaded, mapped.levels
            is_same = again.keeping.reused and _signature(served.path) == served.stats
        except (BenchviseError, OSError):
            return  # it has changed since, or is gone: the next request sees that
        with self._lock:
            place = self._places.get(served.path)
            if is_same and place is not None and place.served is served:
                place.served = mapped


def _tag(content: str) -> str:
    return hashlib.sha256(f"{decoder().VERSION} {content}".encode()).hexdigest()[:24]


def _signature(path: Path) -> list[Stat]:
    try:
        return signature(path)
    except OSError as error:
        raise TraceError(f"{path.name}: {error.strerror}") from error
