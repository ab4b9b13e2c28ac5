"""Which process is measuring a run, and whether it is still there.

A process that is killed, or a host that loses power, cannot say so in the store. Whoever looks
at the run later finds out: on the same host, in the same boot, by the process; on the same
host in another boot, at once. Of another host only the signs of life tell that the process leaves
in the store (``store.heartbeat``).
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, named so that a later process with the same number is not taken for it.

    ``started`` is in clock ticks since boot. A cloned card gives two boards the same
    ``hostname`` or the same ``machine_id``, seldom both, so both must match. Process numbers
    mean nothing in another ``pid_namespace`` (a container shares its host's ``boot_id``).
    Items that the system does not have are empty or 0.
    """

    pid: int = 0
    started: int = 0
    boot_id: str = ""
    pid_namespace: str = ""
    machine_id: str = ""
    hostname: str = ""

    @classmethod
    def here(cls) -> Owner:
        """This very process."""
        return cls(
            pid=os.getpid(),
            started=_start_of(os.getpid()) or 0,
            boot_id=_line(_PROC / "sys/kernel/random/boot_id"),
            pid_namespace=_link(_PROC / "self/ns/pid"),
            machine_id=_line(Path("/etc/machine-id")),
            hostname=socket.gethostname(),
        )

    def is_there(self, seen_from: Owner) -> bool | None:
        """Whether the process runs; None where ``seen_from`` cannot know it."""
        if (self.hostname, self.machine_id) != (seen_from.hostname, seen_from.machine_id):
            return None
        if not (self.boot_id and seen_from.boot_id):
            return None
        if self.boot_id != seen_from.boot_id:
            return False
        if self.pid_namespace != seen_from.pid_namespace:
            return None
        if _start_of(self.pid) == self.started:
            return True
        return None if _hidden(self.pid) else False

    def is_gone(self, seen_from: Owner) -> bool:
        """Whether the process is known to have ended, as far as ``seen_from`` can know it."""
        return self.is_there(seen_from) is False


def _start_of(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; ``None`` when there is none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything, so count from its end: state is item 3.
    items = stat.rpartition(")")[2].split()
    state, started = items[0], items[19]
    return None if state in "ZX" else int(started)


def _hidden(pid: int) -> bool:
    """Whether the process is there but /proc hides it (mount option ``hidepid``)."""
    if (_PROC / str(pid)).exists():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        pass
    return False


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
