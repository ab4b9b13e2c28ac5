"""A store's database: one connection pool, with what makes a commit durable and waiting bounded;
and its tables, brought up to date when it is opened.

The revision lies in a table of our own name, so that another program's database, even one that
Alembic manages too, is never taken for a store. When there is nothing to do, opening only reads. A
new store is made as ``tables.py`` has it; migrations, which make the same, are for older ones.

To add a migration: change ``tables.py``, write ``migrations/versions/vNNNN_what.py`` with
``revision = "NNNN"``, and set ``NEWEST``. ``tests/test_store_databases.py`` says what differs.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
)

from benchvise.errors import StoreError
from benchvise.store.faults import is_lost, reported
from benchvise.store.location import Location, on_read_only_media
from benchvise.store.tables import create_tables
from benchvise.store.values import DamagedValueError, dump_json

_WRITING = "benchvise_writing"

_TURN_SECONDS = 0.005
"""Mean time between two tries to become the writer of an SQLite file: a commit takes as long."""
_MOST_WAITS = 6  # timeouts, where others write all the time
_AGAIN_SECONDS = 0.1  # until a write that was lost is tried again
_Written = TypeVar("_Written")


class Database:
    """A store's database: reading and writing transactions, errors already explained."""

    def __init__(self, location: Location, timeout: float) -> None:
        self.location = location
        self._timeout = timeout
        # Of the threads of this process: an SQLite file takes one writer at a time, and those that
        # wait poll it.
        self._writer: AbstractContextManager[object] = (
            contextlib.nullcontext() if location.file is None else threading.Lock()
        )
        self.is_read_only = location.file is not None and _is_unchanging(location.file)
        with reported(location):
            self._engine = (
                _postgres(location, timeout)
                if location.file is None
                else _sqlite(location, timeout, self.is_read_only)
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
        with self._writer, reported(self.location), engine.begin() as connection:
            yield connection

    def write(self, work: Callable[[Connection, bool], _Written]) -> _Written:
        """What ``work`` returns, from a transaction that is on disk then.

        Where the server closed the connection meanwhile, or broke a deadlock, it is done again on a
        new connection, for as long as writers wait for each other. Nobody knows whether a commit
        that got no answer was made: ``work`` is told whether it runs again.
        """
        deadline, again = time.monotonic() + self._timeout, False
        while True:
            try:
                with self.writing() as connection:
                    return work(connection, again)
            except StoreError as error:
                if not is_lost(error, again=again) or time.monotonic() > deadline:
                    raise
                time.sleep(_AGAIN_SECONDS)
            again = True

    def wait_for_turn(self, connection: Connection, key: int) -> None:
        """Waits for a lock of a PostgreSQL database, which this transaction has then to its end:
        longer than for others, as of many who want it all but one wait for their predecessors.
        """
        setting = text("SELECT set_config('lock_timeout', :ms, true)")
        milliseconds = round(self._timeout * 1000)
        connection.execute(setting, {"ms": str(milliseconds * _MOST_WAITS)})
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        connection.execute(setting, {"ms": str(milliseconds)})

    def own_connection(self) -> Connection:
        """A connection of the caller's own, each statement a transaction; closed, it is gone."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()
        return connection

    def use_write_ahead_log(self) -> None:
        """Let readers and a writer of an SQLite file not wait for each other; it stays so.

        SQLite does not wait by itself when another process is changing the mode, so this does.
        """
        if self.location.file is None or self.is_read_only:
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


def _is_unchanging(file: Path) -> bool:
    """Whether a store lies on read-only media, and is whole without its write-ahead log.

    StoreError where the log has something that the file has not.
    """
    if not on_read_only_media(file) or not file.is_file():
        return False
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"the store {file} is on a read-only file system, and a part of it still in {log.name}",
            f"copy both to a directory that can be written: cp {file} {log} DIRECTORY",
        )
    return True


def _sqlite(location: Location, timeout: float, is_read_only: bool) -> Engine:
    url = location.url
    if is_read_only:
        # Nobody can change it, so that neither locks nor the files beside it are needed, which
        # could not be made there.
        name = urllib.parse.quote(str(location.file))
        url = url.set(database=f"file:{name}", query={"immutable": "1", "uri": "true"})
    engine = create_engine(url, json_serializer=dump_json, connect_args={"timeout": timeout})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        # Python's module would begin transactions at its own discretion, and never immediate.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_WRITING):
            _begin_writing(connection.connection.driver_connection, timeout)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin_writing(connection: Any, timeout: float) -> None:
    """Become the file's writer; ``sqlite3.OperationalError`` where another one stays it.

    A writer that began as a reader is refused at once when another one was faster, without
    waiting: so it says from the beginning that it will write.

    SQLite's own waiting sleeps for 100 ms after some tries, and whoever writes again and again
    takes the lock dozens of times meanwhile: of twenty writers some waited for seconds on a calm
    machine, and for longer than any timeout on a busy one. Short waits of random length let each
    have its turn. Nor is a store locked while others commit: then the wait begins anew, a few
    times.
    """
    begun = waits_from = time.monotonic()
    version = None
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                now = time.monotonic()
                if now - waits_from > timeout:
                    committed = _committed(connection)
                    if committed == version or now - begun > _MOST_WAITS * timeout:
                        raise
                    waits_from, version = now, committed
                elif version is None:
                    version = _committed(connection)
                time.sleep(random.uniform(0, 2 * _TURN_SECONDS))  # noqa: S311 - no secret
            else:
                return
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(timeout * 1000)}")


def _committed(connection: Any) -> int:
    """A number that is another one when another connection has committed; 0 where it cannot be had.

    It takes a lock too while the file is not yet written ahead.
    """
    try:
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    return version


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


# -- its tables ------------------------------------------------------------------------------------

NEWEST = "0012"
VERSION_TABLE = "benchvise_version"

_LOCK = 0x62656E6368  # any number, but the same for all: "bench"
_VERSION = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
"""As Alembic makes it."""


def prepare(database: Database) -> None:
    """Make or upgrade the tables; safe when several processes do it at once.

    Raises ``StoreError`` for a database that is not ours or was made by a newer Benchvise.
    """
    with database.reading() as connection:
        current = _revision(connection)
        if current is None:
            _refuse_foreign(connection, database.location.name)
    database.use_write_ahead_log()
    if current == NEWEST:
        return
    if database.is_read_only and current is not None:
        raise StoreError(
            f"the store {database.location.name} is of another version of Benchvise (its schema "
            f"is {current}, not {NEWEST}), and on a read-only file system",
            f"copy it to a directory that can be written: cp {database.location.name} DIRECTORY",
        )
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            database.wait_for_turn(connection, _LOCK)
        _upgrade(connection, database.location.name)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(select(_VERSION.c.version_num)).scalar()
    if revision is not None and not isinstance(revision, str):
        raise DamagedValueError(f"its schema is {revision!r}")
    return revision


def _refuse_foreign(connection: Connection, name: str) -> None:
    others = inspect(connection).get_table_names()
    if others:
        raise StoreError(
            f"{name} is not a Benchvise database, it has tables of another program "
            f"({', '.join(sorted(others)[:3])})",
            "give an empty or a new one with --store",
        )


def _upgrade(connection: Connection, name: str) -> None:
    current = _revision(connection)  # another process may have been faster
    if current is None:
        create_tables(connection)
        _VERSION.create(connection, checkfirst=False)
        connection.execute(insert(_VERSION).values(version_num=NEWEST))
    elif current != NEWEST:
        migrate(connection, current, name)


def migrate(connection: Connection, current: str | None, name: str) -> None:
    """Bring the tables of the revision ``current`` up to date: None, where there are none yet.

    Raises ``StoreError`` for a revision that is not known.
    """
    # Late, because it takes longer to import than the rest of the store together.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "benchvise.store:migrations")
    revisions = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in revisions:
        if current < NEWEST:
            raise StoreError(
                f"the store {name} was made before the first release (its schema is {current})",
                "give another place with --store",
            )
        raise StoreError(
            f"the store {name} was made by a newer Benchvise "
            f"(its schema is {current}, this one knows up to {NEWEST})",
            "upgrade benchvise, or give another place with --store",
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
