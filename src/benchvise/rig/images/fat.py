"""A FAT file system inside of an image, through mtools: nothing is mounted."""

from __future__ import annotations

import posixpath
import re

from benchvise.rig.images.errors import ComposeError
from benchvise.rig.images.files import MOST_BYTES, absolute
from benchvise.rig.images.tools import Output, Tools
from benchvise.text import printable

_FREE = re.compile(rb"([\d ]+) bytes? free")


class Fat:
    """A FAT file system. Names are found whatever their case; new ones keep the case given."""

    def __init__(self, tools: Tools, image: str, start: int, where: str) -> None:
        """``image`` is a file in the directory of the tools, ``start`` a byte in it."""
        self._tools = tools
        self._image = f"{image}@@{start}"
        self._where = where
        self._known: dict[str, tuple[str, bool]] | None = None

    @property
    def where(self) -> str:
        """What errors call it: the image, and the partition in it."""
        return self._where

    @property
    def free(self) -> int:
        """The bytes that are free, in whole clusters."""
        found = _FREE.findall(self._run(["mdir", "-i", self._image, "::/"]).stdout)
        return int(found[-1].replace(b" ", b"")) if found else 0

    def names(self, directory: str) -> dict[str, bool]:
        """What a directory holds, each with whether it is a directory; empty if there is none."""
        wanted = absolute(directory).casefold()
        return {
            posixpath.basename(path): is_directory
            for path, is_directory in self._listing().values()
            if path != "/" and posixpath.dirname(path).casefold() == wanted
        }

    def is_file(self, path: str) -> bool:
        """Whether a file lies there."""
        found = self._find(path)
        return found is not None and not found[1]

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The first ``limit`` bytes of a file. ComposeError when there is none."""
        found = self._find(path)
        if found is None or found[1]:
            raise ComposeError(
                f"{self._where} has no file {printable(path)}", "look at what the image holds"
            )
        return self._run(["mtype", "-i", self._image, _named(found[0])]).stdout[:limit]

    def put(self, path: str, data: bytes) -> None:
        """Writes a file, in place of one that is there. ComposeError when it does not fit."""
        self.remove(path)
        free = self.free
        if len(data) > free:
            raise ComposeError(
                f"{self._where} has no room for {printable(path)}: it takes {len(data)} bytes, "
                f"{free} are free",
                "take the other image as the base, and the other layers from this one",
            )
        self._make(posixpath.dirname(absolute(path)))
        scratch = self._tools.scratch(data)
        self._run(["mcopy", "-i", self._image, scratch, f"::{absolute(path)}"])
        self._tools.forget(scratch)
        self._known = None

    def remove(self, path: str) -> None:
        """Removes a file or a whole directory, if it is there."""
        found = self._find(path)
        if found is not None:
            self._run(["mdeltree" if found[1] else "mdel", "-i", self._image, _named(found[0])])
            self._known = None

    def _make(self, directory: str) -> None:
        if self._find(directory) is None:
            self._make(posixpath.dirname(directory))
            self._run(["mmd", "-i", self._image, f"::{directory}"])
            self._known = None

    def _find(self, path: str) -> tuple[str, bool] | None:
        return self._listing().get(absolute(path).casefold())

    def _listing(self) -> dict[str, tuple[str, bool]]:
        """All there is, by its path in small letters: the path as written, whether a directory."""
        if self._known is None:
            self._known = {"/": ("/", True)}
            said = self._run(["mdir", "-b", "-a", "-/", "-i", self._image, "::/"]).stdout
            for line in said.decode(errors="surrogateescape").splitlines():
                if line.startswith("::/") and line != "::/":
                    path = line[2:].rstrip("/")
                    self._known[path.casefold()] = (path, line.endswith("/"))
        return self._known

    def _run(self, argv: list[str]) -> Output:
        try:
            return self._tools.run(argv)
        except ComposeError as error:
            raise ComposeError(f"{self._where}: {error.message}", error.remedy) from error


def _named(path: str) -> str:
    """A path of what is there as mtools take it: they read these characters as a pattern."""
    return "::" + re.sub(r"([\[\]*?\\])", r"\\\1", path)
