"""The files of a system, as far as they were read: by path, in lines, in words.

A ``FileSource`` (``sources``) is a board that runs, an image or a directory. All are asked by
globs, in as few requests as possible; ``Tree`` remembers what was answered, so that every kind of
``SettingFiles`` finds its files there. Which program starts the system (``init_of``) decides which
of them are looked at when it boots.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Protocol

from benchvise.state.globs import ByPath
from benchvise.why.provenance.assignment import Assignment, Line
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
        path_by_name: dict[str, str] = {}
        for directory in directories:
            here = {posixpath.basename(path): path for path in self.paths(f"{directory}/{pattern}")}
            here |= {
                posixpath.basename(path): path
                for path, _ in self.links(f"{directory}/{pattern}")
                if self.is_masked(path)
            }
            for name, path in here.items():
                path_by_name.setdefault(name, path)
        return [path for _, path in sorted(path_by_name.items()) if not self.is_masked(path)]


def lines_of(path: str, data: bytes) -> Iterator[Line]:
    """The lines of a text; none of what holds NUL, as only binary files do."""
    if b"\0" in data[:FILE_LIMIT]:
        return
    text = data[:FILE_LIMIT].decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if number > MOST_LINES:
            return
        yield Line(path, number, line.rstrip("\r") if len(line) <= LINE_LIMIT else "")


@dataclass(frozen=True, slots=True)
class SettingFiles:
    """A kind of files that set something: what it is called, which globs mean files of it, what
    finds assignments in them, and which globs mean symbolic links that this needs."""

    name: str
    globs: tuple[str, ...]
    find: Callable[[Tree], Iterator[Assignment]]
    links: tuple[str, ...] = ()


# -- what starts the system ------------------------------------------------------------------------

INIT_FILES = ("/etc/inittab", "/etc/os-release", "/etc/rc.conf")
INIT_LINKS = ("/sbin/init", "/usr/sbin/init", "/init", "/proc/1/exe", "/sbin/openrc-init",
         "/etc/runlevels/*/*")  # fmt: skip


class Init(StrEnum):
    """The programs that start systems."""

    SYSTEMD = "systemd"
    SYSVINIT = "sysvinit"
    BUSYBOX = "busybox"
    OPENRC = "openrc"
    UNKNOWN = "unknown"


def init_of(tree: Tree) -> Init:
    """What starts this system, as its links and its inittab say."""
    if next(tree.links("/etc/runlevels/*/*"), None) is not None:
        return Init.OPENRC
    for place in ("/proc/1/exe", "/sbin/init", "/usr/sbin/init", "/init"):
        target = tree.link(place) or ""
        if "systemd" in target:
            return Init.SYSTEMD
        if "busybox" in target:
            return Init.BUSYBOX
        if "openrc" in target:
            return Init.OPENRC
        if "sysvinit" in target or target.endswith("/init.sysvinit"):
            return Init.SYSVINIT
    lines = [line.text for line in tree.lines("/etc/inittab")]
    active = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if any(line.startswith("::") or "::sysinit:" in line for line in active):
        return Init.BUSYBOX
    if any("openrc" in line for line in active):
        return Init.OPENRC
    if active:
        return Init.SYSVINIT
    return Init.UNKNOWN


# -- words of configuration files, as systemd takes them apart: no shell ---------------------------


def split_words(text: str, most: int = 0) -> list[str]:
    """The words; with ``most`` the last one is all that is left, as it stands.

    Quotes that are not closed reach to the end.
    """
    fields: list[str] = []
    at, end = 0, len(text)
    while True:
        while at < end and text[at].isspace():
            at += 1
        if at >= end:
            return fields
        if most and len(fields) == most - 1:
            fields.append(text[at:].strip())
            return fields
        word: list[str] = []
        while at < end and not text[at].isspace():
            c = text[at]
            if c in "\"'":
                at = _quoted(text, at + 1, c, word)
            elif c == "\\" and at + 1 < end:
                word.append(text[at + 1])
                at += 2
            else:
                word.append(c)
                at += 1
        fields.append("".join(word))


def _quoted(text: str, at: int, quote: str, word: list[str]) -> int:
    while at < len(text) and text[at] != quote:
        if text[at] == "\\" and text[at + 1 : at + 2] in (quote, "\\"):
            at += 1
        word.append(text[at])
        at += 1
    return at + 1
