"""One connection pool to a store, with what makes a commit durable and waiting bounded."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from benchvise.store.faults import reported
from benchvise.store.location import Location
from benchvise.store.values import dump_json

_WRITING = "benchvise_writing"


class Database:
    """A store's database: reading and writing transactions, errors already explained."""

    def __init__(self, location: Location, timeout: float) -> None:
        self.location = location
        self._timeout = timeout
        with reported(location):
            self._engine = (
                _postgres(location, timeout)
                if location.file is None
                else _sqlite(location, timeout)
            )

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store, whatever others write meanwhile."""
        with reported(self.location), self._reading_engine().begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block has ended."""
        engine = self._engine.execution_options(**{_WRITING: True})
        with reported(self.location), engine.begin() as connection:
            yield connection

    def use_write_ahead_log(self) -> None:
        """Let readers and a writer of an SQLite file not wait for each other; it stays so.

        SQLite does not wait by itself when another process is changing the mode, so this does.
        """
        if self.location.file is None:
            return
        deadline = time.monotonic() + self._timeout
        with reported(self.location), contextlib.closing(self._engine.raw_connection()) as raw:
            while True:
                try:
                    raw.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                        raise
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)
                else:
                    return

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    def _reading_engine(self) -> Engine:
        if self.location.file is not None:
            return self._engine  # a transaction of SQLite is a snapshot anyway
        return self._engine.execution_options(isolation_level="REPEATABLE READ")


def _sqlite(location: Location, timeout: float) -> Engine:
    engine = create_engine(
        location.url, json_serializer=dump_json, connect_args={"timeout": timeout}
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        # Python's module would begin transactions at its own discretion, and never immediate.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that began as a reader is refused at once when another one was faster,
        # without waiting: so it says from the beginning that it will write.
        writing = connection.get_execution_options().get(_WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _postgres(location: Location, timeout: float) -> Engine:
    # Without these a dead network would hold a run for ever; the user's own settings win.
    limits = {"connect_timeout": max(2, round(timeout)), "tcp_user_timeout": 30_000}
    engine = create_engine(
        location.url,
        json_serializer=dump_json,
        pool_pre_ping=True,  # minutes pass between two samples; the server may have restarted
        connect_args={k: v for k, v in limits.items() if k not in location.url.query},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {round(timeout * 1000)}")
            # The board waits for the disk: an answer before it is there would defeat that.
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    return engine
