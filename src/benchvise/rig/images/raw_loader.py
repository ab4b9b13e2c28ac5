"""Boot loaders in raw sectors: before the first file system, or in partitions of their own.

Boot ROMs read at fixed places: Allwinner at 8 KiB, Rockchip at 32 KiB (its U-Boot at 8 MiB),
i.MX at 1 KiB or 32 KiB. What lies there is moved as it is, to the same place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.filesystems import FileSystem
from benchvise.rig.images.sparse import is_zero
from benchvise.rig.images.table import SECTOR, Partition, PartitionTable

BOOT_CODE = 440  # bytes of the first sector; behind them is the disk's identity
_CHUNK = 1 << 20
_LOOKED_AT = 32 << 20  # bytes that are searched for the boot loader's name

_NAMES = {
    "atf", "bl2", "boot0", "bootloader", "fip", "fsbl", "idbloader", "loader", "loader1",
    "loader2", "opensbi", "spl", "tpl", "trust", "u-boot", "uboot",
}  # fmt: skip

_MAGICS = (  # byte of the card, offset there, magic, whose boot ROM reads it
    (8 << 10, 4, b"eGON.BT", "Allwinner"),
    (128 << 10, 4, b"eGON.BT", "Allwinner"),
    (32 << 10, 0, b"RKNS", "Rockchip"),
    (32 << 10, 0, b"\x3b\x8c\xdc\xfc", "Rockchip"),
    (1 << 10, 0, b"\xd1\x00\x20", "i.MX"),
    (32 << 10, 0, b"\xd1\x00\x20", "i.MX"),
    (33 << 10, 0, b"\xd1\x00\x20", "i.MX"),
)
_VERSION = re.compile(rb"U-Boot (?:SPL |TPL )?(\d{4}\.\d\d[!-~]{0,80})")


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes of an image that a boot loader may lie in; ``partition`` if it is one."""

    start: int
    size: int
    partition: Partition | None = None

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.start + self.size


def regions(table: PartitionTable, systems: Mapping[int, FileSystem]) -> list[Region]:
    """Where boot loaders may lie, in order. ``systems`` are file systems by partition number."""
    ordered = sorted(table.partitions, key=lambda partition: partition.start)
    first = next((p.start for p in ordered if systems[p.number].kind), table.size)
    loaders = [
        partition
        for partition in ordered
        if not systems[partition.number].kind
        and (partition.start < first or partition.name.casefold() in _NAMES)
    ]
    areas = [Region(partition.start, partition.size, partition) for partition in loaders]
    at = table.first_free
    for partition in ordered:
        if partition.start > first:
            break
        if at < partition.start:
            areas.append(Region(at, partition.start - at))
        at = max(at, partition.end)
    return sorted(areas, key=lambda region: region.start)


def used(image: Path, region: Region) -> list[tuple[int, int]]:
    """The parts of a region that hold anything but zeros: first byte and the one behind."""
    ranges: list[tuple[int, int]] = []
    with image.open("rb") as stream:
        stream.seek(region.start)
        at = region.start
        while at < region.end:
            data = stream.read(min(_CHUNK, region.end - at))
            if not data:
                break
            if not is_zero(data):
                for begin in range(0, len(data), SECTOR):
                    if not is_zero(data[begin : begin + SECTOR]):
                        here, end = at + begin, at + min(begin + SECTOR, len(data))
                        if ranges and ranges[-1][1] == here:
                            ranges[-1] = (ranges[-1][0], end)
                        else:
                            ranges.append((here, end))
            at += len(data)
    return ranges


def boot_code(image: Path) -> bytes:
    """The program in the first sector."""
    with image.open("rb") as stream:
        return stream.read(BOOT_CODE)


def describe(image: Path, where: list[Region]) -> str:
    """Which boot ROM reads it, and which U-Boot it is; empty when there is none."""
    holding = [region for region in where if used(image, region)]
    if not holding:
        return ""
    parts = []
    version = b""
    with image.open("rb") as stream:
        for place, offset, magic, owner in _MAGICS:
            stream.seek(place + offset)
            if stream.read(len(magic)) == magic and any(r.start <= place < r.end for r in holding):
                parts.append(f"for {owner} at {place >> 10} KiB")
                break
        left = _LOOKED_AT
        for region in holding:
            stream.seek(region.start)
            data = stream.read(min(region.size, left))
            left -= len(data)
            version = version or b"".join(_VERSION.findall(data)[:1])
    if version:
        parts.insert(0, f"U-Boot {version.decode()}")
    return " ".join(parts) or "unknown"


def transplant(
    source: Path, theirs: list[Region], target: Path, ours: list[Region], names: tuple[str, str]
) -> list[str]:
    """Puts the source's boot loader in place of the target's; returns what went where.

    ``names`` are those of the source and the target in errors. ImageError, before anything is
    written, when a part of it would lie on something else.
    """
    moves: list[tuple[int, int, int]] = []  # from, to, bytes
    for region in theirs:
        for begin, end in used(source, region):
            moves.append((begin, _place(region, begin, end, ours, names), end - begin))
    with target.open("r+b") as out, source.open("rb") as stream:
        for region in ours:
            for begin, end in used(target, region):
                out.seek(begin)
                out.write(bytes(end - begin))
        for begin, to, size in moves:
            stream.seek(begin)
            out.seek(to)
            left = size
            while left:
                data = stream.read(min(_CHUNK, left))
                out.write(data)
                left -= len(data)
        if ours:  # without a table, a file system begins there
            out.seek(0)
            out.write(boot_code(source))
    return [f"{size} bytes at {to}" for _, to, size in moves]


def _place(region: Region, begin: int, end: int, ours: list[Region], names: tuple[str, str]) -> int:
    """Where a used part goes: into the partition of the same name, else to the same place."""
    to = begin
    if region.partition is not None:
        named = region.partition.name.casefold()
        same = [r for r in ours if r.partition and named and r.partition.name.casefold() == named]
        to = begin - region.start + same[0].start if same else begin
    if not _inside(to, to + end - begin, ours):
        free = max((r.end for r in ours), default=0)
        raise ImageError(
            f"the boot loader of {names[0]} reaches to byte {end}, and {names[1]} keeps room "
            f"for one up to byte {free} only",
            f"take {names[0]} as the base, and the other layers from {names[1]}",
        )
    return to


def _inside(begin: int, end: int, ours: list[Region]) -> bool:
    """Whether all of these bytes are a boot loader's; regions may touch."""
    for region in ours:
        if region.start <= begin < region.end:
            begin = region.end
    return begin >= end
