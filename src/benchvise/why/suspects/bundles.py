"""Suspects that a setting flips: one knob on all its devices, and knobs that are one setting.

The files of a snapshot are matched to the knobs that may be written. Knobs that are tied to each
other are one suspect, as half of it would be refused or do nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

from benchvise.errors import UsageError
from benchvise.state import places
from benchvise.state.catalogue import knobs
from benchvise.state.globs import ByPath
from benchvise.state.knobs import (
    Setting,
    can_be_put_back,
    canonical,
    is_limit_of_disks,
    marked_choices,
    present_value,
    same,
    shown_value,
)
from benchvise.state.model import Item, Knob, Snapshot, StateEntry
from benchvise.state.roles import DeviceNames
from benchvise.text import printable
from benchvise.why.model import Layer, SettingMeans, Suspect
from benchvise.why.suspects.reduction import Tie, ties

_VALUE_LIMIT = 80


@dataclass(frozen=True, slots=True)
class KnobChange:
    """A knob in which two boards differ, with what is to be written to either.

    ``members`` are the entries that differ. ``refused`` says why the bad side cannot be given the
    good value, ``not_on_good`` why the good side cannot be given the bad one.
    ``part`` is what of a knob it is about whose files are settings of their own.
    """

    item: Item
    knob: Knob
    good: str
    bad: str
    members: tuple[str, ...]
    to_good: tuple[Setting, ...]
    to_bad: tuple[Setting, ...]
    refused: str = ""
    not_on_good: str = ""
    part: str = ""

    @property
    def name(self) -> str:
        """``net.qdisc:eth0``: what its suspect is called."""
        return f"{self.knob.name}:{self.part}" if self.part else self.knob.name


def knob_changes(
    good: KnobFiles, bad: KnobFiles, differing: Iterable[str]
) -> tuple[KnobChange, ...]:
    """One change for each knob that both boards have, and whose files are among what differs.

    A file that several knobs have goes to the one that covers most of what differs.
    """
    left = set(differing)
    options: dict[tuple[str, str], set[str]] = {}
    merits: dict[str, tuple[bool, int]] = {}
    for name, (_, knob) in knobs().items():
        entries = {n for n in {**good.by_knob[name], **bad.by_knob[name]} if n in left}
        if entries:
            options |= (
                {(name, n): {n} for n in sorted(entries)} if knob.each else {(name, ""): entries}
            )
            merits[name] = _merit(name, good, bad)
    # What an option covers of the rest only becomes less. So the first of the queue is the best one
    # as soon as it still covers what it did when it was put there: thousands of files need no look
    # at all options for each that is taken.
    queue = [
        (-len(entries), not merits[key[0]][0], -merits[key[0]][1], number, key)
        for number, (key, entries) in enumerate(options.items())
    ]
    heapify(queue)
    changes: list[KnobChange] = []
    while queue:
        least, is_mixed, files, number, key = heappop(queue)
        covered = options[key] & left
        if len(covered) < -least:
            if covered:
                heappush(queue, (-len(covered), is_mixed, files, number, key))
            continue
        change = _change(key[0], covered, good, bad)
        left -= covered
        if change is not None:
            changes.append(change)
    return tuple(_without_twins(changes))


def _without_twins(changes: Sequence[KnobChange]) -> Iterator[KnobChange]:
    """Without the programs of services that differ too: the service is what can be stopped."""
    programs = {c.part: c for c in changes if c.knob.path.startswith(places.PROGRAMS)}
    for change in changes:
        if change.knob.path.startswith(places.SERVICES):
            name = re.sub(r"^S\d\d(?=.)|\.service$", "", change.part)
            twin = programs.pop(name, None)
            members = twin.members if twin is not None else ()
            yield replace(change, members=tuple(sorted({*change.members, *members})))
        elif not change.knob.path.startswith(places.PROGRAMS):
            yield change
    yield from programs.values()


def _merit(name: str, good: KnobFiles, bad: KnobFiles) -> tuple[bool, int]:
    """Which of two knobs that cover as much is taken: that with one value for all of its files on
    the bad side, then that with fewer files there."""
    wanted = _wanted(good.by_knob[name], bad.by_knob[name])
    return len(set(wanted.values())) == 1, -len(bad.by_knob[name])


def _change(name: str, covered: set[str], good: KnobFiles, bad: KnobFiles) -> KnobChange | None:
    item, knob = knobs()[name]
    of_good, of_bad = good.by_knob[name], bad.by_knob[name]
    part = ""
    if knob.each:  # and nothing else
        (entry,) = covered
        part = _part(knob, (of_bad.get(entry) or of_good[entry]).path)
        of_good, of_bad = (
            {entry: table.get(entry) or _absent(knob, entry, other[entry], view, of_other)}
            if knob.absent or entry in table
            else {}
            for table, other, view, of_other in (
                (of_good, of_bad, good, bad),
                (of_bad, of_good, bad, good),
            )
        )
    values_good, values_bad = _values(of_good, covered), _values(of_bad, covered)
    if not values_good or not values_bad:
        return None  # what one side has no such file for is not flipped by writing
    if values_good.keys() == values_bad.keys() and all(
        same(knob, value, values_bad[entry]) for entry, value in values_good.items()
    ):
        return None
    to_good, refused = _settings(knob, of_bad, of_good, "bad", "good")
    to_bad, not_on_good = _settings(knob, of_good, of_bad, "good", "bad")
    paths = {file.path for table in (of_good, of_bad) for n, file in table.items() if n in covered}
    members = {*covered, *(n for path in paths for v in (good, bad) for n in v.names_at(path))}
    return KnobChange(
        item,
        knob,
        _values_text(values_good, knob, good),
        _values_text(values_bad, knob, bad),
        tuple(sorted(members)),
        to_good,
        to_bad,
        refused or _why_not_back(knob, of_bad),
        not_on_good or _why_not_back(knob, of_good),
        part,
    )


def _part(knob: Knob, path: str) -> str:
    """What one of a knob's files is about: the service, the area of swap, the interface."""
    if knob.is_family:
        return path.removeprefix(knob.family_directory)
    begin = knob.path.index("*")
    end = len(path) - len(knob.path) + begin + 1
    return path[begin:end].replace("!", "/")


def _absent(knob: Knob, entry: str, file: KnobFile, view: KnobFiles, other: KnobFiles) -> KnobFile:
    """The file of a board that does not list it, as the other one does."""
    names = {device: view.roles.get(role, "") for role, device in other.roles.items()}
    part = _part(knob, file.path)
    path = knob.path.replace("*", (names.get(part) or part).replace("/", "!"))
    return KnobFile(entry, path, knob.absent)


def _why_not_back(knob: Knob, files: Mapping[str, KnobFile]) -> str:
    """Why a board could not be given back what it has; empty where it could."""
    for file in files.values() if knob.absent else ():
        if not can_be_put_back(knob, file.value):
            return printable(f"{file.value} could not be put back", 200)
    return ""


def _values(table: Mapping[str, KnobFile], covered: set[str]) -> dict[str, str]:
    return {name: file.value for name, file in table.items() if name in covered}


def _values_text(values: Mapping[str, str], knob: Knob, view: KnobFiles) -> str:
    """The one value, or each with the devices that have it."""
    if knob.each and knob.kind == "choice" and not values.keys() & view.by_knob[knob.name].keys():
        return "not there"  # whether it could be is not known
    values = {name: shown_value(knob, value) for name, value in values.items()}
    by_value: dict[str, list[str]] = defaultdict(list)
    for name, value in values.items():
        by_value[value].append(name.partition("/")[2])
    if len(by_value) == 1:
        return printable(next(iter(by_value)), _VALUE_LIMIT) or "(empty)"
    return printable(
        "; ".join(f"{value or '(empty)'} ({', '.join(of)})" for value, of in by_value.items()),
        2 * _VALUE_LIMIT,
    )


def _wanted(table: Mapping[str, KnobFile], other: Mapping[str, KnobFile]) -> dict[str, str]:
    """What each file of ``other`` is to have: its namesake's value, else the one that all have."""
    values = {file.value for file in table.values()}
    uniform = next(iter(values)) if len(values) == 1 else None
    wanted = {}
    for name, file in other.items():
        value = table[name].value if name in table else uniform
        if value is not None:
            wanted[file.path] = value
    return wanted


def _settings(
    knob: Knob,
    files: Mapping[str, KnobFile],
    like: Mapping[str, KnobFile],
    side: str,
    other: str,
) -> tuple[tuple[Setting, ...], str]:
    """The settings that give one board's files the other's values, or why there are none."""
    wanted = _wanted(like, files)
    if not wanted:
        return (), f"the {side} side has none of the devices that the {other} side has it for"
    by_path = {file.path: file for file in files.values()}
    by_value: dict[str, list[str]] = defaultdict(list)
    for path, value in wanted.items():
        file = by_path[path]
        if file.offered and value not in file.offered:
            offers = " ".join(file.offered)
            return (), printable(f"the {side} side does not offer {value}: it has {offers}", 300)
        try:
            value = canonical(knob, value)
        except UsageError as error:
            return (), printable(f"{error.message}: {error.remedy}", 300)
        if not same(knob, file.value, value) or len(set(wanted.values())) == 1:
            by_value[value].append(path)
    by_disk = knob.path.endswith("/io.max") or is_limit_of_disks(knob.path)
    if by_disk and set(wanted.values()) != {knob.empty}:
        return (), "its lines call disks by numbers, which mean others on another board"
    everywhere = not knob.each and len(by_value) == 1 and len(wanted) == len(files)
    if everywhere and len(next(iter(by_value.values()))) == len(files):
        return (Setting(knob, next(iter(by_value))),), ""
    return tuple(Setting(knob, value, tuple(paths)) for value, paths in by_value.items()), ""


# -- suspects --------------------------------------------------------------------------------------


def suspects_of(changes: Sequence[KnobChange]) -> Iterator[Suspect]:
    """A suspect for each change, and one for those that are tied to each other."""
    left = {change.name: change for change in changes}
    for tie in ties():
        tied = [left.pop(name) for name in tie.knobs if name in left]
        if len(tied) > 1:
            yield _tied(tie, tied)
        else:
            left |= {change.name: change for change in tied}
    for change in left.values():
        yield _suspect(
            change.name,
            change,
            change.good,
            change.bad,
            change.members,
            change.to_good,
            change.to_bad,
        )


def _tied(tie: Tie, tied: Sequence[KnobChange]) -> Suspect:
    to_good, to_bad = list(tied), list(tied)
    if tie.exclusive:
        to_good = [change for change in tied if change.good != "0"] or to_good
        to_bad = [change for change in tied if change.bad != "0"] or to_bad
    # called by what holds on the bad side: that is what somebody has set there
    head = to_bad[0]
    return _suspect(
        head.knob.name,
        head,
        ", ".join(f"{c.knob.name}={c.good}" for c in tied),
        ", ".join(f"{c.knob.name}={c.bad}" for c in tied),
        tuple(sorted({member for change in tied for member in change.members})),
        tuple(setting for change in to_good for setting in change.to_good),
        tuple(setting for change in to_bad for setting in change.to_bad),
        "; ".join(dict.fromkeys(c.refused for c in to_good if c.refused)),
        "; ".join(dict.fromkeys(c.not_on_good for c in to_bad if c.not_on_good)),
        f" ({tie.why})",
    )


def _suspect(
    name: str,
    change: KnobChange,
    good: str,
    bad: str,
    members: tuple[str, ...],
    to_good: tuple[Setting, ...],
    to_bad: tuple[Setting, ...],
    refused: str | None = None,
    not_on_good: str | None = None,
    note: str = "",
) -> Suspect:
    refused = change.refused if refused is None else refused
    not_on_good = change.not_on_good if not_on_good is None else not_on_good
    usable = bool(to_good) and not refused
    return Suspect(
        id=name,
        title=(f"{change.part}: " if change.part else "") + change.knob.summary + note,
        layer=Layer.RUN_TIME,
        item=change.item.id,
        good=good,
        bad=bad,
        members=members,
        means=SettingMeans(to_good, () if not_on_good else to_bad) if usable else None,
        untestable="" if usable else refused or "nothing would have to be written",
        not_on_good=not_on_good,
    )


# -- the files of knobs in a snapshot --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnobFile:
    """A file of a knob in a snapshot.

    ``name`` is the entry's, by which it is matched across boards; ``value`` is in the spelling that
    can be written; ``offered`` are the values that the board lists for it, none where it lists
    none.
    """

    name: str
    path: str
    value: str
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnobFiles:
    """A snapshot by its knobs. ``by_knob`` has the files of each knob by the entries' names."""

    by_knob: Mapping[str, Mapping[str, KnobFile]] = field(default_factory=dict)
    entries_at: Mapping[str, tuple[StateEntry, ...]] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> KnobFiles:
        """The view of a snapshot; an entry that was taken twice counts by its first item."""
        at: dict[str, list[StateEntry]] = defaultdict(list)
        running = (e for e in snapshot.observations if e.path.startswith(places.PROGRAMS))
        for entry in (*snapshot.settings, *running):
            if entry.missing is None and entry.path:
                at[entry.path].append(entry)
        entries = {path: tuple(group_entries) for path, group_entries in at.items()}
        files, names = ByPath(entries), DeviceNames(roles=snapshot.roles)
        by_knob = {}
        for knob_name, (_, knob) in knobs().items():
            glob = names.fill(knob.path)
            group_entries = files.matching(glob) if glob is not None else ()
            by_knob[knob_name] = {
                group[0].name: _knob_file(knob, group[0], entries) for _, _, group in group_entries
            }
        return cls(by_knob, entries, snapshot.roles)

    def names_at(self, path: str) -> tuple[str, ...]:
        """The names of all entries that were read from a file."""
        return tuple(entry.name for entry in self.entries_at.get(path, ()))


def _knob_file(
    knob: Knob, entry: StateEntry, entries: Mapping[str, tuple[StateEntry, ...]]
) -> KnobFile:
    text = text_of(entry)
    offered = marked_choices(entry.path, text) if knob.kind == "choice" else ()
    beside = entries.get(places.list_beside(entry.path), ())
    if not offered and beside:
        offered = tuple(text_of(beside[0]).split())
    return KnobFile(entry.name, entry.path, present_value(knob, entry.path, text), offered)


def text_of(entry: StateEntry) -> str:
    """The text of a file, as far as its entry kept it."""
    if entry.raw is not None:
        return entry.raw
    if isinstance(entry.value, list):
        return " ".join(map(str, entry.value))
    return str(entry.value)
