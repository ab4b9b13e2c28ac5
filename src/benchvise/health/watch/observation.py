"""What a watch takes from one look at a board: named figures, and what happened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from benchvise.health.model import LogMark

_VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)


class WatchedKind(StrEnum):
    """How a figure behaves, which decides what of it is worth keeping."""

    SENSOR = "sensor"
    """Goes up and down all the time: its range is kept."""
    COUNTER = "counter"
    """Counted by the kernel: begins at 0 with each boot, and only grows."""
    LASTING = "lasting"
    """Counted by a device, which keeps it without power."""
    LEVEL = "level"
    """Stays as it is until something happens, then goes up or down (sectors that wait)."""


@dataclass(frozen=True, slots=True)
class WatchedValue:
    """One number of a board. ``limit`` is the highest value that the board itself allows."""

    name: str
    kind: WatchedKind
    value: float
    unit: str = ""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Something that happened ``count`` times between ``at`` and ``last``, seconds since 1970.

    ``what`` is its class; ``severity`` is ``failing``, ``warning``, ``note``, or ``alert``.
    """

    what: str
    text: str
    at: float
    last: float
    count: int = 1
    severity: str = ""

    @property
    def pattern(self) -> str:
        """The text without what varies from one line to the next of its kind."""
        return _VARIES.sub("#", self.text)


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a board. ``at`` is the host's time, seconds since 1970; ``uptime`` in seconds.

    ``boot`` names the boot; empty where the board does not tell, and then ``uptime`` decides.
    ``events`` is what its kernel log says after ``mark_before``, up to ``mark`` (None: no log).
    """

    at: float
    boot: str
    uptime: float | None
    figures: tuple[WatchedValue, ...] = ()
    events: tuple[WatchEvent, ...] = ()
    mark_before: LogMark | None = None
    mark: LogMark | None = None
