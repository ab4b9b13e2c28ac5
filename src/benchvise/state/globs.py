"""Which paths of a board a glob means, and what its wildcards stood for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Generic, TypeVar

Found = TypeVar("Found")

_WILD = re.compile(r"\*|\?|\[[^\]]*\]")


class ByPath(Generic[Found]):
    """What was found at paths of a board, to be looked up by path or by glob."""

    def __init__(self, contents: Mapping[str, Found] | None = None) -> None:
        self._found = dict(contents or {})
        self._sorted = sorted(self._found)

    def get(self, path: str) -> Found | None:
        """What was found at a path."""
        return self._found.get(path)

    def items(self) -> Iterator[tuple[str, Found]]:
        """Every path with what was found there."""
        yield from self._found.items()

    def matching(self, glob: str) -> Iterator[tuple[str, tuple[str, ...], Found]]:
        """Each path that a glob means, what its wildcards matched, and what was found there.

        A glob that nothing matches is itself a path where the answer says why.
        """
        if not _WILD.search(glob):  # most are plain paths
            if glob in self._found:
                yield glob, (), self._found[glob]
            return
        nothing = True
        pattern, prefix = _compiled(glob)
        for index in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            path = self._sorted[index]
            if not path.startswith(prefix):
                break
            match = pattern.fullmatch(path)
            if match is not None and path != glob:
                nothing = False
                yield path, match.groups(), self._found[path]
        if nothing and glob in self._found:
            yield glob, (), self._found[glob]


@cache
def _compiled(glob: str) -> tuple[re.Pattern[str], str]:
    """The glob as a pattern with a group for each wildcard, and what stands before the first."""
    parts, at = [], 0
    for wild in _WILD.finditer(glob):
        parts.append(re.escape(glob[at : wild.start()]))
        word = wild[0]
        inside = "[^/]*" if word == "*" else "[^/]" if word == "?" else word.replace("[!", "[^")
        parts.append(f"({inside})")
        at = wild.end()
    pattern = "".join(parts) + re.escape(glob[at:])
    first = _WILD.search(glob)
    return re.compile(pattern, re.DOTALL), glob[: first.start()] if first else glob
