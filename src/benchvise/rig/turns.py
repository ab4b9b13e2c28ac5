"""Turns: those who wait long for a lock have it in the order in which they came.

Whoever waits keeps a ticket: a file beside the lock, locked by its owner and named by the time at
which he came. The kernel releases it when he dies. Others of this machine see who waits for what;
who only tries finds a lock that others wait for in use.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchvise import file_locks

_SUFFIX = ".waiting"


def new_number() -> str:
    """A number for tickets of who comes now. Who waits for one of several locks has one number for
    all of them: so of two that wait, one is before the other at each lock.
    """
    return f"{time.time_ns():020d}-{os.getpid()}-{threading.get_ident()}"


@contextmanager
def ticket(lock: Path, note: Callable[[int], None], number: str = "") -> Iterator[Path]:
    """A ticket for a lock within this context; ``note`` writes into it who waits, by descriptor.

    With a ``number`` it has its turn when that has. Raises OSError where none can be left.
    """
    place = place_of(lock)
    make_directory(place, 0o1777)  # whoever may use the lock may wait for it
    # Locked before it has its name: a ticket that is not locked is one of the dead.
    draft = place / f".{os.getpid()}-{threading.get_ident()}"
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    # No name is ever used twice, also of two tickets with one number: what is found dead under a
    # name cannot be removed as another that has come to life there.
    own = place / f"{number}.{new_number()}" if number else place / new_number()
    try:
        file_locks.lock(descriptor)
        note(descriptor)
        draft.rename(own)
        yield own
    finally:
        for path in (draft, own):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def make_directory(path: Path, mode: int) -> None:
    """A directory with these rights, whatever the umask; nothing where it is there already.

    It has its name once it has its rights: nobody finds one that he may not use yet. Raises
    OSError where it cannot be made.
    """
    if path.is_dir():
        return
    draft = path.with_name(f".{path.name}-{new_number()}")
    draft.mkdir()
    try:
        draft.chmod(mode)
        draft.rename(path)
    except OSError:
        draft.rmdir()
        if not path.is_dir():  # else somebody else has made it meanwhile
            raise


def place_of(lock: Path) -> Path:
    """Where the tickets of a lock lie."""
    return lock.with_name(lock.name + _SUFFIX)


def waiting(lock: Path) -> list[Path]:
    """The tickets of those who wait, in their order; those of the dead are removed."""
    try:
        tickets = sorted(place_of(lock).iterdir())
    except OSError:
        return []
    return [path for path in tickets if not path.name.startswith(".") and _is_alive(path)]


def _is_alive(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # it has just had its turn, or is nothing of ours
    try:
        if file_locks.is_locked(descriptor):
            return True
    except OSError:
        return True
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        path.unlink()
    return False
