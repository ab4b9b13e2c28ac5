"""Polling a board: one connection that is kept, what a reading becomes, and what that costs.

The cost of a watch is the CPU time of everything that it runs on the board: of the probe with the
processes that answer its requests, and, on a board behind SSH, of the session of the SSH server
with all that was started in it. Where this machine is the board, the watch itself runs there too
and is counted.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.board.messages import FileValue
from benchvise.health.model import (
    BoardCounter,
    Disk,
    HealthReading,
    LogMark,
    Observation,
    WatchedKind,
    WatchedValue,
    WatchEvent,
)
from benchvise.health.reading import board_config, read
from benchvise.health.sensors import CONFIG, watched_sensor
from benchvise.health.watch.history import TICK_SECONDS
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
_SERVERS = ("sshd", "dropbear")


class ChannelPoller:
    """An open board with its probe, polled over one channel.

    ``on_close`` is closed with it: what holds the board.

    Raises what opening a channel raises.
    """

    def __init__(self, board: Board, *, simulated: bool) -> None:
        self.simulated = simulated
        self.on_close: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        self._board = board
        self._channel = open_channel(board)
        self._cost = _ConnectionCost(board, self._channel)
        self._config = board_config(ByPath(self._channel.read(CONFIG)))
        self._programs_ran: float | None = None

    def poll(self, mark: LogMark | None) -> Observation:
        """Reads the board once; the kernel log from where ``mark`` says."""
        slow = self._programs_ran is None or time.monotonic() - self._programs_ran >= SLOW_SECONDS
        reading = read(self._board, self._channel, mark=mark, config=self._config, commands=slow)
        if slow:
            self._programs_ran = time.monotonic()
        return observed(reading, mark, programs=slow)

    def cpu(self) -> float | None:
        """The CPU time in seconds that this cost on the board since it was opened."""
        return self._cost.seconds()

    def close(self) -> None:
        """Closes the channel, and what holds the board."""
        self._channel.close()
        with self.on_close:
            pass


def observed(
    reading: HealthReading, before: LogMark | None, *, programs: bool = True
) -> Observation:
    """A reading as values and events; ``programs`` when programs of the board were run for it."""
    at = datetime.fromisoformat(reading.taken).timestamp()
    mark = reading.log.mark
    return Observation(
        at=at,
        boot=reading.boot_id,
        uptime=reading.uptime,
        values=tuple(_values(reading, programs=programs)),
        events=tuple(_events(reading, at)),
        mark_before=before,
        mark=before if mark is None else mark,
    )


def _values(reading: HealthReading, *, programs: bool) -> Iterator[WatchedValue]:
    values = [watched_sensor(sensor) for sensor in reading.sensors]
    names = [value.name for value in values]
    for sensor, value in zip(reading.sensors, values, strict=True):
        if not sensor.fault and sensor.unit != "J":  # joules only ever rise
            once = names.count(value.name) == 1
            yield value if once else replace(value, name=f"{value.name} {sensor.feature}")
    for counter in reading.counters:
        yield WatchedValue(counter.key, _kind(counter), counter.value)
    for disk in reading.disks:
        yield from _disk(disk)
    cooled = sum(phrase.startswith("cooling device") for phrase in reading.held_down)
    yield WatchedValue("clocks held down by cooling", WatchedKind.LEVEL, cooled)
    if programs or reading.flags:  # without programs, no flags may just be flags not asked for
        now = sum(on for on in reading.flags.values())
        yield WatchedValue("firmware flags (supply, heat)", WatchedKind.LEVEL, now)


def _kind(counter: BoardCounter) -> WatchedKind:
    if counter.id in _LEVELS:
        return WatchedKind.LEVEL
    return WatchedKind.LASTING if counter.kept else WatchedKind.COUNTER


def _disk(disk: Disk) -> Iterator[WatchedValue]:
    if disk.passed is not None:
        name = f"{disk.device} fails by its own verdict"
        yield WatchedValue(name, WatchedKind.LEVEL, float(not disk.passed))
    for name, value in disk.values.items():
        if name in _UNINTERESTING:
            continue
        if name == _TEMPERATURE:
            yield WatchedValue(f"{disk.device} temperature", WatchedKind.SENSOR, value, "°C")
            continue
        kind = WatchedKind.LEVEL if name.startswith(_DISK_LEVELS) else WatchedKind.LASTING
        metric, _, unit = name.partition(", ")
        yield WatchedValue(f"{disk.device} {metric}", kind, value, unit)


def _events(reading: HealthReading, at: float) -> Iterator[WatchEvent]:
    booted = None if reading.uptime is None else at - reading.uptime
    for event in reading.log.events:
        first, last = (
            at if booted is None or seconds is None else booted + seconds
            for seconds in (event.first, event.last)
        )
        yield WatchEvent(
            event.rule.log_class,
            event.newest.raw,
            first,
            last,
            event.count,
            event.rule.severity.value,
            () if booted is None else tuple(booted + seconds for seconds in event.times),
        )
    if reading.log.gap:
        text = "lines were lost before they could be read: poll more often"
        yield WatchEvent(LOG_LOST, text, at, at, 1, "warning")


# -- what it costs ---------------------------------------------------------------------------------


class _ConnectionCost:
    """The CPU time that one connection costs the board."""

    def __init__(self, board: Board, channel: ProbeChannel) -> None:
        self._local = board.kind == "local"
        self._channel = channel
        self._server: int | None = None
        if channel.place is not None and not self._local:
            probe = _stats(channel, [channel.place[0]])
            parent = next((stat.parent for stat in probe.values()), 0)
            server = _stats(channel, [parent]).get(parent) if parent > 1 else None
            if server is not None and server.name.startswith(_SERVERS):
                self._server = parent

    def seconds(self) -> float | None:
        """The CPU time so far; None where it cannot be read."""
        if self._channel.place is None:
            return None
        probe = self._channel.place[0]
        pids = [probe] if self._server is None else [probe, self._server]
        stats = _stats(self._channel, pids)
        if probe not in stats:
            return None
        own = sum(os.times()[:4]) if self._local else 0.0
        return own + sum(stat.spent for stat in stats.values())


@dataclass(frozen=True, slots=True)
class _Stat:
    """Name, parent and CPU time of a process, that of its ended children counted."""

    name: str
    parent: int
    spent: float


def _stats(channel: ProbeChannel, pids: Sequence[int]) -> dict[int, _Stat]:
    paths = {f"/proc/{pid}/stat": pid for pid in pids}
    stats = {}
    for path, answer in channel.read(paths).items():
        if path not in paths or not isinstance(answer, FileValue):
            continue
        head, _, rest = answer.text.rpartition(")")
        items = rest.split()
        try:
            ticks = sum(int(items[index]) for index in (11, 12, 13, 14))
            stats[paths[path]] = _Stat(head.partition("(")[2], int(items[1]), ticks * TICK_SECONDS)
        except (IndexError, ValueError):
            continue
    return stats
