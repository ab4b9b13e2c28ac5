"""What an image is read for: tables, kernels, programs, boot loaders, free blocks."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rig_images as images
import skips
from hypothesis import given
from hypothesis import strategies as st
from rig_elf import AARCH64, X86_64, program
from rig_images import MIB, Part

from benchvise.rig import zstd
from benchvise.rig.compose.layers import libc as abi
from benchvise.rig.images import ImageError, elf
from benchvise.rig.images import raw_loader as raw
from benchvise.rig.images.fat import Fat, free_clusters
from benchvise.rig.images.filesystems import FileSystem, file_system
from benchvise.rig.images.kernel import KernelImage, identify
from benchvise.rig.images.sparse import BLOCK, block_map, used_ranges
from benchvise.rig.images.table import read_table
from benchvise.rig.images.tools import Tools

# Partition tables


def test_an_mbr_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    starts = images.mbr(path, [Part(b"a", "0c", room=MIB), Part(b"b", bootable=True, room=MIB)])
    table = read_table(path)
    assert table.scheme == "dos" and table.first_free == 512
    assert [(p.number, p.start, p.kind, p.bootable) for p in table.partitions] == [
        (1, starts[0], "0c", False),
        (2, starts[1], "83", True),
    ]
    assert table.partitions[1].identity == "11223344-02"


def test_logical_partitions_are_found(tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    images.mbr(path, [Part(b"a", room=MIB), Part(b"b", "05", room=8 * MIB)])
    data = bytearray(path.read_bytes())
    extended = struct.unpack_from("<I", data, 446 + 16 + 8)[0]

    def entry(at: int, index: int, kind: int, start: int, size: int) -> None:
        struct.pack_into("<4xB3xII", data, at * 512 + 446 + 16 * index, kind, start, size)
        data[at * 512 + 510 : at * 512 + 512] = b"\x55\xaa"

    entry(extended, 0, 0x83, 64, 100)
    entry(extended, 1, 0x05, 1000, 2000)
    entry(extended + 1000, 0, 0x82, 64, 100)
    path.write_bytes(data)
    found = read_table(path).partitions
    assert [(p.number, p.start // 512) for p in found] == [
        (1, 2048), (5, extended + 64), (6, extended + 1064)
    ]  # fmt: skip


@skips.unless_missing(skips.lacking("sfdisk", path=images.ENVIRONMENT["PATH"]))
@pytest.mark.parametrize(
    "script",
    [
        "label: dos\nlabel-id: 0xdeadbeef\n2048,2048,c,*\n4096,8192,5\n"
        "6144,1024,83\n10240,1024,82\n",
        "label: gpt\nfirst-lba: 34\nstart=64,size=100,name=loader1\n"
        "start=2048,size=2048,name=root,attrs=LegacyBIOSBootable\n",
    ],
    ids=["dos", "gpt"],
)
def test_sfdisk_says_the_same(script: str, tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    with path.open("wb") as stream:
        stream.truncate(16 * MIB)
    argv = [shutil.which("sfdisk", path=images.ENVIRONMENT["PATH"]) or "", "-q", str(path)]
    subprocess.run(argv, input=script.encode(), check=True)
    said = json.loads(images.run("sfdisk", "--json", str(path)))["partitiontable"]
    table = read_table(path)
    assert table.scheme == said["label"]
    expected = [part for part in said["partitions"] if part["type"] != "5"]
    assert len(table.partitions) == len(expected) >= 2
    for partition, part in zip(table.partitions, expected, strict=True):
        assert part["node"] == f"{path}{partition.number}"
        assert (partition.start, partition.size) == (part["start"] * 512, part["size"] * 512)
        assert int(partition.kind.replace("-", ""), 16) == int(part["type"].replace("-", ""), 16)
        assert partition.bootable == ("bootable" in part or "attrs" in part)
        if table.scheme == "gpt":
            assert (partition.identity, partition.name) == (part["uuid"].lower(), part["name"])
        else:
            assert partition.identity == f"deadbeef-{partition.number:02x}"


def test_a_gpt_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    images.gpt(path, [Part(b"a", name="boot", room=MIB), Part(b"b", name="root", room=MIB)])
    table = read_table(path)
    assert table.scheme == "gpt" and table.first_free == 34 * 512
    assert [p.name for p in table.partitions] == ["boot", "root"]
    data = bytearray(path.read_bytes())
    data[512 + 40] ^= 1
    path.write_bytes(data)
    with pytest.raises(ImageError, match=r"x\.img: the checksum of its GPT is wrong"):
        read_table(path)


def test_an_image_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    images.mbr(path, [Part(b"a", room=4 * MIB)])
    with path.open("r+b") as stream:
        stream.truncate(3 * MIB)
    with pytest.raises(ImageError, match="partition 1 lies outside of it"):
        read_table(path)
    path.write_bytes(b"short")
    with pytest.raises(ImageError, match="no card image"):
        read_table(path)


@given(st.binary(min_size=1024, max_size=2048), st.booleans(), st.booleans())
def test_no_table_brings_it_down(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, dos: bool, gpt: bool
) -> None:
    head = bytearray(data)
    if dos:
        head[510:512] = b"\x55\xaa"
    if gpt:
        head[512:520] = b"EFI PART"
    path = tmp_path_factory.getbasetemp() / "table.img"
    path.write_bytes(head)
    try:
        table = read_table(path)
    except ImageError:
        return
    assert all(0 <= p.start < p.end <= len(head) for p in table.partitions)
    for partition in table.partitions:
        file_system(path, partition.start)


# Kernels


def test_kernels_are_told_by_their_headers() -> None:
    image = images.arm64_kernel("6.1.0-test")
    riscv = image[:56] + b"RSC\x05" + image[60:]
    assert identify(image) == KernelImage("Image", "aarch64", "6.1.0-test")
    assert identify(riscv) == KernelImage("Image", "riscv64", "6.1.0-test")
    assert identify(gzip.compress(image)) == KernelImage("Image.gz", "aarch64", "6.1.0-test")
    head = b"\0" * 0x24 + b"\x18\x28\x6f\x01" + bytes(200)
    for packed in (gzip.compress, lzma.compress, zstd.compress):
        assert identify(head + packed(image)) == KernelImage("zImage", "arm", "6.1.0-test")
    assert identify(head, "vmlinuz-5.4-x") == KernelImage("zImage", "arm", "5.4-x")
    bz = bytearray(0x300)
    bz[0x202:0x206], bz[0x20E:0x210], bz[0x236] = b"HdrS", struct.pack("<H", 0x80), 1
    bz[0x280:0x28C] = b"6.1-x (a) #1"
    assert identify(bytes(bz)) == KernelImage("bzImage", "x86_64", "6.1-x")
    uimage = b"\x27\x05\x19\x56" + bytes(25) + bytes([22, 2, 0]) + b"Linux-5.10.1".ljust(32, b"\0")
    assert identify(uimage + image) == KernelImage("uImage", "aarch64", "6.1.0-test")
    assert identify(b"no kernel").form == ""


@given(st.sampled_from([b"", b"\x1f\x8b\x08", b"\x27\x05\x19\x56", b"MZ\0\0zimg", b"\x7fELF"]),
       st.binary(max_size=700))  # fmt: skip
def test_no_file_brings_identifying_down(magic: bytes, rest: bytes) -> None:
    identify(magic + rest)
    elf.parse(magic + rest, symbols=True)


# Programs and their libc


def test_a_program_says_what_it_needs() -> None:
    data = program(
        X86_64, interpreter="/lib/ld.so", needed=("libc.so.6", "libm.so.6"), soname="libx.so.1",
        versions={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34"], "libm.so.6": ["GLIBC_2.29"]},
        defines=["X_1", "X_2"], imports=("puts",), exports=("x",),
    )  # fmt: skip
    found = elf.parse(data, symbols=True)
    assert found is not None
    assert found.abi == ("x86_64", 64, False) and found.dynamic
    assert (found.interpreter, found.soname) == ("/lib/ld.so", "libx.so.1")
    assert found.libraries == ("libc.so.6", "libm.so.6")
    assert found.versions["libc.so.6"] == {"GLIBC_2.2.5", "GLIBC_2.34"}
    assert found.versions["libm.so.6"] == {"GLIBC_2.29"}
    assert found.defines == {"X_1", "X_2"}
    assert set(found.imports) == {"puts"} and set(found.exports) == {"x"}
    static = elf.parse(program(text=b"x"))
    assert static is not None and not static.dynamic


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=16))
def test_a_damaged_program_brings_nothing_down(at: int, noise: bytes) -> None:
    data = bytearray(
        program(needed=("libc.so.6",), versions={"libc.so.6": ["A", "B"]}, defines=["C"])
    )
    at %= len(data)
    data[at : at + len(noise)] = noise
    elf.parse(bytes(data), symbols=True)


def test_sections_that_repeat_cost_no_time() -> None:
    """65,535 symbol tables over the same megabyte, all names the same long one."""
    data = bytearray(program(needed=("libc.so.6",), text=b"x" * (1 << 20)))
    (sections,) = struct.unpack_from("<Q", data, 40)
    table, strings = (data[sections + 64 * n : sections + 64 * (n + 1)] for n in (1, 2))
    struct.pack_into("<Q", table, 24, 0)
    struct.pack_into("<Q", table, 32, len(data))
    struct.pack_into("<QH", data, 40, len(data), 0)
    struct.pack_into("<H", data, 60, 0xFFFF)
    data += bytes(64) + bytes(table) + bytes(strings) + bytes(table) * 0xFFFC
    began = time.process_time()
    elf.parse(bytes(data), symbols=True)
    assert time.process_time() - began < 5


def test_names_that_overlap_are_not_collected() -> None:
    """Each symbol's name begins one byte further in the same long text."""
    names = [f"{'y' * 4000}{n}" for n in range(2)]
    data = bytearray(program(needed=("libc.so.6",), exports=names))
    assert len(elf.parse(bytes(data), symbols=True).exports) == 2  # type: ignore[union-attr]
    (sections,) = struct.unpack_from("<Q", data, 40)
    (begin,) = struct.unpack_from("<Q", data, sections + 64 + 24)
    symbols = bytes(data[begin : begin + 24])
    for n in range(2000):
        symbols += struct.pack("<IBBHQQ", 12 + n, 0x12, 0, 1, 0, 0)
    struct.pack_into("<QQ", data, sections + 64 + 24, len(data), len(symbols))
    assert elf.parse(bytes(data) + symbols, symbols=True) is None


def test_what_a_libc_lacks_is_named() -> None:
    wanted = abi.LibcNeeds(
        versions={("libc.so.6", "GLIBC_2.9"): ["/a"], ("libc.so.6", "GLIBC_2.34"): ["/b", "/c"]},
        symbols={"gone": ["/d"], "elsewhere": ["/d"]},
    )
    old = abi.LibcOffer({}, frozenset({"gone"}))
    new = abi.LibcOffer({"libc.so.6": frozenset({"GLIBC_2.9"})}, frozenset())
    lacking = abi.missing(wanted, new, old)
    assert lacking == {"GLIBC_2.34 of libc.so.6": ["/b", "/c"], "the function gone": ["/d"]}
    with pytest.raises(ImageError, match=r"for 3 programs .*: /b needs GLIBC_2\.34 of libc"):
        abi.refuse_unless_served(lacking, "glibc 2.9 of a", "b")


def test_the_helpers_make_what_they_say() -> None:
    libc = elf.parse(next(iter(images.glibc("2.36").values())).data)  # type: ignore[union-attr]
    assert libc is not None and "GLIBC_2.36" in libc.defines and libc.abi[0] == "aarch64"
    needing = elf.parse(images.needing("GLIBC_2.34", machine=AARCH64).data)
    assert needing is not None and needing.versions == {"libc.so.6": {"GLIBC_2.34"}}


# Boot loaders


def test_where_boot_loaders_may_lie(tmp_path: Path) -> None:
    path = tmp_path / "x.img"
    parts = [Part(b"u", name="uboot", room=MIB), Part(b"f", name="boot", room=MIB),
             Part(b"t", name="trust", room=MIB), Part(b"d", name="data", room=MIB)]  # fmt: skip
    starts = images.gpt(path, parts, first=2 * MIB)
    table = read_table(path)
    systems = {n: FileSystem("vfat" if n == 2 else "") for n in range(1, 5)}
    found = raw.regions(table, systems)
    assert [(r.start, r.partition.name if r.partition else "") for r in found] == [
        (34 * 512, ""),
        (starts[0], "uboot"),
        (table.partitions[0].end, ""),
        (starts[2], "trust"),
    ]
    assert raw.used(path, found[1]) == [(starts[0], starts[0] + 512)]
    assert raw.used(path, found[0]) == []


# What a card must hold


def test_blocks_that_are_free_in_part_are_written() -> None:
    assert list(used_ranges(10 * BLOCK, [(BLOCK, 2 * BLOCK), (2 * BLOCK, 3 * BLOCK + 1)])) == [
        (0, BLOCK),
        (3 * BLOCK, 10 * BLOCK),
    ]
    assert list(used_ranges(2 * BLOCK + 5, [(BLOCK, 2 * BLOCK + 5)])) == [(0, BLOCK)]
    assert list(used_ranges(BLOCK, [])) == [(0, BLOCK)]


@given(
    st.integers(1, 20 * BLOCK),
    st.lists(st.tuples(st.integers(0, 20 * BLOCK), st.integers(0, 20 * BLOCK)), max_size=8),
)
def test_nothing_that_is_used_is_left_out(size: int, free: list[tuple[int, int]]) -> None:
    ranges = [(min(a, b, size), min(max(a, b), size)) for a, b in free]
    found = list(used_ranges(size, ranges))
    for point in {0, size - 1, *(r[0] - 1 for r in ranges), *(r[1] for r in ranges)}:
        if 0 <= point < size and not any(begin <= point < end for begin, end in ranges):
            assert any(begin <= point < end for begin, end in found)
    assert all(begin % BLOCK == 0 and begin < end <= size for begin, end in found)


RANGE = st.tuples(st.integers(0, 12 * BLOCK - 1), st.integers(1, 3 * BLOCK))


@given(st.lists(RANGE, min_size=1, max_size=6))
def test_a_block_map_has_each_block_that_is_used_in_part(used: list[tuple[int, int]]) -> None:
    """A boot loader of i.MX stands at 33 KiB, in the middle of a block."""
    size = 12 * BLOCK
    ranges = sorted((begin, min(begin + length, size)) for begin, length in used)
    with tempfile.TemporaryDirectory() as directory:
        image = Path(directory, "image")
        image.write_bytes(bytes(size))
        document = ElementTree.fromstring(block_map(image, ranges))  # noqa: S314 - our own
    mapped: list[int] = []
    for written in document.iterfind("BlockMap/Range"):
        first, _, last = (written.text or "").strip().partition("-")
        mapped += range(int(first), int(last or first) + 1)
    touched = {
        byte // BLOCK for begin, end in ranges for byte in (*range(begin, end, 512), end - 1)
    }
    assert mapped == sorted(touched)
    assert int(document.findtext("MappedBlocksCount") or 0) == len(mapped)


@images.needs_all
def test_odd_names_on_fat(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(images.fat(2 * MIB, {"/A [b].TXT": b"odd", "/d/x": b"x"}))
    files = Fat(Tools(tmp_path), "x", 0, "x")
    assert files.read("/a [B].txt") == b"odd"
    files.put("/D/[new] file.dtb", b"new")
    files.put("/e/f/g", b"deep")
    files.put("/a [b].txt", b"again")
    assert files.names("/d") == {"x": False, "[new] file.dtb": False}
    assert files.read("/d/[NEW] file.dtb") == b"new"
    assert files.read("/a [b].txt") == b"again"
    files.remove("/d/[new] file.dtb")
    files.remove("/e")
    assert files.names("/") == {"a [b].txt": False, "d": True}
    assert files.names("/d") == {"x": False}
    with pytest.raises(ImageError, match="no room for /big: it takes 4194304 bytes"):
        files.put("/big", bytes(4 * MIB))


@images.needs_all
@pytest.mark.parametrize(
    ("size", "options"), [(20 * MIB, ("-F", "16")), (40 * MIB, ("-F", "32", "-s", "1"))]
)
def test_free_clusters_of_fat_hold_nothing(
    size: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    files = {"/a": b"a" * 700_000, "/d/b": b"b" * 5000, "/c": b""}
    path = tmp_path / "x"
    path.write_bytes(bytes(MIB) + images.fat(size, files, options=options))
    free = free_clusters(path, MIB, size)
    assert size // 2 < sum(end - begin for begin, end in free) < size - 705_000
    data = bytearray(path.read_bytes())
    for begin, end in free:
        data[begin:end] = b"\xa5" * (end - begin)
    path.write_bytes(data)
    assert images.fat_files(path, MIB) == files
    assert free_clusters(path, MIB, size // 2) == []  # larger than its partition
