"""One reading of a board's health, and one poll of a watch, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchvise.documents import computed, in_json
from benchvise.kernel_log import LogEvent


@dataclass(frozen=True, slots=True)
class LogMark:
    """Where the kernel log had been read up to.

    ``until`` is in seconds since boot, ``seen`` the number of lines that have that very time.
    """

    boot_id: str
    until: float
    seen: int


@dataclass(frozen=True, slots=True)
class LogReading:
    """What the kernel log said (since the mark, if there was one).

    ``source`` is how it was read; ``missing`` why it could not be. ``mark`` is where the next
    reading goes on; None where lines have no times. ``gap`` is set when lines since the mark were
    lost, as the kernel's buffer is a ring. ``boots`` is how many boots the lines are of, ``notes``
    what else is to be known of a log that somebody saved.
    """

    events: tuple[LogEvent, ...] = ()
    lines: int = 0
    source: str = ""
    missing: str = ""
    gap: bool = False
    mark: LogMark | None = None
    boots: int = field(default=1, metadata=in_json(omit_default=True))
    notes: tuple[str, ...] = field(default=(), metadata=in_json(omit_default=True))


@dataclass(frozen=True, slots=True)
class BoardCounter:
    """Something the board counts, since boot or since it was made.

    ``id`` is that of its kind (``counters.toml``), ``name`` tells one from another of that kind on
    the same device, "" where there is one only. A counter goes back at a reboot unless ``kept``.
    """

    id: str
    section: str
    device: str
    name: str
    value: float
    kept: bool = False

    @computed.before("id")
    def key(self) -> str:
        """What tells it from all others of the board."""
        return "/".join(part for part in (self.id, self.device, self.name) if part)


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor with its value in ``unit`` (°C, V, A, W, RPM, %, J, Hz).

    ``chip`` is its name as lm-sensors has it, ``feature`` the kernel's (``in5``), ``label`` what
    people call it. ``limits`` hold ``min``, ``max``, ``crit``, ``lcrit``, ``emergency`` where there
    are any; ``alarm`` is the chip's own.
    """

    chip: str
    feature: str
    label: str
    kind: str
    value: float
    unit: str
    limits: Mapping[str, float] = field(default_factory=dict)
    alarm: bool = False
    fault: bool = False

    @computed.before("chip")
    def key(self) -> str:
        """What tells it from all others of the board."""
        return f"{self.chip}/{self.feature}"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk as smartctl tells of it. ``passed`` is the disk's own verdict (None: it has none).

    ``missing`` is why there is nothing to tell.
    """

    device: str
    model: str = ""
    passed: bool | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True, slots=True)
class HealthReading:
    """What was read of a board at a time.

    ``taken`` is this machine's time (ISO 8601, UTC), ``uptime`` the board's seconds since boot
    (None where it does not say). ``held_down`` names what holds clocks down now, ``flags`` what the
    firmware reports (True: now, False: since boot). ``missing`` says of a section why it could not
    be read.
    """

    board: str
    taken: str
    boot_id: str
    uptime: float | None
    privilege: str
    log: LogReading
    counters: tuple[BoardCounter, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    disks: tuple[Disk, ...] = ()
    held_down: tuple[str, ...] = ()
    flags: Mapping[str, bool] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# -- one poll of a watch ---------------------------------------------------------------------------

_VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)


class WatchedKind(StrEnum):
    """How a value behaves, which decides what of it is worth keeping."""

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
    ``times`` are those of the newest, as far as they are known.
    """

    what: str
    text: str
    at: float
    last: float
    count: int = 1
    severity: str = ""
    times: tuple[float, ...] = ()

    @property
    def pattern(self) -> str:
        """The text without what varies from one line to the next of its kind."""
        return _VARIES.sub("#", self.text)


@dataclass(frozen=True, slots=True)
class Observation:
    """One poll of a board. ``at`` is the host's time, seconds since 1970; ``uptime`` in seconds.

    ``boot`` names the boot; empty where the board does not tell, and then ``uptime`` decides.
    ``events`` is what its kernel log says after ``mark_before``, up to ``mark`` (None: no log).
    """

    at: float
    boot: str
    uptime: float | None
    values: tuple[WatchedValue, ...] = ()
    events: tuple[WatchEvent, ...] = ()
    mark_before: LogMark | None = None
    mark: LogMark | None = None
