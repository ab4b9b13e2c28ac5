"""A card image: partition table, boot partition, root partition, and the map of what is used."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from benchvise.rig.images import ext4
from benchvise.rig.images import fat_make as fat

SECTOR = 512
BLOCK = 4096
BOOT_START = 1 << 20
BOOT_SIZE = 64 << 20
ROOT_START = BOOT_START + BOOT_SIZE

_FAT32_LBA = 0x0C
_LINUX = 0x83
_ACTIVE = 0x80
_BEYOND_CHS = b"\xfe\xff\xff"  # cylinders and heads are not counted any more

_CHUNK = 4 << 20

Ranges = Sequence[tuple[int, int]]
"""Parts of an image: start and end in bytes."""


def make(
    target: Path,
    size: int,
    boot: Mapping[str, Path],
    root: Path,
    identity: str,
    *,
    bootloader: tuple[int, bytes] | None = None,
) -> None:
    """Makes a card of ``size`` bytes from the files of its boot partition and a root tree.

    ``bootloader`` is what lies before the partitions, and at which byte. The map is written beside
    the card, as ``NAME.bmap``. RigError when something does not fit.
    """
    serial = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16)
    first, second = target.with_suffix(".boot"), target.with_suffix(".root")
    fat.make(first, BOOT_SIZE, boot, serial)
    ext4.make(second, size - ROOT_START, root, identity)
    ranges = [(0, BLOCK)]
    with target.open("wb") as card:
        card.truncate(size)
        card.write(partition_table(serial, size))
        if bootloader is not None:
            at, program = bootloader
            card.seek(at)
            card.write(program)
            ranges.append((at, at + len(program)))
        ranges += _copy(first, fat.used(first), card, BOOT_START)
        ranges += _copy(second, ext4.used(second), card, ROOT_START)
    first.unlink()
    second.unlink()
    target.with_name(f"{target.name}.bmap").write_text(block_map(target, ranges))


def partition_table(serial: int, size: int) -> bytes:
    """The first sector: a boot partition that is marked active, and a root partition after it."""
    partitions = ((_ACTIVE, _FAT32_LBA, BOOT_START, BOOT_SIZE),
                  (0, _LINUX, ROOT_START, size - ROOT_START))  # fmt: skip
    table = b"".join(
        struct.pack(
            "<B3sB3sII", active, _BEYOND_CHS, kind, _BEYOND_CHS, start // SECTOR, length // SECTOR
        )
        for active, kind, start, length in partitions
    )
    return bytes(440) + struct.pack("<IH", serial, 0) + table.ljust(64, b"\0") + b"\x55\xaa"


def _copy(source: Path, ranges: Ranges, card: BinaryIO, offset: int) -> list[tuple[int, int]]:
    """Copies these parts of a file to where they lie on the card, and returns them."""
    with source.open("rb") as file:
        for start, end in ranges:
            for at in range(start, end, _CHUNK):
                file.seek(at)
                card.seek(offset + at)
                card.write(file.read(min(_CHUNK, end - at)))
    return [(offset + start, offset + end) for start, end in ranges]


def block_map(image: Path, ranges: Ranges) -> str:
    """The map of an image in the format of bmaptool, version 2.0: what to write, with SHA-256.

    The map's own sum is taken with zeros in its place, as bmaptool(1) does it.
    """
    size = image.stat().st_size
    blocks = _blocks(ranges)
    lines = []
    with image.open("rb") as file:
        for first, last in blocks:
            file.seek(first * BLOCK)
            sha = hashlib.sha256(file.read((last + 1 - first) * BLOCK)).hexdigest()
            span = f"{first}-{last}" if last > first else f"{first}"
            lines.append(f'        <Range chksum="{sha}"> {span} </Range>')
    own = "0" * 64
    text = "\n".join(
        [
            '<?xml version="1.0" ?>',
            '<bmap version="2.0">',
            f"    <ImageSize> {size} </ImageSize>",
            f"    <BlockSize> {BLOCK} </BlockSize>",
            f"    <BlocksCount> {-(-size // BLOCK)} </BlocksCount>",
            f"    <MappedBlocksCount> {sum(b - a + 1 for a, b in blocks)} </MappedBlocksCount>",
            "    <ChecksumType> sha256 </ChecksumType>",
            f"    <BmapFileChecksum> {own} </BmapFileChecksum>",
            "    <BlockMap>",
            *lines,
            "    </BlockMap>",
            "</bmap>",
            "",
        ]
    )
    return text.replace(own, hashlib.sha256(text.encode()).hexdigest())


def _blocks(ranges: Ranges) -> list[tuple[int, int]]:
    """First and last blocks of what the ranges touch, ascending, joined where they meet."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        first, last = start // BLOCK, (end - 1) // BLOCK
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
