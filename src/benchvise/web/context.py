"""What all pages of one server share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from starlette.requests import Request

from benchvise.errors import UsageError
from benchvise.rig.environment import Rig, find_rig_file, load_rig
from benchvise.store import Store
from benchvise.web.captures.opened import OpenCaptures
from benchvise.web.files import Shelf
from benchvise.web.live import Hub
from benchvise.web.measured import Measured
from benchvise.web.readings import Readings
from benchvise.web.rig.attending import Attending
from benchvise.web.rig.control import Control
from benchvise.web.settings import Settings
from benchvise.web.workspace.served import ServedTrace, ServedTraces


@dataclass
class Context:
    """The settings, the open store, the live streams, the rig, and the files to look at.

    ``served_traces`` are those that are open, ``open_captures`` the captures; ``readings`` says how
    boards were when somebody last looked.
    """

    settings: Settings
    hub: Hub
    traces: Shelf
    captures: Shelf
    readings: Readings = field(default_factory=Readings, init=False)
    open_captures: OpenCaptures = field(default_factory=OpenCaptures, init=False)
    served_traces: ServedTraces = field(default_factory=ServedTraces, init=False)
    measured: Measured = field(init=False)
    control: Control = field(default_factory=Control, init=False)
    attending: Attending = field(default_factory=Attending, init=False)
    _store: Store | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.measured = Measured(lambda: self.store)

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

    def close(self) -> None:
        """Ends what was opened."""
        self.hub.close()
        self.attending.close()
        self.served_traces.close()
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def context(request: Request) -> Context:
    """The context of the server that got the request."""
    found: Context = request.app.state.context
    return found
