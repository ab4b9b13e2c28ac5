"""Boards that boot now to be measured, on any host that shares the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select, update

from benchvise.documents import encode
from benchvise.store.heartbeat import is_silent, store_clock
from benchvise.store.owner import Owner
from benchvise.store.tables import BOOT
from benchvise.store.values import stored
from benchvise.text import Untrusted

_KEPT = timedelta(hours=1)
"""For so long one is shown whose process was not heard of."""


@dataclass(frozen=True, slots=True)
class StoredBoot:
    """A board that boots: for what, by whom, where, the phase reached last (empty before the first
    one) with its seconds since power on. ``began`` and ``heard`` are ISO 8601, by the clock of the
    store; ``is_silent``: its process was not heard of for three minutes, and has probably ended.
    ``is_here``: on this machine.
    """

    board: Untrusted
    what: Untrusted
    user: Untrusted
    host: Untrusted
    pid: int
    began: str
    heard: str
    phase: Untrusted
    phase_s: float
    is_silent: bool
    is_here: bool


def begin_boot(connection: Connection, board: str, what: str, user: str) -> int:
    """Notes that a board boots; returns the number of its row. Those of the dead are removed."""
    now = connection.scalar(select(store_clock(connection)))
    assert now is not None  # noqa: S101 - a clock
    connection.execute(delete(BOOT).where(BOOT.c.heard < now - _KEPT))
    row = {
        "board": board,
        "what": what,
        "user": user,
        "owner": encode(Owner.here()),
        "began": now,
        "heard": now,
        "phase": "",
        "phase_s": 0.0,
    }
    (number,) = connection.execute(insert(BOOT), row).inserted_primary_key or (0,)
    return int(number)


def note_phase(connection: Connection, number: int, phase: str, seconds: float) -> None:
    """Notes the phase that a boot has reached."""
    values = {"phase": phase, "phase_s": seconds, "heard": store_clock(connection)}
    connection.execute(update(BOOT).where(BOOT.c.number == number).values(values))


def end_boot(connection: Connection, number: int) -> None:
    """The boot has ended, one way or the other."""
    connection.execute(delete(BOOT).where(BOOT.c.number == number))


def list_boots(connection: Connection, limit: int) -> list[StoredBoot]:
    """The boots of all hosts, those that began first before others. Without those of processes of
    this machine that are known to have ended, and those that were silent for an hour.
    """
    here = Owner.here()
    rows = connection.execute(
        select(BOOT, store_clock(connection).label("now")).order_by(BOOT.c.number).limit(limit)
    )
    boots = []
    for row in rows:
        columns = row._mapping
        owner, heard, now = stored(Owner, columns["owner"]), columns["heard"], columns["now"]
        is_there = owner.is_there(here)
        if is_there is False or now - heard > _KEPT:
            continue
        began = columns["began"]
        boots.append(
            StoredBoot(
                board=Untrusted(columns["board"]),
                what=Untrusted(columns["what"]),
                user=Untrusted(columns["user"]),
                host=Untrusted(owner.hostname),
                pid=owner.pid,
                began=began.isoformat(timespec="milliseconds"),
                heard=heard.isoformat(timespec="milliseconds"),
                phase=Untrusted(columns["phase"]),
                phase_s=columns["phase_s"],
                is_silent=is_silent(owner, here, heard, began, now),
                is_here=is_there is True,
            )
        )
    return boots
