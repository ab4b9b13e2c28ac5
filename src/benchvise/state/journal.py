"""What was set on a board and is not put back yet, on this host's disk.

Each session that changes a board's settings has a file of JSON lines in the state directory:

    {"record": "session", "format": 1, "board", "boot_id", "pid", "time", "probe"}
    {"record": "change", "number", "board", "knob", "path", "old", "new", "time", "boot_id"}
    {"record": "written", "number", "now"}       the value is set; what the kernel made of it
    {"record": "applied"}                        everything is set, and nothing else has changed
    {"record": "undoing", "number"}              the old value is about to be written
    {"record": "undone", "number", "time"}       the old value is back

A change is on the disk before its value is written to the board: whatever happens after that, the
file tells what to put back. A change whose ``new`` is null is none of ours but of a knob that the
kernel may set anew along with ours; it is ``written`` when that happened. When everything is
undone, the file is removed.

The session holds a lock on its file for as long as it lives, so that nobody else undoes what it
has set. A last line that was cut off, by a kill or a power loss, was followed by no write.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchvise.errors import SettingError
from benchvise.file_locks import is_locked, lock, stays_locked, try_lock_shortly
from benchvise.host_system import is_gone
from benchvise.text import printable
from benchvise.user_directories import user_directory

DIRECTORY_VARIABLE = "BENCHVISE_STATE"

FORMAT = 1


@dataclass(frozen=True, slots=True)
class JournalChange:
    """A file's value before and after. ``now`` is what the kernel made of ``new``, once written.

    ``new`` is None for a knob that may be set anew along with others. ``now`` is None, though
    written, when the file went away.
    """

    number: int
    knob: str
    path: str
    old: str
    new: str | None
    now: str | None = None
    written: bool = False
    undoing: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class JournalSession:
    """A journal as read. ``board`` is the name it was reached by, ``started`` ISO 8601 in UTC.

    ``damage`` says why nothing can be made of it, else it is empty. ``applied``: all was set that
    was to be set. ``alive``: its process still holds it. ``probe`` is the process and the program
    of its probe on the board.
    """

    file: Path
    board: str = ""
    boot_id: str = ""
    pid: int = 0
    started: str = ""
    probe: tuple[int, str] | None = None
    changes: tuple[JournalChange, ...] = ()
    applied: bool = False
    alive: bool = False
    damage: str = ""

    @property
    def pending(self) -> tuple[JournalChange, ...]:
        """What is not put back yet, as far as this file knows."""
        return tuple(change for change in self.changes if not change.undone)

    @property
    def is_due(self) -> bool:
        """Whether something has to be put back, and nobody is there to do it."""
        return not self.alive and bool(self.damage or self.pending)


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where journals are: BENCHVISE_STATE, or ``benchvise`` under the XDG state directory."""
    variable = environment.get(DIRECTORY_VARIABLE, "")
    if variable:
        return Path(os.path.abspath(Path(variable).expanduser()))  # noqa: PTH100 - keeps links
    return user_directory("state", environment)


class Journal:
    """An open journal, locked. SettingError in every method when the disk does not take it."""

    def __init__(self, file: Path, descriptor: int, board: str, boot_id: str) -> None:
        self.file = file
        self._descriptor = descriptor
        self._board = board
        self._boot_id = boot_id

    @classmethod
    def begin(cls, board: str, boot_id: str, probe: tuple[int, str] | None) -> Journal:
        """A new journal for a board.

        SettingError when another session holds the board's settings, or left some set.
        """
        directory = state_directory()
        with _explained(directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _directory_lock(directory):
                _refuse_another(directory, board, boot_id)
                name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}.jsonl"
                file = directory / name
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                journal = cls(file, descriptor, board, boot_id)
                try:
                    lock(descriptor)
                    journal._head(probe)
                except BaseException:
                    file.unlink()
                    journal.close()
                    raise
        return journal

    @classmethod
    def reopen(cls, session: JournalSession) -> Journal | None:
        """The journal of a dead session, locked; None when it is held or gone."""
        with _explained(session.file):
            try:
                descriptor = os.open(session.file, os.O_RDWR)
            except FileNotFoundError:
                return None
            if try_lock_shortly(descriptor) and os.fstat(descriptor).st_nlink:
                return cls(session.file, descriptor, session.board, session.boot_id)
            os.close(descriptor)
            return None

    def plan(self, changes: Iterable[JournalChange]) -> None:
        """Puts changes on the disk, before anything of them is written to the board."""
        when = _now()
        self._append(
            *(
                {
                    "record": "change",
                    "number": change.number,
                    "board": self._board,
                    "knob": change.knob,
                    "path": change.path,
                    "old": change.old,
                    "new": change.new,
                    "time": when,
                    "boot_id": self._boot_id,
                }
                for change in changes
            )
        )

    def written(self, number: int, now: str | None) -> None:
        """The change's value is set, and the file holds ``now``."""
        self._append({"record": "written", "number": number, "now": now})

    def applied(self) -> None:
        """Everything is set; what changes from now on is not this session's doing."""
        self._append({"record": "applied"})

    def undoing(self, numbers: Iterable[int]) -> None:
        """From now on the values of these changes may be anything, until they are undone."""
        self._append(*({"record": "undoing", "number": number} for number in numbers))

    def undone(self, numbers: Iterable[int]) -> None:
        """The old values of these changes are back."""
        when = _now()
        self._append(*({"record": "undone", "number": number, "time": when} for number in numbers))

    def content(self) -> str:
        """Its lines so far, whole ones."""
        with _explained(self.file):
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            text = os.pread(self._descriptor, end, 0).decode("utf-8", "replace")
        return text if text.endswith("\n") else f"{text}\n"

    def finish(self) -> None:
        """Removes the journal: there is nothing to put back."""
        with _explained(self.file):
            self.file.unlink(missing_ok=True)
            _sync_directory(self.file.parent)
        self.close()

    def close(self) -> None:
        """Releases the journal; what is not undone stays in it. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _head(self, probe: tuple[int, str] | None) -> None:
        self._append(
            {
                "record": "session",
                "format": FORMAT,
                "board": self._board,
                "boot_id": self._boot_id,
                "pid": os.getpid(),
                "time": _now(),
                "probe": list(probe) if probe else None,
            }
        )
        _sync_directory(self.file.parent)

    def _append(self, *records: Mapping[str, Any]) -> None:
        """Whole lines, on the disk when this returns."""
        text = "".join(f"{json.dumps(record)}\n" for record in records).encode()
        with _explained(self.file):
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            if end and os.pread(self._descriptor, 1, end - 1) != b"\n":
                text = b"\n" + text  # the last line was cut off
            while text:
                text = text[os.write(self._descriptor, text) :]
            os.fsync(self._descriptor)


def sessions() -> tuple[JournalSession, ...]:
    """All journals, oldest first, also of sessions that are alive or have nothing to put back.

    SettingError when they cannot be listed.
    """
    directory = state_directory()
    with _explained(directory):
        if not directory.is_dir():
            return ()
        with _directory_lock(directory):
            return tuple(_list(directory))


def _list(directory: Path) -> Iterator[JournalSession]:
    for file in sorted(directory.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):  # finished meanwhile
            yield _read(file)


def _refuse_another(directory: Path, board: str, boot_id: str) -> None:
    for session in _list(directory):
        if session.board != board and not (boot_id and session.boot_id == boot_id):
            continue
        if session.alive:
            raise SettingError(
                f"{board}: process {session.pid} has changed settings of this board",
                "wait until it has ended: two would undo each other's",
            )
        if session.is_due:
            raise SettingError(
                f"{board}: what an interrupted run has set is not put back yet",
                f"benchvise restore {session.board}",
            )


def _read(file: Path) -> JournalSession:
    """A journal's content, whatever happened to it; FileNotFoundError when it is gone."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        raise
    except OSError as error:
        return JournalSession(file, damage=f"cannot be read ({error.strerror})")
    try:
        alive = is_locked(descriptor)
        session = parse_session(file, _content(descriptor))
        if alive and is_gone(session.pid):  # or in another container, and not seen from here
            alive = stays_locked(descriptor)
            session = parse_session(file, _content(descriptor))
    except OSError as error:
        return JournalSession(file, damage=f"cannot be read ({error.strerror})")
    finally:
        os.close(descriptor)
    return replace(session, alive=alive)


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def parse_session(file: Path, content: bytes) -> JournalSession:
    """What the lines of a journal tell, wherever they were read; ``damage`` where nothing."""
    lines = content.split(b"\n")
    records = [record for line in lines if (record := _record(line)) is not None]
    if not records or records[0].get("record") != "session":
        # The first line is on the disk before there are others.
        damage = "its first line is damaged" if len(lines) > 1 and any(lines[1:]) else ""
        return JournalSession(file, damage=damage)
    try:
        return _session(file, records)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return JournalSession(file, damage=f"it is not understood ({printable(repr(error))})")


def _session(file: Path, records: Sequence[Mapping[str, Any]]) -> JournalSession:
    head = records[0]
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']} instead of {FORMAT}")
    changes: dict[int, JournalChange] = {}
    applied = False
    for record in records[1:]:
        if record["record"] == "applied":
            applied = True
            continue
        number = int(record["number"])
        match record["record"]:
            case "change":
                new = record["new"]
                changes[number] = JournalChange(
                    number,
                    str(record["knob"]),
                    str(record["path"]),
                    str(record["old"]),
                    None if new is None else str(new),
                )
            case "written":
                now = record["now"]
                changes[number] = replace(
                    changes[number], now=None if now is None else str(now), written=True
                )
            case "undoing":
                changes[number] = replace(changes[number], undoing=True)
            case "undone":
                changes[number] = replace(changes[number], undone=True)
    probe = head.get("probe")
    return JournalSession(
        file,
        board=str(head["board"]),
        boot_id=str(head["boot_id"]),
        pid=int(head["pid"]),
        started=str(head["time"]),
        probe=(int(probe[0]), str(probe[1])) if probe else None,
        changes=tuple(changes.values()),
        applied=applied,
    )


def _record(line: bytes) -> dict[str, Any] | None:
    """A line's object; None for one that was cut off."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


@contextlib.contextmanager
def _directory_lock(directory: Path) -> Iterator[None]:
    """Held while a journal comes to be, so that of two sessions one sees the other's."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingError(
            f"the journal of settings cannot be kept at {path} ({error.strerror})",
            f"free space or set {DIRECTORY_VARIABLE} to a directory that can be written",
        ) from error


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
