"""Signs of life of a process that measures or boots, for hosts that cannot see the process.

They are left in the store, by the store's own clock: PostgreSQL's, so that clocks of hosts need not
agree. While samples come, a sign goes with one of them now and then, in the same transaction. Only
where none came for long, a thread leaves one: during a batch that host is to be idle.

A process that stays silent is taken for ended. Where it was only cut off from the store, its next
sign puts that right.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Table, and_, func, literal, or_, update

from benchvise.errors import StoreError
from benchvise.measure.model import RunStatus
from benchvise.store.database import Database
from benchvise.store.owner import Owner
from benchvise.store.tables import BOOT, RUN
from benchvise.store.values import Moment

BEAT_SECONDS = 20.0
"""Between two signs that go with samples."""
LATE_SECONDS = 30.0
"""After so long without one the thread leaves it."""
SILENT_SECONDS = 180.0
"""Whoever was not heard of for so long is taken for ended."""
UNHEARD_SECONDS = 24 * 3600.0
"""The same for a run that never left a sign, as those of earlier releases: from its beginning."""

FELL_SILENT = (
    "its process on another host was not heard of for three minutes: killed, or cut off from the "
    "store"
)
"""The reason of a run that was taken for ended. Its process takes it back."""


def store_clock(connection: Connection) -> ColumnElement[datetime]:
    """The time by the clock of the store, to be used in a statement."""
    if connection.dialect.name == "postgresql":
        return func.clock_timestamp(type_=Moment)
    return literal(datetime.now(UTC), Moment)


def is_silent(
    owner: Owner, here: Owner, heard: datetime | None, began: datetime, now: datetime
) -> bool:
    """Whether a process that nobody here can see was not heard of for too long."""
    if owner.is_there(here) is not None:
        return False
    if heard is None:
        return now - began > timedelta(seconds=UNHEARD_SECONDS)
    return now - heard > timedelta(seconds=SILENT_SECONDS)


class Heartbeat:
    """The signs of life of this process for its runs and boots in one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str | int], float] = {}
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()  # of that thread

    def begin(self, table: Table, which: str | int) -> None:
        """From now on signs are left for a run (by its id) or a boot (by its number)."""
        with self._lock:
            self._last[table.name, which] = time.monotonic()
            if self._thread is None:
                self._stopped = threading.Event()
                self._thread = threading.Thread(
                    target=self._beat_when_late,
                    args=(self._stopped,),
                    name="signs of life",
                    daemon=True,
                )
                self._thread.start()

    def end(self, table: Table, which: str | int) -> None:
        """No more of them."""
        with self._lock:
            self._last.pop((table.name, which), None)
            if not self._last:
                self._stopped.set()
                self._thread = None

    def close(self) -> None:
        """Ends all."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._last.clear()
            self._stopped.set()
        if thread is not None:
            thread.join()

    @contextlib.contextmanager
    def beside(self, run_id: str) -> Iterator[bool]:
        """Whether a sign of a run is due, to be left in a transaction within this context."""
        key = (RUN.name, run_id)
        is_due = time.monotonic() - self._last.get(key, time.monotonic()) >= BEAT_SECONDS
        yield is_due
        if is_due:
            self._noted(key)

    def _noted(self, key: tuple[str, str | int]) -> None:
        with self._lock:
            if key in self._last:
                self._last[key] = time.monotonic()

    def _beat_when_late(self, stopped: threading.Event) -> None:
        while not stopped.wait(LATE_SECONDS / 3):
            with self._lock:
                late = [k for k, at in self._last.items() if time.monotonic() - at >= LATE_SECONDS]
            for key in late:
                name, which = key
                # A store that cannot be reached says so to whoever measures.
                with contextlib.suppress(StoreError), self._database.writing() as connection:
                    leave_sign(connection, RUN if name == RUN.name else BOOT, which)
                    self._noted(key)


def leave_sign(connection: Connection, table: Table, which: str | int) -> None:
    """Notes that the process of a run or a boot lives; takes back that it was taken for ended."""
    now = store_clock(connection)
    if table is BOOT:
        connection.execute(update(BOOT).where(BOOT.c.number == which).values(heard=now))
        return
    connection.execute(
        update(RUN)
        .where(RUN.c.id == which, or_(RUN.c.status == RunStatus.RUNNING, _TAKEN_FOR_ENDED))
        .values(heard=now, status=RunStatus.RUNNING, reason="", finished=None)
    )


_TAKEN_FOR_ENDED = and_(RUN.c.status == RunStatus.INTERRUPTED, RUN.c.reason == FELL_SILENT)
