"""A new card image: partition table, boot and root partition, and the map of what is used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from benchvise.rig.images.blockmap import BLOCK, block_map, used_ranges
from benchvise.rig.images.ext import free_blocks, make_ext4
from benchvise.rig.images.fat import free_clusters, make_fat
from benchvise.rig.images.table import dos_table
from benchvise.rig.images.tools import EPOCH, Tools

BOOT_START = 1 << 20
BOOT_SIZE = 64 << 20
ROOT_START = BOOT_START + BOOT_SIZE

_CHUNK = 4 << 20


def assemble(
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
    the card, as ``NAME.bmap``. ImageError when something does not fit.
    """
    tools = Tools(target.parent, EPOCH, "is there room in the cache directory?")
    serial = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16)
    first, second = (target.with_suffix(suffix) for suffix in (".boot", ".root"))
    root_size = size - ROOT_START
    make_fat(tools, first.name, BOOT_SIZE, boot, serial)
    make_ext4(tools, second.name, root_size, root, identity)
    boot_used = list(used_ranges(BOOT_SIZE, free_clusters(first, 0, BOOT_SIZE)))
    root_used = list(used_ranges(root_size, free_blocks(tools, second.name)))
    ranges = [(0, BLOCK)]
    with target.open("wb") as card:
        card.truncate(size)
        card.write(dos_table(serial, (BOOT_START, BOOT_SIZE), (ROOT_START, root_size)))
        if bootloader is not None:
            at, program = bootloader
            card.seek(at)
            card.write(program)
            ranges.append((at, at + len(program)))
        ranges += _copy(first, boot_used, card, BOOT_START)
        ranges += _copy(second, root_used, card, ROOT_START)
    first.unlink()
    second.unlink()
    target.with_name(f"{target.name}.bmap").write_bytes(block_map(target, ranges))


def _copy(
    source: Path, ranges: Iterable[tuple[int, int]], card: BinaryIO, offset: int
) -> list[tuple[int, int]]:
    """Copies these parts of a file to where they lie on the card, and returns them."""
    copied = []
    with source.open("rb") as file:
        for start, end in ranges:
            for at in range(start, end, _CHUNK):
                file.seek(at)
                card.seek(offset + at)
                card.write(file.read(min(_CHUNK, end - at)))
            copied.append((offset + start, offset + end))
    return copied
