"""Waiting for what is certain to come, however busy the machine is that tests run on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 180.0
"""Seconds after which something is given up that comes at once where nothing else runs."""

_PAUSE_SECONDS = 0.02

Found = TypeVar("Found")


def wait_until(condition: Callable[[], Found], what: object, seconds: float = PATIENCE) -> Found:
    """What the condition returns as soon as that is true; fails with ``what`` otherwise."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in {seconds:.0f} s: {what}"
        time.sleep(_PAUSE_SECONDS)
    return found
