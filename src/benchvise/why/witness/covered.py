"""Files that are not there because something is mounted over the directory they lie in.

A line of ``/etc/fstab`` that only one side has (a file system in memory over a cache, an empty disk
over a directory of an image) hides the files below it. Then the line is what sets the difference,
and the file that is missed has none of its own.

Source of the format: fstab(5).
"""

from __future__ import annotations

from collections.abc import Mapping

from benchvise.text import Untrusted
from benchvise.why.model import Origin, Side, Suspect
from benchvise.why.witness.opened import NOT_THERE, OPENED_FILE

FSTAB = "/etc/fstab"
_LONGEST = 400


def is_missing(side: Side, suspect: Suspect) -> bool:
    """Whether a suspect is about a file that a side has not."""
    value = suspect.good if side is Side.GOOD else suspect.bad
    return suspect.id.startswith(OPENED_FILE) and value == NOT_THERE


def origins_of_missing(
    side: Side, suspect: Suspect, tables: Mapping[Side, bytes | None]
) -> tuple[Origin, ...]:
    """The line of a side's table by which something is mounted above a file that is missing there,
    where the other side's table has no such line: that of the deepest place. ``tables`` are the
    files ``FSTAB``."""
    path = suspect.id.removeprefix(OPENED_FILE)
    other = {tuple(fields) for _, fields in _mounts(tables.get(side.other))}
    above = [
        (fields[1], number, " ".join(fields))
        for number, fields in _mounts(tables.get(side))
        if path.startswith(f"{fields[1].rstrip('/')}/") and tuple(fields) not in other
    ]
    above = [row for row in above if row[0] != "/"]
    if not above:
        return ()
    _, number, text = max(above, key=lambda row: len(row[0]))
    return (Origin(side, "fstab", Untrusted(FSTAB), number, Untrusted(text[:_LONGEST])),)


def _mounts(table: bytes | None) -> list[tuple[int, list[str]]]:
    """Numbers and fields of the lines of a table that mount something."""
    lines = (table or b"").decode("utf-8", "replace").splitlines()
    rows = [(number, line.split()) for number, line in enumerate(lines, 1)]
    return [(n, fields) for n, fields in rows if len(fields) >= 3 and not fields[0].startswith("#")]
