"""One reading of a board's health, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchvise.kernel_log import Event


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the kernel log had been read up to.

    ``until`` is in seconds since boot, ``seen`` the number of lines that have that very time.
    """

    boot_id: str
    until: float
    seen: int

    def as_json(self) -> dict[str, Any]:
        """The mark as a mapping."""
        return {"boot_id": self.boot_id, "until": self.until, "seen": self.seen}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mark:
        """A mark that was kept. Raises KeyError, TypeError and ValueError when it is none."""
        return cls(str(data["boot_id"]), float(data["until"]), int(data["seen"]))


@dataclass(frozen=True, slots=True)
class Log:
    """What the kernel log said (since the mark, if there was one).

    ``source`` is how it was read; ``missing`` why it could not be. ``mark`` is where the next
    reading goes on; None where lines have no times. ``gap`` is set when lines since the mark were
    lost, as the kernel's buffer is a ring.
    """

    events: tuple[Event, ...] = ()
    lines: int = 0
    source: str = ""
    missing: str = ""
    mark: Mark | None = None
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Counter:
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

    @property
    def key(self) -> str:
        """What tells it from all others of the board."""
        return "/".join(part for part in (self.id, self.device, self.name) if part)

    def as_json(self) -> dict[str, Any]:
        """The counter as a mapping."""
        return {
            "key": self.key,
            "id": self.id,
            "section": self.section,
            "device": self.device,
            "name": self.name,
            "value": self.value,
            "kept": self.kept,
        }


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

    @property
    def key(self) -> str:
        """What tells it from all others of the board."""
        return f"{self.chip}/{self.feature}"

    def as_json(self) -> dict[str, Any]:
        """The sensor as a mapping."""
        return {
            "key": self.key,
            "chip": self.chip,
            "feature": self.feature,
            "label": self.label,
            "kind": self.kind,
            "value": self.value,
            "unit": self.unit,
            "limits": dict(self.limits),
            "alarm": self.alarm,
            "fault": self.fault,
        }


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

    def as_json(self) -> dict[str, Any]:
        """The disk as a mapping."""
        return {
            "device": self.device,
            "model": self.model,
            "passed": self.passed,
            "values": dict(self.values),
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True)
class Reading:
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
    log: Log
    counters: tuple[Counter, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    disks: tuple[Disk, ...] = ()
    held_down: tuple[str, ...] = ()
    flags: Mapping[str, bool] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The reading as a mapping."""
        return {
            "board": self.board,
            "taken": self.taken,
            "boot_id": self.boot_id,
            "uptime": self.uptime,
            "privilege": self.privilege,
            "log": {
                "events": [event.as_json() for event in self.log.events],
                "lines": self.log.lines,
                "source": self.log.source,
                "missing": self.log.missing,
                "gap": self.log.gap,
                "mark": None if self.log.mark is None else self.log.mark.as_json(),
            },
            "counters": [counter.as_json() for counter in self.counters],
            "sensors": [sensor.as_json() for sensor in self.sensors],
            "disks": [disk.as_json() for disk in self.disks],
            "held_down": list(self.held_down),
            "flags": dict(self.flags),
            "missing": dict(self.missing),
            "notes": list(self.notes),
        }
