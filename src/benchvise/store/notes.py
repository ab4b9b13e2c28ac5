"""What users say of their runs: tags to find them by, and a note."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from benchvise.errors import UsageError
from benchvise.store.tables import RUN, RUN_TAG
from benchvise.store.values import clean_text

TAG_LIMIT = 40
"""Characters of a tag."""

MOST_TAGS = 32
"""Tags of one run."""

NOTE_LIMIT = 4000
"""Characters of a note."""

GOOD, REGRESSED = "nightly-good", "nightly-regressed"
"""Tags of runs of nightly jobs: their verdicts. A later night is compared with a good one alone, so
that what is worse by a little every night, or was undecided, is no new baseline."""

_SEPARATORS = re.compile(r"[\s,]")
_CHUNK = 500  # runs asked about at once: a statement may not have any number of values


def checked_tags(names: Iterable[str]) -> tuple[str, ...]:
    """The tags, each once, in their order. UsageError for one that could not be typed again."""
    tags = dict.fromkeys(names)
    for name in tags:
        if not 0 < len(name) <= TAG_LIMIT or _SEPARATORS.search(name) or not name.isprintable():
            raise UsageError(
                f"{name[:TAG_LIMIT]!r} cannot be a tag",
                f"a tag is one word without commas, of at most {TAG_LIMIT} characters",
            )
        if name.startswith("-"):
            raise UsageError(f"{name!r} cannot be a tag", "an option begins so: leave the - out")
    return tuple(tags)


def checked_note(text: str) -> str:
    """The note without blanks around it. UsageError for one that is too long."""
    note = clean_text(text.replace("\r\n", "\n")).strip()
    if len(note) > NOTE_LIMIT:
        raise UsageError(
            f"a note of {len(note)} characters is too long", f"use at most {NOTE_LIMIT}"
        )
    return note


def add_tags(connection: Connection, run_id: str, names: Sequence[str]) -> None:
    """Gives the run these tags; those it has already it keeps. UsageError for too many."""
    number = _number(connection, run_id)
    had = tags_of(connection, [number])[number]
    new = [name for name in names if name not in had]
    if len(had) + len(new) > MOST_TAGS:
        raise UsageError(f"a run has at most {MOST_TAGS} tags", "take others off first")
    if new:
        rows = [{"run_number": number, "name": name} for name in new]
        connection.execute(insert(RUN_TAG), rows)


def remove_tags(connection: Connection, run_id: str, names: Sequence[str]) -> None:
    """Takes these tags off the run. UsageError for one that it does not have."""
    number = _number(connection, run_id)
    had = tags_of(connection, [number])[number]
    for name in names:
        if name not in had:
            raise UsageError(
                f"the run {run_id} has no tag {name!r}",
                f"it has {', '.join(had)}" if had else "it has none",
            )
    mine = (RUN_TAG.c.run_number == number, RUN_TAG.c.name.in_(names))
    connection.execute(delete(RUN_TAG).where(*mine))


def set_note(connection: Connection, run_id: str, text: str) -> None:
    """Replaces the run's note; an empty one takes it away."""
    statement = update(RUN).where(RUN.c.number == _number(connection, run_id))
    connection.execute(statement.values(note=text))


def tags_of(connection: Connection, numbers: Sequence[int]) -> defaultdict[int, tuple[str, ...]]:
    """The tags of runs by their numbers, in alphabetical order."""
    tags: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    for at in range(0, len(numbers), _CHUNK):
        chosen = RUN_TAG.c.run_number.in_(numbers[at : at + _CHUNK])
        statement = select(RUN_TAG.c.run_number, RUN_TAG.c.name).where(chosen)
        for number, name in connection.execute(statement.order_by(RUN_TAG.c.name)):
            tags[number] += (name,)
    return tags


def known_tags(connection: Connection) -> dict[str, int]:
    """Every tag with how many runs have it, in alphabetical order."""
    statement = select(RUN_TAG.c.name, func.count()).group_by(RUN_TAG.c.name)
    rows = connection.execute(statement.order_by(RUN_TAG.c.name))
    return dict(rows.all())


def _number(connection: Connection, run_id: str) -> int:
    statement = select(RUN.c.number).where(RUN.c.id == run_id)
    number: int = connection.execute(statement).scalar_one()
    return number
