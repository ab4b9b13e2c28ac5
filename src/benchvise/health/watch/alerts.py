"""Alerts: raised when something is as bad as a rule says, for as long as it says, and cleared only
when it is clearly better again.

A rule looks at a level: of a sensor or of a level its value; of counters and events how much they
rose, or how often they happened, within a time. What a rule knows of its subject lies in an
``AlertState``, which outlives the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from benchvise.health.watch.observation import WatchedKind, WatchedValue

# Within the time that a rule looks back, what happened is kept in so many slices at most.
_SLICES = 50
_SUBJECTS = 500
_FORGOTTEN = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class AlertRule:
    """When to raise an alert.

    ``of`` is ``sensor``, ``counter`` (lasting ones too), ``level`` or ``event``; ``match`` are
    patterns of names of figures or classes of events, ``text`` one of an event's text (any case).
    ``raise_at`` is the level that raises, ``rearm`` that from which it may be raised again: below
    it, or above it for a rule that is raised by low values (``low``). The level has to hold for
    ``hold`` seconds; rises and events count for ``within`` seconds. ``limit`` is for sensors that
    know their own limit: they are raised so far below that instead.
    """

    name: str
    of: str
    match: tuple[str, ...]
    raise_at: float
    rearm: float
    why: str
    remedy: str
    low: bool = False
    hold: float = 0.0
    within: float = 0.0
    limit: float | None = None
    text: str = ""
    unit: str = ""

    def covers(self, figure: WatchedValue) -> bool:
        """Whether it is about figures like this one."""
        kinds = {WatchedKind.SENSOR: "sensor", WatchedKind.LEVEL: "level"}
        return (
            self.of == kinds.get(figure.kind, "counter")
            and (not self.unit or self.unit == figure.unit)
            and self._matches(figure.name)
        )

    def covers_event(self, happening: AlertEvent) -> bool:
        """Whether it is about such an event."""
        return (
            self.of == "event"
            and self._matches(happening.what)
            and (not self.text or fnmatchcase(happening.text.lower(), self.text.lower()))
        )

    def bounds(self, limit: float | None) -> tuple[float, float]:
        """Where it is raised and rearmed for a figure with that limit of its own."""
        if limit is None or self.limit is None:
            return self.raise_at, self.rearm
        raised = limit - self.limit
        return raised, raised - abs(self.raise_at - self.rearm)

    def _matches(self, name: str) -> bool:
        return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in self.match)


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An event as rules see it."""

    what: str
    text: str
    count: int
    at: float


class AlertState(NamedTuple):
    """What a rule knows of a subject: since when it is bad, since when the alert is raised (both
    None when not), the worst level since, and what rose when."""

    bad_since: float | None = None
    raised: float | None = None
    worst: float = 0.0
    recent: tuple[tuple[float, float], ...] = ()
    seen: float = 0.0


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that was raised or, when not ``raised``, is over.

    ``level`` is what raised or cleared it, ``bound`` what it was held against, ``worst`` the worst
    level while it lasted.
    """

    rule: str
    subject: str
    raised: bool
    at: float
    level: float
    bound: float
    worst: float
    unit: str
    sentence: str
    remedy: str


def evaluate(
    rules: Sequence[AlertRule],
    states: Mapping[str, AlertState],
    now: float,
    figures: Sequence[WatchedValue],
    rises: Mapping[str, float],
    happenings: Sequence[AlertEvent],
) -> tuple[list[Alert], dict[str, AlertState]]:
    """The alerts that begin or end now, and the new states.

    ``rises`` is by how much the counters rose since they were last looked at. A sensor that is not
    among ``figures`` is not looked at: its alert stays as it is.
    """
    known = {rule.name: rule for rule in rules}
    # What a rule that is gone knew is forgotten, and so is what was quiet for long.
    new = {
        key: state
        for key, state in states.items()
        if key.partition("\n")[0] in known
        and (state.raised is not None or now - state.seen < _keeps(known[key.partition("\n")[0]]))
    }
    alerts: list[Alert] = []
    for rule in rules:
        for subject, level, bounds, unit, recent in _levels(
            rule, new, now, figures, rises, happenings
        ):
            key = f"{rule.name}\n{subject}"
            if key not in new and len(new) >= _SUBJECTS:
                continue
            state = new.get(key, AlertState())._replace(recent=recent)
            alert, state = _judge(rule, subject, state, now, level, bounds, unit)
            if alert is not None:
                alerts.append(alert)
            if state == AlertState(worst=state.worst, seen=state.seen):
                new.pop(key, None)
            else:
                new[key] = state._replace(seen=now)
    return alerts, new


def _keeps(rule: AlertRule) -> float:
    return max(rule.within, rule.hold, _FORGOTTEN)


def _levels(
    rule: AlertRule,
    states: Mapping[str, AlertState],
    now: float,
    figures: Sequence[WatchedValue],
    rises: Mapping[str, float],
    happenings: Sequence[AlertEvent],
) -> list[tuple[str, float, tuple[float, float], str, tuple[tuple[float, float], ...]]]:
    """Each subject of the rule with its level, bounds, unit, and what of it is remembered."""
    if rule.of in ("sensor", "level"):
        return [
            (figure.name, figure.value, rule.bounds(figure.limit), figure.unit, ())
            for figure in figures
            if rule.covers(figure)
        ]
    added: dict[str, float] = {}
    units = {}
    for figure in figures:
        if rule.covers(figure) and figure.name in rises:
            added[figure.name] = rises[figure.name]
            units[figure.name] = figure.unit
    for happening in happenings:
        if rule.covers_event(happening):
            added[happening.what] = added.get(happening.what, 0.0) + happening.count
    prefix = f"{rule.name}\n"
    subjects = dict.fromkeys([*added, *(k[len(prefix) :] for k in states if k.startswith(prefix))])
    found = []
    for subject in subjects:
        before = states.get(prefix + subject, AlertState()).recent
        recent = _remembered(before, now, added.get(subject, 0.0), rule.within)
        level = sum(amount for _, amount in recent)
        bounds = (rule.raise_at, rule.rearm)
        found.append((subject, level, bounds, units.get(subject, ""), recent))
    return found


def _remembered(
    recent: Sequence[tuple[float, float]], now: float, added: float, within: float
) -> tuple[tuple[float, float], ...]:
    """What rose within the time that counts, with what is new."""
    kept = [(at, amount) for at, amount in recent if now - at < within]
    if added:
        if kept and now - kept[-1][0] < within / _SLICES:
            kept[-1] = (kept[-1][0], kept[-1][1] + added)
        else:
            kept.append((now, added))
    return tuple(kept[-2 * _SLICES :])


def _judge(
    rule: AlertRule,
    subject: str,
    state: AlertState,
    now: float,
    level: float,
    bounds: tuple[float, float],
    unit: str,
) -> tuple[Alert | None, AlertState]:
    """Whether the alert begins or ends now."""
    raise_at, rearm = bounds
    bad = level <= raise_at if rule.low else level >= raise_at
    good = level >= rearm if rule.low else level <= rearm
    if state.raised is not None:
        worst = min(state.worst, level) if rule.low else max(state.worst, level)
        if not good:
            return None, state._replace(worst=worst)
        alert = _alert(rule, subject, False, now, level, rearm, worst, unit)
        return alert, state._replace(raised=None, bad_since=None, worst=level)
    if not bad:
        return None, state._replace(bad_since=None, worst=level)
    since = now if state.bad_since is None else state.bad_since
    if now - since < rule.hold:
        return None, state._replace(bad_since=since, worst=level)
    alert = _alert(rule, subject, True, now, level, raise_at, level, unit)
    return alert, state._replace(bad_since=since, raised=now, worst=level)


def _alert(
    rule: AlertRule,
    subject: str,
    raised: bool,
    now: float,
    level: float,
    bound: float,
    worst: float,
    unit: str,
) -> Alert:
    sentence = _sentence(rule, subject, raised, level, bound, worst, unit)
    return Alert(rule.name, subject, raised, now, level, bound, worst, unit, sentence, rule.remedy)


def _sentence(
    rule: AlertRule, subject: str, raised: bool, level: float, bound: float, worst: float, unit: str
) -> str:
    shown = f"{level:g} {unit}".strip()
    limit = f"{bound:g} {unit}".strip()
    if rule.of in ("sensor", "level"):
        if not raised:
            return f"{subject}: {shown} again, after {worst:g} {unit}".strip()
        held = f" for {spell(rule.hold)}" if rule.hold else ""
        way = "at most" if rule.low else "at least"
        return f"{subject}: {shown}, {way} {limit}{held}: {rule.why}"
    if rule.of == "counter":
        if not raised:
            return f"{subject}: rose by {level:g} within {spell(rule.within)}, no longer {worst:g}"
        return f"{subject}: rose by {level:g} within {spell(rule.within)}: {rule.why}"
    if not raised:
        return f"{subject}: {level:g} times within {spell(rule.within)}, no longer {worst:g}"
    times = "once" if level == 1 else f"{level:g} times"
    return f"{subject}: {times} within {spell(rule.within)}: {rule.why}"


def spell(seconds: float) -> str:
    """``90 s``, ``5 min``, ``7 d``: a time in its largest whole unit."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
