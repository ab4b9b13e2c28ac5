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
def overlap(pattern: str, other: str) -> bool:
    """Whether there can be a path that both patterns match. Takes the product of their lengths."""
    if pattern == other:
        return True
    if len(pattern) > _LONGEST or len(other) > _LONGEST:
        return False
    if not is_pattern(pattern) and not is_pattern(other):
        return False
    if not pattern.startswith(_head(other)) and not other.startswith(_head(pattern)):
        return False
    a, b = _tokens(pattern), _tokens(other)
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


def _step(left: str, right: str, skip_left: bool, skip_right: bool, both: bool) -> bool:
    """``skip_left``: what follows when ``left`` is over and ``right`` is not, and so on."""
    if left[0] == "*" or right[0] == "*":
        can_match = (left[0] == "*" and skip_left) or (right[0] == "*" and skip_right)
        if left[0] == "*" and (left == ANYTHING or right != "/") and right[0] != "*":
            can_match = can_match or skip_right
        if right[0] == "*" and (right == ANYTHING or left != "/") and left[0] != "*":
            can_match = can_match or skip_left
        return can_match
    return both and _can_equal(left, right)


def _can_equal(left: str, right: str) -> bool:
    if left == right:
        return True
    if "?" in (left, right):
        return "/" not in (left, right)
    if left[0] == "[" and right[0] == "[" and len(left) > 1 and len(right) > 1:
        return True
    if len(left) > 1 and left[0] == "[":
        return _in_set(left, right)
    if len(right) > 1 and right[0] == "[":
        return _in_set(right, left)
    return False


def _in_set(characters: str, character: str) -> bool:
    inside = characters[1:-1]
    negated = inside[:1] in "!^"
    inside = inside[1:] if negated else inside
    is_listed = False
    index = 0
    while index < len(inside):
        if index + 2 < len(inside) and inside[index + 1] == "-":
            is_listed = is_listed or inside[index] <= character <= inside[index + 2]
            index += 3
        else:
            is_listed = is_listed or inside[index] == character
            index += 1
    return character != "/" and is_listed != negated


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
    paths = ["/"]
    for index, part in enumerate(head[1:], 1):
        if not is_pattern(part):
            paths = [posixpath.join(path, part) for path in paths]
            continue
        rest = index < len(head) - 1
        paths = [
            posixpath.join(path, name)
            for path in paths
            for name in sorted(files.names(path))
            if fnmatchcase(name, part) and (not name.startswith(".") or part.startswith("."))
        ][:MOST_MATCHES]
        if rest and not paths:
            return
    yield from paths
