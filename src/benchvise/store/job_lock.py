"""A lock in the store, which all hosts see that share a PostgreSQL server.

It belongs to a connection: it is gone when its process has ended, however that was, and some
seconds after its host has lost power or network. Several hosts cannot share an SQLite file; there
this holds nothing.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from benchvise.errors import StoreError, Undecided
from benchvise.store.database import Database
from benchvise.store.faults import reported
from benchvise.store.tables import hash_of
from benchvise.text import printable

_KEEPALIVE = {"tcp_keepalives_idle": 20, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
"""By which the server finds out, in s, that a host is gone: by default after two hours."""
_PATIENCE_SECONDS, _AGAIN_SECONDS = 60.0, 0.1
"""For a server that restarts, and until it knows that a connection is gone."""

_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (classid::bigint << 32 | objid::bigint) = CAST(:key AS bigint)"
)


class JobLock:
    """Held within its context. Undecided where another host holds that of the same name."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._key = hash_of(f"job {name}")
        self._own = f"{socket.gethostname()[:40]} process {os.getpid()}"
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        if self._database.location.file is None and (holder := self._take()):
            raise self._taken(holder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._give_back()

    def check(self) -> None:
        """Takes the lock again where the server has closed the connection, as a restart does.

        Undecided where another host was faster, StoreError where the server does not come back.
        """
        if self._connection is None:
            return
        with contextlib.suppress(SQLAlchemyError):
            self._connection.execute(text("SELECT 1"))
            return
        self._give_back()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            is_last = time.monotonic() > deadline
            try:
                holder = self._take()
            except StoreError:
                if is_last:
                    raise
            else:
                if not holder:
                    return
                if holder != self._own or is_last:  # the server may not know yet that we are gone
                    raise self._taken(holder)
            time.sleep(_AGAIN_SECONDS)

    def _take(self) -> str:
        """Who has the lock; empty where it is ours now."""
        with reported(self._database.location):
            connection = self._database.own_connection()
            try:
                for setting, seconds in _KEEPALIVE.items():
                    connection.execute(_SET, {"name": setting, "value": str(seconds)})
                connection.execute(_SET, {"name": "application_name", "value": self._own})
                key = {"key": self._key}
                if connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), key):
                    self._connection = connection
                    return ""
                holder = connection.scalar(_HOLDER, key) or "another host"
            except BaseException:
                connection.close()
                raise
            connection.close()
        return str(holder)

    def _taken(self, holder: str) -> Undecided:
        return Undecided(
            f"{self._name} is being measured by {printable(holder, 80)}: nothing to do",
            "wait for it; what it measures is in the store",
        )

    def _give_back(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.close()  # its own, so the server gives the lock back
            self._connection = None


_SET = text("SELECT set_config(:name, :value, false)")
