"""The boot partition of a card: a FAT file system, and which of its bytes matter."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from benchvise.rig.virtual.recipes import tools

_LAST_CLUSTER_BITS = 0x0FFFFFFF


def make(target: Path, size: int, files: Mapping[str, Path], serial: int) -> None:
    """Makes a FAT32 file system of ``size`` bytes with these files, by path in it.

    ``serial`` is the number that FAT has in place of a name. RigError when they do not fit.
    """
    with target.open("wb") as image:
        image.truncate(size)
    tools.run("mkfs.vfat", "-F", "32", "-n", "BOOT", "-i", f"{serial:08x}", "--invariant", target)
    for directory in sorted({str(PurePosixPath(path).parent) for path in files} - {"."}):
        tools.run("mmd", "-i", target, f"::/{directory}")
    for path, file in files.items():
        tools.run("mcopy", "-i", target, file, f"::/{path}")


def used(image: Path) -> list[tuple[int, int]]:
    """The parts of a FAT32 file system that have a meaning: start and end in bytes.

    That is all up to the last cluster in use. The layout is that of Microsoft's FAT specification.
    """
    with image.open("rb") as file:
        boot = file.read(512)
        sector, cluster, reserved, copies = struct.unpack_from("<HBHB", boot, 11)
        (length,) = struct.unpack_from("<I", boot, 36)
        file.seek(reserved * sector)
        table = file.read(length * sector)
    entries = struct.unpack(f"<{len(table) // 4}I", table)
    last = max(n for n, entry in enumerate(entries) if entry & _LAST_CLUSTER_BITS)
    data = (reserved + copies * length) * sector
    return [(0, data + (last - 1) * cluster * sector)]
