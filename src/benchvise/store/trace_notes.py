"""Notes on traces: what users say of a moment or a span, for all who use the store.

A note belongs to what a trace holds (``trace`` is a digest of it), so it is found again when the
files were moved or copied, and never shown beside another recording that has their name.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete as delete_from
from sqlalchemy import func, insert, select, update

from benchvise.errors import UsageError
from benchvise.store.database import Database
from benchvise.store.tables import TRACE_NOTE, columns_of, record_of
from benchvise.store.values import clean_text

TEXT_LIMIT = 2000
"""Characters of a note."""

ROW_LIMIT = 300
"""Characters of the name of a row."""

MOST_NOTES = 1000
"""On one trace."""

_LATEST = 1 << 62


@dataclass(frozen=True, slots=True)
class TraceNote:
    """A note. ``begin`` and ``end`` are ns since the first event, equal for a moment; ``row`` is
    the kind and name of a row of the timeline, empty for all of it. ``author`` wrote it last, at
    ``written`` (ISO 8601), as its ``revision``-th text."""

    id: str
    begin: int
    end: int
    row: str
    text: str
    author: str
    written: str
    revision: int


class TraceNotes:
    """The notes of a store. Every method raises ``StoreError`` when it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, trace: str) -> list[TraceNote]:
        """The notes on a trace in order of time."""
        statement = (
            select(*columns_of(TRACE_NOTE, TraceNote))
            .where(TRACE_NOTE.c.trace == trace)
            .order_by(TRACE_NOTE.c.begin, TRACE_NOTE.c.number)
        )
        with self._database.reading() as connection:
            return [record_of(TraceNote, row) for row in connection.execute(statement)]

    def add(
        self, trace: str, begin: int, end: int, text: str, *, row: str = "", author: str = ""
    ) -> str:
        """Keeps a note; returns its id. UsageError for what cannot be one, and for too many."""
        values = _checked(begin, end, row, text)
        identity = secrets.token_hex(6)
        with self._database.writing() as connection:
            of_trace = select(func.count()).where(TRACE_NOTE.c.trace == trace)
            if connection.execute(of_trace).scalar_one() >= MOST_NOTES:
                raise UsageError(f"a trace has at most {MOST_NOTES} notes", "delete others first")
            about = {"author": author, "written": datetime.now(UTC), "revision": 1}
            row_of_note = {"id": identity, "trace": trace, **values, **about}
            connection.execute(insert(TRACE_NOTE), row_of_note)
        return identity

    def change(
        self,
        trace: str,
        identity: str,
        revision: int,
        begin: int,
        end: int,
        text: str,
        *,
        row: str = "",
        author: str = "",
    ) -> None:
        """Replaces the note that somebody read as its ``revision``.

        UsageError for what cannot be a note, for one that is gone, or that was changed since.
        """
        values = _checked(begin, end, row, text)
        about = {"author": author, "written": datetime.now(UTC), "revision": revision + 1}
        mine = (TRACE_NOTE.c.trace == trace, TRACE_NOTE.c.id == identity)
        statement = update(TRACE_NOTE).where(*mine, TRACE_NOTE.c.revision == revision)
        with self._database.writing() as connection:
            if not connection.execute(statement.values(**values, **about)).rowcount:
                is_there = connection.execute(select(TRACE_NOTE.c.id).where(*mine)).scalar()
                fault = "was changed by somebody else meanwhile" if is_there else "is gone"
                raise UsageError(f"the note {fault}", "read the list again: what you wrote is here")

    def delete(self, trace: str, identity: str) -> None:
        """Removes a note. UsageError for one that is not there."""
        mine = (TRACE_NOTE.c.trace == trace, TRACE_NOTE.c.id == identity)
        with self._database.writing() as connection:
            if not connection.execute(delete_from(TRACE_NOTE).where(*mine)).rowcount:
                raise UsageError("the note is gone already", "read the list again")


def _checked(begin: int, end: int, row: str, text: str) -> dict[str, int | str]:
    """The columns of a note that its writer decides on."""
    note = clean_text(text.replace("\r\n", "\n")).strip()
    if not note:
        raise UsageError("the note has no text", "write one, or delete the note")
    if len(note) > TEXT_LIMIT:
        raise UsageError(
            f"a note of {len(note)} characters is too long", f"use at most {TEXT_LIMIT}"
        )
    if len(row) > ROW_LIMIT:
        raise UsageError(f"the name of the row has {len(row)} characters", "leave it out")
    if not -_LATEST < begin <= end < _LATEST:
        raise UsageError("the note is on no span of time", "let its end not be before its begin")
    return {"begin": begin, "end": end, "row": clean_text(row), "text": note}
