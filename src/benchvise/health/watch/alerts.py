"""Alerts: raised when something is as bad as a rule says, for as long as it says, and cleared only
when it is clearly better again.

The rules ship as ``alerts.toml``; those that users add come on top, and above them those of the
file that a command names.

A rule looks at a level: of a sensor or of a level its value; of counters and events how much they
rose, or how often they happened, within a time. What a rule knows of its subject lies in an
``AlertState``, which outlives the command.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchvise.documents import JsonObject
from benchvise.errors import UsageError
from benchvise.extensions import ALERTS, Extension, load_extensions, usable
from benchvise.health.model import WatchedKind, WatchedValue
from benchvise.quantities import seconds_or_none

# Within the time that a rule looks back, what happened is kept in so many slices at most.
_SLICES = 50
_SUBJECTS = 500
_FORGOTTEN = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class AlertRule:
    """When to raise an alert.

    ``of`` is ``sensor``, ``counter`` (lasting ones too), ``level`` or ``event``; ``match`` are
    patterns of names of values or classes of events, ``text`` one of an event's text (any case).
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

    def covers(self, value: WatchedValue) -> bool:
        """Whether it is about values like this one."""
        kinds = {WatchedKind.SENSOR: "sensor", WatchedKind.LEVEL: "level"}
        return (
            self.of == kinds.get(value.kind, "counter")
            and (not self.unit or self.unit == value.unit)
            and self._matches(value.name)
        )

    def covers_event(self, event: AlertEvent) -> bool:
        """Whether it is about such an event."""
        return (
            self.of == "event"
            and self._matches(event.what)
            and (not self.text or fnmatchcase(event.text.lower(), self.text.lower()))
        )

    def bounds(self, limit: float | None) -> tuple[float, float]:
        """Where it is raised and rearmed for a value with that limit of its own."""
        if limit is None or self.limit is None:
            return self.raise_at, self.rearm
        raised = limit - self.limit
        return raised, raised - abs(self.raise_at - self.rearm)

    def _matches(self, name: str) -> bool:
        return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in self.match)


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An event as rules see it: ``count`` times, the last at ``at``, the newest at ``times``."""

    what: str
    text: str
    count: int
    at: float
    times: tuple[float, ...] = ()

    def amounts(self) -> list[tuple[float, float]]:
        """When it happened how often; what is older than ``times`` counts at the oldest of them."""
        if not self.times:
            return [(self.at, self.count)]
        older = self.count - len(self.times)
        return [(self.times[0], 1.0 + older), *((at, 1.0) for at in self.times[1:])]


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
    values: Sequence[WatchedValue],
    rises: Mapping[str, float],
    events: Sequence[AlertEvent],
) -> tuple[list[Alert], dict[str, AlertState]]:
    """The alerts that begin or end now, and the new states.

    ``rises`` is by how much the counters rose since they were last looked at. A sensor that is not
    among ``values`` is not looked at: its alert stays as it is.
    """
    by_name = {rule.name: rule for rule in rules}
    # What a rule that is gone knew is forgotten, and so is what was quiet for long.
    new = {
        key: state
        for key, state in states.items()
        if key.partition("\n")[0] in by_name
        and (state.raised is not None or now - state.seen < _keeps(by_name[key.partition("\n")[0]]))
    }
    alerts: list[Alert] = []
    for rule in rules:
        for subject, level, bounds, unit, recent in _levels(rule, new, now, values, rises, events):
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
    values: Sequence[WatchedValue],
    rises: Mapping[str, float],
    events: Sequence[AlertEvent],
) -> list[tuple[str, float, tuple[float, float], str, tuple[tuple[float, float], ...]]]:
    """Each subject of the rule with its level, bounds, unit, and what of it is remembered."""
    if rule.of in ("sensor", "level"):
        return [
            (value.name, value.value, rule.bounds(value.limit), value.unit, ())
            for value in values
            if rule.covers(value)
        ]
    added: dict[str, list[tuple[float, float]]] = {}
    units = {}
    for value in values:
        if rule.covers(value) and value.name in rises:
            added[value.name] = [(now, rises[value.name])]
            units[value.name] = value.unit
    for event in events:
        if rule.covers_event(event):
            added.setdefault(event.what, []).extend(event.amounts())
    prefix = f"{rule.name}\n"
    subjects = dict.fromkeys([*added, *(k[len(prefix) :] for k in states if k.startswith(prefix))])
    levels = []
    for subject in subjects:
        before = states.get(prefix + subject, AlertState()).recent
        recent = _remembered(before, now, added.get(subject, []), rule.within)
        level = sum(amount for _, amount in recent)
        bounds = (rule.raise_at, rule.rearm)
        levels.append((subject, level, bounds, units.get(subject, ""), recent))
    return levels


def _remembered(
    recent: Sequence[tuple[float, float]],
    now: float,
    added: Sequence[tuple[float, float]],
    within: float,
) -> tuple[tuple[float, float], ...]:
    """What rose within the time that counts, with what is new, each at its own time.

    The first reading of a log has lines of hours ago: they are not of now.
    """
    slices: list[tuple[float, float]] = []
    errors = [*recent, *((min(at, now), amount) for at, amount in added if amount)]
    for at, amount in sorted(errors):
        if now - at >= within:
            continue
        if slices and at - slices[-1][0] < within / _SLICES:
            slices[-1] = (slices[-1][0], slices[-1][1] + amount)
        else:
            slices.append((at, amount))
    return tuple(slices[-2 * _SLICES :])


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
    value = f"{level:g} {unit}".strip()
    limit = f"{bound:g} {unit}".strip()
    if rule.of in ("sensor", "level"):
        if not raised:
            return f"{subject}: {value} again, after {worst:g} {unit}".strip()
        held = f" for {spell(rule.hold)}" if rule.hold else ""
        way = "at most" if rule.low else "at least"
        return f"{subject}: {value}, {way} {limit}{held}: {rule.why}"
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


# -- reading rules ---------------------------------------------------------------------------------

_DEFAULTS = Path(__file__).with_name("alerts.toml")
_FILE_LIMIT = 1 << 20
_KINDS = ("sensor", "counter", "level", "event")
_KEYS = {
    *("name", "of", "match", "above", "below", "rearm", "for", "within", "limit", "text", "unit"),
    *("why", "remedy", "off"),
}


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a file has: rules, and the names of those that it switches off."""

    rules: tuple[AlertRule, ...]
    off: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that it says something of."""
        return (*(rule.name for rule in self.rules), *self.off)


@cache
def default_rules() -> tuple[AlertRule, ...]:
    """The rules that ship."""
    return _load(_DEFAULTS).rules


@cache
def added_rules() -> tuple[Extension[RuleFile], ...]:
    """What users added; a file that is not right says why."""
    return load_extensions(
        ALERTS, lambda source: (_parse(source.text(), source.name),), lambda file: file.names
    )


def load_rules(path: Path | None) -> tuple[AlertRule, ...]:
    """The rules that ship, with those of users' files: one of the same name takes its place.

    ``path`` is the file that a command names. Raises UsageError that names it, the rule and what is
    wrong with it; an added file that is not right is left out.
    """
    users = [*([] if path is None else [_load(path)]), *usable(added_rules())]
    rules: list[AlertRule] = []
    settled: set[str] = set()
    for file in users:
        rules += (rule for rule in file.rules if rule.name not in settled)
        settled.update(file.names)
    return (*(rule for rule in default_rules() if rule.name not in settled), *rules)


def _load(path: Path) -> RuleFile:
    try:
        if path.stat().st_size > _FILE_LIMIT:
            raise UsageError(f"{path}: over {_FILE_LIMIT >> 20} MiB of rules", "shorten it")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: the rules cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no TOML ({error})", "correct it there") from error
    return _parse(text, str(path))


def _parse(text: str, path: str) -> RuleFile:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML ({error})", "correct it there") from error
    entries = content.get("alert")
    if set(content) - {"alert"} or not isinstance(entries, list):
        raise UsageError(f"{path}: no rules", "write [[alert]] tables, and nothing else")
    rules, off, names = [], [], set()
    for number, entry in enumerate(entries, 1):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or not name or "\n" in name or len(name) > 80:
            raise _wrong(path, f"{number}", "it has no name", 'name = "…", one short line')
        if name in names:
            raise _wrong(path, name, "there are two of that name", "give one another name")
        names.add(name)
        if entry.get("off") is True:
            off.append(name)
        else:
            rules.append(_rule_of(path, name, entry))
    return RuleFile(tuple(rules), tuple(off))


def _rule_of(path: str, name: str, entry: JsonObject) -> AlertRule:
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise _wrong(
            path, name, f"unknown key '{unknown[0]}'", f"known: {', '.join(sorted(_KEYS))}"
        )
    of = entry.get("of")
    if of not in _KINDS:
        raise _wrong(path, name, "it says not what it is of", f"of = one of {', '.join(_KINDS)}")
    if ("above" in entry) == ("below" in entry):
        raise _wrong(path, name, "it needs a threshold", "give above or below, one of them")
    low = "below" in entry
    windowed = of in ("counter", "event")
    if low and windowed:
        raise _wrong(path, name, f"what is of a {of} only rises", "give above")
    if windowed != ("within" in entry):
        needs = "it needs a time" if windowed else "it has no use for a time to look back"
        raise _wrong(path, name, needs, 'within = "7 d" is for counters and events')
    raise_at = _number_of(path, name, entry, "below" if low else "above")
    rearm = _number_of(path, name, entry, "rearm")
    if rearm <= raise_at if low else rearm >= raise_at:
        side = "above" if low else "below"
        raise _wrong(path, name, "it would flutter", f"rearm has to be {side} the threshold")
    return AlertRule(
        name=name,
        of=of,
        match=_patterns(path, name, entry.get("match", "*")),
        raise_at=raise_at,
        rearm=rearm,
        why=_text_of(path, name, entry, "why"),
        remedy=_text_of(path, name, entry, "remedy"),
        low=low,
        hold=_seconds_of(path, name, entry, "for"),
        within=_seconds_of(path, name, entry, "within"),
        limit=_number_of(path, name, entry, "limit") if "limit" in entry else None,
        text=_text_of(path, name, entry, "text"),
        unit=_text_of(path, name, entry, "unit"),
    )


def _patterns(path: str, name: str, value: object) -> tuple[str, ...]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, Sequence) or not all(isinstance(item, str) for item in patterns):
        raise _wrong(path, name, "match is no pattern", 'match = "*crc*", or a list of such')
    return tuple(patterns)


def _number_of(path: str, name: str, entry: JsonObject, key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise _wrong(path, name, f"{key} is no number", f"{key} = 1")
    return float(value)


def _text_of(path: str, name: str, entry: JsonObject, key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise _wrong(path, name, f"{key} is no text", f'{key} = "…"')
    return value


def _seconds_of(path: str, name: str, entry: JsonObject, key: str) -> float:
    if key not in entry:
        return 0.0
    seconds = seconds_or_none(str(entry[key]))
    if seconds is None or not 0 < seconds <= 366 * 86400:
        raise _wrong(path, name, f"{key} is no time", f'{key} = "30 s", "5 min", "12 h" or "7 d"')
    return seconds


def _wrong(path: str, name: str, what: str, remedy: str) -> UsageError:
    return UsageError(f"{path}: alert '{name}': {what}", remedy)
