"""The tables of the store: a run has series, a series has processes, a process has samples, which
are rows while it measures and packed when it has ended (``store.packed_samples``).

A snapshot belongs to a run. What it found set is a state, which is kept once however often it is
found, under the hash of its content. Diagnoses stand for themselves. What a watch has seen belongs
to a watched board, not to a run. Notes on a trace belong to what the trace holds, wherever its
files lie.

What is queried is a column; what the board said is a JSON object beside it. A change here needs
a migration (``migrations/versions``); a test compares the two on both databases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    MetaData,
    Row,
    Table,
    UniqueConstraint,
    literal_column,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.default import DefaultExecutionContext

from benchvise.measure.model import RunStatus, SeriesStatus
from benchvise.store.values import (
    Bytes,
    CleanText,
    DamagedValueError,
    JsonColumn,
    Large,
    Measured,
    Moment,
    Name,
    PackedBytes,
    PackedJson,
    Whole,
    YesNo,
    clean_text,
)
from benchvise.text import Untrusted

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""All tables. Their constraints have names, by which migrations find them."""


def _part_of(name: str, of: str, *, primary_key: bool = False) -> Column[int]:
    """A column that names a row of another table, with which its own row goes away."""
    owner = ForeignKey(of, ondelete="CASCADE")
    return Column(name, Whole, owner, primary_key=primary_key, nullable=False)


def hash_of(key: str) -> int:
    """The hash of a series' key that is in the index: the first 64 bits of SHA-256, signed."""
    digest = hashlib.sha256(clean_text(key).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _hash_of_key(context: DefaultExecutionContext) -> int:
    """For each row that is inserted, also where there are many."""
    return hash_of(context.get_current_parameters()["key"])  # type: ignore[no-untyped-call]


def has_key(table: Table, key: str) -> ColumnElement[bool]:
    """The condition that a row of ``SERIES`` or ``SERIES_COUNT`` is of the series with this key."""
    return (table.c.key_hash == hash_of(key)) & (table.c.key == clean_text(key))


RUN = Table(
    "run",
    METADATA,
    Column("number", Whole, primary_key=True),
    Column("id", Name(12), nullable=False, unique=True),
    Column("label", CleanText, nullable=False, index=True),
    Column("board", CleanText, nullable=False),
    Column("suite", CleanText, nullable=False, index=True),
    Column("status", CleanText, nullable=False, index=True),
    Column("reason", CleanText, nullable=False),
    Column("started", Moment, nullable=False),
    Column("finished", Moment),
    Column("seed", Large, nullable=False),
    Column("plan", JsonColumn, nullable=False),
    Column("host", JsonColumn, nullable=False),
    Column("tool_version", CleanText, nullable=False),
    Column("simulated", YesNo, nullable=False),
    Column("owner", JsonColumn, nullable=False),
    Column("remarks", JsonColumn, nullable=False, server_default="{}"),
    Column("note", CleanText, nullable=False, server_default=""),
    Column("heard", Moment),
    Index("ix_run_board", "board", "number"),
)
"""Everything measured on one board in one go.

``heard`` is when its process was heard of last, by the clock of the store (``store.heartbeat``).
``number`` counts runs in the order in which they began. "Newest" means the highest number,
not the latest date: boards without a battery-backed clock live in 1970 after each boot.
"""

IS_NOTED = RUN.c.note != literal_column("''")
"""The condition that a run has a note, in the words of the index: with a parameter it would not be
used."""

_NOTED = Index("ix_run_noted", RUN.c.number, sqlite_where=IS_NOTED)

BOOT = Table(
    "boot",
    METADATA,
    Column("number", Whole, primary_key=True),
    Column("board", CleanText, nullable=False),
    Column("what", CleanText, nullable=False),
    Column("user", CleanText, nullable=False),
    Column("owner", JsonColumn, nullable=False),
    Column("began", Moment, nullable=False),
    Column("heard", Moment, nullable=False),
    Column("phase", CleanText, nullable=False),
    Column("phase_s", Measured, nullable=False),
)
"""A board that a process boots now to measure it; its row goes away when the boot has ended."""

RUN_TAG = Table(
    "run_tag",
    METADATA,
    _part_of("run_number", "run.number", primary_key=True),
    Column("name", Name(40), primary_key=True, index=True),
)
"""A word by which a user finds a run again, such as ``nightly``."""

SERIES = Table(
    "series",
    METADATA,
    Column("id", Whole, primary_key=True),
    _part_of("run_number", "run.number"),
    Column("position", Whole, nullable=False),
    Column("benchmark", CleanText, nullable=False, index=True),
    Column("params", JsonColumn, nullable=False),
    Column("key", CleanText, nullable=False),
    Column("unit", CleanText, nullable=False),
    Column("better", CleanText, nullable=False),
    Column("counted", CleanText, nullable=False),
    Column("status", CleanText, nullable=False),
    Column("reason", CleanText, nullable=False),
    Column("key_hash", Large, nullable=False, default=_hash_of_key, server_default="0"),
    UniqueConstraint("run_number", "position"),
    Index(None, "key_hash", "run_number"),
)
"""A benchmark with one set of parameters, at its place in the run's plan.

``key_hash`` is ``hash_of(key)``, in an index because a key may be longer than a database's index
can hold; whoever looks for a key by it compares the key too (``has_key``).
"""

SERIES_COUNT = Table(
    "series_count",
    METADATA,
    Column("key_hash", Large, primary_key=True, autoincrement=False),
    Column("board", CleanText, primary_key=True),
    Column("key", CleanText, nullable=False),
    Column("benchmark", CleanText, nullable=False),
    Column("runs", Whole, nullable=False),
)
"""How many runs of a board have a sample of a series with this key.

It could be counted, but not in a tenth of a second where there are six million series; so the
transaction that adds a series' first sample adds one here (``store.series_counts``).
"""

PROCESS = Table(
    "process",
    METADATA,
    Column("id", Whole, primary_key=True),
    _part_of("series_id", "series.id"),
    Column("index", Whole, nullable=False),
    Column("begin", JsonColumn, nullable=False),
    Column("complete", YesNo, nullable=False),
    Column("packed_samples", Whole, nullable=False, server_default="0"),
    Column("packed_values", Bytes),
    UniqueConstraint("series_id", "index"),
)
"""One fresh probe process that measured for a series; ``packed_samples`` of its samples are packed.
"""

EVIDENCE = Table(
    "evidence",
    METADATA,
    _part_of("process_id", "process.id", primary_key=True),
    Column("packed", Bytes, nullable=False),
)
"""What is known of the packed samples of a process beside their values. It is a table of its own,
so that processes are counted and values read without it.
"""

SAMPLE = Table(
    "sample",
    METADATA,
    _part_of("process_id", "process.id", primary_key=True),
    Column("index", Whole, primary_key=True),
    Column("value", Measured),
    Column("evidence", JsonColumn, nullable=False),
)
"""A batch of a process that measures. ``value`` is NULL where the board's was not a number."""

STATE = Table(
    "state",
    METADATA,
    Column("digest", Name(64), primary_key=True),
    Column("settings", PackedJson, nullable=False),
)
"""What a board was set to: the settings of a snapshot, under the hash of their content."""

SNAPSHOT = Table(
    "snapshot",
    METADATA,
    Column("id", Whole, primary_key=True),
    _part_of("run_number", "run.number"),
    Column("moment", Name(6), nullable=False),
    Column("digest", Name(64), ForeignKey("state.digest"), nullable=False, index=True),
    Column("about", JsonColumn, nullable=False),
    Column("observations", PackedJson, nullable=False),
    UniqueConstraint("run_number", "moment"),
)
"""A board's state ``before`` or ``after`` a run; ``about`` is all of it that is small."""

ATTACHMENT = Table(
    "attachment",
    METADATA,
    Column("id", Whole, primary_key=True),
    _part_of("run_number", "run.number"),
    Column("name", Name(80), nullable=False),
    Column("content", PackedBytes, nullable=False),
    UniqueConstraint("run_number", "name"),
)
"""A file that belongs to a run, such as the console of its boot."""

DIAGNOSIS = Table(
    "diagnosis",
    METADATA,
    Column("number", Whole, primary_key=True),
    Column("id", Name(12), nullable=False, unique=True),
    Column("kept", Moment, nullable=False),
    Column("good", CleanText, nullable=False),
    Column("bad", CleanText, nullable=False),
    Column("metric", CleanText, nullable=False),
    Column("verdict", CleanText, nullable=False),
    Column("headline", CleanText, nullable=False),
    Column("simulated", YesNo, nullable=False),
    Column("tool_version", CleanText, nullable=False),
    Column("document", PackedJson, nullable=False),
)
"""The answer of ``why``: whole as a document, with what a list of them shows in columns.

``number`` counts them in the order in which they were kept.
"""

WATCHED = Table(
    "watched",
    METADATA,
    Column("number", Whole, primary_key=True),
    Column("board", CleanText, nullable=False),
    Column("machine", Name(64), nullable=False),
    Column("simulated", YesNo, nullable=False),
    Column("memory", PackedJson, nullable=False),
    UniqueConstraint("board", "machine"),
)
"""A board that is or was watched. ``machine`` tells apart those that are called ``local``.

``memory`` is what is remembered from one look to the next.
"""

WATCH_SPAN = Table(
    "watch_span",
    METADATA,
    Column("id", Whole, primary_key=True),
    Column(
        "watched_number", Whole, ForeignKey("watched.number", ondelete="CASCADE"), nullable=False
    ),
    Column("began", Moment, nullable=False),
    Column("until", Moment, nullable=False),
    Column("looks", Whole, nullable=False),
    Column("interval", Measured, nullable=False),
    Column("boot", CleanText, nullable=False),
    Column("ending", CleanText, nullable=False),
    Column("cpu", Measured),
    Index(None, "watched_number", "began"),
)
"""A time in which a board was looked at without a gap; as ``health.watch.history.WatchSpan``."""

WATCH_METRIC = Table(
    "watch_metric",
    METADATA,
    Column("id", Whole, primary_key=True),
    Column(
        "watched_number", Whole, ForeignKey("watched.number", ondelete="CASCADE"), nullable=False
    ),
    Column("name", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("unit", CleanText, nullable=False),
    UniqueConstraint("watched_number", "name"),
)
"""The name of a figure of a board."""

WATCH_CHANGE = Table(
    "watch_change",
    METADATA,
    Column("metric_id", Whole, ForeignKey("watch_metric.id", ondelete="CASCADE"), primary_key=True),
    Column("at", Moment, primary_key=True),
    Column("since", Moment, nullable=False),
    Column("value", Measured, nullable=False),
    Column("delta", Measured),
    Column("anew", YesNo, nullable=False),
)
"""A figure was not what it had been; ``delta`` is NULL where what was before is not known."""

WATCH_RANGE = Table(
    "watch_range",
    METADATA,
    Column("metric_id", Whole, ForeignKey("watch_metric.id", ondelete="CASCADE"), primary_key=True),
    Column("began", Moment, primary_key=True),
    Column("until", Moment, nullable=False),
    Column("looks", Whole, nullable=False),
    Column("low", Measured, nullable=False),
    Column("high", Measured, nullable=False),
    Column("total", Measured, nullable=False),
)
"""What a sensor read over a time."""

WATCH_EVENT = Table(
    "watch_event",
    METADATA,
    Column("id", Whole, primary_key=True),
    Column(
        "watched_number", Whole, ForeignKey("watched.number", ondelete="CASCADE"), nullable=False
    ),
    Column("at", Moment, nullable=False),
    Column("last", Moment, nullable=False),
    Column("count", Whole, nullable=False),
    Column("what", CleanText, nullable=False),
    Column("severity", CleanText, nullable=False),
    Column("text", CleanText, nullable=False),
    Index(None, "watched_number", "last"),
)
"""Something that happened to a watched board, ``count`` times between ``at`` and ``last``."""

TRACE_NOTE = Table(
    "trace_note",
    METADATA,
    Column("number", Whole, primary_key=True),
    Column("id", Name(12), nullable=False, unique=True),
    Column("trace", Name(64), nullable=False, index=True),
    Column("begin", Large, nullable=False),
    Column("end", Large, nullable=False),
    Column("row", CleanText, nullable=False),
    Column("text", CleanText, nullable=False),
    Column("author", CleanText, nullable=False),
    Column("written", Moment, nullable=False),
    Column("revision", Whole, nullable=False),
)
"""What a user says of a moment or a span of a trace; as ``trace_notes.TraceNote``."""


T = TypeVar("T")


def columns_of(table: Table, kind: type) -> list[Column[Any]]:
    """The columns of a table that a record of that kind has fields for."""
    return [table.c[name] for name in _conversions(kind) if name in table.c]


def record_of(kind: type[T], row: Row[*tuple[Any, ...]], **others: object) -> T:
    """A dataclass from the columns of a row that are named as its fields are, and from ``others``.

    Times become ISO 8601 with milliseconds, texts what the type of the field is made of.
    """
    columns = row._mapping
    values: dict[str, Any] = {}
    for name, convert in _conversions(cast("type", kind)).items():
        if name not in others:
            try:
                values[name] = convert(columns[name])
            except ValueError as error:
                raise DamagedValueError(str(error)) from error
    return kind(**values, **others)


@cache
def _conversions(kind: type) -> Mapping[str, Callable[[Any], object]]:
    """What becomes of a column's value, by the field of the same name."""
    hints = get_type_hints(kind)
    return {field.name: _CONVERSIONS.get(hints[field.name], _as_it_is) for field in fields(kind)}


def _as_it_is(value: object) -> object:
    return value


def _text(value: datetime | str | None) -> str | None:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


_CONVERSIONS: Mapping[Any, Callable[[Any], object]] = {
    str: _text,
    str | None: _text,
    RunStatus: RunStatus,
    SeriesStatus: SeriesStatus,
    Untrusted: Untrusted,
}


def create_tables(connection: Connection) -> None:
    """Makes all tables of ``METADATA`` in an empty database."""
    if connection.dialect.name == "postgresql":
        # Late: with the index it would load that dialect for every command.
        _NOTED.dialect_options["postgresql"]["where"] = IS_NOTED
    METADATA.create_all(connection, checkfirst=False)


def insert_or_update(connection: Connection, table: Table) -> sqlite.Insert:
    """An insert that has ``on_conflict_do_nothing`` and ``on_conflict_do_update``.

    Each database spells that its own way.
    """
    if connection.dialect.name != "postgresql":
        return sqlite.insert(table)
    # Late: few have one, and every command would start later.
    from sqlalchemy.dialects import postgresql

    statement: sqlite.Insert = postgresql.insert(table)  # type: ignore[assignment]
    return statement
