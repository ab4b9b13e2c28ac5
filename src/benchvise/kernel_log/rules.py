"""Lines of a kernel log and what they mean, by the rules of the TOML files in ``rules``.

A file of rules holds classes, a class its rules. A line belongs to the first rule that it matches:
files in the order of their names, rules in their order there. So what is special stands before what
is general. A rule is only tried on a line that has one of its ``words``, so that a log of thousands
of lines costs little.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files

from benchvise.documents import JsonObject, array_at, text_at, texts_at
from benchvise.extensions import (
    KERNEL_LOG,
    Extension,
    ExtensionError,
    ExtensionSource,
    load_extensions,
    usable,
)
from benchvise.kernel_log.devices import device_of, is_function, plain_device
from benchvise.kernel_log.lines import LENGTH
from benchvise.kernel_log.ordinary import is_statement, without_zeros

# -- rules -----------------------------------------------------------------------------------------


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
    """A kind of line. ``expression`` names what it takes out of it: ``device``, ``port``, numbers.

    ``lines`` are real ones that it matches, ``near`` such that look alike and must not. ``more``
    knows the lines that tell more of an event that this rule found just before: they are no event
    of their own, whatever rule would take them.
    """

    id: str
    log_class: str
    title: str
    severity: Severity
    words: tuple[str, ...]
    expression: str
    explanation: str
    remedy: str
    lines: tuple[str, ...]
    near: tuple[str, ...]
    more: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a line first has one of the words: few logs meet many."""
        try:
            return _compiled(self.expression)
        except re.error as error:
            raise RuleError(f"rule {self.id}: {error}") from error

    def goes_on(self, text: str) -> bool:
        """Whether a line tells more of an event of this rule, where one came just before it."""
        return bool(self.more) and _compiled(self.more).search(text) is not None


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
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


@cache
def shipped_log_classes() -> tuple[LogClass, ...]:
    """The classes that Benchvise brings, in the order in which their rules are tried."""
    log_classes = [
        _log_class(record, path.name)
        for path in sorted(files(__package__).joinpath("rules").iterdir(), key=lambda p: p.name)
        if path.name.endswith(".toml")
        for record in tomllib.loads(path.read_text(encoding="utf-8"))["class"]
    ]
    _check_names(log_classes)
    return tuple(log_classes)


@cache
def added_log_classes() -> tuple[Extension[LogClass], ...]:
    """What users added; a file that is not right says why."""
    shipped = {rule.id for log_class in shipped_log_classes() for rule in log_class.rules}
    return load_extensions(KERNEL_LOG, _added, _rule_ids, shipped)


def _added(source: ExtensionSource) -> tuple[LogClass, ...]:
    try:
        records = tomllib.loads(source.text()).get("class", [])
        classes = tuple(_log_class(record, source.name) for record in records)
        _check_names([*classes, *shipped_log_classes()])
        for rule in (rule for log_class in classes for rule in log_class.rules):
            _check_examples(rule)
    except (RuleError, ValueError, TypeError, AttributeError) as error:
        raise ExtensionError(f"no file of kernel-log rules: {error}") from error
    return classes


def _rule_ids(log_class: LogClass) -> tuple[str, ...]:
    return tuple(rule.id for rule in log_class.rules)


@cache
def log_classes() -> tuple[LogClass, ...]:
    """All classes, in the order in which their rules are tried: what users added stands first, as
    it is more special."""
    return (*usable(added_log_classes()), *shipped_log_classes())


def _check_names(log_classes: Sequence[LogClass]) -> None:
    names = Counter(log_class.name for log_class in log_classes)
    ids = Counter(rule.id for log_class in log_classes for rule in log_class.rules)
    if repeated := sorted(name for name, count in [*names.items(), *ids.items()] if count > 1):
        raise RuleError(f"there twice: {', '.join(repeated)}")


def _check_examples(rule: LogRule) -> None:
    """A rule matches its own lines, and none that is only near."""
    for line in rule.lines:
        if not any(word in line.lower() for word in rule.words) or not rule.pattern.search(line):
            raise RuleError(f"rule {rule.id} does not match its line {line[:60]!r}")
    for line in rule.near:
        if any(word in line.lower() for word in rule.words) and rule.pattern.search(line):
            raise RuleError(f"rule {rule.id} matches what is only near: {line[:60]!r}")


@cache
def log_rules() -> tuple[LogRule, ...]:
    """All rules in the order in which they are tried."""
    return tuple(rule for log_class in log_classes() for rule in log_class.rules)


@cache
def _all_words() -> frozenset[str]:
    """Those of all rules, each once: a line is looked through for them once, not once a rule."""
    return frozenset(word for rule in log_rules() for word in rule.words)


@lru_cache(maxsize=4096)
def classify(text: str) -> LogMatch | None:
    """What a line (without what stands in front of its text) says; None where no rule matches.

    A log is read more than once, before and after a run: most of its lines are the same.
    """
    text = without_zeros(text[:LENGTH])
    low = text.lower()
    present = {word for word in _all_words() if word in low}
    if not present or is_statement(text):
        return None
    for rule in log_rules():
        if not present.isdisjoint(rule.words):
            match = rule.pattern.search(text)
            if match is not None:
                values = {name: value for name, value in match.groupdict().items() if value}
                # A pattern with alternatives names the second one "other".
                named = values.pop("device", "") or values.pop("other", "")
                device = "" if named and not is_function(named) else device_of(text)
                return LogMatch(rule, device or plain_device(named), values)
    return None


# -- reading ---------------------------------------------------------------------------------------

_CLASS_FIELDS = {"name", "summary", "families", "rule"}
_RULE_FIELDS = {
    *("id", "title", "severity", "words", "pattern"),
    *("explanation", "remedy", "lines", "near"),
}
_OPTIONAL = {"more"}


def _log_class(record: JsonObject, file: str) -> LogClass:
    where = f"{file}: class {record.get('name')}"
    if set(record) != _CLASS_FIELDS:
        raise RuleError(f"{where}: its fields are {', '.join(sorted(_CLASS_FIELDS))}")
    name = text_at(record, "name")
    return LogClass(
        name=name,
        summary=text_at(record, "summary"),
        families=texts_at(record, "families"),
        rules=tuple(
            _rule(rule, name, where)
            for rule in array_at(record, "rule")
            if isinstance(rule, Mapping)
        ),
    )


def _rule(record: JsonObject, log_class: str, where: str) -> LogRule:
    where = f"{where}, rule {record.get('id')}"
    if set(record) - _OPTIONAL != _RULE_FIELDS:
        raise RuleError(f"{where}: its fields are {', '.join(sorted(_RULE_FIELDS))}")
    try:
        severity = Severity(text_at(record, "severity"))
    except ValueError as error:
        raise RuleError(f"{where}: {error}") from error
    words = texts_at(record, "words")
    if not words or any(word != word.lower() for word in words):
        raise RuleError(f"{where}: words are in lower case, at least one")
    return LogRule(
        id=text_at(record, "id"),
        log_class=log_class,
        title=text_at(record, "title"),
        severity=severity,
        words=words,
        expression=text_at(record, "pattern"),
        explanation=text_at(record, "explanation"),
        remedy=text_at(record, "remedy"),
        lines=texts_at(record, "lines"),
        near=texts_at(record, "near"),
        more=text_at(record, "more") if "more" in record else "",
    )
