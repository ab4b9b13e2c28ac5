"""Benchmarks that do not measure what their names say: a table of known cases.

The table is data, ``artefacts.toml``; its reference page is generated from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.quantities import size_or_none
from benchvise.why.bench import SideFacts
from benchvise.why.model import Finding, Grade, Metric, Side
from benchvise.why.suspects.side_pair import SidePair, cpu_count, last_cache, word_size

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_LONGEST = 4

# Names under which the same program goes.
_ALIASES = {"7z": ("7z", "7za", "7zr", "7zz")}


@dataclass(frozen=True, slots=True)
class Artefact:
    """A known case: see ``artefacts.toml``."""

    rule: str
    sentence: str
    remedy: str
    source: str
    grade: Grade | None = None
    apart: Grade | None = None
    command: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    benchmark: str = ""
    params: Mapping[str, str] | None = None
    program: str = ""
    since: str = ""
    before: str = ""
    fixed: tuple[str, ...] = ()
    when: str = ""

    def is_about(self, metric: Metric) -> bool:
        """Whether the metric is of its kind."""
        if self.command is not None:
            return (
                bool(metric.command)
                and self.command.search(metric.command) is not None
                and (self.unless is None or self.unless.search(metric.command) is None)
            )
        return fnmatchcase(metric.benchmark, self.benchmark) and all(
            metric.params.get(name) == value for name, value in (self.params or {}).items()
        )


@cache
def artefacts() -> tuple[Artefact, ...]:
    """All known cases, in the table's order."""
    text = (files(__package__) / "artefacts.toml").read_text(encoding="utf-8")
    return tuple(_artefact(record) for record in tomllib.loads(text)["artefact"])


def _artefact(record: Mapping[str, Any]) -> Artefact:
    fields = dict(record)
    for name in ("command", "unless"):
        if name in fields:
            fields[name] = re.compile(fields[name])
    for name in ("grade", "apart"):
        if name in fields:
            fields[name] = Grade(fields[name])
    return Artefact(**fields | {"fixed": tuple(fields.get("fixed", ()))})


def known_artefacts(case: SidePair) -> Iterator[Finding]:
    """The findings of the table for a metric on two sides."""
    for artefact in artefacts():
        if artefact.is_about(case.metric):
            judgement = _judged(artefact, case)
            if judgement is not None:
                grade, evidence = judgement
                yield Finding(artefact.rule, grade, artefact.sentence, evidence, artefact.remedy)


def _judged(artefact: Artefact, case: SidePair) -> tuple[Grade, str] | None:
    if artefact.when:
        holds, evidence = _CIRCUMSTANCES[artefact.when](case)
    elif artefact.program:
        holds, evidence = _of_version(artefact, case.facts)
    else:
        holds, evidence = {Side.GOOD: True, Side.BAD: True}, case.metric.name
    values = set(holds.values())
    if values == {False}:
        return None
    grade = artefact.apart if values == {True, False} else artefact.grade
    if grade is None:
        return None
    # where no version is known to be concerned, it is a possibility
    return (grade if True in values else Grade.NOTES), evidence


# -- versions --------------------------------------------------------------------------------------


def _of_version(
    artefact: Artefact, facts: Mapping[Side, SideFacts]
) -> tuple[dict[Side, bool | None], str]:
    """Whether each side's version is concerned; None where it is not known."""
    versions = {side: version_of(artefact.program, facts[side]) for side in facts}
    evidence = ", ".join(
        f"{side}: {artefact.program} {version or 'of a version that is not known'}"
        for side, version in versions.items()
    )
    if not artefact.since and not artefact.before:
        distinct = set(versions.values())
        differ = len(distinct) > 1 and "" not in distinct
        return {Side.GOOD: True, Side.BAD: not differ}, evidence
    return {side: _in_range(version, artefact) for side, version in versions.items()}, evidence


def _in_range(version: str, artefact: Artefact) -> bool | None:
    if not version:
        return None
    number = _numbers(version)
    for fix in map(_numbers, artefact.fixed):
        if number[:2] == fix[:2]:
            return None if len(number) < len(fix) else number < fix
    above = not artefact.since or number >= _numbers(artefact.since)
    return above and (not artefact.before or number < _numbers(artefact.before))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word[:9]) for word in version.split(".")[:_LONGEST])


def version_of(program: str, facts: SideFacts) -> str:
    """The version that a program says it has; empty where it is not known."""
    names = _ALIASES.get(program, (program,))
    for path, text in facts.versions.items():
        if path.rpartition("/")[2] in names:
            match = _VERSION.search(text)
            return match[0] if match else ""
    return ""


# -- circumstances ---------------------------------------------------------------------------------

_Holds = tuple[dict[Side, bool | None], str]


def _word_sizes_differ(case: SidePair) -> _Holds:
    sizes = {side: word_size(case, side) for side in Side}
    differ = None not in sizes.values() and len(set(sizes.values())) > 1
    evidence = ", ".join(f"{side}: {size or '?'} bits" for side, size in sizes.items())
    return {Side.GOOD: differ, Side.BAD: False}, evidence


def _several_cpus(case: SidePair) -> _Holds:
    counts = {side: cpu_count(case, side) for side in Side}
    several = any((count or 0) > 1 for count in counts.values())
    evidence = ", ".join(f"{side}: {count or '?'} CPUs" for side, count in counts.items())
    return {Side.GOOD: several, Side.BAD: several}, evidence


def _buffer_fits(case: SidePair) -> _Holds:
    size = size_or_none(case.metric.params.get("size", ""))
    caches = {side: last_cache(case, side) for side in Side}
    if size is None or None in caches.values():
        return {Side.GOOD: False, Side.BAD: False}, ""
    evidence = ", ".join(f"{side}: last cache {cache} bytes" for side, cache in caches.items())
    return {side: size <= (cache or 0) for side, cache in caches.items()}, evidence


def _programs_differ(case: SidePair) -> _Holds:
    names = differing_programs(case.facts)
    return {Side.GOOD: bool(names), Side.BAD: False}, ", ".join(names)


def differing_programs(facts: Mapping[Side, SideFacts]) -> tuple[str, ...]:
    """The names of the command's programs whose files are not the same on both sides."""
    good, bad = (
        {path.rpartition("/")[2]: digest for path, digest in facts[side].programs.items()}
        for side in (Side.GOOD, Side.BAD)
    )
    return tuple(sorted(name for name in good.keys() & bad.keys() if good[name] != bad[name]))


_CIRCUMSTANCES: Mapping[str, Callable[[SidePair], _Holds]] = {
    "word sizes differ": _word_sizes_differ,
    "several CPUs": _several_cpus,
    "the buffer fits the last cache": _buffer_fits,
    "programs differ": _programs_differ,
}
