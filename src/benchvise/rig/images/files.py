"""What the boot partition must be able to do, whichever file system it has."""

from __future__ import annotations

import posixpath
from typing import Protocol

MOST_BYTES = 1 << 30  # of one boot file; the largest initial RAM disks have a tenth of it


class Files(Protocol):
    """A file system of an image. Paths are absolute in it, and follow symbolic links."""

    @property
    def where(self) -> str:
        """What errors call it: the image, and the partition in it."""

    def names(self, directory: str) -> dict[str, bool]:
        """What a directory holds, each with whether it is a directory; empty if there is none."""

    def is_file(self, path: str) -> bool:
        """Whether a regular file lies there."""

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The first ``limit`` bytes of a file. ComposeError when there is none."""

    def put(self, path: str, data: bytes) -> None:
        """Writes a file, in place of one that is there. ComposeError when it does not fit."""

    def remove(self, path: str) -> None:
        """Removes a file or a whole directory, if it is there."""


def below(files: Files, directory: str) -> list[str]:
    """The paths of all files below a directory, sorted."""
    found: list[str] = []
    for name, is_directory in sorted(files.names(directory).items()):
        path = posixpath.join(directory, name)
        found += below(files, path) if is_directory else [path]
    return found


def absolute(path: str, directory: str = "/") -> str:
    """``path`` without ``.`` and ``..``, absolute; a relative one begins at ``directory``."""
    return "/" + posixpath.normpath(posixpath.join(directory, path)).lstrip("/").removeprefix("../")
