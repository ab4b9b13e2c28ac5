"""An analysis of traces: how often the scheduler moved each thread to another CPU.

The record says all that commands, tables, CSV, JSON and Python need; ``benchvise.trace.catalogue``
has Benchvise's own, of the same type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import ListedRows, PartOfTrace, TableShape, TraceAnalysis

if TYPE_CHECKING:
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, slots=True)
class Moved:
    """A thread; ``per_second`` are its migrations a second of the span."""

    name: str
    thread: int
    count: int
    per_second: float
    most_to: int


@dataclass(frozen=True, kw_only=True)
class MigrationsRequest(PartOfTrace, ListedRows):
    """How many threads are listed."""


_THREADS: TableShape[Moved] = TableShape(
    "threads",
    "Threads by how often they were moved",
    "more threads",
    (
        ColumnSpec("Thread", ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec("TID", ValueUnit.NUMBER, lambda row: row.thread),
        ColumnSpec("Migrations", ValueUnit.COUNT, lambda row: row.count),
        ColumnSpec("Migrations/s", ValueUnit.PER_SECOND, lambda row: row.per_second),
        ColumnSpec("Mostly to CPU", ValueUnit.NUMBER, lambda row: row.most_to),
    ),
)


def _migrations(traces: Sequence[LoadedTrace], _request: MigrationsRequest) -> list[Moved]:
    [trace] = traces
    table = trace.analysis.events("sched_migrate_task")
    if table is None:
        return []
    span = trace.analysis.span
    moves: dict[int, Counter[int]] = {}
    names: dict[int, str] = {}
    fields = (table[name].to_pylist() for name in ("time", "pid", "comm", "dest_cpu"))
    for time, thread, name, cpu in zip(*fields, strict=True):
        if span.begin <= time < span.end:
            moves.setdefault(thread, Counter())[cpu] += 1
            names[thread] = name
    seconds = (span.end - span.begin) / 1e9
    rows = [
        Moved(
            names[thread], thread, cpus.total(), cpus.total() / seconds, cpus.most_common(1)[0][0]
        )
        for thread, cpus in moves.items()
    ]
    return sorted(rows, key=lambda row: (-row.count, row.thread))


def _tables(answer: list[Moved], request: MigrationsRequest) -> Iterator[TableSpec[Moved]]:
    missing = () if answer else ("none: record the event sched_migrate_task",)
    yield _THREADS.filled("Migrations, most first", answer, *missing, top=request.top)


MIGRATIONS = TraceAnalysis(
    name="lab-migrations",
    kind="trace-lab-migrations",
    summary="List how often threads were moved to another CPU.",
    example="lab-migrations trace.dat --since +1",
    request=MigrationsRequest,
    shapes=(_THREADS,),
    analyse=_migrations,
    tables=_tables,
)
