"""The file systems of an image: which lies at a place, and what each of them can do."""

from __future__ import annotations

import posixpath
import struct
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

EXT = ("ext2", "ext3", "ext4")
FAT = "vfat"
MOST_BYTES = 1 << 30  # of one boot file; the largest initial RAM disks have a tenth of it
_MOST_TEXT = 1 << 20

_HAS_JOURNAL = 0x4  # s_feature_compat
_NEEDS_RECOVERY = 0x4  # s_feature_incompat
_EXTENTS = 0x40
_64BIT = 0x80

_OTHERS = (  # offset, magic, name as in /proc/filesystems
    (0, b"hsqs", "squashfs"),
    (0, b"XFSB", "xfs"),
    (3, b"EXFAT   ", "exfat"),
    (1024, b"\x10\x20\xf5\xf2", "f2fs"),
    (1024, b"\xe2\xe1\xf5\xe0", "erofs"),
    (4086, b"SWAPSPACE2", "swap"),
    (0x10040, b"_BHRfS_M", "btrfs"),
)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """What a partition holds; ``kind`` is empty when nothing is known about it.

    ``identity`` is what UUID= names. Sizes in bytes; ``free`` for ext only. ``dirty``: its journal
    holds what was not yet put in place. ``written`` in seconds since 1970.
    """

    kind: str
    label: str = ""
    identity: str = ""
    size: int = 0
    free: int = 0
    block: int = 0
    inode_size: int = 0
    free_inodes: int = 0
    dirty: bool = False
    written: int = 0


def file_system(image: Path, start: int) -> FileSystem:
    """What lies at this byte of an image."""
    with image.open("rb") as stream:
        stream.seek(start)
        head = stream.read(0x10048)
    if head[1080:1082] == b"\x53\xef":
        return _ext(head[1024:2048])
    if head[510:512] == b"\x55\xaa":
        for at, serial in ((54, 39), (82, 67)):  # FAT12 and FAT16; FAT32
            if head[at : at + 3] == b"FAT":
                number = struct.unpack_from("<I", head, serial)[0]
                return FileSystem(
                    FAT,
                    _text(head[serial + 4 : serial + 15]),
                    f"{number >> 16:04X}-{number & 0xFFFF:04X}",
                )
    for at, magic, name in _OTHERS:
        if head[at : at + len(magic)] == magic:
            return FileSystem(name)
    return FileSystem("")


def _ext(block: bytes) -> FileSystem:
    """After fs/ext4/ext4.h of Linux, struct ext4_super_block."""
    if len(block) < 1024:
        return FileSystem("")
    blocks, _, free, free_inodes, _, log_size = struct.unpack_from("<6I", block, 4)
    mounted, written = struct.unpack_from("<II", block, 44)
    inode_size = struct.unpack_from("<H", block, 88)[0]
    compatible, incompatible = struct.unpack_from("<II", block, 92)
    if incompatible & _64BIT:
        blocks |= struct.unpack_from("<I", block, 0x150)[0] << 32
        free |= struct.unpack_from("<I", block, 0x158)[0] << 32
    old = "ext3" if compatible & _HAS_JOURNAL else "ext2"
    kind = "ext4" if incompatible & _EXTENTS else old
    size = 1024 << min(log_size, 6)
    return FileSystem(
        kind,
        _text(block[120:136]),
        str(uuid.UUID(bytes=block[104:120])),
        blocks * size,
        free * size,
        size,
        inode_size,
        free_inodes,
        bool(incompatible & _NEEDS_RECOVERY),
        max(mounted, written),
    )


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode(errors="replace").strip()


class Files(Protocol):
    """A file system of an image. Paths are absolute in it, and follow symbolic links."""

    @property
    def where(self) -> str:
        """Its name in errors: the image, and the partition in it."""

    def names(self, directory: str) -> dict[str, bool]:
        """What a directory holds, each with whether it is a directory; empty if there is none."""

    def is_file(self, path: str) -> bool:
        """Whether a regular file lies there."""

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The first ``limit`` bytes of a file. ImageError when there is none."""

    def put(self, path: str, data: bytes) -> None:
        """Writes a file, in place of one that is there. ImageError when it does not fit."""

    def remove(self, path: str) -> None:
        """Removes a file or a whole directory, if it is there."""


def below(files: Files, directory: str) -> list[str]:
    """The paths of all files below a directory, sorted."""
    paths: list[str] = []
    for name, is_directory in sorted(files.names(directory).items()):
        path = posixpath.join(directory, name)
        paths += below(files, path) if is_directory else [path]
    return paths


def read_text(files: Files, path: str) -> str:
    """A configuration file, of at most 1 MiB; bytes that are no UTF-8 come back by ``put_text``."""
    return files.read(path, _MOST_TEXT).decode(errors="surrogateescape")


def put_text(files: Files, path: str, text: str) -> None:
    """Writes a text that ``read_text`` has read."""
    files.put(path, text.encode(errors="surrogateescape"))


def replace(files: Files, old: Iterable[str], new: Mapping[str, bytes]) -> None:
    """Removes the old files, then writes the new ones, so that there is room for them."""
    for path in old:
        files.remove(path)
    for path, data in new.items():
        files.put(path, data)


def absolute(path: str, directory: str = "/") -> str:
    """``path`` without ``.`` and ``..``, absolute; a relative one begins at ``directory``."""
    return "/" + posixpath.normpath(posixpath.join(directory, path)).lstrip("/").removeprefix("../")
