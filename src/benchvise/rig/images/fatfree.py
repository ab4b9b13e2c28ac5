"""Which parts of a FAT file system hold nothing: its free clusters.

After Microsoft's FAT specification (fatgen103): the number of clusters says whether entries of
the table have 12, 16 or 32 bits; an entry of 0 is a free cluster.
"""

from __future__ import annotations

import struct
import sys
from array import array
from pathlib import Path

_FAT12_CLUSTERS, _FAT16_CLUSTERS = 4085, 65525
_USED_BITS = 0x0FFFFFFF  # of an entry of FAT32


def free_clusters(image: Path, start: int, size: int) -> list[tuple[int, int]]:
    """First byte of the image and the one behind, in order; nothing where it is in doubt."""
    with image.open("rb") as stream:
        stream.seek(start)
        head = stream.read(64)
        sector, per_cluster, reserved, copies, entries, total16 = struct.unpack_from(
            "<HBHBHH", head, 11
        )
        table16 = struct.unpack_from("<H", head, 22)[0]
        total32, table32 = struct.unpack_from("<II", head, 32)
        table, total = table16 or table32, total16 or total32
        if sector not in (512, 1024, 2048, 4096) or not per_cluster or total * sector > size:
            return []
        data = reserved + copies * table + -(-entries * 32 // sector)
        clusters = (total - data) // per_cluster
        if clusters < _FAT12_CLUSTERS:  # too small for it to matter
            return []
        wide = clusters >= _FAT16_CLUSTERS
        stream.seek(start + reserved * sector)
        raw = stream.read((clusters + 2) * (4 if wide else 2))
    if len(raw) < (clusters + 2) * (4 if wide else 2):
        return []
    numbers = array("I" if wide else "H", raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    mask = _USED_BITS if wide else 0xFFFF
    found: list[tuple[int, int]] = []
    width = per_cluster * sector
    for number in range(2, clusters + 2):
        if numbers[number] & mask == 0:
            begin = start + data * sector + (number - 2) * width
            if found and found[-1][1] == begin:
                found[-1] = found[-1][0], begin + width
            else:
                found.append((begin, begin + width))
    return found
