"""Partition tables: MBR and GPT read from an image file, an MBR made.

After the UEFI specification, chapter 5. Sectors are of 512 bytes, as on every card.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from benchvise.rig.images import ImageError

SECTOR = 512

_MBR_MAGIC = b"\x55\xaa"
_GPT_MAGIC = b"EFI PART"
_EXTENDED = (0x05, 0x0F, 0x85)
_PROTECTIVE = 0xEE
_FAT32_LBA, _LINUX = 0x0C, 0x83
_ACTIVE = 0x80
_BEYOND_CHS = b"\xfe\xff\xff"  # cylinders and heads are not counted any more
_MOST_PARTITIONS = 256
_LEGACY_BOOTABLE = 1 << 2  # GPT attribute; what U-Boot calls bootable


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; ``start`` and ``size`` in bytes. ``number`` as Linux counts, 0 without a table.

    ``kind`` is the type: two hexadecimal digits (MBR) or a GUID; ``identity`` is what PARTUUID=
    names; ``name`` and PARTLABEL= exist with GPT only.
    """

    number: int
    start: int
    size: int
    kind: str = ""
    identity: str = ""
    name: str = ""
    bootable: bool = False

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """``scheme`` is ``gpt``, ``dos`` or ``none`` (one file system fills the image).

    ``first_free`` is the first byte of the image that the table itself does not take.
    """

    scheme: str
    size: int
    partitions: tuple[Partition, ...]
    first_free: int


def read_table(image: Path) -> PartitionTable:
    """The partition table of an image. ImageError when it is damaged or cut short."""
    size = image.stat().st_size
    with image.open("rb") as stream:
        head = stream.read(2 * SECTOR)
        if len(head) < 2 * SECTOR:
            raise ImageError(f"{image.name} is no card image: {size} bytes", "name an image")
        if head[SECTOR : SECTOR + 8] == _GPT_MAGIC:
            stream.seek(0)
            return _checked(
                _gpt(stream.read(SECTOR * 2 + 128 * 1024), size, image.name), image.name
            )
        if head[510:512] == _MBR_MAGIC and not _is_file_system(head):
            entries = [_mbr_entry(head, index) for index in range(4)]
            if entries[0][0] == _PROTECTIVE:
                raise ImageError(
                    f"{image.name} has the protective MBR of a GPT, but no GPT",
                    "create the image again",
                )
            signature = struct.unpack_from("<I", head, 440)[0]
            partitions: list[Partition] = []
            for index, (kind, start, sectors, active) in enumerate(entries):
                if kind == 0 or sectors == 0:
                    continue
                if kind in _EXTENDED:
                    partitions += _logical(stream, start, signature)
                else:
                    partitions.append(_mbr(index + 1, kind, start, sectors, active, signature))
            return _checked(PartitionTable("dos", size, tuple(partitions), SECTOR), image.name)
    return PartitionTable("none", size, (Partition(0, 0, size),), 0)


def dos_table(signature: int, boot: tuple[int, int], root: tuple[int, int]) -> bytes:
    """A first sector with two partitions, each as start and size in bytes.

    The first is a FAT partition that is marked active, the second one of Linux.
    """
    entries = b"".join(
        struct.pack(
            "<B3sB3sII", active, _BEYOND_CHS, kind, _BEYOND_CHS, start // SECTOR, size // SECTOR
        )
        for active, kind, (start, size) in ((_ACTIVE, _FAT32_LBA, boot), (0, _LINUX, root))
    )
    return bytes(440) + struct.pack("<IH", signature, 0) + entries.ljust(64, b"\0") + _MBR_MAGIC


def _is_file_system(head: bytes) -> bool:
    """Whether the first sector is that of a FAT file system, which ends like an MBR does."""
    return head[54:57] == b"FAT" or head[82:85] == b"FAT"


def _mbr_entry(sector: bytes, index: int) -> tuple[int, int, int, bool]:
    """Type, start and size in sectors, and whether it is active."""
    at = 446 + 16 * index
    start, sectors = struct.unpack_from("<II", sector, at + 8)
    return sector[at + 4], start, sectors, sector[at] == _ACTIVE


def _mbr(
    number: int, kind: int, start: int, sectors: int, active: bool, signature: int
) -> Partition:
    identity = f"{signature:08x}-{number:02x}"
    return Partition(number, start * SECTOR, sectors * SECTOR, f"{kind:02x}", identity, "", active)


def _logical(stream: BinaryIO, extended: int, signature: int) -> list[Partition]:
    """The chain of logical partitions, each with a small table before it."""
    partitions: list[Partition] = []
    at = extended
    while len(partitions) < _MOST_PARTITIONS:
        stream.seek(at * SECTOR)
        sector = stream.read(SECTOR)
        if len(sector) < SECTOR or sector[510:512] != _MBR_MAGIC:
            break
        kind, start, sectors, active = _mbr_entry(sector, 0)
        if kind and sectors:
            partitions.append(
                _mbr(5 + len(partitions), kind, at + start, sectors, active, signature)
            )
        kind, start, _, _ = _mbr_entry(sector, 1)
        if kind not in _EXTENDED or start == 0:
            break
        at = extended + start
    return partitions


def _gpt(data: bytes, size: int, name: str) -> PartitionTable:
    header = data[SECTOR : SECTOR + 92]
    length, checksum = struct.unpack_from("<II", header, 12)
    first_usable = struct.unpack_from("<Q", header, 40)[0]
    entries, count, width = struct.unpack_from("<QII", header, 72)
    end = entries * SECTOR + count * width
    if not 92 <= length <= SECTOR or width < 128 or count > 1024 or end > len(data):
        raise ImageError(f"{name}: its GPT has an unsupported format", "create the image again")
    whole = bytearray(data[SECTOR : SECTOR + length])
    whole[16:20] = bytes(4)
    if zlib.crc32(whole) != checksum:
        raise ImageError(f"{name}: the checksum of its GPT is wrong", "create the image again")
    partitions = []
    for index in range(count):
        entry = data[entries * SECTOR + index * width :][:128]
        if not any(entry[:16]):
            continue
        first, last, attributes = struct.unpack_from("<QQQ", entry, 32)
        partitions.append(
            Partition(
                index + 1,
                first * SECTOR,
                (last - first + 1) * SECTOR,
                str(uuid.UUID(bytes_le=entry[:16])),
                str(uuid.UUID(bytes_le=entry[16:32])),
                entry[56:128].decode("utf-16-le", errors="replace").split("\0")[0],
                bool(attributes & _LEGACY_BOOTABLE),
            )
        )
    # Rockchip puts its loader behind a table that says it needs more, so the entries' end counts.
    return PartitionTable("gpt", size, tuple(partitions), min(end, first_usable * SECTOR))


def _checked(table: PartitionTable, name: str) -> PartitionTable:
    for partition in table.partitions:
        if partition.size <= 0 or partition.start < table.first_free or partition.end > table.size:
            raise ImageError(
                f"{name}: its partition {partition.number} lies outside of it "
                f"(ends at {partition.end}, the image at {table.size})",
                "the image is cut short or its table is damaged; get it again",
            )
    return table
