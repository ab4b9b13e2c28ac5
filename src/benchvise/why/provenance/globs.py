"""Patterns of paths: whether two can mean the same file, and which files one means.

A pattern has the wildcards of glob(7), and ``**``, which also matches ``/``: it stands for what a
script finds out when it runs. Only ``*``, ``?`` and sets are told apart as far as it matters: two
wildcards that meet are taken to overlap. Which files one means is found out by listing directory by
directory, as images and directories can only be read so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Protocol

ANYTHING = "**"

_LONGEST = 512  # characters of a pattern: the comparison takes their product

_TOKEN = re.compile(r"\*\*|\*|\?|\[[^\[\]/]{1,100}\]|\\.|.", re.DOTALL)
_WILD = re.compile(r"[*?\[]")


def is_pattern(path: str) -> bool:
    """Whether a path has wildcards."""
    return _WILD.search(path) is not None


@lru_cache(maxsize=65536)
def overlap(one: str, other: str) -> bool:
    """Whether there can be a path that both patterns match. Takes the product of their lengths."""
    if one == other:
        return True
    if len(one) > _LONGEST or len(other) > _LONGEST:
        return False
    if not is_pattern(one) and not is_pattern(other):
        return False
    if not one.startswith(_head(other)) and not other.startswith(_head(one)):
        return False
    a, b = _tokens(one), _tokens(other)
    # row[j]: whether what is left of a from here and b[j:] can match the same text
    row = [False] * len(b) + [True]
    for j in range(len(b) - 1, -1, -1):
        row[j] = b[j][0] == "*" and row[j + 1]
    for i in range(len(a) - 1, -1, -1):
        after = row
        row = [False] * (len(b) + 1)
        star = a[i][0] == "*"
        row[len(b)] = star and after[len(b)]
        for j in range(len(b) - 1, -1, -1):
            row[j] = _step(a[i], b[j], after[j], row[j + 1], after[j + 1])
    return row[0]


@lru_cache(maxsize=65536)
def _head(pattern: str) -> str:
    """What stands before the first wildcard."""
    wild = _WILD.search(pattern)
    return pattern if wild is None else pattern[: wild.start()]


def _step(one: str, other: str, skip_one: bool, skip_other: bool, both: bool) -> bool:
    """``skip_one``: what follows when ``one`` is over and ``other`` is not, and so on."""
    if one[0] == "*" or other[0] == "*":
        found = (one[0] == "*" and skip_one) or (other[0] == "*" and skip_other)
        if one[0] == "*" and (one == ANYTHING or other != "/") and other[0] != "*":
            found = found or skip_other
        if other[0] == "*" and (other == ANYTHING or one != "/") and one[0] != "*":
            found = found or skip_one
        return found
    return both and _can_equal(one, other)


def _can_equal(one: str, other: str) -> bool:
    if one == other:
        return True
    if "?" in (one, other):
        return "/" not in (one, other)
    if one[0] == "[" and other[0] == "[" and len(one) > 1 and len(other) > 1:
        return True
    if len(one) > 1 and one[0] == "[":
        return _in_set(one, other)
    if len(other) > 1 and other[0] == "[":
        return _in_set(other, one)
    return False


def _in_set(given: str, character: str) -> bool:
    inside = given[1:-1]
    negated = inside[:1] in "!^"
    inside = inside[1:] if negated else inside
    found = False
    index = 0
    while index < len(inside):
        if index + 2 < len(inside) and inside[index + 1] == "-":
            found = found or inside[index] <= character <= inside[index + 2]
            index += 3
        else:
            found = found or inside[index] == character
            index += 1
    return character != "/" and found != negated


def _tokens(pattern: str) -> list[str]:
    return [
        token[1] if token[0] == "\\" and len(token) > 1 else token
        for token in _TOKEN.findall(pattern)
    ]


MOST_MATCHES = 20_000


class Listed(Protocol):
    """Directories of a system, by absolute path."""

    def names(self, directory: str) -> Iterable[str]:
        """The names in a directory; none when there is no such directory."""


def matches(files: Listed, glob: str) -> Iterator[str]:
    """The paths that a glob means, sorted; as glob(7): no wildcard matches ``/`` or a leading
    dot. What has no wildcard is given as it is."""
    if not is_pattern(glob):
        yield glob
        return
    head = glob.split("/")
    found = ["/"]
    for index, part in enumerate(head[1:], 1):
        if not is_pattern(part):
            found = [posixpath.join(path, part) for path in found]
            continue
        rest = index < len(head) - 1
        found = [
            posixpath.join(path, name)
            for path in found
            for name in sorted(files.names(path))
            if fnmatchcase(name, part) and (not name.startswith(".") or part.startswith("."))
        ][:MOST_MATCHES]
        if rest and not found:
            return
    yield from found
