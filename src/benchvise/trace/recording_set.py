"""Recordings of several boards at once: a directory with a trace.dat each and ``clocks.json``.

    round trips ─┐                      ┌→ time_shift: option TIME_SHIFT in each trace.dat, whose
    marks ───────┴→ clock_alignment ────┤  times count by this host's clock, for whoever reads it
                                        └→ clocks.json: by how much, how surely, how that is known

A trace.dat says by itself how its stamps are moved to another clock. So every command, the
workbench, ``trace-cmd report`` and KernelShark show the recordings of a set on one axis; of which
boards they are, and how sure the alignment is, says the file beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchvise.documents import computed, decode, encode
from benchvise.errors import TraceError, UsageError
from benchvise.text import printable
from benchvise.trace.clock_alignment import ClockAlignment, Mark

SET_FILE = "clocks.json"

_FORMAT = 1
_LARGEST_FILE = 4 << 20


@dataclass(frozen=True, slots=True)
class SetMember:
    """The recording of one board.

    ``first`` and ``last`` are the times of its first and last event on the host's clock, in ns as
    its file has them. ``clock`` is how that was lined up, None where it was not, for the reason of
    ``not_lined_up``; then its times are those of its own clock.
    """

    board: str
    file: str
    events: int
    lost: int
    ended: str
    met: str = ""
    """What met the condition that ended it."""
    command: int | None = None
    """Exit status of its command."""
    caveats: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None
    clock: ClockAlignment | None = None
    not_lined_up: str = ""
    round_trips: tuple[Mark, ...] = ()
    """What the alignment follows from: ns of the host's clock, and of the board's."""


@dataclass(frozen=True, slots=True)
class RecordingSet:
    """Recordings of several boards at once.

    ``clock`` is the name by which traces tell that they count by the same one. ``wall_offset_ns``
    is in all times: from this host's monotonic clock to its time of day when recording began.
    """

    clock: str
    wall_offset_ns: int
    members: tuple[SetMember, ...]
    format: int = _FORMAT

    @computed
    def uncertainty_ns(self) -> int | None:
        """By how much the times of two of its boards may be wrong against each other, at most; None
        where one was not lined up."""
        each = [None if m.clock is None else m.clock.uncertainty_ns for m in self.members]
        bounds = [doubt for doubt in each if doubt is not None]
        return sum(sorted(bounds)[-2:]) if bounds and len(bounds) == len(each) else None

    def write(self, directory: Path) -> None:
        """Writes it beside its recordings. Raises OSError."""
        (directory / SET_FILE).write_text(json.dumps(encode(self)) + "\n", encoding="utf-8")


def is_set(path: Path) -> bool:
    """Whether a path is a directory with recordings of several boards."""
    return (path / SET_FILE).is_file()


def read_set(directory: Path) -> RecordingSet:
    """The recordings of a directory.

    Raises:
        TraceError: its ``clocks.json`` cannot be read, or is none.
    """
    path = directory / SET_FILE
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ValueError("it is too large")
        recordings = decode(RecordingSet, json.loads(path.read_bytes()))
        names = [member.file for member in recordings.members]
        if recordings.format != _FORMAT or not names:
            raise ValueError("another version wrote it")
        if any(Path(name).name != name or name in ("", ".", "..") for name in names):
            raise ValueError("it names files of other directories")
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise TraceError(
            f"{path} is no list of recordings ({printable(str(error), 200)})",
            f"its recordings open by themselves: ls {directory}",
        ) from error
    return recordings


def refuse_set(path: Path) -> None:
    """Raises UsageError for a directory with recordings of several boards, which names them."""
    if path.is_dir() and is_set(path):
        files = [str(path / member.file) for member in read_set(path).members]
        raise UsageError(
            f"{path} holds recordings of {len(files)} boards, and this takes one",
            f"name it: {', '.join(files)}",
        )


def named_recordings(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """Traces with what tells them apart: the boards of recordings that were made at once, else the
    names of the files, as far up as they differ.

    Raises TraceError where a ``clocks.json`` is none.
    """
    named: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir() and is_set(path):
            named += [(member.board, path / member.file) for member in read_set(path).members]
        else:
            named.append((_board_of(path) or path.name, path))
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        named = [(str(path), path) for _, path in named]
    return named


def set_of(paths: Sequence[Path]) -> RecordingSet | None:
    """The recordings that all these traces, or this directory, are of; None where there are none.

    Raises TraceError where a ``clocks.json`` is none.
    """
    homes = {path if path.is_dir() else path.parent for path in paths}
    home = homes.pop()
    return None if homes or not is_set(home) else read_set(home)


def member_of(path: Path) -> SetMember | None:
    """What the set of a trace tells of its clock."""
    if not is_set(path.parent):
        return None
    with suppress(TraceError):
        members = read_set(path.parent).members
        return next((member for member in members if member.file == path.name), None)
    return None


def _board_of(path: Path) -> str:
    member = member_of(path)
    return "" if member is None else member.board
