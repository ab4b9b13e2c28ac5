"""Files that are newer than others on one side alone.

What is made of files is made anew where one of them looks newer: objects by make, bytecode, caches
of fonts, packages and completions. Their contents are the same on both sides then, and only the
order of their times tells. Boards that were installed at different times differ in that of many
files; a suspect is only one file without which the order would be the same.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.layout import DIRECTORY

MODIFIED = "modified "
"""What comes before a path as the key of when it was written, in seconds since 1970."""

CHANGED = "changed "
"""The same of when a file was last changed there, whatever time it was given: its ctime."""

OF_TIME = "file.time:"
"""What begins the id of a suspect about it."""

NEWER = "what is made of it is made anew while it is newer: give it the time that it had"
"""Why the time of a file is not tried."""

_MOST_OF_IT = 0.8
_THAN = "newer than "
_BEFORE = "older than "


def time_suspects(
    paths: Sequence[str], digests: Mapping[Side, Mapping[str, str]]
) -> Iterator[Suspect]:
    """The file with which nearly all of the order of times that is not the same goes away."""
    times = [
        {path: int(of[f"{MODIFIED}{path}"]) for path in paths if f"{MODIFIED}{path}" in of}
        for of in (digests[Side.GOOD], digests[Side.BAD])
    ]
    good, bad = times
    same = [path for path in paths if path in good and path in bad and _is_same(path, digests)]
    turned = [
        (path, other)
        for path, other in combinations(same, 2)
        if (good[path] - good[other]) * (bad[path] - bad[other]) < 0
    ]
    counts = Counter(path for pair in turned for path in pair)
    if not counts:
        return
    path = max(counts, key=lambda path: (counts[path], bad[path]))
    if counts[path] < _MOST_OF_IT * len(turned):
        return
    other = next(one if two == path else two for one, two in turned if path in (one, two))
    is_newer = bad[path] > bad[other]
    words = (_BEFORE, _THAN) if is_newer else (_THAN, _BEFORE)
    yield Suspect(
        f"{OF_TIME}{path}",
        f"when {path} was written, which the command opens",
        Layer.USERLAND,
        "file.time",
        f"{words[0]}{other}",
        f"{words[1]}{other}",
        (f"{OF_TIME}{path}",),
        untestable=NEWER,
        terms=(Term("file", -0.5, "both sides have it, and it is newer or older there alone"),),
    )


def _is_same(path: str, digests: Mapping[Side, Mapping[str, str]]) -> bool:
    good, bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
    return good == bad and bool(good) and not good.startswith(DIRECTORY)


def time_as_on_good(suspect: Suspect) -> str:
    """The line of shell that gives a file the time of the one than which it should be no newer;
    empty for others."""
    if not suspect.id.startswith(OF_TIME) or not suspect.bad.startswith(_THAN):
        return ""
    other = suspect.bad.removeprefix(_THAN)
    return shlex.join(["touch", "-r", other, "--", suspect.id.removeprefix(OF_TIME)])
