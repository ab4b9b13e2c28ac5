"""Many files of one directory that one side alone has, as one suspect.

Plug-ins of an editor, completions of a shell, snippets of a configuration: the command reads all of
them, and each costs little. Tried one by one, none closes the gap.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from benchvise.why.model import Layer, LayerMeans, Suspect, Term
from benchvise.why.witness.layout import OF_ENTRIES

FEWEST = 8
"""So many files are one suspect."""

_ITEM = "userland.file"
_MOST = 300
_MOST_OF_IT = 0.8
_POINTS = 1.0
_LEAST_DEPTH = 2
_SHARED = re.compile(
    r"/(?:etc|opt|root|srv|var(?:/lib)?|home(?:/[^/]+)?|usr/local(?:/\w+)?|(?:usr/(?!local(?:/|$))|"
    r"(?:s?bin|lib\w*)(?:/|$)).*)"
)
"""Where files of many programs lie, and what a system came with."""


def grouped_files(
    suspects: Sequence[Suspect], not_there: str, prefix: str, layer: str
) -> tuple[tuple[Suspect, ...], frozenset[str]]:
    """A suspect for each directory in or below which one side alone has at least ``FEWEST`` of
    these files, and the ids of what it is made of. Files that the other side does not have are
    ``not_there`` on it; ids are ``prefix`` and a path; ``layer`` is that of the means, which those
    of more than a few hundred files have not: each is read from the board.
    """
    groups: list[Suspect] = []
    taken: set[str] = set()
    for is_bad in (True, False):
        of_side = [s for s in suspects if (s.good if is_bad else s.bad) == not_there]
        paths = [suspect.id.removeprefix(prefix) for suspect in of_side]
        for place in _places(paths):
            inside = [path for path in paths if path.startswith(f"{place}/")]
            if f"{prefix}{place}" in taken:
                continue
            taken |= {f"{prefix}{path}" for path in inside}
            groups.append(_group(place, inside, not_there, prefix, layer, is_bad=is_bad))
    return tuple(groups), frozenset(taken)


def _group(
    place: str, inside: Sequence[str], not_there: str, prefix: str, layer: str, *, is_bad: bool
) -> Suspect:
    values = [not_there, f"{len(inside)} files"]
    good, bad = values if is_bad else reversed(values)
    side = "bad" if is_bad else "good"
    reason = f"only {side} has {len(inside)} files in or below it that the command opens there"
    can_try = len(inside) <= _MOST
    return Suspect(
        f"{prefix}{place}",
        f"{len(inside)} files in or below {place} that only {side} has, which the command opens",
        Layer.USERLAND,
        _ITEM,
        good,
        bad,
        tuple(f"{prefix}{path}" for path in inside),
        means=LayerMeans(layer, place) if can_try else None,
        untestable="" if can_try else OF_ENTRIES,
        terms=(Term("file", _POINTS, reason),),
    )


def is_group(suspect: Suspect) -> bool:
    """Whether a suspect is about many files of one directory."""
    return suspect.item == _ITEM and len(suspect.members) >= FEWEST


def _places(paths: Sequence[str]) -> Iterator[str]:
    """The directories with enough of these below, that no other such is around: of each the deepest
    that has most of it."""
    below = Counter(place for path in paths for place in _above(path))
    enough = {place: count for place, count in below.items() if count >= FEWEST}
    for place, count in enough.items():
        if posixpath.dirname(place) in enough:
            continue
        deepest = max(
            (
                p
                for p in enough
                if f"{p}/".startswith(f"{place}/") and enough[p] >= _MOST_OF_IT * count
            ),
            key=len,
        )
        yield deepest


def _above(path: str) -> Iterator[str]:
    while (path := posixpath.dirname(path)).count("/") >= _LEAST_DEPTH:
        if _SHARED.fullmatch(path):
            return
        yield path
