"""A place for a store that a test can look into, and the runs that the tests put there."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from benchvise.measure.model import SeriesSpec
from benchvise.store import PlannedSeries, ProcessHandle, Store

SPEC = SeriesSpec("memory.copy", (("size", "1M"), ("cpu", "0")), "memory.copy:size=1M")
OTHER = SeriesSpec("pipe.roundtrip", (("bytes", "1"),), "pipe.roundtrip")
PLANNED: list[PlannedSeries] = [(SPEC, "B/s", "higher", "read"), (OTHER, "ns", "lower", "trips")]


BEFORE_PACKING = (
    "DROP INDEX ix_run_board",
    "CREATE INDEX ix_run_board ON run (board)",
    "DROP TABLE boot",
    "ALTER TABLE run DROP COLUMN heard",
    "DROP TABLE evidence",
    "ALTER TABLE process DROP COLUMN packed_samples",
    "ALTER TABLE process DROP COLUMN packed_values",
)
"""Make of a store whose samples are rows one of the revision before they were packed."""


@dataclass(frozen=True)
class Place:
    """An empty place for a store, and a way to look into it beside the store."""

    url: str

    @property
    def is_file(self) -> bool:
        return "://" not in self.url

    @contextlib.contextmanager
    def connect(self) -> Iterator[sqlite3.Connection | psycopg.Connection[tuple[object, ...]]]:
        """A connection of the plain driver, each statement on its own."""
        if self.is_file:
            with contextlib.closing(sqlite3.connect(self.url, isolation_level=None)) as file:
                yield file
        else:
            with psycopg.connect(self.url, autocommit=True) as server:
                yield server

    def query(self, statement: str) -> list[tuple[object, ...]]:
        with self.connect() as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


def begin(store: Store, label: str = "base", series: Sequence[PlannedSeries] = PLANNED) -> str:
    return store.begin_run(label, "local", "quick", 7, {"order": [0, 1]}, {}, False, series)


def begin_process(store: Store) -> tuple[str, ProcessHandle]:
    run = begin(store)
    return run, store.begin_process(run, 0, 0, {"benchmark": SPEC.benchmark})
