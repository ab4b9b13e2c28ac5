"""How much of something there is, where neither a setting nor a file tells.

A program of which a thousand processes were left makes whoever reads /proc slow, and a file system
that is nearly full has whoever writes look for room. Both are the same file and the same program on
both sides; only their number differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.suspects.command_suspects import FILE_SYSTEMS
from benchvise.why.witness.layout import FAR_APART
from benchvise.why.witness.model import SideWatch

PROCESSES = "program.processes:"
"""What begins the id of a suspect about how many processes of a program there are."""

FILL = "storage.fill:"
"""What begins the id of a suspect about how full a file system is."""

_LEAST_PROCESSES = 30
_OF_KERNEL = ("kworker", "ksoftirqd", "migration", "cpuhp", "idle_inject", "rcu")
_FULL = 0.05  # of the size that is left
_ROOM = 0.1
_FEW_FILES = 500
_FILL_END = " fill"
_ENDS = "it is left from what ran before: end those that nobody needs"
_FREED = "nothing here deletes files: make room on it"


def amount_suspects(
    watches: Mapping[Side, SideWatch], snapshots: Mapping[Side, Snapshot]
) -> tuple[Suspect, ...]:
    """Programs of which one side has many more processes, and file systems that are nearly full on
    one side alone; none where either side is not known."""
    if len(watches) < len(Side) or len(snapshots) < len(Side):
        return ()
    return (*_processes(watches), *_full(snapshots))


# -- processes -------------------------------------------------------------------------------------


def _processes(watches: Mapping[Side, SideWatch]) -> Iterator[Suspect]:
    good, bad = (
        {activity.name: activity.processes for activity in watches[side].neighbours}
        for side in (Side.GOOD, Side.BAD)
    )
    reads = any(call.target.startswith("/proc/") for call in watches[Side.BAD].calls)
    for name in dict.fromkeys((*bad, *good)):
        counts = good.get(name, 0), bad.get(name, 0)
        if max(counts) < max(_LEAST_PROCESSES, FAR_APART * min(counts)):
            continue
        if name.startswith(_OF_KERNEL):
            continue
        points = (0.5 if reads else -1.5) - (0.0 if counts[1] > counts[0] else 1.0)
        reason = "the command reads /proc, which has all of them" if reads else "they are many"
        yield Suspect(
            f"{PROCESSES}{printable(name, 40)}",
            f"how many processes of {printable(name, 40)} there are",
            Layer.RUN_TIME,
            "system.processes",
            f"{counts[0]} processes",
            f"{counts[1]} processes",
            (f"{PROCESSES}{printable(name, 40)}",),
            untestable=_ENDS,
            terms=(Term("amount", points, reason),),
        )


# -- room on file systems --------------------------------------------------------------------------


def _full(snapshots: Mapping[Side, Snapshot]) -> Iterator[Suspect]:
    good, bad = (_room_by_point(snapshots[side]) for side in (Side.GOOD, Side.BAD))
    for point in [point for point in bad if point in good]:
        (room, files), (bad_room, bad_files) = good[point], bad[point]
        is_full = bad_room < _FULL and room > _ROOM
        has_no_files = 0 <= bad_files < _FEW_FILES < files
        if not is_full and not has_no_files:
            continue
        name = f"{FILL}{printable(point, 80)}"
        good_text, bad_text = (
            f"room for {files} files" if has_no_files and not is_full else f"{room:.0%} free"
            for room, files in (good[point], bad[point])
        )
        yield Suspect(
            name,
            f"how full the file system at {printable(point, 80)} is",
            Layer.RUN_TIME,
            FILE_SYSTEMS,
            good_text,
            bad_text,
            (name,),
            untestable=_FREED,
            terms=(Term("amount", 0.0, "who writes to it has to look for room"),),
        )


def _room_by_point(snapshot: Snapshot) -> dict[str, tuple[float, int]]:
    """The part of each file system that is available, and for how many files it has room: -1 where
    it does not count them."""
    entries = {e.name: e.value for e in snapshot.entries() if e.item == FILE_SYSTEMS}
    rooms: dict[str, tuple[float, int]] = {}
    for name, fill in entries.items():
        whole = entries.get(name.removesuffix(_FILL_END))
        if not name.endswith(_FILL_END):
            continue
        if not isinstance(fill, Mapping) or not isinstance(whole, Mapping):
            continue
        size, available, files = whole.get("size"), fill.get("available"), fill.get("files_free")
        if isinstance(size, int) and size > 0 and isinstance(available, int):
            point = name.removeprefix(f"{FILE_SYSTEMS}/").removesuffix(_FILL_END)
            counts = isinstance(files, int) and (files > 0 or "inode_size" in whole)
            rooms[point] = available / size, files if isinstance(files, int) and counts else -1
    return rooms
