"""Two snapshots compared: what is set differently, and what happened in between.

``diff_snapshots`` is for settings, of one board or of two. A value that could not be read on one
side is no difference, and neither is what both lack. What one side has and the other says it does
not have is one. Observations are kept apart: that counters differ says nothing.

``delta`` is for the observations of one board around a run: by how much counters rose, which lines
its kernel logged. It is evidence: throttling, swapping, resets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeGuard

from benchvise.documents import computed, in_json
from benchvise.state.catalogue import items_by_id
from benchvise.state.model import Family, Flip, Item, Missing, Snapshot, StateEntry
from benchvise.text import NO_TEXT, Untrusted


class DifferenceKind(StrEnum):
    """How two snapshots differ in an entry."""

    CHANGED = "changed"
    ONLY_A = "only in A"
    ONLY_B = "only in B"
    UNREADABLE_A = "unreadable in A"
    UNREADABLE_B = "unreadable in B"

    @property
    def is_difference(self) -> bool:
        """Whether the boards are known to differ."""
        return self not in (DifferenceKind.UNREADABLE_A, DifferenceKind.UNREADABLE_B)


@dataclass(frozen=True, slots=True)
class DifferencePart:
    """One place within a value that differs; None stands for what is not there."""

    key: str
    a: object
    b: object


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry in which the snapshots differ, or that one of them could not see.

    ``parts`` are what differs within tables and lists; one part without key for other values.
    """

    kind: DifferenceKind
    a: StateEntry | None
    b: StateEntry | None
    parts: tuple[DifferencePart, ...]

    @computed.before("a", name="item")
    def item_id(self) -> str:
        """Which item of the catalogue differs."""
        return self.entry.item

    @computed.before("a")
    def key(self) -> str:
        """Which of its values."""
        return self.entry.key

    @computed.before("a")
    def families(self) -> tuple[Family, ...]:
        """What the item can affect; nothing for an item that this version does not know."""
        return self.item.families if self.item else ()

    @computed.before("a")
    def flips(self) -> tuple[Flip, ...]:
        """How it can be changed to test whether it is a cause."""
        return self.item.flips if self.item else ()

    @property
    def entry(self) -> StateEntry:
        """The side that there is."""
        entry = self.a or self.b
        assert entry is not None  # noqa: S101 - one of them is always there
        return entry

    @property
    def item(self) -> Item | None:
        """What the catalogue says of it; None for an item that this version does not know."""
        return items_by_id().get(self.entry.item)

    @computed
    def reason(self) -> Untrusted:
        """Why one side has no value."""
        missing = [entry for entry in (self.a, self.b) if entry is None or entry.missing]
        if not missing:
            return NO_TEXT
        return missing[0].reason if missing[0] else Untrusted("not looked at")


@dataclass(frozen=True, slots=True)
class SnapshotHead:
    """What says of which snapshot a difference is, without its entries."""

    board: str
    taken: str
    digest: str
    privilege: str
    roles: Mapping[str, str]


def _head(snapshot: Snapshot) -> SnapshotHead:
    return SnapshotHead(
        snapshot.board, snapshot.taken, snapshot.digest, snapshot.privilege, snapshot.roles
    )


@dataclass(frozen=True, slots=True)
class StateDiff:
    """All that differs between snapshot A and snapshot B, of which a document holds the heads only.

    ``differences`` are those of settings, ``unseen`` the settings that one side could not read,
    ``observed`` the observations that differ. ``same`` counts the settings that are equal.
    """

    a: Snapshot = field(metadata=in_json(through=_head))
    b: Snapshot = field(metadata=in_json(through=_head))
    same: int
    differences: tuple[Difference, ...]
    unseen: tuple[Difference, ...]
    observed: tuple[Difference, ...]

    @property
    def counts(self) -> Mapping[DifferenceKind, int]:
        """How many differences there are of each kind."""
        return Counter(difference.kind for difference in (*self.differences, *self.unseen))


def diff_snapshots(a: Snapshot, b: Snapshot) -> StateDiff:
    """Compares two snapshots entry by entry, sorted by what the items can affect."""
    differences, unseen, same = _compare(a.settings, b.settings)
    observed, _, _ = _compare(a.observations, b.observations)
    return StateDiff(a, b, same, tuple(differences), tuple(unseen), tuple(observed))


@dataclass(slots=True)
class _Side:
    """The entries of a snapshot by name, and where it could not see."""

    entries: dict[str, StateEntry] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    blind: dict[str, list[tuple[re.Pattern[str], StateEntry]]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[StateEntry]) -> _Side:
        side = cls()
        for entry in entries:
            side.entries[entry.name] = entry
            side.items.add(entry.item)
            if entry.missing is Missing.UNREADABLE and "*" in entry.key:
                pattern = ".*".join(map(re.escape, entry.key.split("*")))
                side.blind.setdefault(entry.item, []).append((re.compile(pattern), entry))
        return side

    def at(self, other: StateEntry) -> StateEntry | None:
        """What this side says of an entry of the other one: a value, why not, or nothing."""
        found = self.entries.get(other.name)
        if found is not None:
            return found
        for pattern, entry in self.blind.get(other.item, ()):
            if pattern.fullmatch(other.key):
                return entry
        return None


def _compare(
    a: Iterable[StateEntry], b: Iterable[StateEntry]
) -> tuple[list[Difference], list[Difference], int]:
    left, right = _Side.of(a), _Side.of(b)
    differing: list[Difference] = []
    same = 0
    for entry in left.entries.values():
        if entry.missing is not None:
            continue
        other = right.at(entry)
        if other is not None and other.missing is None:
            if entry.value == other.value:
                same += 1
            else:
                parts = tuple(parts_of(entry.value, other.value))
                differing.append(Difference(DifferenceKind.CHANGED, entry, other, parts))
        else:
            kind = _one_sided(
                entry, other, right, DifferenceKind.ONLY_A, DifferenceKind.UNREADABLE_B
            )
            differing.append(
                Difference(kind, entry, other, (DifferencePart("", entry.value, None),))
            )
    for entry in right.entries.values():
        other = left.at(entry)
        if entry.missing is None and (other is None or other.missing is not None):
            kind = _one_sided(
                entry, other, left, DifferenceKind.ONLY_B, DifferenceKind.UNREADABLE_A
            )
            differing.append(
                Difference(kind, other, entry, (DifferencePart("", None, entry.value),))
            )
    differing.sort(key=_order)
    return (
        [difference for difference in differing if difference.kind.is_difference],
        [difference for difference in differing if not difference.kind.is_difference],
        same,
    )


def _one_sided(
    entry: StateEntry,
    other: StateEntry | None,
    side: _Side,
    only: DifferenceKind,
    unseen: DifferenceKind,
) -> DifferenceKind:
    """An item that a snapshot holds nothing of was not looked at when it was taken."""
    if other is None:
        return only if entry.item in side.items else unseen
    return unseen if other.missing is Missing.UNREADABLE else only


_FAMILIES = list(Family)


def _order(difference: Difference) -> tuple[object, ...]:
    """By family; what affects everything comes last, as it says least."""
    item = difference.item
    if item is None:
        return (2, [], 0, difference.entry.name)
    families = [_FAMILIES.index(family) for family in item.families]
    general = len(families) == len(_FAMILIES)
    number = item.number or 1000
    return (int(general), [] if general else families[:1], number, natural(difference.entry.name))


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key by which ``cpu10`` comes after ``cpu9``."""
    return tuple(
        (0, int(word)) if word.isdecimal() else (1, word)
        for word in re.split(r"(\d{1,18})", text)
        if word
    )


def parts_of(a: object, b: object, key: str = "") -> Iterator[DifferencePart]:
    """Where two values differ: in tables key by key, in lists of lines line by line."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in sorted(a.keys() | b.keys(), key=natural):
            path = f"{key} {name}".strip()
            if name in a and name in b:
                yield from parts_of(a[name], b[name], path)
            else:
                yield DifferencePart(path, a.get(name), b.get(name))
    elif _are_lines(a) and _are_lines(b):
        gone, come = Counter(a) - Counter(b), Counter(b) - Counter(a)
        if a != b and not gone and not come:  # the same in another order
            yield DifferencePart(key, a, b)
        yield from (DifferencePart(key, line, None) for line in gone.elements())
        yield from (DifferencePart(key, None, line) for line in come.elements())
    elif a != b or type(a) is not type(b):
        yield DifferencePart(key, a, b)


def _are_lines(value: object) -> TypeGuard[list[str]]:
    return (
        isinstance(value, list) and len(value) > 1 and all(isinstance(line, str) for line in value)
    )


# -- observations as differences -------------------------------------------------------------------

LOG_ITEM = "log.classes"
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class ObservationChange:
    """An observation before and after.

    ``change`` has the shape of the values with numbers replaced by their differences (only those
    that are not 0 in tables); None where they are no numbers, or were not read on both sides.
    Of what counts it is what happened; of what is measured (a temperature) how it moved.
    """

    item: str
    key: str
    before: Any
    after: Any
    change: Any


@dataclass(frozen=True, slots=True)
class NewLogLines:
    """Lines of a class that the kernel logged meanwhile: how many, and the first of them."""

    count: int
    lines: tuple[str, ...]


def _changed(changes: Mapping[str, ObservationChange]) -> tuple[ObservationChange, ...]:
    return tuple(change for change in changes.values() if change.before != change.after)


@dataclass(frozen=True, slots=True)
class Delta:
    """What happened on a board between two snapshots; a document holds what changed alone.

    ``rebooted`` is set when they are of different boots: counters began anew then, and there are
    no differences. ``board_seconds`` and ``host_seconds`` are the time in between by either clock,
    None when it is not known. ``log`` has the classes of the kernel log that are new.
    """

    rebooted: bool
    board_seconds: float | None
    host_seconds: float | None
    changes: Mapping[str, ObservationChange] = field(metadata=in_json(through=_changed))
    log: Mapping[str, NewLogLines]

    @computed.before("changes")
    def clock_error(self) -> float | None:
        """By how much the board's clock runs faster than the host's (0.01 is 1 %)."""
        if not self.board_seconds or not self.host_seconds:
            return None
        return self.board_seconds / self.host_seconds - 1

    def change(self, item: str, key: str) -> Any:
        """The difference of an observation; None when there is none."""
        observation = self.changes.get(f"{item}/{key}")
        return None if observation is None else observation.change


def delta(before: Snapshot, after: Snapshot) -> Delta:
    """The observations of two snapshots of one board as differences."""
    rebooted = before.boot_id != after.boot_id
    earlier = {entry.name: entry for entry in before.observations}
    changes = {
        entry.name: _change(earlier.get(entry.name), entry, rebooted)
        for entry in after.observations
    }
    log = changes.get(f"{LOG_ITEM}/classes")
    return Delta(
        rebooted=rebooted,
        board_seconds=None if rebooted else _seconds(before.board_time_ns, after.board_time_ns),
        host_seconds=_seconds(before.host_time_ns, after.host_time_ns),
        changes=changes,
        log={} if log is None else new_in_log(None if rebooted else log.before, log.after),
    )


def _seconds(before: int | None, after: int | None) -> float | None:
    """None too where the clock went back: the snapshots come from different hosts or boots."""
    if before is None or after is None or after < before:
        return None
    return (after - before) / _NANOSECONDS


def _change(before: StateEntry | None, after: StateEntry, rebooted: bool) -> ObservationChange:
    old = before.value if before is not None else None
    is_comparable = not rebooted and before is not None and before.missing is after.missing is None
    change = _difference(old, after.value) if is_comparable and after.item != LOG_ITEM else None
    return ObservationChange(after.item, after.key, old, after.value, change)


def _difference(before: Any, after: Any) -> Any:
    """Numbers by subtraction, tables and lists member by member; None for all else."""
    if _is_number(before) and _is_number(after):
        return after - before
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        differences = {
            name: _difference(before[name], after[name]) for name in after if name in before
        }
        return {name: value for name, value in differences.items() if not _is_nothing(value)}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        members = [_difference(old, new) for old, new in zip(before, after, strict=True)]
        return None if None in members else members
    return None


def _is_nothing(change: Any) -> bool:
    return change in (None, 0, {}) or (isinstance(change, list) and not any(change))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def new_in_log(before: Any, after: Any) -> dict[str, NewLogLines]:
    """The classes of the kernel log with lines after those of ``before`` (None: all lines).

    By the times of the lines, so that a log that overflowed meanwhile does not hide any; by
    their number where lines have no times.
    """
    fresh_by_class = {}
    until = before.get("until") if isinstance(before, Mapping) else None
    for name, entry in _classes(after).items():
        old = _classes(before).get(name, {})
        if until is None:
            count = int(_number(entry.get("count")) - _number(old.get("count")))
        else:
            count = sum(1 for time in _list(entry.get("times")) if _number(time) > until)
        if count > 0:
            lines = [*_list(entry.get("first")), *_list(entry.get("last"))]
            fresh = [line for line in dict.fromkeys(lines) if _time_of(line) > (until or -1)]
            fresh_by_class[name] = NewLogLines(count, tuple(fresh))
    return fresh_by_class


def _classes(log: Any) -> Mapping[str, Any]:
    classes = log.get("classes") if isinstance(log, Mapping) else None
    return classes if isinstance(classes, Mapping) else {}


def _number(value: Any) -> float:
    return value if _is_number(value) else 0


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _time_of(line: Any) -> float:
    try:
        return float(str(line).partition("]")[0].lstrip("["))
    except ValueError:
        return float("inf")
