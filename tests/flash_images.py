"""Images for the tests of flashing: made here, small, with or without a block map."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from benchvise.rig import zstd

BLOCK = 4096

_FASTEST = {"id": lzma.FILTER_LZMA2, "mf": lzma.MF_HC3, "mode": lzma.MODE_FAST, "depth": 1}
_FASTEST |= {"nice_len": 3, "dict_size": 1 << 16}
_FASTEST_ZST: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 1,
    zstd.CompressionParameter.checksum_flag: 1,
}

_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, filters=[_FASTEST]),
    "zst": lambda data: zstd.compress(data, options=_FASTEST_ZST),
}
# Most tests of a module compress the same data.
COMPRESS = {kind: lru_cache(maxsize=4)(compress) for kind, compress in _COMPRESS.items()}


def random_bytes(length: int, seed: int = 1) -> bytes:
    """The same ones each time."""
    return random.Random(seed).randbytes(length)


def bmap_text(
    data: bytes,
    ranges: Sequence[tuple[int, int]],
    *,
    version: str = "2.0",
    kind: str = "sha256",
    mapped: int | None = None,
    own: bool = True,
) -> str:
    """A block map as bmaptool makes it; ``ranges`` are first and last blocks."""
    named = {"1.2": ("", ""), "1.3": ("sha1", "BmapFileSHA1")}
    attribute, element = named.get(version, ("chksum", "BmapFileChecksum"))
    lines = []
    for first, last in ranges:
        digest = hashlib.new(kind, data[first * BLOCK : (last + 1) * BLOCK]).hexdigest()
        says = f' {attribute}="{digest}"' if attribute else ""
        blocks = f" {first} " if first == last else f" {first}-{last} "
        lines.append(f"        <Range{says}>{blocks}</Range>")
    count = sum(last - first + 1 for first, last in ranges) if mapped is None else mapped
    zeros = "0" * len(hashlib.new(kind).hexdigest())
    said_kind = f"<ChecksumType> {kind} </ChecksumType>" if element == "BmapFileChecksum" else ""
    text = "\n".join(
        [
            '<?xml version="1.0" ?>',
            "<!-- a comment, as bmaptool writes many -->",
            f'<bmap version="{version}">',
            f"    <ImageSize> {len(data)} </ImageSize>",
            f"    <BlockSize> {BLOCK} </BlockSize>",
            f"    <BlocksCount> {-(-len(data) // BLOCK)} </BlocksCount>",
            f"    <MappedBlocksCount> {count} </MappedBlocksCount>",
            f"    {said_kind}",
            f"    <{element}> {zeros} </{element}>" if element else "",
            "    <BlockMap>",
            *lines,
            "    </BlockMap>",
            "</bmap>",
            "",
        ]
    )
    if element and own:
        text = text.replace(zeros, hashlib.new(kind, text.encode()).hexdigest(), 1)
    return text


def sparse_image(
    directory: Path, blocks: int = 3000, ranges: Sequence[tuple[int, int]] = ((0, 9), (100, 1500))
) -> tuple[Path, bytes]:
    """An image of which only some ranges hold data, its block map beside it, and its bytes."""
    data = bytearray(blocks * BLOCK)
    for first, last in ranges:
        length = (last - first + 1) * BLOCK
        data[first * BLOCK : first * BLOCK + length] = random_bytes(length, first)
    path = directory / "image.wic"
    path.write_bytes(data)
    (directory / "image.wic.bmap").write_text(bmap_text(bytes(data), ranges))
    return path, bytes(data)
