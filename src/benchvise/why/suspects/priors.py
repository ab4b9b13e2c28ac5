"""What is known beforehand: how likely a setting is to matter, and which value is the slow one.

The table is data, ``priors.toml``; its reference page is generated from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.quantities import parse_cpu_mask, parse_cpus
from benchvise.why.model import Metric


@dataclass(frozen=True, slots=True)
class PreferredValue:
    """Which value of a setting is the better one for some benchmarks.

    ``order`` lists values from best to worst, or ``more`` says whether a larger number is better.
    ``field`` takes one of several numbers, ``cpus`` counts the CPUs of a ``list`` or ``mask``,
    ``quota`` takes the share that a quota grants, ``zero_is_most`` is set where 0 stands for no
    limit.
    ``sure`` is how often it is so, from 0.5 to 1.
    """

    on: tuple[str, ...]
    names: tuple[str, ...]
    sure: float
    order: tuple[str, ...] = ()
    more: bool | None = None
    field: int = 0
    cpus: str = ""
    quota: bool = False
    zero_is_most: bool = False

    def prefers(self, first: str, other: str) -> int:
        """1 when ``one`` is the better value, -1 when ``other`` is, 0 when that is not known."""
        if self.order:
            worst = len(self.order)
            ranks = [self.order.index(v) if v in self.order else worst for v in (first, other)]
            is_listed = first in self.order or other in self.order
            return (ranks[1] > ranks[0]) - (ranks[1] < ranks[0]) if is_listed else 0
        numbers = [self._number(value) for value in (first, other)]
        if numbers[0] is None or numbers[1] is None:
            return 0
        larger = (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
        return larger if self.more is not False else -larger

    def _number(self, value: str) -> float | None:
        if self.quota:
            return _quota(value)
        if self.cpus:
            return _cpus(value, self.cpus)
        number = numbers_in(value, self.field)
        return float("inf") if number == 0 and self.zero_is_most else number


@dataclass(frozen=True, slots=True)
class Prior:
    """What the table says of some settings: see ``priors.toml``."""

    names: tuple[str, ...]
    matters: Mapping[str, float]
    better: tuple[PreferredValue, ...]
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """Counters whose difference between the sides points at some settings."""

    counters: tuple[str, ...]
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class CommandLikeness:
    """Commands that match a pattern, and the benchmark that they are like."""

    match: re.Pattern[str]
    like: str


@cache
def _table() -> Mapping[str, Any]:
    text = (files(__package__) / "priors.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def priors() -> tuple[Prior, ...]:
    """All records, in the table's order."""
    return tuple(
        Prior(
            tuple(record["names"]),
            record["matters"],
            tuple(_direction(direction, record["names"]) for direction in record.get("better", ())),
            record["why"],
            record["source"],
        )
        for record in _table()["setting"]
    )


def _direction(record: Mapping[str, Any], names: list[str]) -> PreferredValue:
    return PreferredValue(
        on=tuple(record["on"]),
        names=tuple(record.get("names", names)),
        sure=record["sure"],
        order=tuple(record.get("order", ())),
        more=record.get("more"),
        field=record.get("field", 0),
        cpus=record.get("cpus", ""),
        quota=record.get("quota", False),
        zero_is_most=record.get("zero") == "most",
    )


@cache
def symptoms() -> tuple[Symptom, ...]:
    """All symptoms, in the table's order."""
    return tuple(
        Symptom(tuple(r["counters"]), tuple(r["names"]), r["why"]) for r in _table()["symptom"]
    )


@cache
def commands() -> tuple[CommandLikeness, ...]:
    """All kinds of commands, in the table's order."""
    return tuple(CommandLikeness(re.compile(r["match"]), r["like"]) for r in _table()["command"])


@cache
def unlisted() -> Mapping[str, float]:
    """The probability of what has no record: ``near``, ``far``, ``everything``."""
    return dict(_table()["unlisted"])


@cache
def prior_of(name: str) -> Prior | None:
    """The record of a suspect, by its id."""
    return next((p for p in priors() if any(fnmatchcase(name, n) for n in p.names)), None)


def chance(prior: Prior, benchmark: str) -> float:
    """The probability that a setting with this record matters for a benchmark."""
    return next(p for pattern, p in prior.matters.items() if fnmatchcase(benchmark, pattern))


def direction_of(name: str, benchmark: str) -> PreferredValue | None:
    """Which value of a suspect is the better one for a benchmark; None where nobody knows."""
    prior = prior_of(name)
    for direction in prior.better if prior is not None else ():
        if any(fnmatchcase(name, n) for n in direction.names) and any(
            fnmatchcase(benchmark, pattern) for pattern in direction.on
        ):
            return direction
    return None


def likeness(metric: Metric) -> str:
    """The benchmark that a user's command is like; empty for others and where nobody knows."""
    if not metric.command:
        return ""
    return next((kind.like for kind in commands() if kind.match.search(metric.command)), "")


def numbers_in(value: str, field: int = 0) -> float | None:
    """One of the numbers that a value consists of; None when it has no such one."""
    words = value.split()
    try:
        return float(words[field])
    except (IndexError, ValueError):
        return None


def _cpus(value: str, kind: str) -> float | None:
    try:
        return float(len(parse_cpu_mask(value) if kind == "mask" else parse_cpus(value)))
    except ValueError:
        return None


def _quota(value: str) -> float | None:
    """``max 100000``: the share of one CPU that is granted."""
    words = value.split()
    if words and words[0] == "max":
        return float("inf")
    period = numbers_in(value, 1) or 100_000.0
    granted = numbers_in(value)
    return None if granted is None else granted / period
