"""The tables of the store: a run has series, a series has processes, a process has samples.

A snapshot belongs to a run. What it found set is a state, which is kept once however often it is
found, under the hash of its content. Diagnoses stand for themselves. What a watch has seen belongs
to a watched board, not to a run.

What is queried is a column; what the board said is a JSON object beside it. A change here needs
a migration (``migrations/versions``); a test compares the two on both databases.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, ForeignKey, Index, MetaData, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from benchvise.store.values import (
    CleanText,
    JsonObject,
    Measured,
    Moment,
    PackedBytes,
    PackedJson,
)


class Base(DeclarativeBase):
    """Common to all tables: the column types, and names by which migrations find constraints."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: CleanText(),
        float: Measured(),
        datetime: Moment(),
        Mapping[str, Any]: JsonObject(),
    }


class RunRow(Base):
    """Everything measured on one board in one go.

    ``number`` counts runs in the order in which they began. "Newest" means the highest number,
    not the latest date: boards without a battery-backed clock live in 1970 after each boot.
    """

    __tablename__ = "run"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(String(12), unique=True)
    label: Mapped[str] = mapped_column(index=True)
    board: Mapped[str] = mapped_column(index=True)
    suite: Mapped[str]
    status: Mapped[str] = mapped_column(index=True)
    reason: Mapped[str]
    started: Mapped[datetime]
    finished: Mapped[datetime | None]
    seed: Mapped[int] = mapped_column(BigInteger)
    plan: Mapped[Mapping[str, Any]]
    host: Mapped[Mapping[str, Any]]
    tool_version: Mapped[str]
    simulated: Mapped[bool]
    owner: Mapped[Mapping[str, Any]]
    remarks: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")
    note: Mapped[str] = mapped_column(server_default="")


class RunTagRow(Base):
    """A word by which a user finds a run again, such as ``nightly``."""

    __tablename__ = "run_tag"

    run_number: Mapped[int] = mapped_column(
        ForeignKey("run.number", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(40), primary_key=True, index=True)


class SeriesRow(Base):
    """A benchmark with one set of parameters, at its place in the run's plan."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("run_number", "position"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number", ondelete="CASCADE"))
    position: Mapped[int]
    benchmark: Mapped[str] = mapped_column(index=True)
    params: Mapped[Mapping[str, Any]]
    key: Mapped[str]
    unit: Mapped[str]
    better: Mapped[str]
    counted: Mapped[str]
    status: Mapped[str]
    reason: Mapped[str]


class ProcessRow(Base):
    """One fresh probe process that measured for a series."""

    __tablename__ = "process"
    __table_args__ = (UniqueConstraint("series_id", "index"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id", ondelete="CASCADE"))
    index: Mapped[int]
    begin: Mapped[Mapping[str, Any]]
    complete: Mapped[bool]


class SampleRow(Base):
    """One batch. ``value`` is NULL where the board's value was not a number."""

    __tablename__ = "sample"

    process_id: Mapped[int] = mapped_column(
        ForeignKey("process.id", ondelete="CASCADE"), primary_key=True
    )
    index: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[float] = mapped_column(nullable=True)
    evidence: Mapped[Mapping[str, Any]]


class StateRow(Base):
    """What a board was set to: the settings of a snapshot, under the hash of their content."""

    __tablename__ = "state"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    settings: Mapped[Any] = mapped_column(PackedJson())


class SnapshotRow(Base):
    """A board's state ``before`` or ``after`` a run; ``about`` is all of it that is small."""

    __tablename__ = "snapshot"
    __table_args__ = (UniqueConstraint("run_number", "moment"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number", ondelete="CASCADE"))
    moment: Mapped[str] = mapped_column(String(6))
    digest: Mapped[str] = mapped_column(String(64), ForeignKey("state.digest"), index=True)
    about: Mapped[Mapping[str, Any]]
    observations: Mapped[Any] = mapped_column(PackedJson())


class AttachmentRow(Base):
    """A file that belongs to a run, such as the console of its boot."""

    __tablename__ = "attachment"
    __table_args__ = (UniqueConstraint("run_number", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(80))
    content: Mapped[bytes] = mapped_column(PackedBytes())


class DiagnosisRow(Base):
    """The answer of ``why``: whole as a document, with what a list of them shows in columns.

    ``number`` counts them in the order in which they were kept.
    """

    __tablename__ = "diagnosis"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(String(12), unique=True)
    kept: Mapped[datetime]
    good: Mapped[str]
    bad: Mapped[str]
    metric: Mapped[str]
    verdict: Mapped[str]
    headline: Mapped[str]
    simulated: Mapped[bool]
    tool_version: Mapped[str]
    document: Mapped[Any] = mapped_column(PackedJson())


class WatchedRow(Base):
    """A board that is or was watched. ``machine`` tells apart those that are called ``local``.

    ``memory`` is what is remembered from one look to the next.
    """

    __tablename__ = "watched"
    __table_args__ = (UniqueConstraint("board", "machine"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    board: Mapped[str]
    machine: Mapped[str] = mapped_column(String(64))
    simulated: Mapped[bool]
    memory: Mapped[Any] = mapped_column(PackedJson())


class WatchSpanRow(Base):
    """A time in which a board was looked at without a gap; see ``health.watch.history.Span``."""

    __tablename__ = "watch_span"
    __table_args__ = (Index(None, "watched_number", "began"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    watched_number: Mapped[int] = mapped_column(ForeignKey("watched.number", ondelete="CASCADE"))
    began: Mapped[datetime]
    until: Mapped[datetime]
    looks: Mapped[int]
    interval: Mapped[float]
    boot: Mapped[str]
    ending: Mapped[str]
    cpu: Mapped[float] = mapped_column(nullable=True)


class WatchMetricRow(Base):
    """The name of a figure of a board."""

    __tablename__ = "watch_metric"
    __table_args__ = (UniqueConstraint("watched_number", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    watched_number: Mapped[int] = mapped_column(ForeignKey("watched.number", ondelete="CASCADE"))
    name: Mapped[str]
    kind: Mapped[str]
    unit: Mapped[str]


class WatchChangeRow(Base):
    """A figure was not what it had been; ``delta`` is NULL where what was before is not known."""

    __tablename__ = "watch_change"

    metric_id: Mapped[int] = mapped_column(
        ForeignKey("watch_metric.id", ondelete="CASCADE"), primary_key=True
    )
    at: Mapped[datetime] = mapped_column(primary_key=True)
    since: Mapped[datetime]
    value: Mapped[float]
    delta: Mapped[float] = mapped_column(nullable=True)
    anew: Mapped[bool]


class WatchRangeRow(Base):
    """What a sensor read over a time."""

    __tablename__ = "watch_range"

    metric_id: Mapped[int] = mapped_column(
        ForeignKey("watch_metric.id", ondelete="CASCADE"), primary_key=True
    )
    began: Mapped[datetime] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    looks: Mapped[int]
    low: Mapped[float]
    high: Mapped[float]
    total: Mapped[float]


class WatchEventRow(Base):
    """Something that happened to a watched board, ``count`` times between ``at`` and ``last``."""

    __tablename__ = "watch_event"
    __table_args__ = (Index(None, "watched_number", "last"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    watched_number: Mapped[int] = mapped_column(ForeignKey("watched.number", ondelete="CASCADE"))
    at: Mapped[datetime]
    last: Mapped[datetime]
    count: Mapped[int]
    what: Mapped[str]
    severity: Mapped[str]
    text: Mapped[str]
