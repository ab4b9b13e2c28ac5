"""What happened between two snapshots of a board: observations as differences.

Used as evidence: a counter of throttling that rose during a run, swapping, resets in the kernel
log. Who judges a run looks here; what is set differently is the affair of ``diff``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchvise.documents import computed, in_json
from benchvise.state.model import Snapshot, StateEntry

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
        found = self.changes.get(f"{item}/{key}")
        return None if found is None else found.change


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
    known = not rebooted and before is not None and before.missing is after.missing is None
    change = _difference(old, after.value) if known and after.item != LOG_ITEM else None
    return ObservationChange(after.item, after.key, old, after.value, change)


def _difference(before: Any, after: Any) -> Any:
    """Numbers by subtraction, tables and lists member by member; None for all else."""
    if _is_number(before) and _is_number(after):
        return after - before
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        found = {name: _difference(before[name], after[name]) for name in after if name in before}
        return {name: value for name, value in found.items() if not _is_nothing(value)}
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
    found = {}
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
            found[name] = NewLogLines(count, tuple(fresh))
    return found


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
