"""Block maps: every version, and everything that can be wrong with one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from flash_images import BLOCK, bmap_text, random_bytes

from benchvise.rig.card.image import MappedRange, bmap_candidates, read_bmap
from benchvise.rig.faults import Fault, FlashError

DATA = random_bytes(10 * BLOCK - 100)  # the last block is not whole
RANGES = ((0, 1), (3, 3), (8, 9))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def sha(kind: str, first: int, last: int) -> str:
    return hashlib.new(kind, DATA[first * BLOCK : (last + 1) * BLOCK]).hexdigest()


@pytest.mark.parametrize("kind", ["sha256", "sha512", "md5"])
@pytest.mark.parametrize("version", ["1.4", "2.0"])
def test_the_present_format(tmp_path: Path, version: str, kind: str) -> None:
    bmap = read_bmap(write(tmp_path / "b", bmap_text(DATA, RANGES, version=version, kind=kind)))
    assert bmap.version == version
    assert (bmap.image_size, bmap.block_size, bmap.checksum_type) == (len(DATA), BLOCK, kind)
    assert bmap.ranges == (
        MappedRange(0, 2 * BLOCK, sha(kind, 0, 1)),
        MappedRange(3 * BLOCK, BLOCK, sha(kind, 3, 3)),
        MappedRange(8 * BLOCK, 2 * BLOCK - 100, sha(kind, 8, 9)),
    )
    assert bmap.mapped == 5 * BLOCK - 100


def test_the_older_formats(tmp_path: Path) -> None:
    with_sha1 = read_bmap(
        write(tmp_path / "b", bmap_text(DATA, RANGES, version="1.3", kind="sha1"))
    )
    assert with_sha1.checksum_type == "sha1"
    assert with_sha1.ranges[1].checksum == sha("sha1", 3, 3)
    without = read_bmap(write(tmp_path / "b", bmap_text(DATA, RANGES, version="1.2")))
    assert without.checksum_type is None
    assert [part.checksum for part in without.ranges] == [None] * 3


def test_a_changed_map_is_found_out(tmp_path: Path) -> None:
    text = bmap_text(DATA, RANGES)
    path = write(tmp_path / "b", text.replace("<Range chksum", "<Range  chksum", 1))
    with pytest.raises(FlashError, match="does not have the checksum that it says") as raised:
        read_bmap(path)
    assert raised.value.fault is Fault.IMAGE_DAMAGED


OLD = bmap_text(DATA, RANGES, version="1.2")  # no checksum stands in the way

WRONG = {
    "empty": ("", "is no block map"),
    "no xml": ("MZ\0\0", "is no block map"),
    "cut off": (OLD[:-20], "is no block map"),
    "no version": (OLD.replace(' version="1.2"', ""), "has version ''"),
    "future": (OLD.replace('"1.2"', '"3.0"'), "has version '3.0'"),
    "no size": (OLD.replace("ImageSize", "Size"), "has no ImageSize"),
    "no number": (OLD.replace(f" {BLOCK} ", " many "), "has no BlockSize"),
    "tiny blocks": (OLD.replace(f" {BLOCK} ", " 1 "), "impossible image or block size"),
    "block count": (OLD.replace("<BlocksCount> 10", "<BlocksCount> 11"), "number of blocks"),
    "mapped count": (bmap_text(DATA, RANGES, version="1.2", mapped=6), "number of mapped blocks"),
    "beyond the end": (OLD.replace(" 8-9 ", " 9-10 "), "a range '9-10' that cannot be"),
    "backwards": (OLD.replace(" 8-9 ", " 9-8 "), "a range '9-8' that cannot be"),
    "overlapping": (OLD.replace(" 8-9 ", " 1-2 "), "a range '1-2' that cannot be"),
    "words": (OLD.replace(" 8-9 ", " all "), "a range 'all' that cannot be"),
    "entities": (OLD.replace("<bmap", '<!DOCTYPE b [<!ENTITY a "b">]><bmap', 1), "document type"),
    "no own checksum": (
        bmap_text(DATA, RANGES, own=False).replace("BmapFileChecksum", "Other"),
        "has no checksum of its own",
    ),
    "unknown checksum": (bmap_text(DATA, RANGES).replace("> sha256 <", "> crc3 <"), "type 'crc3'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, name: str) -> None:
    text, message = WRONG[name]
    with pytest.raises(FlashError, match=message) as raised:
        read_bmap(write(tmp_path / "some.bmap", text))
    assert raised.value.fault is Fault.IMAGE_DAMAGED
    assert "'some.bmap'" in raised.value.message
    assert raised.value.remedy


def test_where_a_map_may_lie() -> None:
    names = [p.name for p in bmap_candidates(Path("/d/a.rootfs.wic.bz2"), "a.rootfs.wic")]
    assert names == ["a.rootfs.wic.bz2.bmap", "a.rootfs.wic.bmap", "a.rootfs.bmap"]
    assert [p.name for p in bmap_candidates(Path("a.img"), "a.img")] == ["a.img.bmap", "a.bmap"]
