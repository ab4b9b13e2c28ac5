"""Locks between processes on what only one of them may use: a board, a relay box, the muxes.

The kernel holds them (flock), so that a process that is killed releases its own. They lie in
a directory that all users of this machine share, as they share the hardware; BENCHVISE_LOCK_DIR
names another one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from benchvise import interruption
from benchvise.documents import decode, encode
from benchvise.errors import BenchviseError
from benchvise.file_locks import try_lock
from benchvise.host_system import is_gone
from benchvise.rig import turns
from benchvise.rig.faults import Fault, RigError

DIRECTORY_VARIABLE = "BENCHVISE_LOCK_DIR"

_SHARED = Path("/run/lock")
_OWN = Path("/tmp/benchvise-locks")  # noqa: S108 - with the user's number; another's is refused
_POLL_SECONDS = 0.05
_HOLDER_LIMIT = 4096
_NOTE_LENGTH = _HOLDER_LIMIT + 9  # behind its checksum
_LEAVE_SECONDS = 30.0
_IN_TURN_SECONDS = 60.0  # who waits shorter does so for a device that is soon free
_HALF_SECONDS = 5.0  # a note that is not whole after that is none of ours
_KILLED_SECONDS = 10.0  # what a killed holder was starting has its lock for a moment
_UNNOTED_SECONDS = 5.0  # a holder leaves its note at once, a reader has gone by then


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: a process, what it does, and since when (seconds since 1970).

    One that is ``leaving`` ends, and does nothing but what that takes. ``doing`` is its activity,
    for others to see; small, and as untrusted as any note. ``pid`` is a number of the process
    namespace ``numbers``: one of a container, which may share the directory of locks, means nothing
    outside of it.
    """

    pid: int
    what: str
    since: float
    leaving: bool = False
    doing: Mapping[str, object] = field(default_factory=dict)
    numbers: str = ""

    @classmethod
    def here(cls, what: str) -> Self:
        """This very process, from now on."""
        return cls(os.getpid(), what, time.time(), numbers=_process_namespace())

    @property
    def is_numbered_here(self) -> bool:
        """Whether its number is one of this process's namespace."""
        return self.numbers in ("", _process_namespace())


@contextmanager
def held(
    key: str,
    what: str,
    *,
    name: str = "",
    wait_s: float = 0.0,
    observe: Callable[[Holder], None] | None = None,
    number: str = "",
) -> Iterator[None]:
    """Holds the lock ``key`` within this context; ``what`` is shown to others who want it.

    ``name`` is what the lock's thing is called to users, when the key is not that. Waits up to
    ``wait_s`` seconds, and for one that is leaving a little. Raises RigError (board-busy) when
    somebody else has it, or waits for it since longer. ``observe`` is told once who has it. With
    ``number``, that of a ticket which the caller has, it comes when that one does.
    """
    path = _path(key)
    own = turns.place_of(path) / number if number else None
    descriptor = _open(path)
    try:
        with ExitStack() as queue:
            begun, turn = time.monotonic(), own
            while _is_before(path, turn) or not try_lock(descriptor):
                has = holder(key)
                who = has or _first_waiting(path, turn)
                patience = 0.0 if who else _UNNOTED_SECONDS
                if who and who.leaving:
                    patience = _LEAVE_SECONDS
                elif who and who.is_numbered_here and is_gone(who.pid):
                    patience = _KILLED_SECONDS
                if time.monotonic() - begun >= max(wait_s, patience):
                    raise _busy(name or key, who, waits=has is None)
                if turn is None and wait_s >= _IN_TURN_SECONDS:
                    mine = partial(_note, who=Holder.here(what))
                    turn = queue.enter_context(turns.ticket(path, mine))
                    if observe is not None and who is not None:
                        observe(who)
                interruption.sleep(_POLL_SECONDS)
        _note(descriptor, Holder.here(what))
        try:
            yield
        finally:
            _note(descriptor, None)
    finally:
        os.close(descriptor)  # and with it the lock


def holder(key: str) -> Holder | None:
    """Who holds the lock now; None when nobody does."""
    return _holder_in(_path(key))


def holders() -> list[Holder]:
    """Who holds a lock on this machine now, whichever it is; none where there are no locks."""
    try:
        with os.scandir(directory()) as entries:
            paths = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    except (OSError, BenchviseError):
        return []
    return [holder for path in sorted(paths) if (holder := _holder_in(path)) is not None]


def _holder_in(path: Path) -> Holder | None:
    try:
        # Without waiting, should somebody have put something else there.
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        noted = _noted(descriptor)
        # Only a note makes it worth trying: whoever tries has the lock for a moment, and must not
        # be in the way of those who want it.
        if noted is None or not try_lock(descriptor):
            return noted
        _note(descriptor, None)  # it is of one that was killed
        return None
    finally:
        os.close(descriptor)


@contextmanager
def queued(key: str, what: str, number: str) -> Iterator[None]:
    """Waits in the queue of a lock within this context, without taking it."""
    note = partial(_note, who=Holder.here(what))
    with turns.ticket(_path(key), note, number):
        yield


def is_next(key: str, number: str) -> bool:
    """Whether nobody has the lock, and nobody came before who waits with that number."""
    path = _path(key)
    return not _is_before(path, turns.place_of(path) / number) and holder(key) is None


def waiters(key: str) -> tuple[Holder, ...]:
    """Who waits for the lock, who came first before others."""
    notes = (_noted_in(ticket) for ticket in turns.waiting(_path(key)))
    return tuple(note for note in notes if note is not None)


def _is_before(path: Path, turn: Path | None) -> bool:
    """Whether somebody came before; who has no ticket comes after all who have."""
    tickets = turns.waiting(path)
    return bool(tickets) and (turn is None or tickets[0] < turn)


def _first_waiting(path: Path, turn: Path | None) -> Holder | None:
    tickets = [ticket for ticket in turns.waiting(path) if turn is None or ticket < turn]
    return _noted_in(tickets[0]) if tickets else None


def _noted_in(ticket: Path) -> Holder | None:
    try:
        descriptor = os.open(ticket, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _noted(descriptor)
    finally:
        os.close(descriptor)


def note_leaving(key: str) -> None:
    """Notes that this process is about to release its lock: others may wait for it."""
    _renote(key, leaving=True)


def note_activity(key: str, activity: Mapping[str, object]) -> None:
    """Notes the activity of this process, which holds the lock, for others to read."""
    _renote(key, doing=activity)


def _renote(key: str, **changed: Any) -> None:
    """Changes this process's note; what is another's, or cannot be written, stays as it is."""
    with contextlib.suppress(OSError):
        descriptor = os.open(_path(key), os.O_RDWR | os.O_CLOEXEC)
        try:
            noted = _noted(descriptor)
            if noted is not None and noted.pid == os.getpid() and noted.is_numbered_here:
                _note(descriptor, replace(noted, **changed))
        finally:
            os.close(descriptor)


def directory() -> Path:
    """Where the locks lie; made when it is missing."""
    chosen = os.environ.get(DIRECTORY_VARIABLE, "")
    own = _OWN.with_name(f"{_OWN.name}-{os.getuid()}")
    if chosen:
        path, mode = Path(chosen), 0o700
    elif os.access(_SHARED, os.W_OK):
        path, mode = _SHARED / "benchvise", 0o1777
    else:
        path, mode = own, 0o700
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            turns.make_directory(path, mode)
        if path == own and path.lstat().st_uid != os.getuid():
            raise PermissionError(errno.EPERM, "it belongs to another user")
    except OSError as error:
        raise BenchviseError(
            f"{path}: no directory for locks can be made ({error.strerror})",
            f"set {DIRECTORY_VARIABLE} to a directory that all users of the rig can write",
        ) from error
    return path


def _path(key: str) -> Path:
    name = "".join(c if c.isalnum() or c in "-." else "_" for c in key)[:60]
    return directory() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _open(path: Path) -> int:
    """Without O_CREAT first: a kernel may refuse it for somebody else's file in such a place."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    with contextlib.suppress(PermissionError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o666)  # all users leave their notes in it, whatever the umask
        return descriptor
    raise BenchviseError(
        f"{path}: the lock cannot be opened",
        f"remove it if nobody uses the rig, or set {DIRECTORY_VARIABLE}",
    )


def _noted(descriptor: int) -> Holder | None:
    """The note of the holder, or of one that was killed; None when there is none.

    A reader may find half of a note that is being changed, for as long as the writer's CPU is taken
    from it: its checksum tells, and it is read again.
    """
    begun = time.monotonic()
    with contextlib.suppress(OSError):
        while note := os.pread(descriptor, _NOTE_LENGTH, 0):
            checksum, _, text = note.partition(b" ")
            with contextlib.suppress(ValueError):
                if int(checksum, 16) == zlib.crc32(text):
                    return decode(Holder, json.loads(text))
            if time.monotonic() - begun > _HALF_SECONDS:
                break
            time.sleep(0.001)
    return None


def _note(descriptor: int, who: Holder | None) -> None:
    """Leaves a note for those who wait; a full disk must not keep anybody from a lock.

    All notes are of one length, so that nothing of an old one is left behind a new one.
    """
    with contextlib.suppress(OSError):
        if who is None:
            os.ftruncate(descriptor, 0)
            return
        text = json.dumps(encode(who)).encode()
        if len(text) > _HOLDER_LIMIT:
            text = json.dumps(encode(replace(who, doing={}))).encode()
        text = text.ljust(_HOLDER_LIMIT)
        os.pwrite(descriptor, b"%08x %s" % (zlib.crc32(text), text), 0)


def _busy(name: str, who: Holder | None, *, waits: bool) -> RigError:
    if who is None:
        return RigError(Fault.BUSY, f"{name} is in use by another program", "wait until it ends")
    seconds = max(0.0, time.time() - who.since)
    remedy = "wait until it ends (--wait 30m), or stop it"
    where = " of another container"
    if who.is_numbered_here:
        remedy, where = f"{remedy}: kill {who.pid}", ""
    return RigError(
        Fault.BUSY,
        f"{name} is {'next for' if waits else 'in use:'} {who.what} "
        f"(process {who.pid}{where}, for {seconds:.0f} s)",
        remedy,
    )


def _process_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
