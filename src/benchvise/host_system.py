"""What the operating system of this machine has: the only place that tells Linux, macOS and Windows
apart.

Reading traces, captures, reports and stores takes none of it. What does says so by ``require``, in
one line that names what works there instead.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Mapping
from typing import Literal

from benchvise.errors import UnsupportedSystem

Needs = Literal["any", "unix", "linux"]
"""What something runs on: everywhere; Linux, macOS and the BSDs; Linux alone."""

RUNS_ON: Mapping[Needs, str] = {
    "any": "Linux, macOS and Windows",
    "unix": "Linux and macOS",
    "linux": "Linux",
}

ELSEWHERE = "traces, captures, reports, stores and `benchvise serve` work here"

SIGKILL = getattr(signal, "SIGKILL", 9)
"""By which a process is ended at once; its number is the same wherever there are signals."""


def system_name() -> str:
    """The system by its usual name: Linux, macOS, Windows, FreeBSD."""
    if not hasattr(os, "uname"):
        return "Windows"
    name = os.uname().sysname
    return "macOS" if name == "Darwin" else name


def supports(needs: Needs) -> bool:
    """Whether this system has what is needed."""
    return needs == "any" or (system_name() in (("Linux",) if needs == "linux" else _unix()))


def require(needs: Needs, what: str, instead: str = ELSEWHERE) -> None:
    """UnsupportedSystem where this system lacks what ``what`` (a noun phrase) needs; ``instead``
    says what works."""
    if not supports(needs):
        raise UnsupportedSystem(
            f"not available on {system_name()}: {what} runs on {RUNS_ON[needs]}", instead
        )


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGBUS; empty for a number that is none here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def open_flags(*names: str) -> int:
    """Those of the flags for ``os.open`` that this system has; bytes are written as they are."""
    flags = 0
    for name in (*names, "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def usable_cpus() -> int:
    """How many CPUs this process may run on; of the whole machine where nobody tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_gone(process: int) -> bool:
    """Whether there is no process of this number any more; False where that cannot be known."""
    if os.name != "posix" or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):  # another user's, or no number of a process
        pass
    return False


def own_user() -> int | None:
    """The number of the user that this process runs as; None where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def is_anothers(status: os.stat_result) -> bool:
    """Whether a file belongs to another user than this one or root; never where users have no
    number: there a home is its user's alone."""
    own = own_user()
    return own is not None and status.st_uid not in (0, own)


def others_may(status: os.stat_result, *, read: bool = False) -> bool:
    """Whether other users may write to a file, or with ``read`` read it; never where its mode does
    not tell. A group that is this user's own one is no other."""
    if own_user() is None:
        return False
    if read:
        return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    own_group = status.st_gid == os.getegid()
    return bool(status.st_mode & (stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP))


def _unix() -> tuple[str, ...]:
    return ("Linux", "macOS", "FreeBSD", "OpenBSD", "NetBSD")
