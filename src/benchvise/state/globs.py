"""Which paths of a board a glob means, and what its wildcards stood for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Generic, TypeVar

Found = TypeVar("Found")

_WILD = re.compile(r"\*|\?|\[[^\]]*\]")


class ByPath(Generic[Found]):
    """What was found at paths of a board, to be looked up by path or by glob."""

    def __init__(self, contents: Mapping[str, Found] | None = None) -> None:
        self._found = dict(contents or {})
        self._matches: dict[str, tuple[tuple[str, tuple[str, ...], Found], ...]] = {}

    def get(self, path: str) -> Found | None:
        """What was found at a path."""
        return self._found.get(path)

    def items(self) -> Iterator[tuple[str, Found]]:
        """Every path with what was found there."""
        yield from self._found.items()

    def matching(self, glob: str) -> tuple[tuple[str, tuple[str, ...], Found], ...]:
        """Each path that a glob means, what its wildcards matched, and what was found there.

        A glob that nothing matches is itself a path where the answer says why.
        """
        if glob not in self._matches:  # many entries are read from the same files
            self._matches[glob] = tuple(self._match(glob))
        return self._matches[glob]

    @cached_property
    def _sorted(self) -> list[str]:
        # late: most are made to be asked for a few plain paths
        return sorted(self._found)

    def _between(self, prefix: str, suffix: str) -> list[str]:
        """The paths that begin and end so, in order."""
        begin = bisect_left(self._sorted, prefix)
        end = bisect_left(self._sorted, True, begin, key=lambda path: not path.startswith(prefix))
        return [path for path in self._sorted[begin:end] if path.endswith(suffix)]

    def _match(self, glob: str) -> Iterator[tuple[str, tuple[str, ...], Found]]:
        wildcards = list(_WILD.finditer(glob))
        if not wildcards:  # most are plain paths
            if glob in self._found:
                yield glob, (), self._found[glob]
            return
        nothing = True
        prefix, suffix = glob[: wildcards[0].start()], glob[wildcards[-1].end() :]
        for path in self._between(prefix, suffix):
            match = _compiled(glob).fullmatch(path)  # late: few boards have all that is looked for
            if match is not None and path != glob:
                nothing = False
                yield path, match.groups(), self._found[path]
        if nothing and glob in self._found:
            yield glob, (), self._found[glob]


@cache
def _compiled(glob: str) -> re.Pattern[str]:
    """The glob as a pattern with a group for each wildcard."""
    parts, at = [], 0
    for wild in _WILD.finditer(glob):
        parts.append(re.escape(glob[at : wild.start()]))
        word = wild[0]
        inside = "[^/]*" if word == "*" else "[^/]" if word == "?" else word.replace("[!", "[^")
        parts.append(f"({inside})")
        at = wild.end()
    return re.compile("".join(parts) + re.escape(glob[at:]), re.DOTALL)
