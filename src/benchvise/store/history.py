"""What all runs together tell: one series over those that measured it, and their boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from benchvise.documents import object_at, text_at
from benchvise.measure.model import RunStatus, SeriesRecord
from benchvise.store.notes import tags_of
from benchvise.store.reading import RunFilter, load_series
from benchvise.store.tables import PROCESS, RUN, SAMPLE, SERIES, columns_of, record_of
from benchvise.store.values import clean_text
from benchvise.text import Untrusted


@dataclass(frozen=True, slots=True)
class SeriesInfo:
    """A series by its key: how many runs have samples of it."""

    key: str
    benchmark: str
    runs: int


@dataclass(frozen=True, slots=True)
class PastRun:
    """The run that a value of a history comes from; ``number`` counts runs as they began."""

    number: int
    id: str
    label: str
    board: str
    suite: str
    status: RunStatus
    started: str
    simulated: bool
    kernel: str
    settings: Mapping[str, str]
    tags: tuple[str, ...]
    note: Untrusted


@dataclass(frozen=True, slots=True)
class Past:
    """A series in one run."""

    run: PastRun
    series: SeriesRecord


def list_series(connection: Connection, matching: RunFilter, limit: int | None) -> list[SeriesInfo]:
    """The series that were measured, those first that most runs have."""
    count = func.count(SERIES.c.run_number.distinct()).label("runs")
    measured = (
        select(SAMPLE.c.process_id)
        .join(PROCESS, PROCESS.c.id == SAMPLE.c.process_id)
        .where(PROCESS.c.series_id == SERIES.c.id)
        .exists()
    )
    statement = (
        select(SERIES.c.key, SERIES.c.benchmark, count)
        .join(RUN, RUN.c.number == SERIES.c.run_number)
        .where(measured, *matching.conditions(connection))
        .group_by(SERIES.c.key, SERIES.c.benchmark)
        .order_by(count.desc(), SERIES.c.key)
        .limit(limit)
    )
    return [
        SeriesInfo(key, benchmark, runs) for key, benchmark, runs in connection.execute(statement)
    ]


def boards_of(connection: Connection, key: str) -> dict[str, int]:
    """The boards on which a series was measured, with the number of runs."""
    statement = (
        select(RUN.c.board, func.count(RUN.c.number.distinct()))
        .join(SERIES, SERIES.c.run_number == RUN.c.number)
        .where(SERIES.c.key == clean_text(key))
        .group_by(RUN.c.board)
        .order_by(RUN.c.board)
    )
    return dict(connection.execute(statement).all())


def load_history(
    connection: Connection, key: str, matching: RunFilter, limit: int
) -> tuple[list[Past], int]:
    """The newest ``limit`` runs of a series, the oldest of them first, and how many there are."""
    having = (
        select(RUN.c.number)
        .join(SERIES, SERIES.c.run_number == RUN.c.number)
        .where(SERIES.c.key == clean_text(key), *matching.conditions(connection))
        .distinct()
    )
    numbers = list(connection.execute(having.order_by(RUN.c.number.desc())).scalars())
    newest = numbers[:limit]
    if not newest:
        return [], 0
    tags = tags_of(connection, newest)
    runs = {
        row.number: record_of(
            PastRun,
            row,
            kernel=text_at(row.host, "kernel"),
            settings={name: str(value) for name, value in object_at(row.plan, "settings").items()},
            tags=tags[row.number],
        )
        for row in connection.execute(select(RUN).where(RUN.c.number.in_(newest)))
    }
    chosen = (SERIES.c.key == clean_text(key)) & SERIES.c.run_number.in_(newest)
    past = [Past(runs[number], series) for number, series in load_series(connection, chosen)]
    return past, len(numbers)


# -- boards, by the runs that were measured on them ------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoardInfo:
    """A board, how many ``runs`` it has, and which is the newest: ``run`` is its id.

    ``started`` is when that began, ISO 8601.
    """

    name: str
    runs: int
    run: str
    label: str
    suite: str
    started: str
    simulated: bool


def list_boards(connection: Connection, limit: int | None) -> list[BoardInfo]:
    """The one that was measured last comes first."""
    newest = (
        select(func.max(RUN.c.number).label("number"), func.count().label("runs"))
        .group_by(RUN.c.board)
        .subquery()
    )
    rows = connection.execute(
        select(
            RUN.c.board.label("name"),
            newest.c.runs,
            RUN.c.id.label("run"),
            *columns_of(RUN, BoardInfo),
        )
        .join(newest, newest.c.number == RUN.c.number)
        .order_by(RUN.c.number.desc())
        .limit(limit)
    )
    return [record_of(BoardInfo, row) for row in rows]
