"""The tables of snapshots and their differences as plain text cells."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchvise.measure.model import RunRecord
from benchvise.quantities import ABSENT, format_time
from benchvise.report.rendering import Cell, Column, Table
from benchvise.state.catalogue import items_by_id
from benchvise.state.diff import Difference, DifferenceKind, DifferencePart, StateDiff
from benchvise.state.model import Family, Item, Missing, Snapshot, StateEntry
from benchvise.text import Untrusted, enumerated, printable

VALUE_LIMIT = 120
"""Characters of a value in a table."""

_PARTS = 8
"""Places of one value that a short table names."""

_NAMED = 3
_EVERYTHING = "all"

_FAMILY_NAMES = {
    Family.MEMORY: "memory",
    Family.CPU: "computing",
    Family.LATENCY: "latency",
    Family.NETWORK: "network",
    Family.STORAGE: "storage",
    Family.SYSTEM: "system calls",
    Family.SERIAL: "serial lines",
    Family.GRAPHICS: "graphics",
    Family.POWER: "power",
    Family.BOOT: "boot",
}


# -- one snapshot ----------------------------------------------------------------------------------

_SNAPSHOT_COLUMNS = (
    Column("Can affect"),
    Column("Settings", right=True),
    Column("Observations", right=True),
    Column("Absent", right=True),
    Column("Unreadable", right=True),
)


def snapshot_rows(snapshot: Snapshot) -> Table:
    """How much of a board was seen, by what it can affect; below, what was not and why."""
    rows = [_family_row(name, entries) for name, entries in _by_family(snapshot)]
    total = _family_row("in all", [*_labelled(snapshot)])
    title = (
        f"{snapshot.board} as {snapshot.privilege}, {format_time(snapshot.taken)}, "
        f"in {snapshot.seconds:.1f} s"
    )
    remarks = [
        *(f"{role}: {device or '/'}" for role, device in snapshot.roles.items()),
        *_unreadable(snapshot.entries()),
        *(f"note: {note}" for note in snapshot.notes),
        f"digest: {snapshot.digest}",
    ]
    return Table(title, _SNAPSHOT_COLUMNS, (*rows, total), tuple(remarks))


_Labelled = tuple[StateEntry, bool]


def _labelled(snapshot: Snapshot) -> Iterator[_Labelled]:
    """Every entry, and whether it is a setting."""
    yield from ((entry, True) for entry in snapshot.settings)
    yield from ((entry, False) for entry in snapshot.observations)


def _by_family(snapshot: Snapshot) -> Iterator[tuple[str, list[_Labelled]]]:
    """An entry that can affect several families counts in each; one that affects all in "all"."""
    by_family: defaultdict[str, list[_Labelled]] = defaultdict(list)
    for entry, is_setting in _labelled(snapshot):
        for name in _families(items_by_id().get(entry.item)):
            by_family[name].append((entry, is_setting))
    for name in (*_FAMILY_NAMES.values(), _EVERYTHING):
        if by_family[name]:
            yield name, by_family[name]


def _families(item: Item | None) -> list[str]:
    if item is None or len(item.families) == len(Family):
        return [_EVERYTHING]
    return [_FAMILY_NAMES[family] for family in item.families]


def _family_row(name: str, entries: Sequence[_Labelled]) -> tuple[Cell, ...]:
    there = Counter(is_setting for entry, is_setting in entries if entry.missing is None)
    lacking = Counter(entry.missing for entry, _ in entries)
    unreadable = lacking[Missing.UNREADABLE]
    return (
        Cell(name, "strong" if name == "in all" else "plain"),
        Cell(str(there[True])),
        Cell(str(there[False])),
        Cell(str(lacking[Missing.ABSENT]), "muted"),
        Cell(str(unreadable), "doubt" if unreadable else "muted"),
    )


def _unreadable(entries: Iterable[StateEntry]) -> Iterator[str]:
    """Each reason once, with the items that it is about."""
    by_reason: defaultdict[Untrusted, dict[str, None]] = defaultdict(dict)
    for entry in entries:
        if entry.missing is Missing.UNREADABLE:
            by_reason[entry.reason][entry.item] = None
    for reason, items in sorted(by_reason.items(), key=lambda pair: -len(pair[1])):
        yield f"not readable: {reason} ({enumerated(list(items), _NAMED)})"


# -- two snapshots ---------------------------------------------------------------------------------

_DIFF_COLUMNS = (Column("Setting"), Column("A"), Column("B"), Column("Can affect", detail=True))


def diff_rows(result: StateDiff, a: str, b: str, *, everything: bool = False) -> Table:
    """The settings in which two snapshots differ, those first that affect one thing only.

    ``a`` and ``b`` are what the user called them. Without ``everything``, of a long value just
    the first places that differ are named.
    """
    rows = [row for difference in result.differences for row in _rows(difference, everything)]
    counts = ", ".join(
        f"{result.counts[kind]} {kind}"
        for kind in DifferenceKind
        if kind.is_difference and result.counts[kind]
    )
    title = f"{b} (B) against {a} (A): {counts or 'no difference'}"
    remarks = [f"{result.same} settings are the same", *_role_remarks(result)]
    if result.unseen:
        remarks.append(f"{len(result.unseen)} settings were seen on one side only: {_why(result)}")
    if (result.a.privilege, result.b.privilege).count("root") == 1:
        user = "A" if result.a.privilege != "root" else "B"
        remarks.append(f"{user} was not taken as root: some of it could not be read")
    return Table(title, _DIFF_COLUMNS, tuple(rows), tuple(remarks))


def unseen_rows(result: StateDiff) -> Table:
    """Settings that one side has and the other could not read: not known to differ."""
    rows = [
        (
            _name(difference, difference.parts[0]),
            *_sides(difference, difference.parts[0]),
            Cell(_affects(difference)),
        )
        for difference in result.unseen
    ]
    return Table("Seen on one side only", _DIFF_COLUMNS, tuple(rows), ())


def observed_rows(result: StateDiff) -> Table:
    """Observations that differ, which by itself says nothing."""
    rows = [row for difference in result.observed for row in _rows(difference, False)]
    return Table("Observations", _DIFF_COLUMNS, tuple(rows), ())


def _rows(difference: Difference, everything: bool) -> Iterator[tuple[Cell, ...]]:
    parts = difference.parts
    listed = parts if everything or len(parts) <= _PARTS + 1 else parts[:_PARTS]
    for part in listed:
        sides = _sides(difference, part)
        yield (_name(difference, part), *sides, Cell(_affects(difference)))
    if len(listed) < len(parts):
        more = Cell(f"… and {len(parts) - len(listed)} more: --all", "muted")
        yield (_name(difference, DifferencePart("", None, None)), more, Cell(""), Cell(""))


def _name(difference: Difference, part: DifferencePart) -> Cell:
    entry = difference.entry
    return Cell(" ".join(filter(None, (entry.item, entry.key, part.key))))


def _sides(difference: Difference, part: DifferencePart) -> tuple[Cell, Cell]:
    return (
        _side(difference.a, part.a, difference.kind),
        _side(difference.b, part.b, difference.kind),
    )


def _side(entry: StateEntry | None, value: Any, kind: DifferenceKind) -> Cell:
    if value is not None:
        return Cell(value_text(value), "strong" if kind is DifferenceKind.CHANGED else "plain")
    if entry is not None and entry.missing is Missing.UNREADABLE:
        return Cell(f"unreadable: {entry.reason}", "doubt")
    return Cell(ABSENT, "muted")


def value_text(value: Any) -> str:
    """A value of a snapshot in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value, VALUE_LIMIT) or "(empty)"
    if isinstance(value, list) and all(isinstance(member, str | int | float) for member in value):
        return printable(" ".join(map(str, value)), VALUE_LIMIT) or "(none)"
    return printable(json.dumps(value, ensure_ascii=False), VALUE_LIMIT)


def _affects(difference: Difference) -> str:
    return ", ".join(_families(difference.item))


def _role_remarks(result: StateDiff) -> Iterator[str]:
    """Devices that were matched although they are called differently."""
    for role in ("root_disk", "root_part", "default_nic", "wifi_nic", "dram"):
        a, b = result.a.roles.get(role), result.b.roles.get(role)
        if a != b:
            yield f"{role}: {(a or ABSENT)} in A, {(b or ABSENT)} in B"


def _why(result: StateDiff) -> str:
    reasons = Counter(difference.reason for difference in result.unseen)
    return ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(_NAMED))


# -- two runs --------------------------------------------------------------------------------------


def around_comparison(base: RunRecord, other: RunRecord, state: StateDiff | None) -> list[str]:
    """What happened to the boards around two runs, and how their settings differ."""
    remarks = [
        f"{remark.rule} in {run.label or run.id}: {remark.sentence}"
        for run in (base, other)
        for remark in run.remarks
    ]
    if state is None:
        return [*remarks, "settings: not compared, as the state of one was not recorded"]
    if not state.differences:
        return [*remarks, f"settings: all {state.same} that could be read are the same"]
    names = dict.fromkeys(difference.entry.item for difference in state.differences)
    return [
        *remarks,
        f"settings: {len(state.differences)} differ ({enumerated([*names], _NAMED)}): "
        f"benchvise diff {base.id} {other.id}",
    ]
