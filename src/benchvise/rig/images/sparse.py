"""The blocks of an image that hold something: copies that leave out the others, the block map.

What is zero is not written, so that it takes no room on the disk. The block map says which blocks a
card must hold, in the format of bmaptool, version 2.0. A block that is free in its file system need
not be written; one that is in use must be, also if it is zero, as a card holds something else
there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 20  # bytes that are read at a time
BLOCK = 4096
_ROOM_FOR_CHECKSUM = "0" * 64


def is_zero(data: bytes) -> bool:
    """Whether there is nothing but zeros; by comparison, which is many times faster than any()."""
    return data == bytes(len(data))


def copy_sparse(source: int, out: BinaryIO) -> None:
    """From one data range to the next, where the file system tells them; holes stay holes."""
    size = os.fstat(source).st_size
    at = 0
    while at < size:
        try:
            begin = os.lseek(source, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            break
        end = os.lseek(source, begin, os.SEEK_HOLE)
        out.seek(begin)
        at = begin
        while at < end:
            data = os.pread(source, min(CHUNK, end - at), at)
            if not data:
                break
            write_sparse(out, data)
            at += len(data)
    out.seek(size)


def write_sparse(out: BinaryIO, data: bytes) -> None:
    """Writes the blocks that are not zero; the position advances over all of them."""
    if is_zero(data):
        out.seek(len(data), os.SEEK_CUR)
        return
    for begin in range(0, len(data), BLOCK):
        block = data[begin : begin + BLOCK]
        if is_zero(block):
            out.seek(len(block), os.SEEK_CUR)
        else:
            out.write(block)


def block_map(image: Path, ranges: Iterable[tuple[int, int]]) -> bytes:
    """The contents of the ``.bmap`` file for an image of which these ranges of bytes are in use.

    A block that is in use in part is written as a whole. The map's own checksum is taken with
    zeros in its place, as bmaptool(1) does it.
    """
    size = image.stat().st_size
    blocks = _blocks(ranges)
    text = "\n".join(
        [
            '<?xml version="1.0" ?>',
            '<bmap version="2.0">',
            f"    <ImageSize> {size} </ImageSize>",
            f"    <BlockSize> {BLOCK} </BlockSize>",
            f"    <BlocksCount> {-(-size // BLOCK)} </BlocksCount>",
            f"    <MappedBlocksCount> {sum(end - first for first, end in blocks)} "
            "</MappedBlocksCount>",
            "    <ChecksumType> sha256 </ChecksumType>",
            f"    <BmapFileChecksum> {_ROOM_FOR_CHECKSUM} </BmapFileChecksum>",
            "    <BlockMap>",
            *_lines(image, blocks),
            "    </BlockMap>",
            "</bmap>",
            "",
        ]
    )
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return text.replace(f" {_ROOM_FOR_CHECKSUM} ", f" {checksum} ", 1).encode()


def used_ranges(size: int, free: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The blocks of ``size`` bytes that are not wholly free, as ranges in bytes."""
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


def _blocks(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The blocks that these ranges touch, joined where they meet: first and the one behind."""
    return list(_joined((begin // BLOCK, -(-end // BLOCK)) for begin, end in ranges))


def _lines(image: Path, blocks: Iterable[tuple[int, int]]) -> Iterator[str]:
    with image.open("rb") as stream:
        for first, end in blocks:
            digest = hashlib.sha256()
            stream.seek(first * BLOCK)
            left = (end - first) * BLOCK
            while left and (data := stream.read(min(CHUNK, left))):
                digest.update(data)
                left -= len(data)
            span = f"{first}-{end - 1}" if end - first > 1 else f"{first}"
            yield f'        <Range chksum="{digest.hexdigest()}"> {span} </Range>'


def _joined(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges in order; those that touch become one."""
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
