"""Boards that play weeks in no time, for tests of ``watch``: a clock of their own, and what they
would answer at each of its times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchvise.errors import BenchviseError, BoardUnreachable
from benchvise.flows.health import BoardWatch, WatchClock, WatchNotice, WatchRequest
from benchvise.health.model import LogMark, Observation, WatchedKind, WatchedValue, WatchEvent
from benchvise.health.watch.alarms import Alarms
from benchvise.health.watch.alerts import default_rules
from benchvise.store import Store

MONDAY = datetime(2026, 8, 31, tzinfo=UTC).timestamp()
HOUR, DAY, WEEK = 3600.0, 86400.0, 7 * 86400.0


class PlayedClock(WatchClock):
    """Time that only waiting moves."""

    def __init__(self, begins: float = MONDAY) -> None:
        super().__init__()
        self.at = begins

    def now(self) -> float:
        return self.at

    def ticks(self) -> float:
        return self.at

    def wait(self, seconds: float) -> bool:
        self.at += max(0.0, seconds)
        return self.stopped


@dataclass
class PlayedBoard:
    """A board whose values are functions of the time; what it logs is told once.

    ``boots`` are the times at which it was booted, the first long before the watch; counters are
    given as what was counted since boot. Out of reach between the times of each pair in ``away``.
    """

    clock: PlayedClock
    sensors: Mapping[str, Callable[[float], float]] = field(default_factory=dict)
    lasting: Mapping[str, Callable[[float], float]] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    log: tuple[tuple[float, str, str], ...] = ()
    boots: tuple[float, ...] = (MONDAY - DAY,)
    away: tuple[tuple[float, float], ...] = ()
    simulated: bool = True
    closed: int = 0

    def reach(self) -> PlayedBoard:
        if any(begin <= self.clock.at < end for begin, end in self.away):
            raise BoardUnreachable("played: no answer", "look at the cable")
        return self

    def poll(self, mark: LogMark | None) -> Observation:
        self.reach()
        now = self.clock.at
        booted = max(boot for boot in self.boots if boot <= now)
        boot = f"boot {booted}"
        since = mark.until if mark and mark.boot_id == boot else booted
        figures = [
            *(WatchedValue(n, WatchedKind.SENSOR, of(now), "°C") for n, of in self.sensors.items()),
            *(WatchedValue(n, WatchedKind.LASTING, of(now)) for n, of in self.lasting.items()),
            *(
                WatchedValue(n, WatchedKind.COUNTER, int(r * (now - booted)))
                for n, r in self.rates.items()
            ),
        ]
        events = tuple(
            WatchEvent(what, text, at, at, 1, "failing")
            for at, what, text in self.log
            if since < at <= now
        )
        after = LogMark(boot, now, 1)
        return Observation(now, boot, now - booted, tuple(figures), events, mark, after)

    def cpu(self) -> float | None:
        return (self.clock.at - MONDAY) * 0.001

    def close(self) -> None:
        self.closed += 1


def play(
    board: PlayedBoard,
    store: Store,
    until: float,
    *,
    every: float = HOUR,
    on_alert: str | None = None,
    name: str = "ssh://played",
    textfile: Path | None = None,
) -> tuple[BoardWatch, list[WatchNotice]]:
    """One ``benchvise watch`` from the clock's time to ``until``; what it said."""
    told: list[WatchNotice] = []
    request = WatchRequest((name,), every, until - board.clock.at, textfile=textfile)
    alarms = Alarms(on_alert)
    watch = BoardWatch(
        name, request, store, default_rules(), board.clock, told.append, alarms, board.reach
    )
    watch.open_first()
    watch.run()
    alarms.close()
    if isinstance(watch.failed, BenchviseError):
        raise watch.failed
    assert watch.failed is None, watch.failed
    return watch, told
