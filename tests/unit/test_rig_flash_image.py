"""Images: what they are by name and content, what lies beside them, and their decompression."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
from pathlib import Path

import pytest
import skips
from flash_images import COMPRESS, bmap_text, random_bytes

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.rig import zstd
from benchvise.rig.card import decompress
from benchvise.rig.card.image import PACKAGES_LIMIT, open_image
from benchvise.rig.faults import Fault, FlashError

DATA = random_bytes(300_000) + bytes(300_000)


def put(directory: Path, name: str, data: bytes) -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def test_a_plain_image(tmp_path: Path) -> None:
    image = open_image(put(tmp_path, "a.img", DATA))
    assert (image.compression, image.size, image.mapped) == ("none", len(DATA), len(DATA))
    assert image.sha256 == hashlib.sha256(DATA).hexdigest()
    assert image.bmap is None


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_image(tmp_path: Path, kind: str) -> None:
    data = COMPRESS[kind](DATA)
    image = open_image(put(tmp_path, f"a.wic.{kind}", data))
    assert image.compression == kind
    assert image.size == (len(DATA) if kind in ("xz", "zst") else None)
    assert image.sha256 == hashlib.sha256(data).hexdigest()


def test_sizes_of_several_streams(tmp_path: Path) -> None:
    twice = COMPRESS["xz"](DATA) + bytes(8) + COMPRESS["xz"](b"")
    assert open_image(put(tmp_path, "a.img.xz", twice)).size == len(DATA)
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    frames = skippable + COMPRESS["zst"](DATA) + COMPRESS["zst"](b"12")
    assert open_image(put(tmp_path, "a.img.zst", frames)).size == len(DATA) + 2
    unknown = zstd.compress(DATA, options={zstd.CompressionParameter.content_size_flag: 0})
    assert open_image(put(tmp_path, "b.img.zst", unknown)).size is None


@pytest.mark.parametrize("kind", ["xz", "zst"])
@pytest.mark.parametrize("missing", [1, 5, 40, 10_000])
def test_a_cut_off_image_is_found_before_it_is_written(
    tmp_path: Path, kind: str, missing: int
) -> None:
    with pytest.raises(FlashError, match="cut off") as raised:
        open_image(put(tmp_path, f"a.img.{kind}", COMPRESS[kind](DATA)[:-missing]))
    assert raised.value.fault is Fault.IMAGE_DAMAGED


def test_a_damaged_xz_index(tmp_path: Path) -> None:
    data = bytearray(COMPRESS["xz"](DATA))
    data[-20] ^= 1
    with pytest.raises(FlashError, match="damaged index"):
        open_image(put(tmp_path, "a.img.xz", bytes(data)))


def test_a_name_that_does_not_fit(tmp_path: Path) -> None:
    for name, data, message in (
        ("a.img", gzip.compress(b"x"), "is gz data, other than its name says"),
        ("a.img.bz2", gzip.compress(b"x"), "is gz data, other than its name says"),
        ("a.img.xz", DATA, "is not xz data, other than its name says"),
        ("a.img", b"", "is empty"),
    ):
        with pytest.raises(FlashError, match=message):
            open_image(put(tmp_path, name, data))
    for name in ("a.zip", "a.tar.gz", "a.img.lz4"):
        with pytest.raises(UsageError, match="not an image that can be written"):
            open_image(put(tmp_path, name, DATA))
    with pytest.raises(UsageError, match="cannot be read"):
        open_image(tmp_path / "absent.img")
    with pytest.raises(UsageError, match="cannot be read"):
        open_image(tmp_path)


def test_the_block_map_beside_it(tmp_path: Path) -> None:
    data = random_bytes(10 * 4096)
    put(tmp_path, "a.wic.bmap", bmap_text(data, [(0, 3)]).encode())
    compressed = open_image(put(tmp_path, "a.wic.bz2", COMPRESS["bz2"](data)))
    assert compressed.bmap is not None
    assert (compressed.size, compressed.mapped) == (len(data), 4 * 4096)
    assert open_image(put(tmp_path, "a.wic", data)).bmap == compressed.bmap
    with pytest.raises(FlashError, match=r"has 40959 bytes, but its block map .* 40960 bytes"):
        open_image(put(tmp_path, "a.wic", data[:-1]))


def test_provenance(tmp_path: Path) -> None:
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    put(deploy, "core-1.wic.bz2", COMPRESS["bz2"](DATA))
    manifest = "".join(f"package{n} cortexa57 1.{n}-r0\n" for n in range(PACKAGES_LIMIT + 5))
    put(deploy, "core-1.manifest", manifest.encode())
    variables = {"MACHINE": "qemuarm64", "GCCVERSION": "13%", "SECRET": "x", "DISTRO": "a\x1b[31mb"}
    put(deploy, "core-1.testdata.json", json.dumps(variables).encode())
    put(deploy, "buildinfo", b"one\n" * 10_000)
    link = tmp_path / "core.wic.bz2"
    link.symlink_to(deploy / "core-1.wic.bz2")
    image = open_image(link)
    said = encode(image.origin())
    assert (said["name"], said["sha256"]) == ("core.wic.bz2", image.sha256)
    beside = said["beside"]
    assert isinstance(beside, dict)
    assert beside["manifest"]["count"] == PACKAGES_LIMIT + 5
    assert len(beside["manifest"]["packages"]) == PACKAGES_LIMIT
    assert beside["manifest"]["packages"]["package7"] == "1.7-r0"
    assert beside["manifest"]["sha256"] == hashlib.sha256(manifest.encode()).hexdigest()
    kept = beside["testdata"]["variables"]
    assert kept == {"MACHINE": "qemuarm64", "GCCVERSION": "13%", "DISTRO": "ab"}
    assert beside["buildinfo"]["count"] == 10_000
    assert len(json.dumps(said)) < 300_000


def test_provenance_of_what_is_not_as_expected(tmp_path: Path) -> None:
    put(tmp_path, "a.testdata.json", b"[" * 100_000)
    put(tmp_path, "a.manifest", b"\xff\xfe\n\n")
    said = encode(open_image(put(tmp_path, "a.img", DATA)).origin())["beside"]
    assert isinstance(said, dict)
    assert said["testdata"]["na"] == "it is not JSON"
    assert said["manifest"]["count"] == 1


def programs_of(kind: str) -> list[str]:
    return [program[0] for program in decompress.PROGRAMS[kind]]


@pytest.fixture(params=[(kind, name) for kind in COMPRESS for name in [*programs_of(kind), ""]])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A format, by each of its programs and by the library."""
    kind, name = request.param
    if name:
        skips.need(name)
    only = tuple(p for p in decompress.PROGRAMS[kind] if p[0] == name)
    monkeypatch.setitem(decompress.PROGRAMS, kind, only)
    return str(kind)


def decompressed(path: Path, kind: str) -> bytes:
    buffer = memoryview(bytearray(100_000))
    made = []
    with path.open("rb", buffering=0) as file:
        stream = decompress.open_stream(path, file, kind)
        try:
            while got := stream.readinto(buffer):
                made.append(bytes(buffer[:got]))
        finally:
            stream.close()
    return b"".join(made)


def test_decompression(tmp_path: Path, way: str) -> None:
    one = COMPRESS[way](DATA)
    assert decompressed(put(tmp_path, "one", one), way) == DATA
    several = one + COMPRESS[way](b"") + COMPRESS[way](b"more")
    assert decompressed(put(tmp_path, "several", several), way) == DATA + b"more"
    zeros = bytes(50 << 20)
    assert decompressed(put(tmp_path, "zeros", COMPRESS[way](zeros)), way) == zeros


@pytest.mark.parametrize("at", [0.5, 0.99])
def test_decompression_of_a_damaged_image(tmp_path: Path, way: str, at: float) -> None:
    data = bytearray(COMPRESS[way](DATA))
    data[int(len(data) * at) - 1] ^= 0x10
    with pytest.raises(FlashError, match=r"'a\.img' cannot be decompressed"):
        decompressed(put(tmp_path, "a.img", bytes(data)), way)


def test_decompression_of_a_cut_off_image(tmp_path: Path, way: str) -> None:
    if way == "zst" and not decompress.PROGRAMS["zst"]:
        skips.skip("nothing to do", "known_size finds it")
    for length in (0.1, 0.9):
        data = COMPRESS[way](DATA)
        with pytest.raises(FlashError, match=r"'a\.img' (cannot be decompressed|is cut off)"):
            decompressed(put(tmp_path, "a.img", data[: int(len(data) * length)]), way)


def test_what_follows_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "PROGRAMS", dict.fromkeys(decompress.PROGRAMS, ()))
    for kind in ("gz", "bz2"):
        padded = COMPRESS[kind](DATA) + bytes(3 << 20)
        assert decompressed(put(tmp_path, "a.img", padded), kind) == DATA
        with pytest.raises(FlashError, match="has data behind its end"):
            decompressed(put(tmp_path, "a.img", padded + b"x"), kind)


def test_lzma_with_padding_by_size(tmp_path: Path) -> None:
    data = lzma.compress(DATA, preset=0) + bytes(4)
    assert open_image(put(tmp_path, "a.img.xz", data)).size == len(DATA)
