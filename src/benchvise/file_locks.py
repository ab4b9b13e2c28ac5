"""Locks on open files, which end with whoever holds them: the only place that knows of them.

Unix has flock(2). Windows has locks of bytes, which nobody else can read meanwhile: there one byte
far behind the end is locked, so that what the file holds can be read by all.

No library is taken: those that are well kept lock a file of their own beside (filelock), or bring
half of the Windows API (portalocker), while these journals lock the very file that they write.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

_POLL_SECONDS = 0.05
_SHORTLY_SECONDS = 1.0
_ENDED_SECONDS = 10.0  # on a busy machine what a killed process began may wait for a CPU

try:
    import fcntl
except ModuleNotFoundError:
    import msvcrt

    _FAR_BYTE = 0x7FFF_FFF0

    def _locking(descriptor: int, mode: int) -> None:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _FAR_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)  # type: ignore[attr-defined]
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)

    def try_lock(descriptor: int) -> bool:
        """Locks an open file; False where somebody else has it. OSError where none can be had."""
        try:
            _locking(descriptor, msvcrt.LK_NBLCK)  # type: ignore[attr-defined]
        except PermissionError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Releases a lock. Does nothing where none is held."""
        with suppress(PermissionError):
            _locking(descriptor, msvcrt.LK_UNLCK)  # type: ignore[attr-defined]

    def lock(descriptor: int) -> None:
        """Locks an open file, as soon as nobody else has it."""
        while not try_lock(descriptor):
            time.sleep(_POLL_SECONDS)

    def is_locked(descriptor: int) -> bool:
        """Whether somebody else has a file locked; takes its lock for a moment to know."""
        if not try_lock(descriptor):
            return True
        unlock(descriptor)
        return False

else:

    def try_lock(descriptor: int) -> bool:
        """Locks an open file; False where somebody else has it. OSError where none can be had."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Releases a lock. Does nothing where none is held."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def lock(descriptor: int) -> None:
        """Locks an open file, as soon as nobody else has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def is_locked(descriptor: int) -> bool:
        """Whether somebody else has a file locked; takes a shared lock for a moment to know."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        unlock(descriptor)
        return False


def try_lock_shortly(descriptor: int) -> bool:
    """``try_lock`` for up to a second, for a lock that nobody means to hold.

    Whoever looks at it takes it for a moment; and a child that its holder was starting when it was
    killed has it, too, until it has become another program.
    """
    deadline = time.monotonic() + _SHORTLY_SECONDS
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def stays_locked(descriptor: int) -> bool:
    """``is_locked`` for up to ten seconds, of a file whose holder has ended: what it was starting
    then has its lock for a moment."""
    deadline = time.monotonic() + _ENDED_SECONDS
    while is_locked(descriptor):
        if time.monotonic() >= deadline:
            return True
        time.sleep(_POLL_SECONDS)
    return False
