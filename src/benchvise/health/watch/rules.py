"""The rules for alerts: those that ship, and those of a user's file, which come on top."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchvise.errors import UsageError
from benchvise.health.watch.alerts import AlertRule
from benchvise.quantities import seconds_or_none
from benchvise.text import printable

_DEFAULTS = Path(__file__).with_name("alerts.toml")
_FILE_LIMIT = 1 << 20
_KINDS = ("sensor", "counter", "level", "event")
_KEYS = {
    *("name", "of", "match", "above", "below", "rearm", "for", "within", "limit", "text", "unit"),
    *("why", "remedy", "off"),
}


@cache
def default_rules() -> tuple[AlertRule, ...]:
    """The rules that ship."""
    return _load(_DEFAULTS)[0]


def load_rules(path: Path | None) -> tuple[AlertRule, ...]:
    """The rules that ship, with those of a file: one of the same name takes its place.

    Raises UsageError that names the file, the rule and what is wrong with it.
    """
    if path is None:
        return default_rules()
    own, off = _load(path)
    replaced = {rule.name for rule in own} | off
    return (*(rule for rule in default_rules() if rule.name not in replaced), *own)


def _load(path: Path) -> tuple[tuple[AlertRule, ...], set[str]]:
    try:
        if path.stat().st_size > _FILE_LIMIT:
            raise UsageError(f"{path}: over {_FILE_LIMIT >> 20} MiB of rules", "shorten it")
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path}: the rules cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML ({error})", "correct it there") from error
    entries = content.get("alert")
    if set(content) - {"alert"} or not isinstance(entries, list):
        raise UsageError(f"{path}: no rules", "write [[alert]] tables, and nothing else")
    rules, off, names = [], set(), set()
    for number, entry in enumerate(entries, 1):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or not name or "\n" in name or len(name) > 80:
            raise _wrong(path, f"{number}", "it has no name", 'name = "…", one short line')
        if name in names:
            raise _wrong(path, name, "there are two of that name", "give one another name")
        names.add(name)
        if entry.get("off") is True:
            off.add(name)
        else:
            rules.append(_rule(path, name, entry))
    return tuple(rules), off


def _rule(path: Path, name: str, entry: Mapping[str, Any]) -> AlertRule:
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
    raise_at = _number(path, name, entry, "below" if low else "above")
    rearm = _number(path, name, entry, "rearm")
    if rearm <= raise_at if low else rearm >= raise_at:
        side = "above" if low else "below"
        raise _wrong(path, name, "it would flutter", f"rearm has to be {side} the threshold")
    return AlertRule(
        name=name,
        of=of,
        match=_patterns(path, name, entry.get("match", "*")),
        raise_at=raise_at,
        rearm=rearm,
        why=_text(path, name, entry, "why"),
        remedy=_text(path, name, entry, "remedy"),
        low=low,
        hold=_time(path, name, entry, "for"),
        within=_time(path, name, entry, "within"),
        limit=_number(path, name, entry, "limit") if "limit" in entry else None,
        text=_text(path, name, entry, "text"),
        unit=_text(path, name, entry, "unit"),
    )


def _patterns(path: Path, name: str, value: object) -> tuple[str, ...]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, Sequence) or not all(isinstance(one, str) for one in patterns):
        raise _wrong(path, name, "match is no pattern", 'match = "*crc*", or a list of such')
    return tuple(patterns)


def _number(path: Path, name: str, entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise _wrong(path, name, f"{key} is no number", f"{key} = 1")
    return float(value)


def _text(path: Path, name: str, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise _wrong(path, name, f"{key} is no text", f'{key} = "…"')
    return printable(value, 300)


def _time(path: Path, name: str, entry: Mapping[str, Any], key: str) -> float:
    if key not in entry:
        return 0.0
    seconds = seconds_or_none(str(entry[key]))
    if seconds is None or not 0 < seconds <= 366 * 86400:
        raise _wrong(path, name, f"{key} is no time", f'{key} = "30 s", "5 min", "12 h" or "7 d"')
    return seconds


def _wrong(path: Path, name: str, what: str, remedy: str) -> UsageError:
    return UsageError(f"{path}: alert '{printable(name, 80)}': {what}", remedy)
