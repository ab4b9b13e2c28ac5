"""Differences of file systems that the command never touches come last.

Which files it touches is known where all its system calls were followed: a mount below which it
opened, read and wrote nothing on either side is hardly why it is slower.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from benchvise.state.model import Snapshot
from benchvise.why.model import Side, Suspect, Term
from benchvise.why.suspects.command_suspects import FILE_SYSTEMS, MOUNTS
from benchvise.why.witness.model import SideWatch
from benchvise.why.witness.touching import NAME

_POINTS = -3.0
_ITEMS = ("storage.mounts", FILE_SYSTEMS)
_LINKS = {"/var/run/": "/run/", "/var/lock/": "/run/lock/"}
"""Where these lead on nearly every system."""


def touched_paths(watches: Sequence[SideWatch]) -> frozenset[str] | None:
    """The paths that the system calls of all these runs were about, and those that the programs
    have open which the command talks to; None where they may not be all, as a run was not followed
    to its end."""
    is_whole = all(watch.calls and not watch.is_cut for watch in watches)
    if not is_whole or any(watch.remarks for watch in watches):
        return None
    calls = (call.target for watch in watches for call in watch.calls)
    partners = (path for watch in watches for of in watch.partners for path in of.opened)
    return frozenset(_plain(path) for path in (*calls, *partners) if path.startswith("/"))


def put_last(
    suspects: Sequence[Suspect],
    snapshots: Mapping[Side, Snapshot],
    paths: frozenset[str] | None,
) -> tuple[Suspect, ...]:
    """The suspects with a term for those whose mounts nothing touches, in their new order."""
    if paths is None:
        return tuple(suspects)
    judged = []
    for suspect in suspects:
        places = _places(suspect, snapshots)
        if places and not any(_is_touched(place, paths) for place in places):
            reason = f"the command touches nothing below {', '.join(sorted(places)[:3])}"
            suspect = replace(suspect, terms=(*suspect.terms, Term(NAME, _POINTS, reason)))
        judged.append(suspect)
    return tuple(sorted(judged, key=lambda s: (s.means is None, -s.log_odds)))


def _places(suspect: Suspect, snapshots: Mapping[Side, Snapshot]) -> set[str]:
    """All mount points that a suspect is about; none where that is not known."""
    if suspect.item not in _ITEMS:
        return set()
    point = suspect.id.partition(":")[2]
    if point.startswith("/"):
        return {point}
    places: set[str] = set()
    for member in suspect.members:
        key = member.partition("/")[2]
        if member == MOUNTS:
            differing = _differing(snapshots)
            if not differing:
                return set()
            places |= differing
        elif key.startswith("/"):
            places.add(key.partition(" ")[0])
        else:
            return set()
    return places


def _differing(snapshots: Mapping[Side, Snapshot]) -> set[str]:
    """The mount points that are not mounted the same on both sides."""
    tables = []
    for side in Side:
        entries = snapshots[side].entries() if side in snapshots else ()
        table = next((entry.value for entry in entries if entry.name == MOUNTS), None)
        if not isinstance(table, Mapping):
            return set()
        tables.append(table)
    first, other = tables
    return {str(point) for point in {*first, *other} if first.get(point) != other.get(point)}


def _is_touched(place: str, paths: Collection[str]) -> bool:
    below = f"{place.rstrip('/')}/"
    return any(path == place or path.startswith(below) for path in paths)


def _plain(path: str) -> str:
    link = next((link for link in _LINKS if path.startswith(link)), "")
    return f"{_LINKS[link]}{path.removeprefix(link)}" if link else path
