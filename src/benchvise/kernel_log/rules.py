"""The rules by which lines of the kernel log are told apart, read from the TOML files in ``rules``.

A file holds classes, a class its rules. A line belongs to the first rule that it matches: files in
the order of their names, rules in their order there. So what is special stands before what is
general. A rule is only tried on a line that has one of its ``words``, so that a log of thousands of
lines costs little.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.kernel_log.lines import LENGTH


class Severity(Enum):
    """How bad a line is for the board that says it."""

    FAILING = "failing"
    """Data is lost, or something is broken or about to be."""
    WARNING = "warning"
    """It works, but slower or less surely than it should."""
    NOTE = "note"
    """Good to know; ordinary on many boards."""


@dataclass(frozen=True, slots=True)
class LogRule:
    """A kind of line. ``pattern`` names what it takes out of it: ``device``, ``port``, numbers.

    ``lines`` are real ones that it matches, ``near`` such that look alike and must not.
    """

    id: str
    log_class: str
    title: str
    severity: Severity
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    explanation: str
    remedy: str
    lines: tuple[str, ...]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogClass:
    """Rules about the same part of a board. ``families`` of benchmarks can be disturbed by it, as
    the catalogue of state calls them; none means all."""

    name: str
    summary: str
    families: tuple[str, ...]
    rules: tuple[LogRule, ...]


@dataclass(frozen=True, slots=True)
class LogMatch:
    """What a line says: its rule, the device it is about ("" where it names none), and what else
    was taken out of it."""

    rule: LogRule
    device: str
    values: Mapping[str, str]


class RuleError(Exception):
    """A rule is wrong: a mistake in Benchvise, found by its tests."""


@cache
def classes() -> tuple[LogClass, ...]:
    """All classes, in the order in which their rules are tried."""
    found = [
        _class(record, path.name)
        for path in sorted(files(__package__).joinpath("rules").iterdir(), key=lambda p: p.name)
        if path.name.endswith(".toml")
        for record in tomllib.loads(path.read_text(encoding="utf-8"))["class"]
    ]
    ids = [rule.id for one in found for rule in one.rules]
    names = [one.name for one in found]
    if twice := sorted({x for x in [*ids, *names] if ids.count(x) > 1 or names.count(x) > 1}):
        raise RuleError(f"there twice: {', '.join(twice)}")
    return tuple(found)


@cache
def rules() -> tuple[LogRule, ...]:
    """All rules in the order in which they are tried."""
    return tuple(rule for one in classes() for rule in one.rules)


def classify(text: str) -> LogMatch | None:
    """What a line (without what stands in front of its text) says; None where no rule knows it."""
    text = text[:LENGTH]
    low = text.lower()
    for rule in rules():
        if any(word in low for word in rule.words):
            match = rule.pattern.search(text)
            if match is not None:
                found = {name: value for name, value in match.groupdict().items() if value}
                return LogMatch(rule, found.pop("device", ""), found)
    return None


def by_id(rule: str) -> LogRule:
    """The rule of that id; raises KeyError."""
    return _by_id()[rule]


@cache
def _by_id() -> Mapping[str, LogRule]:
    return {rule.id: rule for rule in rules()}


# -- reading ---------------------------------------------------------------------------------------

_CLASS_FIELDS = {"name", "summary", "families", "rule"}
_RULE_FIELDS = {
    *("id", "title", "severity", "words", "pattern"),
    *("explanation", "remedy", "lines", "near"),
}


def _class(record: Mapping[str, Any], file: str) -> LogClass:
    where = f"{file}: class {record.get('name')}"
    if set(record) != _CLASS_FIELDS:
        raise RuleError(f"{where}: its fields are {', '.join(sorted(_CLASS_FIELDS))}")
    return LogClass(
        name=record["name"],
        summary=record["summary"],
        families=tuple(record["families"]),
        rules=tuple(_rule(rule, record["name"], where) for rule in record["rule"]),
    )


def _rule(record: Mapping[str, Any], log_class: str, where: str) -> LogRule:
    where = f"{where}, rule {record.get('id')}"
    if set(record) != _RULE_FIELDS:
        raise RuleError(f"{where}: its fields are {', '.join(sorted(_RULE_FIELDS))}")
    try:
        pattern = re.compile(record["pattern"], re.IGNORECASE)
        severity = Severity(record["severity"])
    except (re.error, ValueError) as error:
        raise RuleError(f"{where}: {error}") from error
    words = _texts(record["words"])
    if not words or any(word != word.lower() for word in words):
        raise RuleError(f"{where}: words are in lower case, at least one")
    return LogRule(
        id=record["id"],
        log_class=log_class,
        title=record["title"],
        severity=severity,
        words=words,
        pattern=pattern,
        explanation=record["explanation"],
        remedy=record["remedy"],
        lines=_texts(record["lines"]),
        near=_texts(record["near"]),
    )


def _texts(given: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in given)
