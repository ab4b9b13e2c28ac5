"""Where the files of a system are read, and what was read of them.

A ``FileSource`` is a board that runs (``live``), an image (``image``) or a directory
(``directory``). All are asked by globs, in as few requests as possible; ``Tree`` remembers what was
answered, so that every kind of place finds its files there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from benchvise.state.globs import ByPath
from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.globs import is_pattern

FILE_LIMIT = 480 << 10
"""Bytes that are looked at of one file: as much as the probe gives of one."""

MOST_FILES = 8000
"""Files of one answer; a system has hundreds that set something."""

MOST_BYTES = 32 << 20
"""Bytes of all files of a system that are kept."""

MOST_STEPS = 50_000
"""Commands of all scripts of a system that are gone through; one script has dozens."""

LINE_LIMIT = 4096
"""Characters of a line: nobody sets anything by a longer one, and what does is not understood."""

MOST_LINES = 20_000

_MOST_LINKS = 8


class FileSource(Protocol):
    """The files of one system. Raises BenchviseError when it cannot be reached or read at all."""

    @property
    def name(self) -> str:
        """What the user calls the system."""

    @property
    def is_live(self) -> bool:
        """Whether it runs: then ``/proc`` and ``/sys`` can be read too."""

    @property
    def roles(self) -> Mapping[str, str]:
        """Which device has which role there, as far as known: ``{"root_disk": "mmcblk0"}``."""

    @property
    def unread(self) -> Mapping[str, str]:
        """The files that are there and could not be read, with the reason."""

    def read(self, globs: Iterable[str]) -> Mapping[str, bytes]:
        """The first bytes of each file that a glob matches, by path; links are followed."""

    def links(self, globs: Iterable[str]) -> Mapping[str, str]:
        """Where each symbolic link that a glob matches leads, by its path."""


class Tree:
    """What was read of a system, by path. ``ask`` reads more."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.asked: dict[str, None] = {}
        self.wanted: dict[str, None] = {}
        self.left_out = 0
        self._contents: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._by_path: ByPath[bytes] | None = None
        self._lines: dict[str, tuple[Line, ...]] = {}
        self._steps = MOST_STEPS
        self._room = MOST_BYTES

    def ask(self, globs: Iterable[str], links: Iterable[str] = ()) -> None:
        """Reads what was not asked for before."""
        new = [glob for glob in dict.fromkeys(globs) if glob not in self.asked]
        self.asked.update(dict.fromkeys(new))
        if new:
            for path, data in self.source.read(new).items():
                if len(self._contents) < MOST_FILES and len(data) <= self._room:
                    self._contents[path] = data[:FILE_LIMIT]
                    self._room -= len(self._contents[path])
                else:
                    self.left_out += 1
            self._by_path = None
        asked_links = list(links)
        if asked_links:
            self._links |= self.source.links(asked_links)

    def ask_wanted(self) -> bool:
        """Reads what was found to be needed; whether there was anything."""
        new = [path for path in self.wanted if path not in self.asked]
        self.wanted.clear()
        self.ask(new)
        return bool(new)

    def paths(self, glob: str) -> list[str]:
        """The files read that match a glob, sorted."""
        if not is_pattern(glob):
            return [glob] if glob in self._contents else []
        if self._by_path is None:
            self._by_path = ByPath(self._contents)
        return [path for path, _, _ in self._by_path.matching(glob)]

    def spend(self) -> bool:
        """Whether another command of a script may be gone through."""
        self._steps -= 1
        return self._steps >= 0

    def begin(self) -> None:
        """All files are gone through anew."""
        self._steps = MOST_STEPS

    @property
    def count(self) -> int:
        """How many files were read."""
        return len(self._contents)

    def has(self, path: str) -> bool:
        """Whether a file was read."""
        return path in self._contents

    def data(self, path: str) -> bytes:
        """The bytes of a file; empty when there is none."""
        return self._contents.get(path, b"")

    def text(self, path: str) -> str:
        """A file as text: what is no UTF-8 becomes U+FFFD."""
        return self.data(path).decode("utf-8", "replace")

    def lines(self, path: str) -> tuple[Line, ...]:
        """The lines of a file; none of a binary one, too long ones are empty."""
        if path not in self._lines:
            self._lines[path] = tuple(lines_of(path, self.data(path)))
        return self._lines[path]

    def need(self, path: str) -> bool:
        """Whether a file was read; if it was not yet asked for, it will be."""
        if path not in self.asked and path not in self._contents:
            self.wanted[path] = None
        return path in self._contents

    def link(self, path: str) -> str | None:
        """Where a symbolic link leads, as an absolute path; None when none was read there."""
        target = self._links.get(path)
        if target is None:
            return None
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

    def links(self, glob: str) -> Iterator[tuple[str, str]]:
        """The symbolic links read that match a glob, sorted, with where they lead."""
        for path in sorted(self._links):
            if fnmatchcase(path, glob) and path.count("/") == glob.count("/"):
                yield path, self.link(path) or ""

    def is_masked(self, path: str) -> bool:
        """Whether it leads to /dev/null: that is how a file of a package is switched off."""
        for _ in range(_MOST_LINKS):
            target = self.link(path)
            if target is None:
                return False
            if target == "/dev/null":
                return True
            path = target
        return False

    def in_order(self, directories: Sequence[str], pattern: str) -> list[str]:
        """The files of directories that stand for one: of equal names that of the first
        directory, sorted by name."""
        found: dict[str, str] = {}
        for directory in directories:
            here = {posixpath.basename(path): path for path in self.paths(f"{directory}/{pattern}")}
            here |= {
                posixpath.basename(path): path
                for path, _ in self.links(f"{directory}/{pattern}")
                if self.is_masked(path)
            }
            for name, path in here.items():
                found.setdefault(name, path)
        return [path for _, path in sorted(found.items()) if not self.is_masked(path)]


def lines_of(path: str, data: bytes) -> Iterator[Line]:
    """The lines of a text; none of what holds NUL, as only binary files do."""
    if b"\0" in data[:FILE_LIMIT]:
        return
    text = data[:FILE_LIMIT].decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if number > MOST_LINES:
            return
        yield Line(path, number, line.rstrip("\r") if len(line) <= LINE_LIMIT else "")
