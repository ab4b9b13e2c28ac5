"""Taking a snapshot: all settings and observations of a board at a time.

Only reads, and runs what only reads: a snapshot leaves the board as it was.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import UTC, datetime

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue
from benchvise.state.answers import Answers, ask
from benchvise.state.catalogue import load_catalogue
from benchvise.state.entries import entries_of
from benchvise.state.model import Family, Item, Read, Snapshot, StateEntry
from benchvise.text import printable

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def take_snapshot(
    board: Board,
    channel: ProbeChannel,
    *,
    families: Collection[Family] | None = None,
    items: Collection[str] | None = None,
) -> Snapshot:
    """A snapshot of a board by the probe that runs there.

    ``families`` and ``items`` (ids) take in just what can affect these, and just these; without
    them the whole catalogue is taken. Raises what the channel and the board raise; whatever the
    board answers, there is an entry for it.
    """
    begin = time.monotonic()
    taken = datetime.now(UTC).isoformat(timespec="milliseconds")
    chosen = [item for item in load_catalogue() if _is_wanted(item, families, items)]
    answers = ask(board, channel, [*chosen, _BOOT])
    settings, observations = _entries(chosen, answers)
    return Snapshot(
        board=board.name,
        taken=taken,
        boot_id=_boot_id(answers),
        privilege="root" if answers.is_root else "user",
        settings=tuple(settings),
        observations=tuple(observations),
        board_time_ns=answers.board_time_ns,
        host_time_ns=answers.host_time_ns,
        seconds=round(time.monotonic() - begin, 3),
        notes=tuple(_notes(answers)),
        roles=dict(answers.names.roles),
    )


# Not of the catalogue: it tells one boot from another.
_BOOT = Item(
    number=0,
    id="boot.id",
    title="boot",
    summary="a number that each boot makes up",
    families=(),
    flips=(),
    reads=(Read("file", BOOT_ID),),
)


def _is_wanted(
    item: Item, families: Collection[Family] | None, items: Collection[str] | None
) -> bool:
    return (families is None or any(family in families for family in item.families)) and (
        items is None or item.id in items
    )


def _entries(
    items: Collection[Item], answers: Answers
) -> tuple[list[StateEntry], list[StateEntry]]:
    """Settings and observations, in the order of the catalogue and by key."""
    settings: list[StateEntry] = []
    observations: list[StateEntry] = []
    for item in items:
        for entry, volatile in sorted(entries_of(item, answers), key=lambda pair: pair[0].key):
            (observations if volatile else settings).append(entry)
    return settings, observations


def _boot_id(answers: Answers) -> str:
    found = answers.files.get(BOOT_ID)
    known = isinstance(found, FileValue) and isinstance(found.value, str)
    return printable(found.value, 60) if known else ""  # type: ignore[union-attr]


def _notes(answers: Answers) -> list[str]:
    """What a reader of the whole snapshot should know."""
    notes = [
        f"{path}: only its first part is in the snapshot, it is too long"
        for path, found in answers.files.items()
        if isinstance(found, FileValue) and found.truncated
    ]
    if isinstance(answers.files.get("/proc/self/mountinfo"), FileError):
        notes.append("/proc cannot be read: hardly anything is known of this board")
    return notes
