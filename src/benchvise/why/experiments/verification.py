"""Whether an experiment changed what it was meant to, in the processes measured, and nothing else.

The command is run once more as an arm has it, and what its processes were given (environment,
limits, scheduling, control groups, namespaces, mounts, mapped files) is held against the same
command on the board as it is. ``facets.toml`` says which of these each flip is meant to change.

What processes differ in from run to run on the board as it is says nothing and is left out; so are
mapped files beside a userland swap, which follow from what a program does, and variables that some
of the processes lack both times: the command itself sets these for its children, as ``make`` does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.board.messages import ProcessMessage
from benchvise.text import printable
from benchvise.why.model import Arm, LayerMeans, ProcessMeans, SettingMeans, Suspect
from benchvise.why.suspects.command_suspects import NOT_SET

Facets = Mapping[str, frozenset[str]]
"""Facet (``environment.LANG``, ``limits.nofile``, ``mounts./tmp``) to its values in the processes
of one run; ``NOT_GIVEN`` where one lacks it."""

NOT_GIVEN = ""
MAPPED = "mapped"

_HIDDEN = frozenset({str(True)})
"""Of a variable, of which no more is said than that the processes have it."""

_SHOWN = 4
_VALUE_LIMIT = 60


@dataclass(frozen=True, slots=True)
class FacetRule:
    """What one kind of flip changes in a process."""

    attribute: str = ""
    knob: str = ""
    layer: str = ""
    changes: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


@cache
def facet_rules() -> tuple[FacetRule, ...]:
    """The table."""
    text = (files(__package__) / "facets.toml").read_text(encoding="utf-8")
    return tuple(_rule(record) for record in tomllib.loads(text)["facet"])


def _rule(record: Mapping[str, Any]) -> FacetRule:
    return FacetRule(
        attribute=record.get("attribute", ""),
        knob=record.get("knob", ""),
        layer=record.get("layer", ""),
        changes=tuple(record.get("changes", ())),
        allows=tuple(record.get("allows", ())),
        unseen=tuple(record.get("unseen", ())),
    )


def facets_of(processes: Iterable[ProcessMessage]) -> Facets:
    """The facets of all processes of one run."""
    each = [dict(_facets(process)) for process in processes]
    names = {name for facets in each for name in facets}
    return {name: frozenset(facets.get(name, NOT_GIVEN) for facets in each) for name in names}


def _facets(process: ProcessMessage) -> Iterator[tuple[str, str]]:
    for group, table in (
        ("environment", process.environment),
        ("limits", process.limits),
        ("scheduling", process.scheduling),
        ("namespaces", process.namespaces),
    ):
        for name, value in table.items():
            yield f"{group}.{name}", str(value)
    yield "cgroups", "\n".join(process.cgroups)
    yield MAPPED, "\n".join(sorted(set(process.mapped)))


def mounts_of(processes: Iterable[ProcessMessage]) -> Facets:
    """What is mounted at each place in the namespaces of one run; the last mount counts."""
    namespaces = [
        {_point(mount): mount for mount in process.mounts}
        for process in processes
        if process.mounts is not None
    ]
    points = {point for mounts in namespaces for point in mounts}
    return {
        f"mounts.{point}": frozenset(mounts.get(point, NOT_GIVEN) for mounts in namespaces)
        for point in points
    }


def _point(mount: str) -> str:
    return mount.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the command's processes are given on a board as it is, and what of that varies."""

    facets: Facets
    varying: frozenset[str]

    @classmethod
    def of(cls, runs: Sequence[Sequence[ProcessMessage]]) -> Baseline:
        """From several runs; ValueError without any process."""
        each = [_all_facets(run) for run in runs]
        if not each or not each[0]:
            raise ValueError("no process of the command was seen")
        return cls(each[0], frozenset(name for run in each for name in _differing(each[0], run)))


@dataclass(frozen=True, slots=True)
class Verification:
    """``unreached`` are the suspects whose flip no process shows; ``besides`` names what differs
    though no flip is meant to change it."""

    unreached: tuple[Suspect, ...] = ()
    besides: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether the experiment counts."""
        return not self.unreached and not self.besides

    @property
    def reason(self) -> str:
        """Why it does not count, as a sentence."""
        if self.unreached:
            titles = ", ".join(suspect.title for suspect in self.unreached[:_SHOWN])
            return (
                f"the experiment does not count: in no process of the command did {titles} change"
            )
        besides = "; ".join(self.besides[:_SHOWN])
        return f"the experiment does not count: the command's processes also differ in {besides}"


def verify(arm: Arm, baseline: Baseline, processes: Sequence[ProcessMessage]) -> Verification:
    """Holds the processes of an arm against those of the board as it is."""
    now = _all_facets(processes)
    differing = _differing(baseline.facets, now)
    unreached = []
    allowed: set[str] = set() if any(_is_swap(s) for s in arm.flipped) else {MAPPED}
    for suspect in arm.flipped:
        for meant in _meant(suspect, arm):
            allowed.update(meant.changes, meant.allows)
            names = {*differing, *baseline.varying}
            if meant.may_be_hidden:
                names.update(name for name in now if now[name] == _HIDDEN)
            is_reached = any(_fits(name, meant.changes) for name in names)
            if meant.changes and not is_reached and suspect not in unreached:
                unreached.append(suspect)
    besides = sorted(
        _described(name, baseline.facets, now)
        for name in differing - baseline.varying
        if not _fits(name, allowed) and not _is_for_children(name, baseline.facets, now)
    )
    return Verification(tuple(unreached), tuple(besides))


@dataclass(frozen=True, slots=True)
class _Meant:
    """One change that a suspect makes: patterns of facets of which one has to differ, and of those
    that may; whether it is one that processes have without saying its value."""

    changes: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    may_be_hidden: bool = False


def _meant(suspect: Suspect, arm: Arm) -> Iterator[_Meant]:
    match suspect.means:
        case ProcessMeans() as means:
            for attribute, value in means.towards(arm.side.other).items():
                yield _of_attribute(attribute, value)
        case SettingMeans() as means:
            for setting in means.towards(arm.side.other):
                for rule in facet_rules():
                    if rule.knob and fnmatchcase(setting.knob.name, rule.knob):
                        yield _Meant(rule.changes, rule.allows)
        case LayerMeans() as means:
            for rule in facet_rules():
                if rule.layer == means.layer:
                    yield _Meant(rule.changes, rule.allows)


def _of_attribute(attribute: str, value: str) -> _Meant:
    for rule in facet_rules():
        named = rule.attribute.endswith(".") and attribute.startswith(rule.attribute)
        if attribute == rule.attribute or named:
            name = attribute.removeprefix(rule.attribute)
            changes = tuple(pattern.replace("{name}", name) for pattern in rule.changes)
            if value in rule.unseen:
                return _Meant(allows=(*changes, *rule.allows))
            return _Meant(changes, rule.allows, may_be_hidden=value != NOT_SET)
    return _Meant()


def _is_swap(suspect: Suspect) -> bool:
    return isinstance(suspect.means, LayerMeans)


def _all_facets(processes: Sequence[ProcessMessage]) -> Facets:
    return {**facets_of(processes), **mounts_of(processes)}


def _differing(before: Facets, now: Facets) -> frozenset[str]:
    lacking = frozenset({NOT_GIVEN})
    return frozenset(
        name for name in {*before, *now} if before.get(name, lacking) != now.get(name, lacking)
    )


def _is_for_children(name: str, before: Facets, now: Facets) -> bool:
    """Whether it is a variable that not all processes are given, neither before nor now."""
    lacking = frozenset({NOT_GIVEN})
    return name.startswith("environment.") and all(
        NOT_GIVEN in facets.get(name, lacking) for facets in (before, now)
    )


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _described(name: str, before: Facets, now: Facets) -> str:
    old, new = (_value(facets.get(name, frozenset())) for facets in (before, now))
    return f"{name} ({old} before, {new} in the experiment)"


def _value(values: frozenset[str]) -> str:
    texts = sorted(value or "none" for value in values)
    return printable(", ".join(texts) or "none", _VALUE_LIMIT)
