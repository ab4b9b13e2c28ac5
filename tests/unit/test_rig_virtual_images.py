"""The parts of the simulated boards' images that need no package and no emulator."""

from __future__ import annotations

import base64
import gzip
import hashlib
import lzma
import os
import re
import stat
import struct
import subprocess
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
import skips
from waiting import PATIENCE

from benchvise.errors import UsageError
from benchvise.rig import zstd
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.images import ImageError, cache, tools
from benchvise.rig.images.boot_files import uboot
from benchvise.rig.images.ext import make_ext4
from benchvise.rig.images.fat import make_fat
from benchvise.rig.images.table import dos_table
from benchvise.rig.images.tools import Tools, installed
from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.recipes import build, initrd, kernel, keys, packages, recipe
from benchvise.rig.virtual.recipes.build import BOOT_START, ROOT_START, assemble

BUILDERS = ("mkfs.vfat", "mcopy", "mmd", "mke2fs", "debugfs", "dumpe2fs", "e2fsck")
needs_builders = skips.unless_missing(
    "" if all(map(installed, BUILDERS)) else skips.packages("e2fsprogs", "dosfstools", "mtools")
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


# --- modules ----------------------------------------------------------------------------------


def module(depends: str) -> bytes:
    """A 64-bit ELF file with nothing but a section ``.modinfo``."""
    info = f"license=GPL\0depends={depends}\0name=x\0".encode()
    names = b"\0.modinfo\0.shstrtab\0"
    body = info + names
    offset = 64
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 1, 0xB7, 1, 0, 0, offset + len(body), 0, 64, 0, 0, 64, 3, 2
    )

    def section(name: int, kind: int, at: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0)

    table = section(0, 0, 0, 0) + section(1, 1, offset, len(info))
    return head + body + table + section(10, 3, offset + len(info), len(names))


TREE = {
    "ext4": module("jbd2,mbcache,crc16"),
    "jbd2": module(""),
    "mbcache": module(""),
    "crc16": module(""),
    "virtio_blk": module("virtio,virtio-ring"),
    "virtio_ring": module("virtio"),
    "virtio": module(""),
}


def test_modules_come_with_what_they_need_and_after_it() -> None:
    order = kernel.closure(["virtio-blk", "ext4", "not-there"], TREE.get)
    assert list(order) == [
        "virtio",
        "virtio_ring",
        "virtio_blk",
        "jbd2",
        "mbcache",
        "crc16",
        "ext4",
    ]
    assert order["virtio_blk"] == ["virtio", "virtio_ring"]
    assert order["virtio"] == []


def test_what_a_module_needs_is_listed_as_depmod_does() -> None:
    order = kernel.closure(["virtio_blk"], TREE.get)
    text = kernel.dependency_file(order, {name: f"kernel/{name}.ko" for name in order})
    assert text.splitlines() == [
        "kernel/virtio.ko:",
        "kernel/virtio_ring.ko: kernel/virtio.ko",
        "kernel/virtio_blk.ko: kernel/virtio_ring.ko kernel/virtio.ko",
    ]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress),
     (".zst", zstd.compress)],
)  # fmt: skip
def test_compressed_modules(suffix: str, pack: object) -> None:
    assert callable(pack)
    path = f"kernel/fs/nls/nls-cp437.ko{suffix}"
    assert kernel.unpacked_module(path, pack(b"text")) == b"text"
    assert kernel.module_name(path) == "nls_cp437"


# --- the first root file system ---------------------------------------------------------------


@skips.needs("busybox")
def test_archive_unpacks_elsewhere(tmp_path: Path) -> None:
    data = initrd.cpio_archive(
        [initrd.cpio_file("bin/busybox", b"abc", 0o755), initrd.cpio_link("bin/sh", "busybox"),
         initrd.cpio_directory("dev"), initrd.cpio_file("bin/odd", b"12345")]
    )  # fmt: skip
    subprocess.run(
        ["busybox", "cpio", "-id"], input=data, cwd=tmp_path, check=True, timeout=PATIENCE
    )
    program = tmp_path / "bin" / "busybox"
    assert program.read_bytes() == b"abc"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert (tmp_path / "bin" / "sh").readlink() == Path("busybox")
    assert (tmp_path / "bin" / "odd").read_bytes() == b"12345"
    assert (tmp_path / "dev").is_dir()


# --- a kernel that need not unpack itself -------------------------------------------------------


def test_kernel_is_taken_out_of_what_unpacks_it() -> None:
    program = bytes(range(256)) * 5
    packed = b"code \xfd7zXZ\0 is a word in it" + lzma.compress(program) + b"more"
    image = kernel.unpacked(packed, 0x40208000)
    magic, start, end = struct.unpack_from("<3I", image, 0x24)
    assert (magic, start, end) == (0x016F2818, 0, len(image))
    assert struct.unpack_from("<I", image, 0x20) == (0xEA000002,)  # b 0x30
    assert image.endswith(struct.pack("<II", 0x40208000, 0x40208000 + len(program)) + program)
    with pytest.raises(ImageError, match="not compressed by xz"):
        kernel.unpacked(b"nothing", 0)


# --- bootloaders ------------------------------------------------------------------------------


def legacy_image(contents: bytes) -> bytes:
    """An image in U-Boot's own format."""
    head = struct.pack(">4sIIIIII", b"\x27\x05\x19\x56", 0, 1, len(contents), 2, 3,
                       zlib.crc32(contents)).ljust(64, b"\0")  # fmt: skip
    return head[:4] + struct.pack(">I", zlib.crc32(head)) + head[8:] + contents


def test_settings_of_a_bootloader_are_written_over() -> None:
    program = b"code\0bootdelay=2\0boot_targets=usb virtio\0more"
    data = build.with_settings(
        program,
        [("bootdelay=2", "bootdelay=0"), ("boot_targets=usb virtio", "boot_targets=virtio")],
    )
    assert data == b"code\0bootdelay=0\0boot_targets=virtio    \0more"


def test_sums_of_an_edited_image_are_right() -> None:
    not_an_image = b"\x27\x05\x19\x56" + bytes(range(100))
    before = b"x" * 7 + legacy_image(b"aa\0bootdelay=2\0bb") + not_an_image
    after = legacy_image(b"aa\0bootdelay=1\0bb")
    data = build.with_settings(before, [("bootdelay=2", "bootdelay=1")])
    assert data == b"x" * 7 + after + not_an_image


@pytest.mark.parametrize("edit", [("absent=1", "absent=2"), ("bootdelay=2", "bootdelay=10")])
def test_settings_that_cannot_be_edited(edit: tuple[str, str]) -> None:
    with pytest.raises(ImageError, match="has no setting"):
        build.with_settings(b"\0bootdelay=2\0", [edit])


# --- keys -------------------------------------------------------------------------------------


@skips.needs("ssh-keygen")
def test_keys_are_made_once_and_for_the_user_alone() -> None:
    key = keys.user_key()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    assert keys.user_key().read_bytes() == before
    host = keys.host_key("board")
    public = (key.parent / "host-board.pub").read_text().split()[1]
    assert host.startswith(b"\0\0\0\x0bssh-ed25519\0\0\0\x40")
    assert len(host) == 4 + 11 + 4 + 64
    assert base64.b64decode(public).endswith(host[-32:])


def test_other_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="own form"):
        keys.dropbear_form("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")


# --- cards ------------------------------------------------------------------------------------


def run(*argv: str | Path) -> str:
    return Tools(Path("/")).run(argv).text


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hostname").write_text("board\n")
    (root / "bin").mkdir()
    (root / "bin" / "program").write_bytes(os.urandom(300_000))
    (root / "bin" / "program").chmod(0o755)
    (root / "bin" / "link").symlink_to("program")
    return root


@needs_builders
def test_a_card_is_the_same_each_time_and_complete_by_its_map(tmp_path: Path, tree: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.write_bytes(b"k" * 100_000)
    size = 96 << 20
    images = [tmp_path / "one.img", tmp_path / "two.img"]
    for image in images:
        # another time of day, for file systems hold times; in FAT to two seconds
        time.sleep(2)
        kernel.touch()
        assemble(image, size, {"extlinux/extlinux.conf": kernel, "Image": kernel}, tree, "same")
    first, second = (image.read_bytes() for image in images)
    assert first == second
    assert len(first) == size

    # a card that held something else before, written with the mapped blocks only
    written = bytearray(b"\xa5" * size)
    text = images[0].with_name("one.img.bmap").read_text()
    for sum_, start, end in re.findall(r'chksum="(\w+)"> (\d+)(?:-(\d+))? <', text):
        part = slice(int(start) * 4096, (int(end or start) + 1) * 4096)
        assert hashlib.sha256(first[part]).hexdigest() == sum_
        written[part] = first[part]
    dirty = tmp_path / "dirty.img"
    dirty.write_bytes(written)
    root = tmp_path / "root.img"
    root.write_bytes(written[ROOT_START:])
    run("e2fsck", "-f", "-n", root)
    assert run("debugfs", "-R", "cat /etc/hostname", root) == "board\n"
    owner = run("debugfs", "-R", "stat /bin/program", root)
    assert re.search(r"User: +0 +Group: +0", owner)
    assert "Mode:  0755" in owner
    partition = f"{dirty}@@{BOOT_START}"
    assert run("mcopy", "-i", partition, "::/Image", "-") == "k" * 100_000
    listed = run("mdir", "-i", partition, "-/", "-b").split()
    assert listed == ["::/extlinux/", "::/Image", "::/extlinux/extlinux.conf"]


@needs_builders
def test_files_that_do_not_fit(tmp_path: Path, tree: Path) -> None:
    with pytest.raises(ImageError, match=r"mke2fs failed"):
        big = tree / "big"
        with big.open("wb") as file:
            file.write(os.urandom(20 << 20))
        make_ext4(Tools(tmp_path), "root", 8 << 20, tree, "same")
    with pytest.raises(ImageError, match=r"mcopy failed"):
        huge = _sparse(tmp_path / "huge", 50 << 20)
        make_fat(Tools(tmp_path), "boot", 40 << 20, {"big": huge}, 1)


def _sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_partition_table() -> None:
    table = dos_table(
        0x11223344, (BOOT_START, ROOT_START - BOOT_START), (ROOT_START, (256 << 20) - ROOT_START)
    )
    assert len(table) == 512
    assert table[440:444] == bytes.fromhex("44332211")
    assert table[446] == 0x80
    kinds_ = (table[450], table[466])
    assert kinds_ == (0x0C, 0x83)
    assert struct.unpack_from("<II", table, 454) == (2048, 131072)
    assert struct.unpack_from("<II", table, 470) == (133120, 391168)


# --- the boot ROM of boards without a bootloader ----------------------------------------------


def test_default_label_of_extlinux() -> None:
    settings = """
default second
timeout 1
label first
  kernel /a
label second
  LINUX /b
  initrd /i
  append console=ttyS0 root=/dev/vda2
"""
    label = uboot.chosen(settings)
    assert label is not None
    assert label.values == {
        "kernel": "/b",
        "initrd": "/i",
        "append": "console=ttyS0 root=/dev/vda2",
    }


def test_a_card_without_anything_to_start(tmp_path: Path) -> None:
    assert kinds.read_card(tmp_path / "absent", tmp_path) is None
    assert kinds.read_card(_sparse(tmp_path / "blank", 1 << 20), tmp_path) is None


# --- kinds, variants, cache, packages ---------------------------------------------------------


def test_unknown_names_are_told() -> None:
    with pytest.raises(UsageError, match="no kind of simulated board 'vax'"):
        kinds.kind("vax")
    with pytest.raises(UsageError, match="no image variant 'z'"):
        recipe.variant("z")


def test_the_bench_has_boards_of_known_kinds() -> None:
    assert len(dict(kinds.BENCH)) == 6
    assert {kind for _, kind in kinds.BENCH} <= set(kinds.KINDS)


def test_missing_names_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_search_path", lambda: "/nowhere")
    lacking = kinds.missing(kinds.KINDS["orangepi"])
    assert "qemu-system-arm" in lacking
    assert lacking == sorted(set(lacking))
    with pytest.raises(ImageError, match=r"mcopy is not installed: .*apt-get install .* mtools"):
        tools.find_program("mcopy")


def test_what_a_board_lacks_to_start_is_a_fault_of_the_rig(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tools, "_search_path", lambda: "/nowhere")
    socket = tmp_path / "socket"
    with pytest.raises(RigError, match="qemu-system-arm is not installed") as caught:
        kinds.KINDS["orangepi"].command(
            card=None, console=socket, monitor=socket, gdb=None, ssh_port=1, workdir=tmp_path
        )
    assert (caught.value.fault, caught.value.exit_code) == (Fault.RIG_BROKEN, 3)


def test_what_is_half_built_has_no_name(tmp_path: Path) -> None:
    target = tmp_path / "made"

    def fail() -> None:
        with cache.fresh(target) as made:
            (made / "file").touch()
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert not list(tmp_path.glob("*made*")) and not list(tmp_path.glob(".unfinished*"))


def test_mirror_comes_from_the_systems_own_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    said = (
        "http://mirror.example/ubuntu jammy main\n"
        "http://mirror.example/security bookworm-security main\n"
        "http://mirror.example/debian bookworm main\n"
    )
    monkeypatch.setattr(packages, "run_apt", lambda argv: said)
    assert packages.mirror() == "http://mirror.example/debian"
    ubuntu = "http://mirror.example/ubuntu jammy main\n"
    monkeypatch.setattr(packages, "run_apt", lambda argv: ubuntu)
    with pytest.raises(ImageError, match=r"names no Debian archive.*BENCHVISE_DEBIAN_MIRROR"):
        packages.mirror()
    monkeypatch.setenv(packages.MIRROR_VARIABLE, "file:/mirror")
    assert packages.mirror() == "file:/mirror"


class FakeApt:
    """apt as it behaves: it neither names nor fetches files that lie where it is started."""

    FILES = MappingProxyType(
        {"linux-image-6.1-arm64": "linux-image-6.1-arm64_6.1_arm64.deb",
         "dropbear-bin": "dropbear-bin_1%3a2_arm64.deb", "libc6": "libc6_2.36_arm64.deb"}
    )  # fmt: skip

    def __init__(self) -> None:
        self.updates = 0

    def __call__(
        self, argv: Sequence[str], cwd: Path | None = None, own: Mapping[str, str] | None = None
    ) -> str:
        name, *words = argv
        assert own is None or own.keys() == {"APT_CONFIG"}
        if "indextargets" in words:
            return "file:/mirror bookworm main\n"
        if name == "apt-cache":
            return f"{words[1]}\n  Depends: linux-image-6.1-arm64\n"
        if "update" in words:
            self.updates += 1
            return ""
        if "install" in words:
            return self._plan("dropbear-bin", "libc6")
        if "download" not in words:
            return ""
        assert cwd is not None
        wanted = [word for word in words if word in self.FILES]
        new = [word for word in wanted if not (cwd / self.FILES[word]).exists()]
        if "--print-uris" in words:
            return self._plan(*new)
        for word in new:
            (cwd / self.FILES[word]).write_text(word)
        return ""

    def _plan(self, *names: str) -> str:
        return "".join(f"'file:/x' {self.FILES[name]} 1 SHA256:0\n" for name in names)


def test_a_set_of_packages_is_whole_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    apt = FakeApt()
    monkeypatch.setattr(packages, "run_apt", apt)
    monkeypatch.setattr(packages, "KEYRING", tmp_path)
    archive = packages.Archive("bookworm", "arm64")
    (kernel,) = archive.download(["linux-image-arm64"])
    assert kernel.name == "linux-image-6.1-arm64"
    found = archive.download(["linux-image-arm64"], ["dropbear-bin"])
    assert [(p.name, p.version) for p in found] == [
        ("dropbear-bin", "1:2"), ("libc6", "2.36"), ("linux-image-6.1-arm64", "6.1")
    ]  # fmt: skip
    monkeypatch.setattr(packages, "run_apt", None)  # no network any more
    assert archive.download(["linux-image-arm64"], ["dropbear-bin"]) == found
    assert apt.updates
