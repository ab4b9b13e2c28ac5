"""The programs of a root file system that is not running: a directory here, or an image.

Nothing of it is run to find out what a command needs: the loader's rules are followed, ld.so(8) of
glibc (musl's are fewer). Of libraries for certain CPUs (``glibc-hwcaps``) the plain ones are taken.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.images import elf
from benchvise.text import printable
from benchvise.why.provenance.directory import DirectoryFiles
from benchvise.why.provenance.files import FileSource
from benchvise.why.provenance.image import image_files
from benchvise.why.userland import Incomplete

_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LIBRARIES = ("/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64")
_MULTIARCH = re.compile(r"[a-z0-9_]+-linux-(gnu|musl)\w*$")
_CONFIGURATION = ("/etc/ld.so.conf", "/etc/ld.so.conf.d/*.conf")

_MOST_BYTES = 256 << 20  # of a file: an interpreter may be large
_MOST_LIBRARIES = 200


class Tree(FileSource, Protocol):
    """The files of a system that can also be had whole."""

    def names(self, directory: str) -> Iterable[str]:
        """What a directory holds."""

    def located(self, path: str) -> str | None:
        """The true path of a file; None where there is none."""

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is too large."""


@contextmanager
def opened_root(path: Path) -> Iterator[Tree]:
    """A root file system, by a directory that it lies in or an image that has it.

    UsageError when it is neither.
    """
    if path.is_dir():
        tree = DirectoryFiles(path, str(path))
        if not any(tree.names(place) for place in ("/bin", "/usr/bin", "/sbin")):
            raise UsageError(
                f"{path} has no programs (no bin, usr/bin or sbin)",
                "name the root of the good system: a directory it is unpacked to, or an image",
            )
        yield tree
        return
    try:
        with image_files(path, str(path)) as files:
            yield files
    except BenchviseError as error:
        raise UsageError(f"{path} is no root file system: {error.message}", error.remedy) from error


class InRoot:
    """See ``userland.Programs`` and the module. ``library_path`` is looked at as LD_LIBRARY_PATH
    is."""

    def __init__(self, tree: Tree, library_path: str = "") -> None:
        self._tree = tree
        self._given = tuple(filter(None, library_path.split(":")))
        self._read: dict[str, bytes] = {}
        self._usual: tuple[str, ...] | None = None

    def located(self, word: str) -> str | None:
        """See Programs."""
        if "/" in word:
            return self._tree.located(word) if word.startswith("/") else None
        found = (self._tree.located(f"{directory}/{word}") for directory in _PATH)
        return next((path for path in found if path is not None), None)

    def read(self, path: str) -> bytes:
        """See Programs."""
        if path not in self._read:
            data = self._tree.whole(path, _MOST_BYTES)
            if data is None:
                raise Incomplete(f"{printable(path)} cannot be read in {self._tree.name}")
            self._read[path] = data
        return self._read[path]

    def libraries(self, path: str, loader: str) -> Mapping[str, str]:
        """See Programs."""
        found: dict[str, str] = {}
        program = elf.parse(self.read(path))
        waiting = [] if program is None else [(path, program, program.search)]
        while waiting:
            place, wants, inherited = waiting.pop(0)
            for name in wants.needed:
                soname = posixpath.basename(name)
                if soname in found or soname == posixpath.basename(loader):
                    continue
                library = self._library(name, place, wants, inherited)
                if library is None:
                    raise Incomplete(
                        f"{printable(place)} wants {printable(name)}, which is not there"
                    )
                found[soname] = library[0]
                if len(found) < _MOST_LIBRARIES:
                    waiting.append((*library, inherited))
        return found

    def _library(
        self, name: str, place: str, wants: elf.Elf, inherited: tuple[str, ...]
    ) -> tuple[str, elf.Elf] | None:
        """Where a library is, and what it is; one for another kind of machine is passed over."""
        if "/" in name:
            places = [name]
        else:
            own = posixpath.dirname(place)
            searched = (d.replace("${ORIGIN}", "$ORIGIN") for d in (*wants.search, *inherited))
            said = [directory.replace("$ORIGIN", own) for directory in searched]
            directories = dict.fromkeys((*self._given, *said, *self._directories()))
            places = [f"{directory}/{name}" for directory in directories]
        for candidate in places:
            path = self._tree.located(candidate)
            parsed = None if path is None else elf.parse(self.read(path))
            if path is not None and parsed is not None and parsed.abi == wants.abi:
                return path, parsed
        return None

    def _directories(self) -> tuple[str, ...]:
        """Where libraries are usually: as configured there, then where they are on any system."""
        if self._usual is None:
            texts = self._tree.read(_CONFIGURATION)
            lines = [line.strip() for _, text in sorted(texts.items()) for line in
                     text.decode("utf-8", "replace").splitlines()]  # fmt: skip
            told = [line for line in lines if line.startswith("/")]
            below = [
                f"{top}/{name}"
                for top in _LIBRARIES
                for name in sorted(self._tree.names(top))
                if _MULTIARCH.match(name)
            ]
            self._usual = tuple(dict.fromkeys((*told, *below, *_LIBRARIES)))
        return self._usual
