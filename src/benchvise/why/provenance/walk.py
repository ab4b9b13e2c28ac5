"""Reading by globs where files can only be listed directory by directory: images, directories."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Protocol

from benchvise.why.provenance.globs import is_pattern

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
