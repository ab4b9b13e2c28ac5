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
_EVENTS_A_POLL = 200
_VALUES_LIMIT = 2000
_KEPT_SECONDS = 90 * 86400.0


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """A value is not what it was: it rose by ``delta`` after ``since``, at ``at`` at the latest.

    The first one of a value has no ``delta``: what was before is not known. ``anew`` where the
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
    """What is remembered of a board between two polls.

    ``values`` are those of the last poll, with the time; ``ranges`` those of sensors that are still
    open. ``mark`` is up to where the kernel log was read.
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
    """What came of one poll, to be kept with the new ``memory``.

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
    memory: WatchMemory, observation: Observation, rules: Sequence[AlertRule], longest: float
) -> WatchStep:
    """The next step from what was remembered and what this poll has seen.

    Between polls that are more than ``longest`` seconds apart there is a gap: ranges end there.
    """
    if 0 <= memory.at - observation.at < longest:  # another watch of this board was faster
        return WatchStep(memory)  # (and where it is more, the host's clock was set back)
    readings = tuple(
        reading for reading in observation.values[:_VALUES_LIMIT] if isfinite(reading.value)
    )
    rebooted = _rebooted(memory, observation)
    changes = tuple(_changes(memory, observation.at, readings, rebooted))
    ended, ranges = _ranges(memory, observation.at, readings, longest)
    events = [
        *_around(memory, observation, changes, readings, rebooted),
        *_logged(memory, observation),
    ]
    alerts, states = evaluate(
        rules,
        memory.alerts,
        observation.at,
        readings,
        {change.name: change.delta for change in changes if change.delta},
        [
            AlertEvent(event.what, event.text, event.count, event.last, event.times)
            for event in events
        ],
    )
    now = WatchMemory(
        at=observation.at,
        boot=observation.boot,
        uptime=observation.uptime,
        mark=observation.mark if observation.mark_before == memory.mark else memory.mark,
        values=_values(memory, observation.at, readings),
        ranges=ranges,
        alerts=states,
    )
    named = tuple(reading for reading in readings if reading.name not in memory.values)
    return WatchStep(now, named, changes, tuple(ended), tuple(events), tuple(alerts), rebooted)


def note(memory: WatchMemory, event: WatchEvent, rules: Sequence[AlertRule]) -> WatchStep:
    """The step of something that the watch itself met, such as a connection that is lost."""
    happening = AlertEvent(event.what, event.text, event.count, event.last)
    alerts, states = evaluate(rules, memory.alerts, event.last, (), {}, [happening])
    return WatchStep(replace(memory, alerts=states), events=(event,), alerts=tuple(alerts))


def _values(
    memory: WatchMemory, at: float, readings: Sequence[WatchedValue]
) -> dict[str, tuple[float, float]]:
    """Values with their time; a device that is off for a while is known again when it is back."""
    values = {name: entry for name, entry in memory.values.items() if at - entry[1] < _KEPT_SECONDS}
    for reading in readings:
        values.pop(reading.name, None)  # the oldest stand first
        values[reading.name] = (reading.value, at)
    return dict(list(values.items())[-2 * _VALUES_LIMIT :])


def _rebooted(memory: WatchMemory, observation: Observation) -> bool:
    if not memory.at:
        return False
    if memory.boot and observation.boot:
        return memory.boot != observation.boot
    if memory.uptime is None or observation.uptime is None:
        return False
    return observation.uptime + _UPTIME_SLACK < memory.uptime + (observation.at - memory.at)


def _changes(
    memory: WatchMemory, at: float, readings: Sequence[WatchedValue], rebooted: bool
) -> list[WatchedChange]:
    changes = []
    for reading in readings:
        if reading.kind is WatchedKind.SENSOR:
            continue
        before = memory.values.get(reading.name)
        change = _change(reading, before, at, rebooted)
        if change is not None:
            changes.append(change)
    return changes


def _change(
    reading: WatchedValue, before: tuple[float, float] | None, at: float, rebooted: bool
) -> WatchedChange | None:
    """How a value differs from what it was; None where it does not."""
    if before is None:
        return WatchedChange(reading.name, at, at, reading.value, None)
    value, since = before[0], min(before[1], at)
    if reading.kind is WatchedKind.LEVEL:
        anew, delta = False, reading.value - value
    elif reading.kind is WatchedKind.COUNTER and (rebooted or reading.value < value):
        # Counted from 0 since. What was counted between the last poll and the end is lost.
        anew, delta = value > 0 or reading.value > 0, reading.value
    elif reading.value < value:  # a lasting one: another device, of which nothing is known
        return WatchedChange(reading.name, since, at, reading.value, None, anew=True)
    else:
        anew, delta = False, reading.value - value
    if not delta and reading.value == value:
        return None
    return WatchedChange(reading.name, since, at, reading.value, delta, anew)


def _ranges(
    memory: WatchMemory, at: float, readings: Sequence[WatchedValue], longest: float
) -> tuple[list[tuple[str, SensorRange]], dict[str, SensorRange]]:
    """The ranges that are complete, and those that are open now.

    One whose readings are all the same stays open however long: what is unchanged is not written
    again.
    """
    ended: list[tuple[str, SensorRange]] = []
    unfinished = dict(memory.ranges)
    for reading in readings:
        if reading.kind is not WatchedKind.SENSOR:
            continue
        value = reading.value
        open_range = unfinished.get(reading.name)
        if open_range is not None:
            steady = open_range.low == open_range.high == value
            young = at - open_range.began < RANGE_SECONDS
            if 0 <= at - open_range.until <= longest and (steady or young):
                unfinished[reading.name] = open_range.with_value(at, value)
                continue
            ended.append((reading.name, open_range))
        unfinished[reading.name] = SensorRange(at, at, 1, value, value, value)
    for name, unended in list(unfinished.items()):
        if abs(at - unended.until) > longest:  # the sensor is gone
            ended.append((name, unfinished.pop(name)))
    return ended, unfinished


def _logged(memory: WatchMemory, observation: Observation) -> list[WatchEvent]:
    """What the log says that is not known yet; what is too much for one poll is only counted.

    Where another watch of this board continued at the same mark meanwhile, it has all of it.
    """
    if observation.mark_before != memory.mark:
        return []
    events = [
        replace(event, at=min(event.at, observation.at), last=min(event.last, observation.at))
        for event in sorted(observation.events, key=lambda event: event.at)
    ]
    kept = events[:_EVENTS_A_POLL]
    for event in events[_EVENTS_A_POLL:]:
        like = WatchEvent(event.what, BEYOND, event.at, event.last, event.count, event.severity)
        if kept[-1].what == event.what and kept[-1].text == BEYOND:
            like = replace(like, at=kept[-1].at, count=kept[-1].count + event.count)
            kept.pop()
        kept.append(like)
    return kept


def _around(
    memory: WatchMemory,
    observation: Observation,
    changes: Sequence[WatchedChange],
    readings: Sequence[WatchedValue],
    rebooted: bool,
) -> list[WatchEvent]:
    """What is known from the poll itself: a reboot, counters that began anew without one."""
    events = []
    if rebooted:
        # When it was: between the last poll and when the uptime began.
        at = (
            observation.at - observation.uptime
            if observation.uptime is not None
            else observation.at
        )
        at = min(max(at, memory.at), observation.at)
        events.append(WatchEvent(REBOOTED, "the board was booted anew", at, at, 1, "warning"))
    kinds = {reading.name: reading.kind for reading in readings}
    for change in changes:
        if change.anew and not (rebooted and kinds[change.name] is WatchedKind.COUNTER):
            was = memory.values[change.name][0]
            text = f"{change.name} went from {was:g} to {change.value:g}"
            events.append(WatchEvent(COUNTER_RESET, text, change.at, change.at, 1, "note"))
    return events
