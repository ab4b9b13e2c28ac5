"""FAT file systems through mtools, nothing mounted: one inside of an image, and new ones.

Where a FAT file system has room is read from its table, after Microsoft's FAT specification
(fatgen103): the number of clusters says whether entries have 12, 16 or 32 bits; an entry of 0 is a
free cluster.
"""

from __future__ import annotations

import posixpath
import re
import struct
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.filesystems import MOST_BYTES, absolute
from benchvise.rig.images.tools import ToolOutput, Tools
from benchvise.text import Untrusted

_FREE = re.compile(rb"([\d ]+) bytes? free")
_FAT12_CLUSTERS, _FAT16_CLUSTERS = 4085, 65525
_USED_BITS = 0x0FFFFFFF  # of an entry of FAT32


class Fat:
    """A FAT file system. Names are found whatever their case; new ones keep the case given."""

    def __init__(self, tools: Tools, image: str, start: int, where: str) -> None:
        """``image`` is a file in the directory of the tools, ``start`` a byte in it."""
        self._tools = tools
        self._image = f"{image}@@{start}"
        self._where = where
        self._listing: dict[str, tuple[str, bool]] | None = None

    @property
    def where(self) -> str:
        """Its name in errors: the image, and the partition in it."""
        return self._where

    @property
    def free(self) -> int:
        """The bytes that are free, in whole clusters."""
        counts = _FREE.findall(self._run(["mdir", "-i", self._image, "::/"]).stdout)
        return int(counts[-1].replace(b" ", b"")) if counts else 0

    def names(self, directory: str) -> dict[str, bool]:
        """What a directory holds, each with whether it is a directory; empty if there is none."""
        wanted = absolute(directory).casefold()
        return {
            posixpath.basename(path): is_directory
            for path, is_directory in self._list().values()
            if path != "/" and posixpath.dirname(path).casefold() == wanted
        }

    def is_file(self, path: str) -> bool:
        """Whether a file lies there."""
        entry = self._find(path)
        return entry is not None and not entry[1]

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The first ``limit`` bytes of a file. ImageError when there is none."""
        entry = self._find(path)
        if entry is None or entry[1]:
            raise ImageError(
                f"{self._where} has no file {Untrusted(path)}",
                "list its contents: benchvise rig compose --from IMAGE",
            )
        return self._run(["mtype", "-i", self._image, _literal(entry[0])]).stdout[:limit]

    def put(self, path: str, data: bytes) -> None:
        """Writes a file, in place of one that is there. ImageError when it does not fit."""
        self.remove(path)
        free = self.free
        if len(data) > free:
            raise ImageError(
                f"{self._where} has no room for {Untrusted(path)}: it takes {len(data)} bytes, "
                f"{free} are free",
                "take the other image as the base, and the other layers from this one",
            )
        self._make_directory(posixpath.dirname(absolute(path)))
        scratch = self._tools.scratch(data)
        self._run(["mcopy", "-i", self._image, scratch, f"::{absolute(path)}"])
        self._tools.forget(scratch)
        self._listing = None

    def remove(self, path: str) -> None:
        """Removes a file or a whole directory, if it is there."""
        entry = self._find(path)
        if entry is not None:
            program = "mdeltree" if entry[1] else "mdel"
            self._run([program, "-i", self._image, _literal(entry[0])])
            self._listing = None

    def _make_directory(self, directory: str) -> None:
        if self._find(directory) is None:
            self._make_directory(posixpath.dirname(directory))
            self._run(["mmd", "-i", self._image, f"::{directory}"])
            self._listing = None

    def _find(self, path: str) -> tuple[str, bool] | None:
        return self._list().get(absolute(path).casefold())

    def _list(self) -> dict[str, tuple[str, bool]]:
        """All there is, by its path in small letters: the path as written, whether a directory."""
        if self._listing is None:
            self._listing = {"/": ("/", True)}
            listed = self._run(["mdir", "-b", "-a", "-/", "-i", self._image, "::/"]).stdout
            for line in listed.decode(errors="surrogateescape").splitlines():
                if line.startswith("::/") and line != "::/":
                    path = line[2:].rstrip("/")
                    self._listing[path.casefold()] = (path, line.endswith("/"))
        return self._listing

    def _run(self, argv: list[str]) -> ToolOutput:
        try:
            return self._tools.run(argv)
        except ImageError as error:
            raise ImageError(f"{self._where}: {error.message}", error.remedy) from error


def make_fat(tools: Tools, name: str, size: int, files: Mapping[str, Path], serial: int) -> None:
    """Makes a FAT32 file system of ``size`` bytes with these files, by path in it.

    ``name`` is a new file in the directory of the tools, ``serial`` the number that FAT has in
    place of an identity. ImageError when the files do not fit.
    """
    with (tools.directory / name).open("wb") as image:
        image.truncate(size)
    tools.run(["mkfs.vfat", "-F", "32", "-n", "BOOT", "-i", f"{serial:08x}", "--invariant", name])
    for directory in sorted({posixpath.dirname(path) for path in files} - {""}):
        tools.run(["mmd", "-i", name, f"::/{directory}"])
    for path, file in files.items():
        tools.run(["mcopy", "-i", name, file, f"::/{path}"])


def free_clusters(image: Path, start: int, size: int) -> list[tuple[int, int]]:
    """The free parts of a FAT file system, in order: first byte of the image and the one behind.

    ``start`` and ``size`` are those of its partition. Nothing where it is in doubt.
    """
    with image.open("rb") as stream:
        stream.seek(start)
        head = stream.read(64)
        sector, per_cluster, reserved, copies, entries, total16 = struct.unpack_from(
            "<HBHBHH", head, 11
        )
        table16 = struct.unpack_from("<H", head, 22)[0]
        total32, table32 = struct.unpack_from("<II", head, 32)
        table, total = table16 or table32, total16 or total32
        if sector not in (512, 1024, 2048, 4096) or not per_cluster or total * sector > size:
            return []
        data = reserved + copies * table + -(-entries * 32 // sector)
        clusters = (total - data) // per_cluster
        if clusters < _FAT12_CLUSTERS:  # too small for it to matter
            return []
        wide = clusters >= _FAT16_CLUSTERS
        stream.seek(start + reserved * sector)
        raw = stream.read((clusters + 2) * (4 if wide else 2))
    if len(raw) < (clusters + 2) * (4 if wide else 2):
        return []
    numbers = array("I" if wide else "H", raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    mask = _USED_BITS if wide else 0xFFFF
    ranges: list[tuple[int, int]] = []
    width = per_cluster * sector
    for number in range(2, clusters + 2):
        if numbers[number] & mask == 0:
            begin = start + data * sector + (number - 2) * width
            if ranges and ranges[-1][1] == begin:
                ranges[-1] = ranges[-1][0], begin + width
            else:
                ranges.append((begin, begin + width))
    return ranges


def _literal(path: str) -> str:
    """The path of an existing file for mtools, which read these characters as a pattern."""
    return "::" + re.sub(r"([\[\]*?\\])", r"\\\1", path)
