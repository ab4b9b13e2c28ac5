"""Runs as they come out of the store: a cheap list, and one run with everything."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, cast, func, null, or_, select

from benchvise.measure.model import (
    ProcessRecord,
    RunRecord,
    RunRemark,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
)
from benchvise.store.notes import known_tags, tags_of
from benchvise.store.owner import Owner
from benchvise.store.packed_samples import SAMPLE_COUNT, unpack_samples
from benchvise.store.tables import (
    ATTACHMENT,
    EVIDENCE,
    IS_NOTED,
    PROCESS,
    RUN,
    RUN_TAG,
    SAMPLE,
    SERIES,
    WATCHED,
    columns_of,
    has_key,
    record_of,
)
from benchvise.store.values import DamagedValueError, clean_text, stored
from benchvise.text import NO_TEXT, Untrusted, aligned, printable


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a list: what it is and how much it holds, without its samples."""

    id: str
    label: str
    board: str
    suite: str
    status: RunStatus
    reason: Untrusted
    started: str
    finished: str | None
    simulated: bool
    series: int
    samples: int
    tags: tuple[str, ...] = ()
    note: Untrusted = NO_TEXT


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant: those that are like all that is given here.

    Board, label and suite are meant as they are, or as they are shown: a name that has control
    characters is read without them. ``text`` stands anywhere in the label, the board, the suite or
    the note, or begins the id.
    """

    board: str | None = None
    label: str | None = None
    suite: str | None = None
    status: str | None = None
    tag: str | None = None
    text: str | None = None
    id: str | None = None

    def conditions(self, connection: Connection) -> list[ColumnElement[bool]]:
        """As conditions on the table of runs."""
        names = ((RUN.c.board, self.board), (RUN.c.label, self.label), (RUN.c.suite, self.suite))
        exact = ((RUN.c.status, self.status), (RUN.c.id, self.id))
        conditions: list[ColumnElement[bool]] = [
            column == clean_text(value) for column, value in exact if value is not None
        ]
        conditions += [
            column.in_(names_shown_as(connection, column, name))
            for column, name in names
            if name is not None
        ]
        if self.tag is not None:
            tagged = select(RUN_TAG.c.run_number).where(RUN_TAG.c.name == clean_text(self.tag))
            conditions.append(RUN.c.number.in_(tagged))
        if self.text:
            conditions.append(_holds_text(connection, clean_text(self.text)))
        return conditions


_ID_BEGINS = re.compile(r"[0-9a-f]{1,12}")

_MOST_VALUES = 1000
"""Values that hold a text and are asked for one by one."""


def _holds_text(connection: Connection, text: str) -> ColumnElement[bool]:
    """The condition that a run has a text somewhere.

    To look at each run takes a quarter of a second where there are 100,000. Its names are few, or
    in an index by themselves, and so are the runs that have a note (``ix_run_noted``); where few of
    them hold the text, the condition is of values that are in an index.
    """

    def contains(column: ColumnElement[str]) -> ColumnElement[bool]:
        return column.icontains(text, autoescape=True)

    places: list[ColumnElement[bool]] = []
    conditions: list[ColumnElement[bool]] = [IS_NOTED & contains(RUN.c.note)]
    if _ID_BEGINS.fullmatch(text.lower()):
        conditions.append(RUN.c.id.startswith(text.lower()))
    for condition in conditions:
        numbers = connection.execute(select(RUN.c.number).where(condition).limit(_MOST_VALUES + 1))
        rows = list(numbers.scalars())
        places.append(RUN.c.number.in_(rows) if len(rows) <= _MOST_VALUES else condition)
    for column in (RUN.c.label, RUN.c.board, RUN.c.suite):
        names = connection.execute(select(column).distinct()).scalars()
        holding = [name for name in names if text.lower() in name.lower()]
        places.append(column.in_(holding) if len(holding) <= _MOST_VALUES else contains(column))
    return or_(*places)


def names_shown_as(connection: Connection, column: ColumnElement[str], name: str) -> list[str]:
    """The values of a column that a user means by a name: itself, and what is shown like it."""
    stored = connection.execute(select(column).distinct()).scalars()
    alike = [value for value in stored if name in (printable(value), aligned(value))]
    return [clean_text(name), *alike]


ALL_RUNS = RunFilter()


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What runs can be told apart by: each value with how many runs have it."""

    boards: Mapping[str, int]
    suites: Mapping[str, int]
    statuses: Mapping[str, int]
    tags: Mapping[str, int]


_SERIES_COUNT = (
    select(func.count())
    .select_from(SERIES)
    .where(SERIES.c.run_number == RUN.c.number)
    .correlate(RUN)
    .scalar_subquery()
)
_SAMPLE_COUNT = (
    select(cast(func.coalesce(func.sum(SAMPLE_COUNT), 0), BigInteger))
    .select_from(SERIES)
    .join(PROCESS, PROCESS.c.series_id == SERIES.c.id)
    .where(SERIES.c.run_number == RUN.c.number)
    .correlate(RUN)
    .scalar_subquery()
)


def list_runs(
    connection: Connection, limit: int | None, matching: RunFilter, skip: int = 0
) -> list[RunInfo]:
    """The newest runs first, at most ``limit``, after so many that are left out."""
    newest = select(RUN.c.number).where(*matching.conditions(connection))
    # First which, so that series and samples are counted of no others.
    chosen = newest.order_by(RUN.c.number.desc()).limit(limit).offset(skip).subquery()
    statement = select(
        RUN.c.number,
        *columns_of(RUN, RunInfo),
        _SERIES_COUNT.label("series"),
        _SAMPLE_COUNT.label("samples"),
    ).join(chosen, chosen.c.number == RUN.c.number)
    rows = connection.execute(statement.order_by(RUN.c.number.desc())).all()
    tags = tags_of(connection, [row.number for row in rows])
    return [record_of(RunInfo, row, tags=tags[row.number]) for row in rows]


def count_runs(connection: Connection, matching: RunFilter) -> int:
    """How many runs match."""
    if matching == RunFilter(tag=matching.tag) and matching.tag is not None:
        tagged = select(func.count()).where(RUN_TAG.c.name == clean_text(matching.tag))
        return connection.execute(tagged).scalar_one()
    statement = select(func.count()).select_from(RUN).where(*matching.conditions(connection))
    return connection.execute(statement).scalar_one()


def run_choices(connection: Connection) -> RunChoices:
    """What the runs of the store can be told apart by, in alphabetical order."""
    boards, suites, statuses = (
        _values(connection, column) for column in (RUN.c.board, RUN.c.suite, RUN.c.status)
    )
    return RunChoices(boards, suites, statuses, known_tags(connection))


def _values(connection: Connection, column: ColumnElement[str]) -> dict[str, int]:
    statement = select(column, func.count()).group_by(column).order_by(column)
    return dict(connection.execute(statement).all())


def series_of(connection: Connection, run_id: str, key: str) -> list[SeriesRecord]:
    """What was measured of the series with this key in a run."""
    number = select(RUN.c.number).where(RUN.c.id == run_id).scalar_subquery()
    chosen = (SERIES.c.run_number == number) & has_key(SERIES, key)
    return [series for _, series in load_series(connection, chosen)]


def neighbours(connection: Connection, run_id: str) -> tuple[str | None, str | None]:
    """The ids of the runs before and after this one on its board with its suite."""
    own = connection.execute(
        select(RUN.c.number, RUN.c.board, RUN.c.suite).where(RUN.c.id == run_id)
    ).one()
    like = select(RUN.c.id).where(RUN.c.board == own.board, RUN.c.suite == own.suite).limit(1)
    before = like.where(RUN.c.number < own.number).order_by(RUN.c.number.desc())
    after = like.where(RUN.c.number > own.number).order_by(RUN.c.number)
    return connection.execute(before).scalar(), connection.execute(after).scalar()


def attachments(connection: Connection, run_id: str) -> dict[str, int]:
    """The files that are kept with a run, with the bytes that they take."""
    statement = (
        select(ATTACHMENT.c.name, func.length(ATTACHMENT.c.content))
        .join(RUN, RUN.c.number == ATTACHMENT.c.run_number)
        .where(RUN.c.id == run_id)
        .order_by(ATTACHMENT.c.name)
    )
    return dict(connection.execute(statement).all())


def load_run(connection: Connection, run_id: str) -> RunRecord:
    """Everything the store has of a run, which must exist."""
    run = connection.execute(select(RUN).where(RUN.c.id == run_id)).one()
    return record_of(
        RunRecord,
        run,
        series=tuple(
            series for _, series in load_series(connection, SERIES.c.run_number == run.number)
        ),
        remarks=(*_remarks(run), *_watched(connection, run)),
        tags=tags_of(connection, [run.number])[run.number],
    )


def _remarks(run: Row[Any]) -> tuple[RunRemark, ...]:
    return stored(tuple[RunRemark, ...], run.remarks.get("remarks", ()))


def _watched(connection: Connection, run: Row[Any]) -> list[RunRemark]:
    """What a watch of the board saw meanwhile, less what the run itself has noted.

    Looked up when the run is read, as the watch may have seen it only after the run's end.
    """
    watched = select(WATCHED.c.number).where(WATCHED.c.board == run.board).limit(1)
    if connection.execute(watched).scalar() is None:
        return []
    from benchvise.store.watches import remarks_on  # few boards are, and most runs need none of it

    ended = run.finished or datetime.now(UTC)
    noted = " ".join(remark.sentence for remark in _remarks(run))
    owner = stored(Owner, run.owner)
    return remarks_on(connection, run.board, owner, run.started, ended, noted)


def load_series(
    connection: Connection, chosen: ColumnElement[bool], *, with_evidence: bool = True
) -> list[tuple[int, SeriesRecord]]:
    """The chosen series with everything measured for them, each with the number of its run.

    Without ``with_evidence``, samples have their values alone.
    """
    processes = _load_processes(connection, chosen, with_evidence=with_evidence)
    rows = connection.execute(
        select(SERIES).where(chosen).order_by(SERIES.c.run_number, SERIES.c.position)
    )
    return [
        (
            row.run_number,
            record_of(
                SeriesRecord,
                row,
                spec=SeriesSpec(row.benchmark, tuple(row.params.items()), row.key),
                counted=_counted(row.counted, processes[row.id]),
                processes=tuple(processes[row.id]),
            ),
        )
        for row in rows
    ]


def _counted(planned: str, processes: Sequence[ProcessRecord]) -> str:
    """What was counted: the probe, which looked at the parameters, knows better than the plan."""
    return next((str(p.begin["counted"]) for p in processes if p.begin.get("counted")), planned)


def _load_processes(
    connection: Connection, chosen: ColumnElement[bool], *, with_evidence: bool
) -> defaultdict[int, list[ProcessRecord]]:
    """The processes of the chosen series, by series."""
    rows_of = _load_rows(connection, chosen, with_evidence=with_evidence)
    statement = (
        select(
            PROCESS.c.id,
            PROCESS.c.series_id,
            PROCESS.c.index,
            PROCESS.c.begin,
            PROCESS.c.complete,
            PROCESS.c.packed_samples,
            PROCESS.c.packed_values,
            EVIDENCE.c.packed if with_evidence else null(),
        )
        .join(SERIES, SERIES.c.id == PROCESS.c.series_id)
        .where(chosen)
        .order_by(PROCESS.c.index)
    )
    if with_evidence:
        statement = statement.outerjoin(EVIDENCE, EVIDENCE.c.process_id == PROCESS.c.id)
    loaded: defaultdict[int, list[ProcessRecord]] = defaultdict(list)
    for process_id, series_id, index, begin, complete, *packed in connection.execute(statement):
        try:
            samples = unpack_samples(*packed)
        except DamagedValueError as error:
            raise _damaged(connection, series_id, error) from error
        if process_id in rows_of:
            samples = sorted([*samples, *rows_of[process_id]], key=lambda sample: sample.index)
        loaded[series_id].append(ProcessRecord(index, begin, tuple(samples), complete))
    return loaded


def _damaged(connection: Connection, series_id: int, error: Exception) -> DamagedValueError:
    """What is wrong with the packed samples of a series, with the run that it is of."""
    joined = select(RUN.c.id, SERIES.c.key).join(SERIES, SERIES.c.run_number == RUN.c.number)
    run, key = connection.execute(joined.where(SERIES.c.id == series_id)).one()
    return DamagedValueError(f"{printable(key):.80} of run {printable(run)} has {error}")


def _load_rows(
    connection: Connection, chosen: ColumnElement[bool], *, with_evidence: bool
) -> defaultdict[int, list[Sample]]:
    """The samples of the chosen series that are rows, by the process that took them."""
    columns = [SAMPLE.c.process_id, SAMPLE.c.index, SAMPLE.c.value]
    rows = connection.execute(
        select(*columns, *([SAMPLE.c.evidence] if with_evidence else []))
        .join(PROCESS, PROCESS.c.id == SAMPLE.c.process_id)
        .join(SERIES, SERIES.c.id == PROCESS.c.series_id)
        .where(chosen)
        .order_by(SAMPLE.c.index)
    )
    loaded: defaultdict[int, list[Sample]] = defaultdict(list)
    for process_id, *sample in rows:
        loaded[process_id].append(Sample(*sample))
    return loaded
