"""Bringing a store's tables up to date when it is opened.

The revision lies in a table of our own name, so that another program's database, even one that
Alembic manages too, is never taken for a store. When there is nothing to do, opening only reads.

Until the first release there is one migration, changed along with ``tables.py``. From then on, to
add one: change ``tables.py``, write ``migrations/versions/vNNNN_what.py`` with ``revision =
"NNNN"``, and set ``NEWEST``. ``tests/test_store_databases.py`` says what differs.
"""

from __future__ import annotations

from sqlalchemy import Connection, String, column, inspect, select, table, text

from benchvise.errors import StoreError
from benchvise.store.database import Database

NEWEST = "0006"
VERSION_TABLE = "benchvise_version"

_LOCK = 0x62656E6368  # any number, but the same for all: "bench"
_VERSION = select(column("version_num", String())).select_from(table(VERSION_TABLE))


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
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        _upgrade(connection, database.location.name)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(_VERSION).scalar()


def _refuse_foreign(connection: Connection, name: str) -> None:
    others = inspect(connection).get_table_names()
    if others:
        raise StoreError(
            f"{name} is not a Benchvise database, it has tables of another program "
            f"({', '.join(sorted(others)[:3])})",
            "give an empty or a new one with --store",
        )


def _upgrade(connection: Connection, name: str) -> None:
    # Late, because it takes longer to import than the rest of the store together.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    current = _revision(connection)  # another process may have been faster
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
