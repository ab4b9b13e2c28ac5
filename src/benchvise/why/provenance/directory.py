"""The files of a system that lies unpacked in a directory: a root tree of a build, a mounted card.

Symbolic links are followed inside of the directory, as if it were the root.
"""

from __future__ import annotations

import contextlib
import posixpath
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchvise.why.provenance.files import FILE_LIMIT
from benchvise.why.provenance.globs import matches

_MOST_LINKS = 40  # as Linux: more symbolic links than these on one path are a circle


class DirectoryFiles:
    """The files below ``root``; ``roles`` are the devices that the system will have."""

    is_live = False

    def __init__(self, root: Path, name: str = "", roles: Mapping[str, str] | None = None) -> None:
        self._root = root
        self.name = name or root.name
        self.roles: Mapping[str, str] = dict(roles or {})
        self.unread: dict[str, str] = {}

    def names(self, directory: str) -> list[str]:
        """What a directory of the system holds."""
        place = self._resolve(directory)
        try:
            return [entry.name for entry in place.iterdir()] if place is not None else []
        except NotADirectoryError:
            return []
        except OSError as error:
            self.unread[directory] = error.strerror or "cannot be listed"
            return []

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The first bytes of each file that matches."""
        found: dict[str, bytes] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            place = self._resolve(path)
            if place is None:
                continue
            try:
                if not stat.S_ISREG(place.stat().st_mode):
                    continue
                with place.open("rb") as stream:
                    found[path] = stream.read(FILE_LIMIT)
            except OSError as error:
                self.unread[path] = error.strerror or "cannot be read"
        return found

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead."""
        found: dict[str, str] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            parent = self._resolve(posixpath.dirname(path))
            place = None if parent is None else parent / posixpath.basename(path)
            with contextlib.suppress(OSError):  # it is none, or may not be looked at
                if place is not None and place.is_symlink():
                    found[path] = str(place.readlink())
        return found

    def located(self, path: str) -> str | None:
        """The true path of a file of the system; None where there is none."""
        place = self._resolve(path)
        try:
            if place is None or not stat.S_ISREG(place.stat().st_mode):
                return None
        except OSError:
            return None
        return f"/{place.relative_to(self._root).as_posix()}"

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is larger than that."""
        try:
            with self._root.joinpath(path.lstrip("/")).open("rb") as stream:
                data = stream.read(limit + 1)
        except OSError:
            return None
        return data if len(data) <= limit else None

    def _resolve(self, path: str) -> Path | None:
        """Where a path of the system lies on this machine; None when there is nothing."""
        waiting = [part for part in path.split("/") if part][::-1]
        way: list[str] = []
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                way = way[:-1]
                continue
            here = self._root.joinpath(*way, part)
            try:
                if here.is_symlink():
                    links += 1
                    if links > _MOST_LINKS:
                        self.unread[path] = "a circle of symbolic links"
                        return None
                    target = str(here.readlink())
                    waiting += [piece for piece in target.split("/") if piece][::-1]
                    way = [] if target.startswith("/") else way
                    continue
                here.lstat()
            except FileNotFoundError:
                return None
            except OSError as error:
                self.unread[path] = error.strerror or "cannot be looked at"
                return None
            if part != ".":
                way.append(part)
        return self._root.joinpath(*way)
