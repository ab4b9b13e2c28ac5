"""From one reading of a board to the next: what counted up, what is new in the log, what it means.

Pure: what is remembered between two readings is a ``WatchMemory``, which the store keeps with what
came of them in one transaction. So a watch that was killed goes on where it was, and two of them on
one board count nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import NamedTuple

from benchvise.documents import JsonObject, decode
from benchvise.health.model import LogMark, Observation, WatchedKind, WatchedValue, WatchEvent
from benchvise.health.watch.alerts import Alert, AlertEvent, AlertRule, AlertState, evaluate

RANGE_SECONDS = 1800.0
"""For how long the readings of a sensor become one range, while they differ."""

REBOOTED = "rebooted"
COUNTER_RESET = "counter began anew"
BEYOND = "further lines"
"""The text of the row that counts what was too much for an hour."""

# Boards that do not name their boots: an uptime that is this much short is another boot's.
_UPTIME_SLACK = 30.0
_EVENTS_A_LOOK = 200
_FIGURES = 2000
_KEPT_SECONDS = 90 * 86400.0


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """A figure is not what it was: it rose by ``delta`` after ``since``, at ``at`` at the latest.

    The first one of a figure has no ``delta``: what was before is not known. ``anew`` where the
    counter began at 0 in between: what it lost with that is not known.
    """

    name: str
    since: float
    at: float
    value: float
    delta: float | None
    anew: bool = False


class SensorRange(NamedTuple):
    """What a sensor read from ``began`` to ``until``: lowest, highest, and the sum of readings."""

    began: float
    until: float
    readings: int
    low: float
    high: float
    total: float

    def with_value(self, at: float, value: float) -> SensorRange:
        """With one reading more."""
        return SensorRange(self.began, at, self.readings + 1, min(self.low, value),
                     max(self.high, value), self.total + value)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WatchMemory:
    """What is remembered of a board between two looks.

    ``values`` are the figures as last seen, with the time; ``ranges`` those of sensors that are
    still open. ``mark`` is up to where the kernel log was read.
    """

    at: float = 0.0
    boot: str = ""
    uptime: float | None = None
    mark: LogMark | None = None
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ranges: Mapping[str, SensorRange] = field(default_factory=dict)
    alerts: Mapping[str, AlertState] = field(default_factory=dict)


def memory_of(document: JsonObject) -> WatchMemory:
    """The memory of a stored document; ValueError when it is none.

    A mark that cannot be read, as other versions write others, counts as none: the kernel log is
    then read from its beginning.
    """
    try:
        decode(WatchMemory, {"mark": document.get("mark")})
    except ValueError:
        document = {**document, "mark": None}
    return decode(WatchMemory, document)


@dataclass(frozen=True, slots=True)
class WatchStep:
    """What came of one look, to be kept with the new ``memory``.

    ``named`` are the values that are new. ``ranges`` are those that are complete.
    """

    memory: WatchMemory
    named: tuple[WatchedValue, ...] = ()
    changes: tuple[WatchedChange, ...] = ()
    ranges: tuple[tuple[str, SensorRange], ...] = ()
    events: tuple[WatchEvent, ...] = ()
    alerts: tuple[Alert, ...] = ()
    rebooted: bool = False


def advance(
    memory: WatchMemory, seen: Observation, rules: Sequence[AlertRule], longest: float
) -> WatchStep:
    """The next step from what was remembered and what is seen now.

    Between looks that are more than ``longest`` seconds apart there is a gap: ranges end there.
    """
    if 0 <= memory.at - seen.at < longest:  # another watch of this board was faster
        return WatchStep(memory)  # (and where it is more, the host's clock was set back)
    figures = tuple(figure for figure in seen.figures[:_FIGURES] if isfinite(figure.value))
    rebooted = _rebooted(memory, seen)
    changes = tuple(_changes(memory, seen.at, figures, rebooted))
    ended, ranges = _ranges(memory, seen.at, figures, longest)
    events = [*_around(memory, seen, changes, figures, rebooted), *_logged(memory, seen)]
    alerts, states = evaluate(
        rules,
        memory.alerts,
        seen.at,
        figures,
        {change.name: change.delta for change in changes if change.delta},
        [AlertEvent(event.what, event.text, event.count, event.last) for event in events],
    )
    now = WatchMemory(
        at=seen.at,
        boot=seen.boot,
        uptime=seen.uptime,
        mark=seen.mark if seen.mark_before == memory.mark else memory.mark,
        values=_values(memory, seen.at, figures),
        ranges=ranges,
        alerts=states,
    )
    named = tuple(figure for figure in figures if figure.name not in memory.values)
    return WatchStep(now, named, changes, tuple(ended), tuple(events), tuple(alerts), rebooted)


def note(memory: WatchMemory, event: WatchEvent, rules: Sequence[AlertRule]) -> WatchStep:
    """The step of something that the watch itself met, such as a connection that is lost."""
    happening = AlertEvent(event.what, event.text, event.count, event.last)
    alerts, states = evaluate(rules, memory.alerts, event.last, (), {}, [happening])
    return WatchStep(replace(memory, alerts=states), events=(event,), alerts=tuple(alerts))


def _values(
    memory: WatchMemory, at: float, figures: Sequence[WatchedValue]
) -> dict[str, tuple[float, float]]:
    """What the figures are; a device that is off for a while is known again when it comes back."""
    values = {name: one for name, one in memory.values.items() if at - one[1] < _KEPT_SECONDS}
    for figure in figures:
        values.pop(figure.name, None)  # the oldest stand first
        values[figure.name] = (figure.value, at)
    return dict(list(values.items())[-2 * _FIGURES :])


def _rebooted(memory: WatchMemory, seen: Observation) -> bool:
    if not memory.at:
        return False
    if memory.boot and seen.boot:
        return memory.boot != seen.boot
    if memory.uptime is None or seen.uptime is None:
        return False
    return seen.uptime + _UPTIME_SLACK < memory.uptime + (seen.at - memory.at)


def _changes(
    memory: WatchMemory, at: float, figures: Sequence[WatchedValue], rebooted: bool
) -> list[WatchedChange]:
    found = []
    for figure in figures:
        if figure.kind is WatchedKind.SENSOR:
            continue
        before = memory.values.get(figure.name)
        change = _change(figure, before, at, rebooted)
        if change is not None:
            found.append(change)
    return found


def _change(
    figure: WatchedValue, before: tuple[float, float] | None, at: float, rebooted: bool
) -> WatchedChange | None:
    """How a figure differs from what it was; None where it does not."""
    if before is None:
        return WatchedChange(figure.name, at, at, figure.value, None)
    value, since = before[0], min(before[1], at)
    if figure.kind is WatchedKind.LEVEL:
        anew, delta = False, figure.value - value
    elif figure.kind is WatchedKind.COUNTER and (rebooted or figure.value < value):
        # Counted from 0 since. What was counted between the last look and the end is lost.
        anew, delta = value > 0 or figure.value > 0, figure.value
    elif figure.value < value:  # a lasting one: another device, of which nothing is known
        return WatchedChange(figure.name, since, at, figure.value, None, anew=True)
    else:
        anew, delta = False, figure.value - value
    if not delta and figure.value == value:
        return None
    return WatchedChange(figure.name, since, at, figure.value, delta, anew)


def _ranges(
    memory: WatchMemory, at: float, figures: Sequence[WatchedValue], longest: float
) -> tuple[list[tuple[str, SensorRange]], dict[str, SensorRange]]:
    """The ranges that are complete, and those that are open now.

    One whose readings are all the same stays open however long: what is unchanged is not written
    again.
    """
    ended: list[tuple[str, SensorRange]] = []
    still = dict(memory.ranges)
    for figure in figures:
        if figure.kind is not WatchedKind.SENSOR:
            continue
        value = figure.value
        open_one = still.get(figure.name)
        if open_one is not None:
            steady = open_one.low == open_one.high == value
            young = at - open_one.began < RANGE_SECONDS
            if 0 <= at - open_one.until <= longest and (steady or young):
                still[figure.name] = open_one.with_value(at, value)
                continue
            ended.append((figure.name, open_one))
        still[figure.name] = SensorRange(at, at, 1, value, value, value)
    for name, one in list(still.items()):
        if abs(at - one.until) > longest:  # the sensor is gone
            ended.append((name, still.pop(name)))
    return ended, still


def _logged(memory: WatchMemory, seen: Observation) -> list[WatchEvent]:
    """What the log says that is not known yet; what is too much for one look is only counted.

    Where another watch of this board continued at the same mark meanwhile, it has all of it.
    """
    if seen.mark_before != memory.mark:
        return []
    events = [
        replace(event, at=min(event.at, seen.at), last=min(event.last, seen.at))
        for event in sorted(seen.events, key=lambda event: event.at)
    ]
    kept = events[:_EVENTS_A_LOOK]
    for event in events[_EVENTS_A_LOOK:]:
        like = WatchEvent(event.what, BEYOND, event.at, event.last, event.count, event.severity)
        if kept[-1].what == event.what and kept[-1].text == BEYOND:
            like = replace(like, at=kept[-1].at, count=kept[-1].count + event.count)
            kept.pop()
        kept.append(like)
    return kept


def _around(
    memory: WatchMemory,
    seen: Observation,
    changes: Sequence[WatchedChange],
    figures: Sequence[WatchedValue],
    rebooted: bool,
) -> list[WatchEvent]:
    """What is known from the look itself: a reboot, counters that began anew without one."""
    events = []
    if rebooted:
        # When it was: between the last look and when the uptime began.
        at = seen.at - seen.uptime if seen.uptime is not None else seen.at
        at = min(max(at, memory.at), seen.at)
        events.append(WatchEvent(REBOOTED, "the board was booted anew", at, at, 1, "warning"))
    kinds = {figure.name: figure.kind for figure in figures}
    for change in changes:
        if change.anew and not (rebooted and kinds[change.name] is WatchedKind.COUNTER):
            was = memory.values[change.name][0]
            text = f"{change.name} went from {was:g} to {change.value:g}"
            events.append(WatchEvent(COUNTER_RESET, text, change.at, change.at, 1, "note"))
    return events
