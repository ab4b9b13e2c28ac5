"""The roles of a store in PostgreSQL, as SQL for its administrator to read and to run.

A reader sees everything and changes nothing, for pages and reports. A runner measures: it adds
runs, ends them, tags and annotates. A keeper owns the tables: it upgrades them, thins what is old,
and takes in copies. Each contains the one before it. None of them can log in; users are made
members: ``GRANT benchvise_runner TO ci``.
"""

from __future__ import annotations

from dataclasses import dataclass

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

_REMOVED_BY_RUNNERS = (ATTACHMENT, BOOT, RUN_TAG, SAMPLE, TRACE_NOTE, WATCH_CHANGE)
"""What is replaced, packed or taken off while one measures, annotates or watches."""

READER, RUNNER, KEEPER = "benchvise_reader", "benchvise_runner", "benchvise_keeper"


@dataclass(frozen=True, slots=True)
class RolesScript:
    """SQL that makes the roles of a store in PostgreSQL."""

    sql: str


def roles_sql(schema: str = "public") -> str:
    """Statements that make the three roles and may be run again after an upgrade.

    They are for a superuser, or the owner of the database with CREATEROLE, and expect the tables
    of a store in the schema.
    """
    place = _quoted(schema)
    tables = [*sorted(table.name for table in METADATA.sorted_tables), VERSION_TABLE]
    written = ", ".join(f"{place}.{_quoted(name)}" for name in tables[:-1])
    everything = f"{written}, {place}.{_quoted(VERSION_TABLE)}"
    removed = ", ".join(f"{place}.{_quoted(table.name)}" for table in _REMOVED_BY_RUNNERS)
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
        f"GRANT INSERT, UPDATE ON {written} TO {RUNNER};",
        f"GRANT DELETE ON {removed} TO {RUNNER};",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {place} TO {RUNNER};",
        "-- the keeper",
        f"GRANT CREATE ON SCHEMA {place} TO {KEEPER};",
        *(f"ALTER TABLE {place}.{_quoted(name)} OWNER TO {KEEPER};" for name in tables),
        "COMMIT;",
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
