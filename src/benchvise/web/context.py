"""What all pages of one server share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from starlette.requests import Request

from benchvise.errors import UsageError
from benchvise.rig.environment import Rig, find_rig_file, load_rig
from benchvise.store import Store
from benchvise.web.captures.served import ServedCapture, ServedCaptures
from benchvise.web.captures.view import CaptureView
from benchvise.web.file_index import FileIndex
from benchvise.web.health_readings import HealthReadings
from benchvise.web.live import Hub
from benchvise.web.report_cache import ReportCache
from benchvise.web.rig.console_sessions import ConsoleSessions
from benchvise.web.rig.control import Control
from benchvise.web.settings import Settings
from benchvise.web.workspace.served import ServedTrace, ServedTraces


@dataclass
class Context:
    """The settings, the open store, the live streams, the rig, and the files to look at.

    ``served_traces`` and ``served_captures`` are the open files; ``readings`` tells how boards were
    when they were last read.
    """

    settings: Settings
    hub: Hub
    traces: FileIndex
    captures: FileIndex
    readings: HealthReadings = field(default_factory=HealthReadings, init=False)
    served_captures: ServedCaptures = field(default_factory=ServedCaptures, init=False)
    served_traces: ServedTraces = field(default_factory=ServedTraces, init=False)
    report_cache: ReportCache = field(init=False)
    control: Control = field(default_factory=Control, init=False)
    console_sessions: ConsoleSessions = field(default_factory=ConsoleSessions, init=False)
    _store: Store | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.report_cache = ReportCache(lambda: self.store)

    @property
    def store(self) -> Store:
        """The store, opened when it is first needed; its methods may be called by any thread.

        Raises what ``Store.open`` raises, and tries again the next time.
        """
        with self._lock:
            if self._store is None:
                self._store = Store.open(self.settings.store)
            return self._store

    def rig(self) -> Rig | None:
        """The rig that is meant, read anew; None when none is named and no virtual bench runs.

        UsageError when the one that is named is not there, or cannot be read.
        """
        try:
            path = find_rig_file(self.settings.rig)
        except UsageError:
            if self.settings.rig:
                raise
            return None
        return load_rig(path)

    def trace(self, key: str) -> ServedTrace:
        """The trace that a key of the list names, opened.

        Raises:
            NotFound: there is none of that key.
            UsageError, TraceError, Busy: as ``ServedTraces.get`` does.
        """
        return self.served_traces.get(self.traces.find(key).path)

    def capture(self, key: str, view: CaptureView) -> ServedCapture:
        """The capture that a key of the list names, opened and decoded as ``view`` says.

        Raises:
            NotFound: there is none of that key.
            CaptureError, Busy: as ``ServedCaptures.get`` does.
        """
        return self.served_captures.get(self.captures.find(key).path, view)

    def close(self) -> None:
        """Ends what was opened."""
        self.hub.close()
        self.console_sessions.close()
        self.served_traces.close()
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def context(request: Request) -> Context:
    """The context of the server that got the request."""
    shared: Context = request.app.state.context
    return shared
