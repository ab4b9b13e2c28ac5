"""What ``benchvise serve`` was told, and what all pages of one server share."""

from __future__ import annotations

import ipaddress
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from starlette.requests import Request

from benchvise.errors import UsageError
from benchvise.flows.metrics import LatestMetrics
from benchvise.rig.environment import Rig, find_rig_file, load_rig
from benchvise.store import Store
from benchvise.web.cache import EventCache, HealthReadings, ReportCache, SummaryCache
from benchvise.web.file_index import FileIndex
from benchvise.web.last_words import LastWords
from benchvise.web.live import Hub
from benchvise.web.readers.pool import Readers
from benchvise.web.rig.control import ConsoleSessions, Control

PORT = 8765


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, access control, and what there is to see.

    ``store`` and ``rig`` are what the options of the same names mean. ``traces`` and ``captures``
    are directories whose files are shown besides those of runs. With ``control``, pages may switch
    the power of boards, turn their cards and type on their consoles. ``no_token``: whoever reaches
    it may use it, which has to be this machine's own users.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    no_token: bool = False
    store: str | None = None
    rig: str | None = None
    traces: tuple[Path, ...] = ()
    captures: tuple[Path, ...] = ()
    control: bool = False

    def checked(self) -> Settings:
        """The same; UsageError for directories that are none, or an open door."""
        for option, paths in (("--traces", self.traces), ("--captures", self.captures)):
            for path in paths:
                if not path.is_dir():
                    raise UsageError(f"{option} {path} is no directory", "name one that is there")
        if self.no_token and self.token is not None:
            raise UsageError(
                "a token and --no-token exclude each other",
                "leave out one of them; BENCHVISE_TOKEN gives a token, too",
            )
        if not self.is_local and not self.token:
            raise UsageError(
                f"--host {self.host} can be reached from elsewhere", "add --token, or leave --host"
            )
        if self.token is not None and len(self.token) < 16:
            raise UsageError("the token is too short", "give one of 16 characters or more")
        return self

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address (IPv6 with or without brackets) means this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# -- what all pages share --------------------------------------------------------------------------


@dataclass
class Context:
    """The settings, the open store, the live streams, the rig, and the files to look at.

    ``readers`` open the files; ``readings`` tells how boards were when they were last read.
    """

    settings: Settings
    hub: Hub
    traces: FileIndex
    captures: FileIndex
    readings: HealthReadings = field(default_factory=HealthReadings, init=False)
    readers: Readers = field(init=False)
    report_cache: ReportCache = field(init=False)
    summary_cache: SummaryCache = field(init=False)
    event_cache: EventCache = field(init=False)
    metrics: LatestMetrics = field(default_factory=LatestMetrics, init=False)
    words: LastWords = field(default_factory=LastWords, init=False)
    control: Control = field(default_factory=Control, init=False)
    console_sessions: ConsoleSessions = field(default_factory=ConsoleSessions, init=False)
    _store: Store | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.report_cache = ReportCache(lambda: self.store)
        self.summary_cache = SummaryCache()
        self.event_cache = EventCache(lambda: self.store)
        self.readers = Readers(self._file_places)

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
        return replace(load_rig(path), wait_s=0.0)  # whoever sees the page looks again

    def _file_places(self) -> list[Path]:
        """The directories of all files that may be looked at: also those of runs' traces."""
        return [*self.settings.traces, *self.settings.captures, self._traces_of_runs()]

    def _traces_of_runs(self) -> Path:
        return self.store.trace_file("").parent

    def has_files(self) -> bool:
        """Whether there may be traces or captures to look at."""
        directories = self.settings.traces or self.settings.captures
        return bool(directories) or any(self._traces_of_runs().iterdir())

    def close(self) -> None:
        """Ends what was opened."""
        self.hub.close()
        self.console_sessions.close()
        self.readers.close()
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def context(request: Request) -> Context:
    """The context of the server that got the request."""
    shared: Context = request.app.state.context
    return shared
