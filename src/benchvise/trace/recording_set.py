"""Recordings of several boards at once: a directory with a trace.dat each and ``clocks.json``.

    round trips ─┐                      ┌→ time_shift: the option TIME_SHIFT in each trace.dat, by
    marks ───────┴→ clock_alignment ────┤  which every reader has its times on this host's clock
                                        └→ clocks.json: offset, uncertainty, and the evidence

A trace.dat itself says how its stamps are converted to another clock. So every command, the
workbench, ``trace-cmd report`` and KernelShark show the recordings of a set on one axis. The file
beside them names the board of each, and says how certain the alignment is.
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

    ``first`` and ``last`` are the times of its first and last event, in ns on the host's clock, as
    its file has them. ``clock`` is how its clock was lined up with the host's; None where it was
    not, for the reason in ``not_lined_up``: then its times are those of its own clock.
    """

    board: str
    file: str
    events: int
    lost: int
    ended: str
    met: str = ""
    """What met the condition that ended it; empty where nothing did."""
    command: int | None = None
    """Exit status of its command; None where it had none, or was ended before it."""
    caveats: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None
    clock: ClockAlignment | None = None
    not_lined_up: str = ""
    round_trips: tuple[Mark, ...] = ()
    """The evidence of the alignment: ns of the host's clock, and of the board's."""


@dataclass(frozen=True, slots=True)
class RecordingSet:
    """Recordings of several boards at once.

    ``clock`` is the identity of the common clock, which each trace.dat states too. The times of all
    recordings are those of this host's monotonic clock plus ``wall_offset_ns``, which leads to its
    time of day; 0 where the time of day was not asked for.
    """

    clock: str
    wall_offset_ns: int
    members: tuple[SetMember, ...]
    format: int = _FORMAT

    @computed
    def uncertainty_ns(self) -> int | None:
        """The largest error, in ns, of the time between events of two different boards; None where
        one of the boards was not lined up."""
        each = [None if m.clock is None else m.clock.uncertainty_ns for m in self.members]
        bounds = [doubt for doubt in each if doubt is not None]
        return sum(sorted(bounds)[-2:]) if bounds and len(bounds) == len(each) else None

    def write(self, directory: Path) -> None:
        """Writes ``clocks.json`` into the directory of its recordings. Raises OSError."""
        (directory / SET_FILE).write_text(json.dumps(encode(self)) + "\n", encoding="utf-8")


def is_set(path: Path) -> bool:
    """Whether a directory holds recordings of several boards."""
    return (path / SET_FILE).is_file()


def read_set(directory: Path) -> RecordingSet:
    """The set of recordings in a directory.

    Raises:
        TraceError: its ``clocks.json`` cannot be read, or is not a list of recordings.
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
            f"{path} is not a list of recordings ({printable(str(error), 200)})",
            f"its recordings open by themselves: ls {directory}",
        ) from error
    return recordings


def uncertainty_remarks(recordings: RecordingSet) -> list[str]:
    """What has to be said of times of several boards: how certain they are."""
    doubt = recordings.uncertainty_ns
    if doubt is not None:
        return [f"times of two boards may be wrong against each other by {doubt / 1e3:.0f} us"]
    return [
        f"{member.board}: its times are those of its own clock ({member.not_lined_up})"
        for member in recordings.members
        if member.clock is None
    ]


def board_of_text(recordings: RecordingSet, text: str) -> tuple[SetMember, str]:
    """The recording that ``BOARD:REST`` means, and the rest. A board may be called by its name, or
    by that of its file.

    Raises:
        UsageError: the text names no board of the set, or one that was not lined up.
    """
    names = {
        name: member
        for member in recordings.members
        for name in (Path(member.file).stem, member.file, member.board)
    }
    fitting = [name for name in names if text.startswith(f"{name}:")]
    if not fitting:
        known = ", ".join(Path(member.file).stem for member in recordings.members)
        raise UsageError(
            f"'{printable(text, 80)}' names no board of these recordings",
            f"write BOARD:event:NAME, BOARD:irq:NAME or BOARD:task:NAME; the boards are {known}",
        )
    name = max(fitting, key=len)
    return names[name], text[len(name) + 1 :]


def refuse_set(path: Path) -> None:
    """Raises UsageError, which names the recordings, for a directory with those of several
    boards."""
    if path.is_dir() and is_set(path):
        files = [str(path / member.file) for member in read_set(path).members]
        raise UsageError(
            f"{path} holds recordings of {len(files)} boards, and this takes one",
            f"name it: {', '.join(files)}",
        )


def named_recordings(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """Traces, each with a name that tells it from the others: the board of a recording that belongs
    to a set, else the name of its file; their paths, where two names are the same.

    The directory of a set stands for all of its recordings. Raises what ``read_set`` raises.
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
    """The set that all these traces belong to, or that this directory holds; None where there is
    none. Raises what ``read_set`` raises.
    """
    homes = {path if path.is_dir() else path.parent for path in paths}
    home = homes.pop()
    return None if homes or not is_set(home) else read_set(home)


def member_of(path: Path) -> SetMember | None:
    """What a trace's set says of it; None for a trace of no set, or where that cannot be read."""
    if not is_set(path.parent):
        return None
    with suppress(TraceError):
        members = read_set(path.parent).members
        return next((member for member in members if member.file == path.name), None)
    return None


def _board_of(path: Path) -> str:
    member = member_of(path)
    return "" if member is None else member.board
