"""A store copied into an empty one, of either kind: to move it to another database, or keep a copy.

All tables are read in one transaction, so that the copy is the store as it was at one moment,
whatever is measured meanwhile; they are written in one, so that there is a whole copy or none.
Packed columns are copied as they are, without being unpacked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    Table,
    bindparam,
    func,
    insert,
    select,
    text,
    type_coerce,
)

from benchvise.errors import StoreError, UsageError
from benchvise.store.database import Database
from benchvise.store.tables import METADATA
from benchvise.store.values import PackedBytes, PackedJson

_ROWS = 2000
"""Rows that are read and written at once."""


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table of which all rows were copied."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class CopiedStore:
    """A store that was copied: from where, to where, and the rows of each table."""

    source: str
    target: str
    tables: tuple[CopiedTable, ...]


def copy_tables(
    source: Database, target: Database, observe: Callable[[CopiedTable], None] | None = None
) -> tuple[CopiedTable, ...]:
    """Copy all rows of a store into an empty one; ``observe`` is called after each table.

    UsageError where the target is the source or has rows already, StoreError where a row cannot be
    read or written: then the target stays empty.
    """
    if source.location.name == target.location.name:
        raise UsageError(f"{source.location.name} is the source itself", "name another store")
    copied = []
    with source.reading() as reading, target.writing() as writing:
        _refuse_rows(writing, target.location.name)
        for table in METADATA.sorted_tables:
            rows = _copy(reading, writing, table)
            there = writing.execute(select(func.count()).select_from(table)).scalar_one()
            if there != rows:
                raise StoreError(
                    f"{target.location.name} has {there} of {rows} rows of the table {table.name}",
                    "nothing was copied; give an empty store that nobody else writes to",
                )
            copied.append(CopiedTable(table.name, rows))
            if observe is not None:
                observe(copied[-1])
        if writing.dialect.name == "postgresql":
            for table in METADATA.sorted_tables:
                _continue_numbers(writing, table)
    return tuple(copied)


def _refuse_rows(connection: Connection, name: str) -> None:
    for table in METADATA.sorted_tables:
        if connection.execute(select(text("1")).select_from(table).limit(1)).first() is not None:
            raise UsageError(
                f"the store {name} is not empty (its table {table.name} has rows)",
                "name one that does not exist yet, or an empty database",
            )


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    columns = [
        type_coerce(column, LargeBinary).label(column.name) if _is_packed(column) else column
        for column in table.c
    ]
    values = {
        column: bindparam(column.name, type_=LargeBinary if _is_packed(column) else column.type)
        for column in table.c
    }
    statement = select(*columns).execution_options(stream_results=True, yield_per=_ROWS)
    rows = 0
    for partition in reading.execute(statement).partitions():
        batch = [dict(row._mapping) for row in partition]
        writing.execute(insert(table).values(values), batch)
        rows += len(batch)
    return rows


def _is_packed(column: Column[object]) -> bool:
    return isinstance(column.type, PackedJson | PackedBytes)


def _continue_numbers(connection: Connection, table: Table) -> None:
    """Has PostgreSQL number new rows after those that came with their numbers."""
    key = table.autoincrement_column
    if key is None:
        return
    newest = connection.execute(select(func.max(key))).scalar()
    if newest is not None:
        sequence = func.pg_get_serial_sequence(f'"{table.name}"', key.name)
        connection.execute(select(func.setval(sequence, newest)))
