"""Inserts that may find their row there already, which each database spells its own way."""

from __future__ import annotations

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite


def put(connection: Connection, table: Table) -> sqlite.Insert:
    """An insert that has ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    if connection.dialect.name != "postgresql":
        return sqlite.insert(table)
    # Late: few have one, and every command would start later.
    from sqlalchemy.dialects import postgresql

    insert: sqlite.Insert = postgresql.insert(table)  # type: ignore[assignment]
    return insert
