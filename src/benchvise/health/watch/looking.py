"""Looking at a board again and again: one connection that is kept, and what a reading becomes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime

from benchvise.board import Board
from benchvise.board.channel import open_channel
from benchvise.health.model import Counter, Disk, Mark, Reading, Sensor
from benchvise.health.reading import board_config, read
from benchvise.health.sensors import CONFIG
from benchvise.health.watch.cost import Cost
from benchvise.health.watch.observation import Event, Figure, Kind, Observation
from benchvise.state.globs import ByPath

SLOW_SECONDS = 1800.0
"""How often programs are started on the board, for SMART: that costs more than all the rest."""

LOG_LOST = "kernel log lost"

# Counters that are no counts: they stay as they are until something happens, or go down again.
_LEVELS = frozenset({"mmc-life", "mmc-pre-eol", "md-degraded", "ubi-reserve", "ubi-read-only"})
_DISK_LEVELS = ("pending", "offline uncorrectable", "life ", "spare", "critical warning", "failed")
# They rise on a disk that is well, all the time.
_UNINTERESTING = ("hours on", "spare threshold, %")
_TEMPERATURE = "temperature, °C"
# What a chip may say of its limit: others have it at 0, or at what they can show at most.
_LIMITS = (40.0, 126.0)


class Looking:
    """An open board with its probe. ``on_close`` is closed with it: what holds the board.

    Raises what opening a channel raises.
    """

    def __init__(self, board: Board, *, simulated: bool) -> None:
        self.simulated = simulated
        self.on_close: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        self._board = board
        self._channel = open_channel(board)
        self._cost = Cost(board, self._channel)
        self._config = board_config(ByPath(self._channel.read(CONFIG)))
        self._asked: float | None = None

    def look(self, mark: Mark | None) -> Observation:
        """See flows.watch.Eye."""
        slow = self._asked is None or time.monotonic() - self._asked >= SLOW_SECONDS
        reading = read(self._board, self._channel, mark=mark, config=self._config, commands=slow)
        if slow:
            self._asked = time.monotonic()
        return observed(reading, mark, programs=slow)

    def cpu(self) -> float | None:
        """See flows.watch.Eye."""
        return self._cost.seconds()

    def close(self) -> None:
        """See flows.watch.Eye."""
        self._channel.close()
        with self.on_close:
            pass


def observed(reading: Reading, before: Mark | None, *, programs: bool = True) -> Observation:
    """A reading as figures and events; ``programs`` when it asked programs of the board too."""
    at = datetime.fromisoformat(reading.taken).timestamp()
    mark = reading.log.mark
    return Observation(
        at=at,
        boot=reading.boot_id,
        uptime=reading.uptime,
        figures=tuple(_figures(reading, programs=programs)),
        events=tuple(_events(reading, at)),
        mark_before=before,
        mark=before if mark is None else mark,
    )


def _figures(reading: Reading, *, programs: bool) -> Iterator[Figure]:
    names = [_name(sensor) for sensor in reading.sensors]
    for sensor, name in zip(reading.sensors, names, strict=True):
        if not sensor.fault and sensor.unit != "J":  # joules only ever rise
            shown = name if names.count(name) == 1 else f"{name} {sensor.feature}"
            yield Figure(shown, Kind.SENSOR, sensor.value, sensor.unit, _limit(sensor))
    for counter in reading.counters:
        yield Figure(counter.key, _kind(counter), counter.value)
    for disk in reading.disks:
        yield from _disk(disk)
    cooled = sum(one.startswith("cooling device") for one in reading.held_down)
    yield Figure("clocks held down by cooling", Kind.LEVEL, cooled)
    if programs or reading.flags:  # without programs, no flags may just be flags not asked for
        now = sum(on for on in reading.flags.values())
        yield Figure("firmware flags (supply, heat)", Kind.LEVEL, now)


def _name(sensor: Sensor) -> str:
    return f"{sensor.chip}/{sensor.label or sensor.feature}"


def _limit(sensor: Sensor) -> float | None:
    if sensor.kind != "temperature":
        return None
    limit = sensor.limits.get("crit", sensor.limits.get("emergency"))
    return limit if limit is not None and _LIMITS[0] <= limit <= _LIMITS[1] else None


def _kind(counter: Counter) -> Kind:
    if counter.id in _LEVELS:
        return Kind.LEVEL
    return Kind.LASTING if counter.kept else Kind.COUNTER


def _disk(disk: Disk) -> Iterator[Figure]:
    if disk.passed is not None:
        name = f"{disk.device} fails by its own verdict"
        yield Figure(name, Kind.LEVEL, float(not disk.passed))
    for name, value in disk.values.items():
        if name in _UNINTERESTING:
            continue
        if name == _TEMPERATURE:
            yield Figure(f"{disk.device} temperature", Kind.SENSOR, value, "°C")
            continue
        kind = Kind.LEVEL if name.startswith(_DISK_LEVELS) else Kind.LASTING
        shown, _, unit = name.partition(", ")
        yield Figure(f"{disk.device} {shown}", kind, value, unit)


def _events(reading: Reading, at: float) -> Iterator[Event]:
    booted = None if reading.uptime is None else at - reading.uptime
    for event in reading.log.events:
        first, last = (
            at if booted is None or seconds is None else booted + seconds
            for seconds in (event.first, event.last)
        )
        yield Event(
            event.rule.log_class,
            event.newest,
            first,
            last,
            event.count,
            event.rule.severity.value,
        )
    if reading.log.gap:
        text = "lines were lost before they could be read: look more often"
        yield Event(LOG_LOST, text, at, at, 1, "warning")
