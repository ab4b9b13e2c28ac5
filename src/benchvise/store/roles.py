"""The roles of a store in PostgreSQL, as SQL for its administrator to read and to run.

A reader sees everything and changes nothing, for pages and reports. A runner measures: it adds
runs, ends them, tags and annotates. A keeper owns the tables: it upgrades them, thins what is old,
and takes in copies. Each contains the one before it. None of them can log in; users are made
members: ``GRANT benchvise_runner TO ci``.

An upgrade grants roles what it has brought, so that nobody has to run the SQL again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from benchvise.store.database import VERSION_TABLE
from benchvise.store.tables import (
    ATTACHMENT,
    BOOT,
    METADATA,
    RUN_TAG,
    SAMPLE,
    TRACE_NOTE,
    WATCH_CHANGE,
)

READER, RUNNER, KEEPER = "benchvise_reader", "benchvise_runner", "benchvise_keeper"

_TABLES = tuple(sorted(table.name for table in METADATA.sorted_tables))
_REMOVED_BY_RUNNERS = tuple(
    table.name for table in (ATTACHMENT, BOOT, RUN_TAG, SAMPLE, TRACE_NOTE, WATCH_CHANGE)
)
"""What is replaced, packed or taken off while one measures, annotates or watches."""

_EVERYBODY = "public"
_RIGHTS = (
    "SELECT c.relname, r.rolname, a.privilege_type FROM pg_class AS c"
    " CROSS JOIN LATERAL aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee"
    " WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relkind = 'r'"
    " AND a.grantee <> c.relowner"
)
_SEQUENCES = (
    "SELECT t.relname, s.relname AS owned FROM pg_depend AS d JOIN pg_class AS s ON s.oid = d.objid"
    " JOIN pg_class AS t ON t.oid = d.refobjid WHERE s.relkind = 'S' AND d.deptype IN ('a', 'i')"
    " AND t.relnamespace = CAST(:schema AS regnamespace)"
)
_ROLES = (
    "SELECT rolname, pg_has_role(oid, 'MEMBER') AS is_member FROM pg_roles"
    " WHERE rolname IN (:runner, :keeper)"
)


@dataclass(frozen=True, slots=True)
class RolesScript:
    """SQL that makes the roles of a store in PostgreSQL."""

    sql: str


def roles_sql(schema: str = "public") -> str:
    """Statements that make the three roles and may be run again.

    They are for a superuser, or the owner of the database with CREATEROLE, and expect the tables
    of a store in the schema.
    """
    place = _quoted(schema)
    everything = _listed(place, (*_TABLES, VERSION_TABLE))
    lines = ["BEGIN;"]
    for role, says in (
        (READER, "reads every run of the store"),
        (RUNNER, "measures: adds runs, ends, tags and annotates them"),
        (KEEPER, "owns the tables: upgrades, thins and deletes"),
    ):
        lines += [
            f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$;",
            f"COMMENT ON ROLE {role} IS 'Benchvise: {says}';",
        ]
    lines += [
        f"GRANT {READER} TO {RUNNER};",
        f"GRANT {RUNNER} TO {KEEPER};",
        "-- nobody else",
        f"REVOKE ALL ON SCHEMA {place} FROM PUBLIC;",
        f"REVOKE ALL ON {everything} FROM PUBLIC;",
        "-- the reader",
        f"GRANT USAGE ON SCHEMA {place} TO {READER};",
        f"GRANT SELECT ON {everything} TO {READER};",
        "-- the runner",
        *(f"{statement};" for statement in _runner(place)),
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {place} TO {RUNNER};",
        "-- the keeper",
        f"GRANT CREATE ON SCHEMA {place} TO {KEEPER};",
        *(f"{statement};" for statement in _keeper(place)),
        "COMMIT;",
    ]
    return "\n".join(lines) + "\n"


def grant_new(connection: Connection) -> None:
    """Grants roles what an upgrade of a store in PostgreSQL has brought, which has just been made.

    The three of ``roles_sql`` get all of their rights, if the reader has any in this store, which
    is how they are known to be used here. A role of another name gets on a new table what it has on
    all of the older ones, among those of its kind: what runners remove from, and others. Only who
    owns the tables can upgrade them, and may do this.
    """
    schema = connection.scalar(
        text(
            "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(:name)"
        ),
        {"name": VERSION_TABLE},
    )
    rights: dict[str, dict[str, set[str]]] = {table: {} for table in _TABLES}
    for table, role, right in connection.execute(text(_RIGHTS), {"schema": schema}):
        if table in rights:
            rights[table].setdefault(role or _EVERYBODY, set()).add(right)
    owned = connection.execute(text(_SEQUENCES), {"schema": schema})
    sequences: dict[str, str] = {row.relname: row.owned for row in owned}
    statements = list(_for_others(schema, rights, sequences))
    if any(READER in roles for roles in rights.values()):
        roles = connection.execute(text(_ROLES), {"runner": RUNNER, "keeper": KEEPER})
        is_member = {row.rolname: row.is_member for row in roles}
        statements.append(f"GRANT SELECT ON {_listed(schema, _TABLES)} TO {READER}")
        if RUNNER in is_member:
            own = [sequences[table] for table in _TABLES if table in sequences]
            statements += _runner(schema)
            statements.append(f"GRANT USAGE ON SEQUENCE {_listed(schema, own)} TO {RUNNER}")
        if is_member.get(KEEPER):
            statements += _keeper(schema)
    for statement in statements:
        connection.exec_driver_sql(statement.replace("%", "%%"))


def _runner(place: str) -> Iterator[str]:
    """What a runner may besides what a reader may."""
    yield f"GRANT INSERT, UPDATE ON {_listed(place, _TABLES)} TO {RUNNER}"
    yield f"GRANT DELETE ON {_listed(place, _REMOVED_BY_RUNNERS)} TO {RUNNER}"


def _keeper(place: str) -> Iterator[str]:
    for table in (*_TABLES, VERSION_TABLE):
        yield f"ALTER TABLE {place}.{_quoted(table)} OWNER TO {KEEPER}"


def _for_others(
    place: str, rights: Mapping[str, Mapping[str, set[str]]], sequences: Mapping[str, str]
) -> Iterator[str]:
    """What roles of other names get on tables that nobody has any right on."""
    older = [table for table in _TABLES if rights[table]]
    roles = {role for table in older for role in rights[table]} - {READER, RUNNER, KEEPER}
    for table in (table for table in _TABLES if table not in older):
        is_removed = table in _REMOVED_BY_RUNNERS
        alike = [other for other in older if (other in _REMOVED_BY_RUNNERS) is is_removed]
        for role in sorted(roles):
            had = [rights[other].get(role, set()) for other in alike]
            common = set.intersection(*had) if had else set()
            name = "PUBLIC" if role == _EVERYBODY else _quoted(role)
            if common:
                given = ", ".join(sorted(common))
                yield f"GRANT {given} ON {place}.{_quoted(table)} TO {name}"
            if "INSERT" in common and table in sequences:
                yield f"GRANT USAGE ON SEQUENCE {place}.{_quoted(sequences[table])} TO {name}"


def _listed(place: str, names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{place}.{_quoted(name)}" for name in names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
