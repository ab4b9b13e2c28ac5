"""Snapshots in the store: what a board was set to is kept once, what it observed each time."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sqlalchemy import Connection, insert, select

from benchvise.documents import encode
from benchvise.state.model import Snapshot, snapshot_of
from benchvise.store.tables import RUN, SNAPSHOT, STATE, insert_or_update

Moment: TypeAlias = Literal["before", "after"]
"""When a snapshot was taken, seen from its run."""


def add_snapshot(
    connection: Connection, run_number: int, moment: Moment, snapshot: Snapshot
) -> None:
    """Add a run's snapshot; its settings only if the store has none like them yet."""
    about = encode(snapshot)
    settings, observations = about.pop("settings"), about.pop("observations")
    digest = about.pop("digest")
    same_state = select(STATE.c.digest).where(STATE.c.digest == digest)
    if connection.execute(same_state).first() is None:
        # Two runs may find the same state at the same moment.
        new = insert_or_update(connection, STATE).values(digest=digest, settings=settings)
        connection.execute(new.on_conflict_do_nothing())
    connection.execute(
        insert(SNAPSHOT),
        {
            "run_number": run_number,
            "moment": moment,
            "digest": digest,
            "about": about,
            "observations": observations,
        },
    )


def load_snapshot(connection: Connection, run_id: str, moment: Moment) -> Snapshot | None:
    """The run's snapshot of that moment; None when it has none."""
    row = connection.execute(
        select(SNAPSHOT.c.about, SNAPSHOT.c.observations, STATE.c.settings)
        .join(STATE, STATE.c.digest == SNAPSHOT.c.digest)
        .join(RUN, RUN.c.number == SNAPSHOT.c.run_number)
        .where(RUN.c.id == run_id, SNAPSHOT.c.moment == moment)
    ).first()
    if row is None:
        return None
    return snapshot_of({**row.about, "settings": row.settings, "observations": row.observations})
