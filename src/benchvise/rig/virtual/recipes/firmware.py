"""Bootloaders: taken out of their Debian packages, with the settings that suit a bench.

U-Boot's default settings are words in its binary, each ended by a zero byte. Some are written over
in place, so that a board neither waits long for a key nor looks for a network or USB disk to boot
from. Nothing but these words changes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import digest, fresh
from benchvise.rig.virtual.recipes import CACHE
from benchvise.rig.virtual.recipes.packages import Package

_MAGIC = b"\x27\x05\x19\x56"
_HEADER = struct.Struct(">4sIIIIII")  # magic, header's sum, time, size, load, entry, contents' sum
_HEADER_SIZE = 64


def firmware(package: Package, path: str, edits: Sequence[tuple[str, str]] = ()) -> Path:
    """A file of a package, unpacked once and then kept, with its settings edited.

    Each edit is a setting as it is (``bootdelay=2``) and as it shall be, no longer than before.
    ImageError when the package has no such file, or the file no such setting.
    """
    name = f"{package.name}_{package.version}-{digest(path, tuple(edits))}"
    directory = CACHE.directory / "firmware" / name.replace(":", "_")
    file = directory / Path(path).name
    with CACHE.locked(f"firmware-{package.name}"):
        if not file.exists():
            contents = [data for _, data in package.members(lambda member: member == path)]
            if not contents:
                raise ImageError(
                    f"{package.path.name} has no {path}",
                    "Debian has changed its packages: please report it",
                )
            with fresh(directory) as unfinished:
                (unfinished / file.name).write_bytes(edited(contents[0], edits))
    return file


def edited(program: bytes, edits: Sequence[tuple[str, str]]) -> bytes:
    """A bootloader with other default settings.

    ImageError when a setting is not there or the new one is longer.
    """
    data = bytearray(program)
    images = _summed_images(data)
    for before, after in edits:
        old, new = before.encode() + b"\0", after.encode() + b"\0"
        at = data.find(old)
        if at < 0 or len(new) > len(old):
            raise ImageError(
                f"the bootloader has no setting {before} that could become {after}",
                "Debian has changed its packages: please report it",
            )
        data[at : at + len(old)] = new[:-1].ljust(len(old) - 1, b" ") + b"\0"
    for at in images:
        _, _, *kept, _ = _HEADER.unpack_from(data, at)
        body = data[at + _HEADER_SIZE : at + _HEADER_SIZE + kept[1]]
        _HEADER.pack_into(data, at, _MAGIC, 0, *kept, zlib.crc32(body))
        struct.pack_into(">I", data, at + 4, zlib.crc32(data[at : at + _HEADER_SIZE]))
    return bytes(data)


def _summed_images(data: bytes | bytearray) -> list[int]:
    """Where images in U-Boot's own format (``uImage``) begin, whose sums an edit makes wrong."""
    starts = []
    at = data.find(_MAGIC)
    while at >= 0 and at + _HEADER_SIZE <= len(data):
        header = bytearray(data[at : at + _HEADER_SIZE])
        (sum_of_header,) = struct.unpack_from(">I", header, 4)
        header[4:8] = bytes(4)
        if zlib.crc32(header) == sum_of_header:
            starts.append(at)
        at = data.find(_MAGIC, at + 4)
    return starts
