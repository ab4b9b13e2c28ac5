"""The block map of a composed image: which of its blocks a card must hold.

The format is that of bmaptool, version 2.0. A block that is free in its file system need not be
written; one that is in use must be, also if it is zero, as a card holds something else there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from benchvise.rig.images.fatfree import free_clusters
from benchvise.rig.images.filesystems import EXT, FAT
from benchvise.rig.images.layout import Opened
from benchvise.rig.images.tools import Tools

BLOCK = 4096
_READ = 256 * BLOCK

_FREE = re.compile(r"^  Free blocks: (.+)$", re.M)
_BLOCK_SIZE = re.compile(r"^Block size: +(\d+)$", re.M)
_ROOM_FOR_CHECKSUM = "0" * 64


def block_map(opened: Opened, tools: Tools) -> bytes:
    """The contents of the ``.bmap`` file for an image."""
    size = opened.table.size
    ranges = list(mapped(size, free_ranges(opened, tools)))
    lines = []
    with opened.path.open("rb") as image:
        for begin, end in ranges:
            digest = hashlib.sha256()
            image.seek(begin)
            left = end - begin
            while left:
                data = image.read(min(_READ, left))
                digest.update(data)
                left -= len(data)
            first, last = begin // BLOCK, -(-end // BLOCK) - 1
            blocks = str(first) if first == last else f"{first}-{last}"
            lines.append(f'    <Range chksum="{digest.hexdigest()}"> {blocks} </Range>')
    count = sum(-(-(end - begin) // BLOCK) for begin, end in ranges)
    text = "\n".join(
        [
            '<?xml version="1.0" ?>',
            '<bmap version="2.0">',
            f"  <ImageSize> {size} </ImageSize>",
            f"  <BlockSize> {BLOCK} </BlockSize>",
            f"  <BlocksCount> {-(-size // BLOCK)} </BlocksCount>",
            f"  <MappedBlocksCount> {count} </MappedBlocksCount>",
            "  <ChecksumType> sha256 </ChecksumType>",
            f"  <BmapFileChecksum> {_ROOM_FOR_CHECKSUM} </BmapFileChecksum>",
            "  <BlockMap>",
            *lines,
            "  </BlockMap>",
            "</bmap>",
            "",
        ]
    )
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return text.replace(f" {_ROOM_FOR_CHECKSUM} ", f" {checksum} ", 1).encode()


def free_ranges(opened: Opened, tools: Tools) -> list[tuple[int, int]]:
    """What no file system needs: first byte and the one behind, in order."""
    found: list[tuple[int, int]] = []
    for partition, system in opened.layout.partitions:
        if system.kind == FAT:
            found += free_clusters(opened.path, partition.start, partition.size)
        if system.kind not in EXT:
            continue
        device = f"{opened.path.name}?offset={partition.start}"
        text = tools.run(["dumpe2fs", device]).stdout.decode(errors="replace")
        size = int(_BLOCK_SIZE.findall(text)[0])
        for listed in _FREE.findall(text):
            for part in listed.split(","):
                first, _, last = part.strip().partition("-")
                if first:
                    begin = partition.start + int(first) * size
                    found.append((begin, partition.start + (int(last or first) + 1) * size))
        end = partition.start + system.size
        if end < partition.end:  # the file system is smaller than its partition
            found.append((end, partition.end))
    ends = [partition.end for partition in opened.table.partitions]
    if opened.table.scheme == "dos" and ends and max(ends) < opened.table.size:
        found.append((max(ends), opened.table.size))
    return sorted(found)


def mapped(size: int, free: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The blocks of an image that are not wholly free, as ranges in bytes."""
    at = 0
    for begin, end in _joined(free):
        first = -(-begin // BLOCK) * BLOCK
        last = size if end >= size else end // BLOCK * BLOCK
        if first >= last:
            continue
        if at < first:
            yield at, first
        at = last
    if at < size:
        yield at, size


def _joined(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges that touch become one."""
    current: tuple[int, int] | None = None
    for begin, end in sorted(ranges):
        if current is not None and begin <= current[1]:
            current = current[0], max(current[1], end)
        else:
            if current is not None:
                yield current
            current = begin, end
    if current is not None:
        yield current
