"""An archive in the format that the kernel unpacks as its first root file system.

The format is ``newc`` of cpio(5), described in the kernel's ``driver-api/early-userspace/
buffer-format``: a header of hexadecimal fields, the name, the contents, each padded to 4 bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass

from benchvise.rig.images.tools import EPOCH

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class CpioEntry:
    """A file, directory or symbolic link; ``data`` of a link is what it points to."""

    path: str
    mode: int
    data: bytes = b""


def directory(path: str) -> CpioEntry:
    """A directory that everybody may enter."""
    return CpioEntry(path, stat.S_IFDIR | 0o755)


def file(path: str, data: bytes, mode: int = 0o644) -> CpioEntry:
    """A regular file."""
    return CpioEntry(path, stat.S_IFREG | mode, data)


def link(path: str, target: str) -> CpioEntry:
    """A symbolic link."""
    return CpioEntry(path, stat.S_IFLNK | 0o777, target.encode())


def archive(entries: Iterable[CpioEntry]) -> bytes:
    """All entries, owned by root; the directories above each are added where they are missing."""
    parts: list[bytes] = []
    seen: set[str] = set()
    number = 0

    def add(entry: CpioEntry) -> None:
        nonlocal number
        number += 1
        seen.add(entry.path)
        parts.append(_record(entry, number))

    for entry in entries:
        above = entry.path.split("/")[:-1]
        for depth in range(1, len(above) + 1):
            path = "/".join(above[:depth])
            if path not in seen:
                add(directory(path))
        if entry.path not in seen:
            add(entry)
    parts.append(_record(CpioEntry(_TRAILER, 0), 0))
    return b"".join(parts)


def _record(entry: CpioEntry, number: int) -> bytes:
    name = entry.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    when = EPOCH if number else 0
    # number, mode, owner, group, links, time, size, device 2x, device node 2x, length, checksum
    fields = (number, entry.mode, 0, 0, links, when, len(entry.data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
