"""Actors by the names that people give them.

``task:NAME``, ``task:NAME/TID``, ``task:TID``, ``irq:NAME``, ``irq:NUMBER``, ``softirq:NET_RX``,
``idle:CPU``; NAME may be a glob pattern. Without a kind, the name must belong to one kind only.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np

from benchvise.errors import UsageError
from benchvise.text import enumerated
from benchvise.trace.analysis.model import Actor, Bools

KINDS = ("task", "irq", "softirq", "idle")
_CANDIDATES = 6


def find(actors: Sequence[Actor], pattern: str) -> list[Actor]:
    """The actors that a pattern means, at least one.

    Raises:
        UsageError: there is none, or a name without a kind means actors of several kinds.
    """
    kind, name = _split(pattern)
    of_kind = [actor for actor in actors if not kind or actor.kind == kind]
    matching = [actor for actor in of_kind if _is(actor, name)]
    if not matching:
        raise UsageError(f"no actor of the trace is {pattern}", _nearest(actors, pattern, kind))
    kinds = sorted({actor.kind for actor in matching})
    if len(kinds) > 1:
        choices = ", ".join(f"{kind}:{name}" for kind in kinds)
        raise UsageError(f"{pattern} may be several actors", f"say which: {choices}")
    return matching


def find_all(actors: Sequence[Actor], patterns: Sequence[str]) -> list[Actor]:
    """The actors that any of the patterns means, by id; all of them for no pattern."""
    if not patterns:
        return list(actors)
    matching = {actor.id: actor for pattern in patterns for actor in find(actors, pattern)}
    return [matching[key] for key in sorted(matching)]


def mask(actors: Sequence[Actor], chosen: Sequence[Actor]) -> Bools:
    """Which actors are among the chosen ones, by id."""
    chosen_ids = np.zeros(len(actors), dtype=np.bool_)
    chosen_ids[[actor.id for actor in chosen]] = True
    return chosen_ids


def _split(pattern: str) -> tuple[str, str]:
    kind, colon, name = pattern.partition(":")
    return (kind, name) if colon and kind in KINDS else ("", pattern)


def _is(actor: Actor, name: str) -> bool:
    if fnmatchcase(actor.name, name) or actor.name == name:
        return True
    number = {"task": actor.tid, "idle": actor.cpu}.get(actor.kind, actor.number)
    if name.isdecimal():
        return number == int(name)
    # Names of threads hold slashes themselves: kworker/0:1, irq/43-mmc0.
    front, slash, tail = name.rpartition("/")
    same = fnmatchcase(actor.name, front) or actor.name == front
    return bool(slash) and tail.isdecimal() and same and number == int(tail)


def _nearest(actors: Sequence[Actor], pattern: str, kind: str) -> str:
    """Candidates that look like the pattern, or else some of its kind."""
    groups = list(dict.fromkeys(actor.group for actor in actors))
    wanted = pattern if kind else f"task:{pattern}"
    near = get_close_matches(wanted, groups, n=_CANDIDATES, cutoff=0.6)
    near += [group for group in groups if _split(pattern)[1].lower() in group.lower()]
    near = list(dict.fromkeys(near))
    if near:
        return f"similar: {', '.join(near[:_CANDIDATES])}"
    if kind and not any(actor.kind == kind for actor in actors):
        kinds = sorted({actor.kind for actor in actors})
        return f"it has no {kind} at all, only {', '.join(kinds) or 'nothing'}"
    same = [group for group in groups if not kind or group.startswith(f"{kind}:")]
    return f"there are {enumerated(same, _CANDIDATES)}"


class Grouping:
    """Actors put together under labels: each by itself, or all of one name.

    ``of_actor`` is the group of each actor, -1 for one that was not chosen.
    """

    def __init__(
        self, actors: Sequence[Actor], chosen: Sequence[Actor], *, by_name: bool = False
    ) -> None:
        members: dict[str, list[Actor]] = {}
        for actor in chosen:
            # Thread ids are used again, and handlers of one line share its number: a label that
            # two actors have is still two actors.
            key = actor.group if by_name else f"{actor.label} {actor.id}"
            members.setdefault(key, []).append(actor)
        self.members = list(members.values())
        self.labels = [of[0].group if by_name else of[0].label for of in self.members]
        self.of_actor = np.full(len(actors), -1, dtype=np.int64)
        for group, of in enumerate(self.members):
            self.of_actor[[actor.id for actor in of]] = group

    def ids(self, group: int) -> tuple[int, ...]:
        """The actors of a group."""
        return tuple(actor.id for actor in self.members[group])

    def __len__(self) -> int:
        return len(self.members)
