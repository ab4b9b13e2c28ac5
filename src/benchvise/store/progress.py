"""How far runs are: those that are measured now, and those that ended a moment ago."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Integer, cast, func, or_, select

from benchvise.measure.model import RunStatus, SeriesStatus
from benchvise.store.packed_samples import SAMPLE_COUNT
from benchvise.store.tables import PROCESS, RUN, SERIES, columns_of, record_of
from benchvise.text import Untrusted

_UNMEASURED = (SeriesStatus.NOT_AVAILABLE, SeriesStatus.FAILED)
_RECENT = 500
"""Of so many of the newest runs those are looked for that have ended."""


@dataclass(frozen=True, slots=True)
class UnmeasuredSeries:
    """A series that was not available or failed, and why."""

    key: str
    status: str
    reason: Untrusted


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """A run, and how much of it is done; times are ISO 8601.

    ``processes`` of ``planned`` are complete; ``planned`` is None where time decides, and does not
    count series that are ``unmeasured``. ``key`` is the series of the process that began last,
    ``process`` its number in the series from 0, ``samples`` how many it has.
    """

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
    unmeasured: tuple[UnmeasuredSeries, ...]
    processes: int
    planned: int | None
    key: str
    process: int
    samples: int


def list_progress(connection: Connection, since: datetime, limit: int) -> list[StoredProgress]:
    """The newest ``limit`` runs that are running or ended since then, the newest first.

    Of a run that was killed nobody knows when: it is listed where it began since then.
    """
    newest = select(func.max(RUN.c.number)).scalar_subquery()
    killed = (RUN.c.status == RunStatus.INTERRUPTED) & (RUN.c.started >= since)
    ended = (RUN.c.number > newest - _RECENT) & or_(RUN.c.finished >= since, killed)
    rows = connection.execute(
        select(RUN.c.number, RUN.c.plan, *columns_of(RUN, StoredProgress))
        .where(or_(RUN.c.status == RunStatus.RUNNING, ended))
        .order_by(RUN.c.number.desc())
        .limit(limit)
    ).all()
    numbers = [row.number for row in rows]
    series = _series(connection, numbers)
    unmeasured = _unmeasured(connection, numbers)
    done = _done(connection, numbers)
    return [
        record_of(
            StoredProgress,
            row,
            series=series.get(row.number, 0),
            unmeasured=tuple(unmeasured[row.number]),
            planned=_planned(row.plan, series.get(row.number, 0) - len(unmeasured[row.number])),
            **done.get(row.number, _Done())._asdict(),
        )
        for row in rows
    ]


class _Done(NamedTuple):
    processes: int = 0
    key: str = ""
    process: int = 0
    samples: int = 0


def _planned(plan: object, series: int) -> int | None:
    """How many processes a run is to have, by its plan, which an old run may not have."""
    rounds = plan.get("processes") if isinstance(plan, dict) and not plan.get("time_s") else None
    return rounds * series if isinstance(rounds, int) else None


def _series(connection: Connection, numbers: Sequence[int]) -> dict[int, int]:
    counted = select(SERIES.c.run_number, func.count()).where(SERIES.c.run_number.in_(numbers))
    rows = connection.execute(counted.group_by(SERIES.c.run_number))
    return {number: count for number, count in rows}  # noqa: C416 - rows, which are no pairs yet


def _unmeasured(
    connection: Connection, numbers: Sequence[int]
) -> defaultdict[int, list[UnmeasuredSeries]]:
    unmeasured: defaultdict[int, list[UnmeasuredSeries]] = defaultdict(list)
    statement = select(SERIES.c.run_number, *columns_of(SERIES, UnmeasuredSeries)).where(
        SERIES.c.run_number.in_(numbers), SERIES.c.status.in_(_UNMEASURED)
    )
    for row in connection.execute(statement.order_by(SERIES.c.run_number, SERIES.c.position)):
        unmeasured[row.run_number].append(record_of(UnmeasuredSeries, row))
    return unmeasured


def _done(connection: Connection, numbers: Sequence[int]) -> dict[int, _Done]:
    """The complete processes of each run, and which is the newest one."""
    counts = (
        select(
            SERIES.c.run_number,
            func.sum(cast(PROCESS.c.complete, Integer)).label("complete"),
            func.max(PROCESS.c.id).label("newest"),
        )
        .join(PROCESS, PROCESS.c.series_id == SERIES.c.id)
        .where(SERIES.c.run_number.in_(numbers))
        .group_by(SERIES.c.run_number)
        .subquery()
    )
    statement = (
        select(counts.c.run_number, counts.c.complete, SERIES.c.key, PROCESS.c.index, SAMPLE_COUNT)
        .join(PROCESS, PROCESS.c.id == counts.c.newest)
        .join(SERIES, SERIES.c.id == PROCESS.c.series_id)
    )
    return {number: _Done(*rest) for number, *rest in connection.execute(statement)}
