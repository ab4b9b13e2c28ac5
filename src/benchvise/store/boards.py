"""Boards as the store knows them: by the runs that were measured on them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from benchvise.store.tables import RUN


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
            RUN.c.id,
            RUN.c.board,
            RUN.c.label,
            RUN.c.suite,
            RUN.c.started,
            RUN.c.simulated,
            newest.c.runs,
        )
        .join(newest, newest.c.number == RUN.c.number)
        .order_by(RUN.c.number.desc())
        .limit(limit)
    )
    return [
        BoardInfo(
            name=row.board,
            runs=row.runs,
            run=row.id,
            label=row.label,
            suite=row.suite,
            started=row.started.isoformat(timespec="milliseconds"),
            simulated=row.simulated,
        )
        for row in rows
    ]
