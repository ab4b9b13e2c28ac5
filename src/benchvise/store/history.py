"""What all runs together tell: one series over those that measured it, and their boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from benchvise.documents import object_at, text_at
from benchvise.measure.model import RunStatus, SeriesRecord
from benchvise.store.notes import tags_of
from benchvise.store.packed_samples import SAMPLE_COUNT
from benchvise.store.reading import RunFilter, load_series, names_shown_as
from benchvise.store.tables import (
    PROCESS,
    RUN,
    SERIES,
    SERIES_COUNT,
    columns_of,
    has_key,
    hash_of,
    record_of,
)
from benchvise.text import Untrusted

LISTED_RUNS = 200
"""Runs in which series are looked for, where that is not kept."""

MOST_COUNTED = 1000
"""Runs of a series that are counted."""


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
    tool_version: str
    kernel: str
    settings: Mapping[str, str]
    tags: tuple[str, ...]
    note: Untrusted


@dataclass(frozen=True, slots=True)
class Past:
    """A series in one run."""

    run: PastRun
    series: SeriesRecord


@dataclass(frozen=True, slots=True)
class SeriesList:
    """The series of some runs. ``older_left_out``: there are older runs, which were not counted."""

    series: list[SeriesInfo]
    older_left_out: bool = False


def list_series(connection: Connection, matching: RunFilter) -> SeriesList:
    """The series that were measured, those first that most runs have.

    What is kept of each board tells that at once. What else runs are filtered by does not, so that
    they are looked at, but no more than the newest ``LISTED_RUNS``.
    """
    if matching == RunFilter(board=matching.board):
        return SeriesList(_counted_series(connection, matching.board))
    newest = (
        select(RUN.c.number)
        .where(*matching.conditions(connection))
        .order_by(RUN.c.number.desc())
        .limit(LISTED_RUNS + 1)
    )
    numbers = list(connection.execute(newest).scalars())
    # No EXISTS, for which PostgreSQL would look at the processes of all runs.
    samples = select(func.sum(SAMPLE_COUNT)).where(PROCESS.c.series_id == SERIES.c.id)
    measured = samples.scalar_subquery() > 0
    count = func.count(SERIES.c.run_number.distinct())
    statement = (
        select(SERIES.c.key, SERIES.c.benchmark, count)
        .where(SERIES.c.run_number.in_(numbers[:LISTED_RUNS]), measured)
        .group_by(SERIES.c.key, SERIES.c.benchmark)
        .order_by(count.desc(), SERIES.c.key)
    )
    series = [SeriesInfo(*row) for row in connection.execute(statement)]
    return SeriesList(series, older_left_out=len(numbers) > LISTED_RUNS)


def _counted_series(connection: Connection, board: str | None) -> list[SeriesInfo]:
    """The series of a board, or of all."""
    count = func.sum(SERIES_COUNT.c.runs)
    statement = (
        select(SERIES_COUNT.c.key, SERIES_COUNT.c.benchmark, count)
        .group_by(SERIES_COUNT.c.key, SERIES_COUNT.c.benchmark)
        .order_by(count.desc(), SERIES_COUNT.c.key)
    )
    if board is not None:
        boards = names_shown_as(connection, SERIES_COUNT.c.board, board)
        statement = statement.where(SERIES_COUNT.c.board.in_(boards))
    return [SeriesInfo(key, name, int(runs)) for key, name, runs in connection.execute(statement)]


def boards_of(connection: Connection, key: str) -> dict[str, int]:
    """The boards on which a series was measured, with the number of runs."""
    statement = (
        select(SERIES_COUNT.c.board, SERIES_COUNT.c.runs)
        .where(has_key(SERIES_COUNT, key))
        .order_by(SERIES_COUNT.c.board)
    )
    return dict(connection.execute(statement).all())


def load_history(
    connection: Connection, key: str, matching: RunFilter, limit: int
) -> tuple[list[Past], int]:
    """The newest ``limit`` runs of a series, the oldest of them first, and how many there are.

    No more than ``MOST_COUNTED`` are counted: then the number is one more than that.
    """
    conditions = matching.conditions(connection)
    having = _runs_with(has_key(SERIES, key), conditions)
    newest = list(connection.execute(having.limit(limit)).scalars())
    total = len(newest)
    if total == limit:
        # By the hash alone, as the index has that: what two keys share by chance is no matter here.
        like = _runs_with(SERIES.c.key_hash == hash_of(key), conditions)
        counted = select(func.count()).select_from(like.limit(MOST_COUNTED + 1).subquery())
        total = connection.execute(counted).scalar_one()
    runs = _past_runs(connection, newest)
    chosen = has_key(SERIES, key) & SERIES.c.run_number.in_(newest)
    past = [Past(runs[number], series) for number, series in load_series(connection, chosen)]
    return past, total


def _runs_with(
    series: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]
) -> Select[Any]:
    """The numbers of the runs that have such a series, the newest first.

    Where runs are filtered, by the runs: SQLite, which seldom knows how many there are of each
    board, would look at those of all.
    """
    if not conditions:
        numbers = select(SERIES.c.run_number).where(series).distinct()
        return numbers.order_by(SERIES.c.run_number.desc())
    has_series = select(SERIES.c.id).where(SERIES.c.run_number == RUN.c.number, series).exists()
    return select(RUN.c.number).where(*conditions, has_series).order_by(RUN.c.number.desc())


def load_past(connection: Connection, matching: RunFilter, limit: int) -> list[Past]:
    """All series of the newest ``limit`` runs that match, the oldest run first.

    Without the evidence of the samples: there are hundreds of thousands.
    """
    newest = select(RUN.c.number).where(*matching.conditions(connection))
    numbers = list(connection.execute(newest.order_by(RUN.c.number.desc()).limit(limit)).scalars())
    runs = _past_runs(connection, numbers)
    chosen = SERIES.c.run_number.in_(numbers)
    loaded = load_series(connection, chosen, with_evidence=False)
    return [Past(runs[number], series) for number, series in loaded]


def _past_runs(connection: Connection, numbers: Sequence[int]) -> dict[int, PastRun]:
    tags = tags_of(connection, numbers)
    return {
        row.number: record_of(
            PastRun,
            row,
            kernel=text_at(row.host, "kernel"),
            settings={name: str(value) for name, value in object_at(row.plan, "settings").items()},
            tags=tags[row.number],
        )
        for row in connection.execute(select(RUN).where(RUN.c.number.in_(numbers)))
    }


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


@dataclass(frozen=True, slots=True)
class RunActivity:
    """When a board was busy with a run, and how that ended; times are ISO 8601."""

    id: str
    label: str
    board: str
    suite: str
    status: RunStatus
    started: str
    finished: str | None
    simulated: bool
    tags: tuple[str, ...] = ()


def list_activity(connection: Connection, since: datetime, limit: int) -> list[RunActivity]:
    """The newest ``limit`` runs without those that began before ``since``, the newest first."""
    newest = select(RUN.c.number, *columns_of(RUN, RunActivity)).order_by(RUN.c.number.desc())
    chosen = newest.limit(limit).subquery()
    rows = connection.execute(
        select(chosen).where(chosen.c.started >= since).order_by(chosen.c.number.desc())
    ).all()
    tags = tags_of(connection, [row.number for row in rows])
    return [record_of(RunActivity, row, tags=tags[row.number]) for row in rows]
