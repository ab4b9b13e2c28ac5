"""Waiting for what is certain to come, however busy the machine is that tests run on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PATIENCE = 180.0
"""Seconds after which something is given up that comes at once where nothing else runs."""

BOOT_PATIENCE = 1200.0
"""The same for the boot of an emulated board, which computes for ten seconds and more."""

_PAUSE_SECONDS = 0.02

Found = TypeVar("Found")


def wait_until(condition: Callable[[], Found], what: object, seconds: float = PATIENCE) -> Found:
    """What the condition returns as soon as that is true; fails with ``what`` otherwise."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in {seconds:.0f} s: {what}"
        time.sleep(_PAUSE_SECONDS)
    return found


def has_ended(pid: int) -> bool:
    """Whether a process has ended. Nobody need have reaped it: process 1 of a container may not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
