"""How much of something there is, where neither a setting nor a file tells.

A program of which a thousand processes were left makes whoever reads /proc slow, and a file system
that is nearly full has whoever writes look for room. A server that never forgets looks through all
that it was ever told, and one that has thousands of callers goes through these. All are the same
file and the same program on both sides; only their number differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.suspects.command_suspects import FILE_SYSTEMS
from benchvise.why.witness.layout import FAR_APART
from benchvise.why.witness.model import Partner, SideWatch
from benchvise.why.witness.partner_suspects import partner_term

PROCESSES = "program.processes:"
"""What begins the id of a suspect about how many processes of a program there are."""

FILL = "storage.fill:"
"""What begins the id of a suspect about how full a file system is."""

DESCRIPTORS = "program.descriptors:"
"""What begins the id of a suspect about how many files and sockets a program has open."""

MEMORY = "program.memory:"
"""What begins the id of a suspect about how much memory a program has."""

_LEAST_PROCESSES = 30
_LEAST_DESCRIPTORS = 400
_LEAST_MB = 24.0
_MORE_MEMORY = 2.5
_OF_KERNEL = ("kworker", "ksoftirqd", "migration", "cpuhp", "idle_inject", "rcu")
_FULL = 0.05  # of the size that is left
_ROOM = 0.1
_FEW_FILES = 500
_FILL_END = " fill"
_ENDS = "it is left from what ran before: end those that nobody needs"
_GATHERED = "it has gathered them while it ran: end what holds them, or start it anew"
_COMM = 15  # characters of a program's name that the kernel keeps
_FREED = "nothing here deletes files: make room on it"


def amount_suspects(
    watches: Mapping[Side, SideWatch], snapshots: Mapping[Side, Snapshot]
) -> tuple[Suspect, ...]:
    """Programs of which one side has many more processes, and file systems that are nearly full on
    one side alone; none where either side is not known."""
    if len(watches) < len(Side) or len(snapshots) < len(Side):
        return ()
    return (*_processes(watches), *_gathered(watches), *_full(snapshots))


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


# -- what programs have gathered -------------------------------------------------------------------


def _gathered(watches: Mapping[Side, SideWatch]) -> Iterator[Suspect]:
    """Open descriptors and memory of programs that run as often on both sides."""
    good, bad = (
        {activity.name: activity for activity in watches[side].neighbours} for side in Side
    )
    partners = {partner.name[:_COMM]: partner for partner in watches[Side.BAD].partners}
    reads = any(call.target.startswith("/proc/") for call in watches[Side.BAD].calls)
    for name in [name for name in bad if name in good]:
        partner = partners.get(name)
        counts = good[name].descriptors, bad[name].descriptors
        sizes = good[name].resident_mb, bad[name].resident_mb
        if min(counts) > 0 and max(counts) >= max(_LEAST_DESCRIPTORS, FAR_APART * min(counts)):
            yield _of_program(
                f"{DESCRIPTORS}{name}",
                f"how many descriptors of files and connections {name} has open",
                [f"{count} descriptors" for count in counts],
                _gathered_term(partner, name, 0.5, 0.5 if reads else -2.0),
                more=counts[1] > counts[0],
            )
        is_partner = partner is not None and good[name].processes == bad[name].processes
        if is_partner and max(sizes) >= max(_LEAST_MB, _MORE_MEMORY * min(sizes)):
            yield _of_program(
                f"{MEMORY}{name}",
                f"how much memory {name} has: what it remembers",
                [f"{size:.0f} MB" for size in sizes],
                _gathered_term(partner, name, 0.4, -2.0),
                more=sizes[1] > sizes[0],
            )


def _gathered_term(partner: Partner | None, name: str, of_partner: float, other: float) -> Term:
    if partner is None:
        return Term("amount", other, f"{name} has far more of them on one side")
    return partner_term(partner, of_partner)


def _of_program(name: str, title: str, values: list[str], term: Term, *, more: bool) -> Suspect:
    less = () if more else (Term("amount", -1.0, "it is the good side that has more"),)
    return Suspect(
        name,
        title,
        Layer.RUN_TIME,
        "system.programs",
        values[0],
        values[1],
        members=(name,),
        untestable=_GATHERED,
        terms=(term, *less),
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
