"""What all pages of one server share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from starlette.requests import Request

from benchvise.store import Store
from benchvise.web.captures.opened import OpenCaptures
from benchvise.web.files import Shelf
from benchvise.web.live import Hub
from benchvise.web.readings import Readings
from benchvise.web.settings import Settings


@dataclass
class Context:
    """The settings, the open store, the live streams, and the files that may be looked at."""

    settings: Settings
    hub: Hub
    traces: Shelf
    captures: Shelf
    readings: Readings = field(default_factory=Readings)
    open_captures: OpenCaptures = field(default_factory=OpenCaptures)
    _store: Store | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def store(self) -> Store:
        """The store, opened when it is first needed; its methods may be called by any thread.

        Raises what ``Store.open`` raises, and tries again the next time.
        """
        with self._lock:
            if self._store is None:
                self._store = Store.open(self.settings.store)
            return self._store

    def close(self) -> None:
        """Ends what was opened."""
        self.hub.close()
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def context(request: Request) -> Context:
    """The context of the server that got the request."""
    found: Context = request.app.state.context
    return found
