"""What a store holds by its database's own catalogue: shape, rows of all columns, and made-up rows.

Nothing here knows the tables: a column that is added is compared and filled without a change here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    create_engine,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine.interfaces import ReflectedIndex
from store_places import Place

from benchvise.store.database import VERSION_TABLE
from benchvise.store.location import locate

Contents: TypeAlias = dict[str, list[str]]
"""The rows of each table, sorted, each with its columns by name."""

_ROWS = 15
_HOSTILE = "drop'; \" \x1b[2J %s {} \u2028 Größe \U0001f4a5\\ "
_FLOATS = (0.1 + 0.2, 5e-324, -1.7976931348623157e308, float("inf"), 0.0)


@contextmanager
def _connected(place: Place) -> Iterator[Connection]:
    engine = create_engine(locate(place.url).url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def shape(place: Place) -> dict[str, Any]:
    """All that the database itself says of its tables."""
    with _connected(place) as connection:
        found = inspect(connection)
        return {
            name: {
                "columns": {
                    column["name"]: {key: str(value) for key, value in column.items()}
                    for column in found.get_columns(name)
                },
                "primary key": found.get_pk_constraint(name),
                "foreign keys": sorted(map(str, found.get_foreign_keys(name))),
                "unique": sorted(map(str, found.get_unique_constraints(name))),
                "indexes": sorted(_index_text(index) for index in found.get_indexes(name)),
            }
            for name in found.get_table_names()
        }


def _index_text(index: ReflectedIndex) -> str:
    """An index with the condition of a partial one in words."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return str({**index, "dialect_options": options})


def contents(place: Place) -> Contents:
    """All columns of all rows of all tables, in a form that is the same for both databases."""
    with _connected(place) as connection:
        tables = MetaData()
        tables.reflect(connection)
        return {
            table.name: sorted(
                str({name: _comparable(value) for name, value in row._mapping.items()})
                for row in connection.execute(select(*sorted(table.c, key=lambda c: c.name)))
            )
            for table in tables.sorted_tables
        }


def _comparable(value: object) -> str:
    match value:
        case dict() | list():
            return json.dumps(value)  # in the order of its keys
        case datetime():
            return value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC).isoformat()
        case bytes() | memoryview():
            return bytes(value).hex()
    return repr(value)


def fill(place: Place) -> None:
    """Rows in each table, with what is hard to carry over in each column."""
    with _connected(place) as connection:
        tables = MetaData()
        tables.reflect(connection)
        keys: dict[tuple[str, str], list[object]] = {}
        for table in tables.sorted_tables:
            if table.name == VERSION_TABLE:
                continue
            rows = [
                {column.name: _made_up(column, row, keys) for column in table.c}
                for row in range(_ROWS)
            ]
            for column in table.c:
                keys[table.name, column.name] = [row[column.name] for row in rows]
            connection.execute(insert(table), rows)
            _number_after(connection, table)


def _made_up(column: Column[Any], row: int, keys: dict[tuple[str, str], list[object]]) -> object:
    for foreign in column.foreign_keys:
        return keys[foreign.column.table.name, foreign.column.name][row]
    if column.nullable and row % 3 == 0:
        return None
    match column.type:
        case Boolean():
            return row % 2 == 0
        case Integer():  # BigInteger too, which has no more room in SQLite's catalogue
            return row + 1
        case Float():
            return _FLOATS[row % len(_FLOATS)]
        case DateTime():
            moment = datetime(2026, 11, 29, 1, 59, 59, 999999) + timedelta(microseconds=row)
            return moment.replace(tzinfo=UTC) if column.type.timezone else moment
        case JSON():
            return {"z": [row, 2**63 - 1, 0.1, None, True], "a": _HOSTILE}
        case LargeBinary():
            return bytes([row]) + bytes(range(256)) * 20
    length = getattr(column.type, "length", None) or 5000
    return f"{row} {column.name} {_HOSTILE * 3}"[:length].rstrip()


def _number_after(connection: Connection, table: Table) -> None:
    """Has PostgreSQL go on after the numbers that were given here."""
    for column in table.primary_key.columns if connection.dialect.name == "postgresql" else ():
        if column.server_default is not None and "nextval" in str(column.server_default.arg):  # type: ignore[attr-defined]
            sequence = func.pg_get_serial_sequence(f'"{table.name}"', column.name)
            connection.execute(select(func.setval(sequence, _ROWS)))
