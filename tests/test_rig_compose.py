"""Composing real images, without root: layers of one in another, with nothing lost."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import rig_images as images
from rig_elf import program
from rig_images import MIB, Device, File, Link, Name, Part

from benchvise.errors import UsageError
from benchvise.rig.card.image import read_bmap
from benchvise.rig.compose.compose import compose
from benchvise.rig.images import ImageError
from benchvise.rig.images.filesystems import file_system
from benchvise.rig.images.workplace import describe

pytestmark = images.needs_all

EXTLINUX = """\
default l0
timeout 1
label l0
    kernel /{kernel}
    initrd /{initrd}
    fdt /{fdt}
    append {line}
"""


def fat_and_ext(
    path: Path,
    name: str,
    *,
    libc: str = "2.31",
    needs: str = "GLIBC_2.17",
    more: images.Tree | None = None,
) -> list[int]:
    """A FAT boot partition with extlinux.conf, and an ext4 root."""
    boot = images.fat(
        4 * MIB,
        {
            f"/Image-{name}": images.arm64_kernel(f"6.{len(name)}.0-{name}"),
            f"/initrd-{name}.gz": f"initrd {name}".encode() * 50,
            f"/{name}.dtb": f"tree {name}".encode(),
            "/extlinux/extlinux.conf": EXTLINUX.format(
                kernel=f"Image-{name}",
                initrd=f"initrd-{name}.gz",
                fdt=f"{name}.dtb",
                line=f"console=ttyAMA0 root=/dev/mmcblk0p2 {name}=1",
            ).encode(),
        },
    )
    tree = {**images.root_tree(name, f"6.{len(name)}.0-{name}", libc, needs), **(more or {})}
    system = images.ext(6 * MIB, tree, label=f"root-{name}")
    parts = [Part(boot, "0c", "boot", bootable=True), Part(system, "83", "root")]
    return images.mbr(path, parts)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[int]]:
    directory = tmp_path_factory.mktemp("pair")
    starts = fat_and_ext(directory / "good.img", "good")
    fat_and_ext(directory / "bad.img", "bad")
    return directory / "good.img", directory / "bad.img", starts


def test_an_image_is_described(pair: tuple[Path, Path, list[int]]) -> None:
    layout = describe(pair[0])
    assert layout.scheme == "dos"
    assert layout.boot_partition == 1
    assert layout.root_partition == 2
    assert [(k.form, k.arch, k.version) for _, k in layout.kernels] == [
        ("Image", "aarch64", "6.4.0-good")
    ]
    assert layout.boot is not None
    assert layout.boot.command_line == "console=ttyAMA0 root=/dev/mmcblk0p2 good=1"
    assert layout.userland is not None
    assert layout.userland.distribution == "Test good"
    assert layout.userland.init == "busybox"
    assert layout.userland.libc is not None
    assert layout.userland.libc.version == "2.31 (Test GLIBC 2.31-1)"
    assert layout.modules == ("6.4.0-good",)
    told = "\n".join(layout.lines())
    assert "kernel: 6.4.0-good aarch64 (/Image-good)" in told
    assert "libc: glibc 2.31" in told


def test_the_kernel_comes_with_initrd_and_modules_and_nothing_else(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, (boot, root) = pair
    out = tmp_path / "mix.img"
    compose(bad, {"kernel": good}, out)
    files = images.fat_files(out, boot)
    old = images.fat_files(bad, boot)
    assert files["/Image-good"] == images.fat_files(good, boot)["/Image-good"]
    assert files["/initrd-good.gz"] == b"initrd good" * 50
    assert "/Image-bad" not in files and "/initrd-bad.gz" not in files
    assert files["/bad.dtb"] == old["/bad.dtb"]
    conf = files["/extlinux/extlinux.conf"].decode()
    assert conf == old["/extlinux/extlinux.conf"].decode().replace(
        "Image-bad", "Image-good"
    ).replace("initrd-bad", "initrd-good")
    images.check(out, root)
    before, after = images.inodes(bad, root), images.inodes(out, root)
    theirs = images.inodes(good, root)
    modules = {path for path in theirs if path.startswith("/lib/modules/")}
    assert {path for path in after if path.startswith("/lib/modules/")} == modules
    assert {path: after[path] for path in modules} == {path: theirs[path] for path in modules}
    same = {path for path in before if not path.startswith("/lib/modules")}
    assert {path: after[path] for path in same} == {path: before[path] for path in same}
    assert describe(out).kernels[0][1].version == "6.4.0-good"


def test_the_root_comes_whole_but_for_modules_and_fstab(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, (boot, root) = pair
    out = tmp_path / "mix.img"
    made = compose(bad, {"root": good}, out)
    assert images.fat_files(out, boot) == images.fat_files(bad, boot)
    images.check(out, root)
    after, theirs, ours = (images.inodes(path, root) for path in (out, good, bad))
    modules = {path for path in ours if path.startswith("/lib/modules/")}
    assert {path for path in after if path.startswith("/lib/modules/")} == modules
    assert {path: after[path] for path in modules} == {path: ours[path] for path in modules}
    changed = ("/lib/modules", "/etc/fstab")
    same = {path for path in theirs if not path.startswith(changed)} - {"/lib", "/etc"}
    assert {path: after[path] for path in same} == {path: theirs[path] for path in same}
    assert set(after) - set(theirs) == modules - set(theirs)
    told = {partition.number: system for partition, system in made.layout.partitions}
    old = {partition.number: system for partition, system in describe(bad).partitions}
    assert (told[2].identity, told[2].label) == (old[2].identity, "root-bad")
    table = images.debugfs(out, root, "cat /etc/fstab")
    assert "/dev/mmcblk0p2\t/\text4\tdefaults,good\t0\t1" in table


def test_device_tree_and_command_line_come_alone(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, (boot, root) = pair
    old = images.fat_files(bad, boot)
    tree, line = tmp_path / "tree.img", tmp_path / "line.img"
    compose(bad, {"device-tree": good}, tree)
    files = images.fat_files(tree, boot)
    assert files["/good.dtb"] == b"tree good"
    assert "/bad.dtb" not in files
    assert "fdt /good.dtb" in files["/extlinux/extlinux.conf"].decode()
    assert "kernel /Image-bad" in files["/extlinux/extlinux.conf"].decode()
    compose(bad, {"command-line": good}, line)
    files = images.fat_files(line, boot)
    text = files["/extlinux/extlinux.conf"].decode()
    assert text == old["/extlinux/extlinux.conf"].decode().replace("bad=1", "good=1")
    assert images.inodes(line, root) == images.inodes(bad, root)


ATTRIBUTES = (
    ("user.note", b'"a\n\0'),
    ("security.capability", bytes.fromhex("0100000200040000000000000000000000000000")),
)


def test_init_settings_come_with_owners_devices_and_attributes(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    odd: images.Tree = {
        "/etc/init.d/a b": File(b"#!/bin/sh\n", 0o4750, 70000, 100001, ATTRIBUTES),
        "/etc/systemd/system/x.wants/y.service": Link("/lib/systemd/y.service"),
        "/etc/systemd/system/long.service": Link("/lib/" + "long/" * 20 + "x"),
        "/etc/udev/rules.d/pipe": Device("p"),
        "/etc/udev/rules.d/disk": Device("b", 259, 300),
        "/etc/default/empty": File(),
        "/etc/default/twin": Name("/etc/default/empty"),
        '/etc/default/quo"te': File(b'"'),
        "/etc/default/<12>": File(b"no inode"),
    }
    starts = fat_and_ext(good, "good", more=odd)
    fat_and_ext(bad, "bad", more={"/etc/modprobe.d/gone.conf": b"options x y=1\n"})
    made = compose(bad, {"init-settings": good}, out)
    images.check(out, starts[1])
    after, theirs, ours = (images.inodes(path, starts[1]) for path in (out, good, bad))
    taken = (
        *("/etc/rc.local", "/etc/sysctl.d", "/etc/init.d", "/etc/systemd/system", "/etc/udev"),
        "/etc/default",
    )
    expected = {path for path in theirs if path.startswith(taken)}
    assert len(expected) == 18
    assert {path: after[path] for path in expected} == {path: theirs[path] for path in expected}
    assert "/etc/modprobe.d" not in after and "/etc/modprobe.d" in ours
    assert "/etc/modprobe.d removed" in made.layers[0].steps
    for path in ("/etc/fstab", "/etc/passwd", "/etc/os-release", "/bin/sh"):
        assert after[path] == ours[path]
    assert "Links: 2" in after["/etc/default/twin"]
    capability = tmp_path / "capability"
    command = f'ea_get -r -f "{capability}" "/etc/init.d/a b" security.capability'
    images.debugfs(out, starts[1], command)
    assert capability.read_bytes() == ATTRIBUTES[1][1]


def test_one_ext4_partition_holds_all(tmp_path: Path) -> None:
    starts = []
    for name in ("good", "bad"):
        tree = images.root_tree(name, f"6.1-{name}") | {
            f"/boot/vmlinuz-6.1-{name}": images.arm64_kernel(f"6.1-{name}"),
            f"/boot/initrd.img-6.1-{name}": b"initrd",
            f"/boot/config-6.1-{name}": b"CONFIG_X=y\n",
            "/boot/dtbs/vendor/board.dtb": name.encode(),
            "/boot/extlinux/extlinux.conf": (
                f"LABEL linux\n  LINUX ../vmlinuz-6.1-{name}\n  INITRD ../initrd.img-6.1-{name}\n"
                f"  FDTDIR ../dtbs\n  APPEND root=LABEL=root-{name} rw quiet\n"
            ).encode(),
        }
        system = images.ext(8 * MIB, tree, label=f"root-{name}")
        starts = images.mbr(tmp_path / f"{name}.img", [Part(system)])
    good, bad = tmp_path / "good.img", tmp_path / "bad.img"
    kernel, root = tmp_path / "kernel.img", tmp_path / "root.img"
    compose(bad, {"kernel": good}, kernel)
    images.check(kernel, starts[0])
    layout = describe(kernel)
    assert layout.boot_partition == layout.root_partition == 1
    assert layout.boot is not None
    assert layout.boot.kernels == ("/boot/vmlinuz-6.1-good",)
    assert layout.boot.initrds == ("/boot/initrd.img-6.1-good",)
    assert layout.boot.command_line == "root=LABEL=root-bad rw quiet"
    assert layout.modules == ("6.1-good",)
    assert layout.userland is not None and layout.userland.distribution == "Test bad"
    after = images.inodes(kernel, starts[0], "/boot")
    assert "/boot/config-6.1-good" in after and "/boot/config-6.1-bad" not in after
    assert images.debugfs(kernel, starts[0], "cat /boot/dtbs/vendor/board.dtb").endswith("bad")

    compose(bad, {"root": good, "device-tree": good}, root)
    images.check(root, starts[0])
    layout = describe(root)
    assert layout.boot is not None and layout.userland is not None
    assert layout.boot.kernels == ("/boot/vmlinuz-6.1-bad",)
    assert layout.modules == ("6.1-bad",)
    assert layout.userland.distribution == "Test good"
    assert images.debugfs(root, starts[0], "cat /boot/dtbs/vendor/board.dtb").endswith("good")


def raspberry(path: Path, name: str, config: str) -> list[int]:
    boot = images.fat(
        4 * MIB,
        {
            "/bootcode.bin": f"bootcode {name}".encode(),
            "/start4.elf": f"start {name}".encode(),
            "/config.txt": config.encode(),
            "/cmdline.txt": f"console=serial0,115200 root=PARTUUID=11223344-02 {name}\n".encode(),
            "/kernel8.img": images.arm64_kernel(f"6.6-v8-{name}"),
            "/kernel_2712.img": images.arm64_kernel(f"6.6-2712-{name}"),
            "/initramfs8": f"initramfs {name}".encode(),
            "/bcm2711-rpi-4-b.dtb": f"tree {name}".encode(),
            f"/overlays/{name}.dtbo": b"overlay",
        },
    )
    tree = images.root_tree(name, f"6.6-v8-{name}") | {
        f"/lib/modules/6.6-2712-{name}/modules.dep": b"",
    }
    parts = [Part(boot, "0c"), Part(images.ext(6 * MIB, tree))]
    return images.mbr(path, parts)


def test_a_raspberry_pi_keeps_what_is_not_swapped(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.img", tmp_path / "bad.img"
    boot, root = raspberry(good, "good", "arm_freq=2000\n[pi4]\ndtoverlay=good\narm_64bit=1\n")
    raspberry(bad, "bad", "# ours\narm_freq=600\nauto_initramfs=1\ndtparam=audio=on\n")
    layout = describe(bad)
    assert layout.boot is not None and layout.boot.style == "raspberry-pi"
    assert layout.root_partition == 2
    assert layout.boot_loader == "Raspberry Pi firmware"
    old, new = images.fat_files(bad, boot), images.fat_files(good, boot)
    results = {}
    for layer in ("kernel", "device-tree", "command-line", "bootloader"):
        out = tmp_path / f"{layer}.img"
        compose(bad, {layer: good}, out)
        results[layer] = images.fat_files(out, boot)
    kernel = results["kernel"]
    assert kernel["/kernel8.img"] == new["/kernel8.img"]
    assert kernel["/initramfs8"] == new["/initramfs8"]
    assert kernel["/bcm2711-rpi-4-b.dtb"] == old["/bcm2711-rpi-4-b.dtb"]
    assert kernel["/config.txt"].decode() == (
        "# ours\narm_freq=600\ndtparam=audio=on\n[all]\n[pi4]\narm_64bit=1\n[all]\n"
    )
    assert describe(tmp_path / "kernel.img").modules == ("6.6-2712-good", "6.6-v8-good")
    tree = results["device-tree"]
    assert "/overlays/good.dtbo" in tree and "/overlays/bad.dtbo" not in tree
    assert tree["/bcm2711-rpi-4-b.dtb"] == new["/bcm2711-rpi-4-b.dtb"]
    assert "dtoverlay=good" in tree["/config.txt"].decode()
    assert "dtparam" not in tree["/config.txt"].decode()
    assert tree["/kernel8.img"] == old["/kernel8.img"]
    line = results["command-line"]["/cmdline.txt"].decode()
    assert line == "console=serial0,115200 root=PARTUUID=11223344-02 good\n"
    loader = results["bootloader"]
    assert loader["/start4.elf"] == b"start good" and loader["/bootcode.bin"] == b"bootcode good"
    assert "arm_freq=2000" in loader["/config.txt"].decode()
    assert "arm_freq=600" not in loader["/config.txt"].decode()
    assert "dtparam=audio=on" in loader["/config.txt"].decode()
    assert loader["/kernel8.img"] == old["/kernel8.img"]
    images.check(tmp_path / "kernel.img", root)


ALLWINNER = {8 << 10: b"\xea\0\0\x16eGON.BT0" + b"SPL" * 400, 40 << 10: b"U-Boot 2023.01+x " * 9}
ROCKCHIP = {32 << 10: b"RKNS" + b"idb" * 500, 8 << 20: b"U-Boot 2024.04 " * 99}
IMX = {1 << 10: b"\xd1\x00\x20\x40" + b"ivt" * 300}


@pytest.mark.parametrize(
    ("raw", "table", "owner"),
    [
        (ALLWINNER, "mbr", "U-Boot 2023.01+x for Allwinner at 8 KiB"),
        (ROCKCHIP, "gpt", "U-Boot 2024.04 for Rockchip at 32 KiB"),
        (IMX, "mbr", "for i.MX at 1 KiB"),
    ],
    ids=["allwinner", "rockchip", "imx"],
)
def test_a_boot_loader_in_raw_sectors_is_moved(
    raw: dict[int, bytes], table: str, owner: str, tmp_path: Path
) -> None:
    write = images.mbr if table == "mbr" else images.gpt
    system = images.ext(2 * MIB, {"/etc/x": b"", "/bin/x": b""})
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    write(good, [Part(system)], first=16 * MIB, raw=raw)
    write(bad, [Part(system)], first=16 * MIB, raw={100 << 10: b"old loader"})
    assert describe(good).boot_loader == owner
    compose(bad, {"bootloader": good}, out)
    mixed, theirs, ours = (path.read_bytes() for path in (out, good, bad))
    head = 17408 if table == "gpt" else 512
    assert mixed[head : 16 * MIB] == theirs[head : 16 * MIB]
    assert mixed[440:head] == ours[440:head]
    assert mixed[16 * MIB : 16 * MIB + 1024] == ours[16 * MIB : 16 * MIB + 1024]


def test_a_boot_loader_in_a_partition_goes_into_that_of_the_same_name(tmp_path: Path) -> None:
    system = Part(images.ext(2 * MIB, {"/etc/x": b"", "/bin/x": b""}), name="root")
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    images.gpt(good, [Part(b"new u-boot".ljust(MIB, b"\0"), name="uboot"), system])
    first, second, _ = images.gpt(
        bad, [Part(bytes(MIB), name="env"), Part(b"o" * MIB, name="uboot"), system]
    )
    compose(bad, {"bootloader": good}, out)
    data = out.read_bytes()
    assert data[first : first + MIB] == bytes(MIB)
    assert data[second : second + MIB] == b"new u-boot".ljust(MIB, b"\0")


def test_a_boot_loader_that_would_lie_on_a_file_system_is_refused(tmp_path: Path) -> None:
    system = Part(images.ext(2 * MIB, {"/etc/x": b"", "/bin/x": b""}))
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    images.mbr(good, [system], first=16 * MIB, raw=ROCKCHIP)
    images.mbr(bad, [system], first=4 * MIB)
    with pytest.raises(ImageError, match="keeps room for one up to byte 4194304 only") as caught:
        compose(bad, {"bootloader": good}, out)
    assert "take good.img as the base" in caught.value.remedy
    assert list(tmp_path.iterdir()) == [good, bad] or set(tmp_path.iterdir()) == {good, bad}


def test_a_libc_goes_where_the_old_one_was(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    starts = fat_and_ext(good, "good", libc="2.36")
    fat_and_ext(bad, "bad", libc="2.31", needs="GLIBC_2.28")
    made = compose(bad, {"libc": good}, out)
    images.check(out, starts[1])
    after, theirs, ours = (images.inodes(path, starts[1]) for path in (out, good, bad))
    names = {path for path in ours if path.startswith("/lib/l")}
    assert names == {"/lib/libc.so.6", images.LOADER, "/lib/libm.so.6"}
    assert {path: after[path] for path in names} == {path: theirs[path] for path in names}
    rest = set(ours) - names
    assert {p: after[p] for p in rest if p != "/lib"} == {p: ours[p] for p in rest if p != "/lib"}
    assert made.layout.userland is not None and made.layout.userland.libc is not None
    assert made.layout.userland.libc.version.startswith("2.36")


def test_a_libc_that_is_too_old_is_refused(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    fat_and_ext(good, "good", libc="2.31")
    fat_and_ext(bad, "bad", libc="2.36", needs="GLIBC_2.34")
    with pytest.raises(ImageError) as caught:
        compose(bad, {"libc": good}, out)
    assert caught.value.message == (
        "glibc 2.31 (Test GLIBC 2.31-1) of good.img is too old for 2 programs and libraries of "
        "bad.img: /bin/busybox needs GLIBC_2.34 of libc.so.6"
    )
    assert not out.exists()


def test_compressed_images_give_the_same_result(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, _ = pair
    packed = [tmp_path / "good.img.gz", tmp_path / "bad.img.bz2"]
    packed[0].write_bytes(gzip.compress(good.read_bytes()))
    packed[1].write_bytes(bz2.compress(bad.read_bytes()))
    plain, mixed = tmp_path / "plain.img", tmp_path / "mixed.img"
    one = compose(bad, {"kernel": good, "root": good}, plain)
    other = compose(packed[1], {"kernel": packed[0], "root": packed[0]}, mixed)
    assert one.sha256 == other.sha256
    assert describe(packed[0]).kernels == describe(good).kernels


def test_the_result_is_sparse_mapped_and_told(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, (boot, root) = pair
    out = tmp_path / "mix.img"
    (tmp_path / "mix.img.bmap").write_text("of an older image")
    steps: list[str] = []
    made = compose(bad, {"kernel": good, "command-line": good}, out, steps.append)
    assert steps[0].startswith("copying bad.img") and "kernel from good.img" in steps
    again = compose(bad, {"command-line": good, "kernel": good}, tmp_path / "again.img")
    assert again.sha256 == made.sha256
    bmap = read_bmap(tmp_path / "mix.img.bmap")
    assert bmap.image_size == out.stat().st_size == bad.stat().st_size
    assert 0 < bmap.mapped < bmap.image_size
    card = bytearray(b"\xa5" * bmap.image_size)  # a card that held something else
    data = out.read_bytes()
    for part in bmap.ranges:
        card[part.offset : part.end] = data[part.offset : part.end]
        assert hashlib.sha256(data[part.offset : part.end]).hexdigest() == part.checksum
    written = tmp_path / "card.img"
    written.write_bytes(card)
    images.check(written, root)
    assert images.fat_files(written, boot) == images.fat_files(out, boot)
    assert images.inodes(written, root) == images.inodes(out, root)
    assert images.debugfs(written, root, "cat /bin/sh", "cat /etc/passwd") == images.debugfs(
        out, root, "cat /bin/sh", "cat /etc/passwd"
    )
    manifest = json.loads((tmp_path / "mix.img.layers.json").read_text())
    assert manifest["sha256"] == made.sha256
    assert [layer["layer"] for layer in manifest["layers"]] == ["kernel", "command-line"]
    assert {layer["name"] for layer in manifest["layers"]} == {"good.img"}
    assert manifest["holds"]["kernels"][0]["version"] == "6.4.0-good"
    leftovers = {path.name for path in tmp_path.iterdir()} - {"card.img"}
    assert leftovers == {
        *("mix.img", "mix.img.bmap", "mix.img.layers.json"),
        *("again.img", "again.img.bmap", "again.img.layers.json"),
    }


def test_a_root_that_is_larger_shrinks_if_it_can_and_is_refused_if_not(tmp_path: Path) -> None:
    tree = images.root_tree("good", "6.1-good")
    small = images.root_tree("bad", "6.1-bad")
    good, full, bad = tmp_path / "good.img", tmp_path / "full.img", tmp_path / "bad.img"
    images.mbr(good, [Part(images.ext(20 * MIB, tree))])
    images.mbr(full, [Part(images.ext(20 * MIB, tree | {"/usr/big": b"x" * 12 * MIB}))])
    starts = images.mbr(bad, [Part(images.ext(8 * MIB, small))])
    out = tmp_path / "mix.img"
    made = compose(bad, {"root": good}, out)
    images.check(out, starts[0])
    assert made.layout.partitions[0][1].size == 8 * MIB
    assert out.stat().st_size == bad.stat().st_size
    with pytest.raises(ImageError, match=r"the root of full\.img is too large for bad\.img"):
        compose(bad, {"root": full}, tmp_path / "none.img")
    assert not (tmp_path / "none.img").exists()


def test_what_does_not_fit_together_is_refused(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, _ = pair
    out = tmp_path / "out.img"
    with pytest.raises(UsageError, match="there is no layer 'kernle'"):
        compose(bad, {"kernle": good}, out)
    with pytest.raises(UsageError, match="is one of the images"):
        compose(bad, {"kernel": good}, bad)
    foreign = tmp_path / "riscv.img"
    kernel = bytearray(images.arm64_kernel("6.1-riscv"))
    kernel[56:60] = b"RSC\x05"
    boot = images.fat(
        4 * MIB,
        {
            "/Image": bytes(kernel),
            "/extlinux/extlinux.conf": b"label l0\nkernel /Image\nappend root=/dev/mmcblk0p2\n",
        },
    )
    tree = images.root_tree("riscv", "6.1-riscv") | {"/boot/x": b""}
    images.mbr(foreign, [Part(boot, "0c"), Part(images.ext(6 * MIB, tree))])
    with pytest.raises(ImageError) as caught:
        compose(bad, {"kernel": foreign}, out)
    assert caught.value.message == (
        "the kernel of riscv.img is for riscv64, and the programs of bad.img are for aarch64"
    )
    script = tmp_path / "script.img"
    images.mbr(script, [Part(images.fat(4 * MIB, {"/boot.scr": b"x", "/Image": b"x"}), "0c")])
    with pytest.raises(ImageError, match=r"it boots by boot\.scr"):
        compose(script, {"command-line": good}, out)
    with pytest.raises(ImageError, match="boots by extlinux, the other by raspberry-pi"):
        pi = tmp_path / "pi.img"
        raspberry(pi, "pi", "")
        compose(pi, {"kernel": good}, out)
    assert not out.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_modules_that_do_not_fit_are_refused(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    _, bad, _ = pair
    tree = images.root_tree("large", "6.5.0-large")
    tree["/lib/modules/6.5.0-large/y.ko"] = b"y" * 4 * MIB
    boot = images.fat(
        4 * MIB,
        {
            "/Image": images.arm64_kernel("6.5.0-large"),
            "/extlinux/extlinux.conf": b"label l0\nkernel /Image\nappend root=/dev/mmcblk0p2\n",
        },
    )
    big = tmp_path / "large.img"
    images.mbr(big, [Part(boot, "0c"), Part(images.ext(16 * MIB, tree))])
    made = compose(bad, {"kernel": big}, tmp_path / "fits.img")  # 4 of 6 MiB
    assert made.layout.modules == ("6.5.0-large",)
    tree["/lib/modules/6.5.0-large/z.ko"] = b"z" * 4 * MIB
    images.mbr(big, [Part(boot, "0c"), Part(images.ext(16 * MIB, tree))])
    with pytest.raises(ImageError, match="has no room for"):
        compose(bad, {"kernel": big}, tmp_path / "out.img")


def test_a_journal_is_replayed_in_a_copy(
    tmp_path: Path, pair: tuple[Path, Path, list[int]]
) -> None:
    good, bad, starts = pair
    dirty = tmp_path / "dirty.img"
    dirty.write_bytes(good.read_bytes())
    images.debugfs(
        dirty, starts[1], "jo", "jc", "feature needs_recovery", write=True
    )  # opened and closed without being played back
    assert file_system(dirty, starts[1]).dirty
    before = dirty.read_bytes()
    compose(bad, {"kernel": dirty}, tmp_path / "mix.img")
    assert dirty.read_bytes() == before


def test_the_result_goes_through_links_and_devices(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, _ = pair
    link, target = tmp_path / "link.img", tmp_path / "elsewhere" / "real.img"
    target.parent.mkdir()
    link.symlink_to(target)
    compose(bad, {"kernel": good}, link)
    assert link.is_symlink() and target.stat().st_size == bad.stat().st_size
    assert [path.name for path in target.parent.iterdir()] == ["real.img"]
    fifo = tmp_path / "fifo.img"
    os.mkfifo(fifo)
    with subprocess.Popen(["sha256sum", fifo], stdout=subprocess.PIPE, text=True) as reader:
        made = compose(bad, {"kernel": good}, fifo)
        assert reader.communicate()[0].split()[0] == made.sha256
    assert fifo.is_fifo()
    (tmp_path / "directory.img").mkdir()
    with pytest.raises(UsageError, match="is a directory"):
        compose(bad, {"kernel": good}, tmp_path / "directory.img")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("directory.img", "elsewhere", "fifo.img"),
        *("link.img", "link.img.bmap", "link.img.layers.json"),
    }


def test_a_full_disk_is_said_before_anything_is_copied(
    pair: tuple[Path, Path, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad, _ = pair
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: SimpleNamespace(free=1 << 20))
    with pytest.raises(ImageError, match=r"has not enough room: \d+ bytes are needed, 1048576"):
        compose(bad, {"kernel": good}, tmp_path / "mix.img")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_composition_left_goes_away(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, _ = pair
    code = """if True:
        import sys
        from pathlib import Path
        from benchvise.rig.compose.compose import compose

        def say(step: str) -> None:
            if "kernel" in step:
                print(step, flush=True)
                sys.stdin.read()

        base, source, out = map(Path, sys.argv[1:])
        compose(base, {"kernel": source}, out, say)
    """
    out = tmp_path / "mix.img"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(bad), str(good), str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"kernel from good.img\n"
    child.kill()
    child.communicate()
    assert [path.name[:9] for path in tmp_path.iterdir()] == [".mix.img-"]
    compose(bad, {"kernel": good}, out)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("mix.img", "mix.img.bmap", "mix.img.layers.json")
    }


def old_glibc(version: str) -> dict[str, File | Link | Device | bytes]:
    """As Debian had it until 2.33: names are links to files that carry the version."""
    home = "/usr/lib/aarch64-linux-gnu"
    files: dict[str, File | Link | Device | bytes] = {"/lib": Link("usr/lib")}
    for path, item in images.glibc(version).items():
        soname = path.rpartition("/")[2]
        stem = "ld" if soname.startswith("ld") else soname.split(".")[0]
        files[f"{home}/{stem}-{version}.so"] = item
        files[f"{home}/{soname}"] = Link(f"{stem}-{version}.so")
    files["/usr/lib/ld-linux-aarch64.so.1"] = Link(f"aarch64-linux-gnu/ld-{version}.so")
    files["/etc/ld.so.cache"] = b"cache"
    return files


def whole(path: Path, tree: images.Tree) -> int:
    return images.mbr(path, [Part(images.ext(4 * MIB, tree))])[0]


def test_a_libc_takes_the_place_of_one_whose_files_have_versions(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    programs = {"/bin/a": images.needing("GLIBC_2.28"), "/bin/b": File(program(), 0o755)}
    more = {"/usr/lib/locale/C.utf8/LC_CTYPE": b"new", "/etc/x": b""}
    whole(good, {**images.glibc("2.36"), **programs, **more})
    start = whole(bad, {**old_glibc("2.31"), **programs, "/usr/lib/locale/locale-archive": b"old"})
    made = compose(bad, {"libc": good}, out)
    images.check(out, start)
    home = "/usr/lib/aarch64-linux-gnu"
    found = images.inodes(out, start, home)
    assert set(found) == {
        f"{home}/{name}" for name in ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6")
    }
    loader = images.debugfs(out, start, f"cat {images.LOADER}")
    assert "2.36" in loader and "2.31" not in loader
    assert set(images.inodes(out, start, "/usr/lib/locale")) == {
        "/usr/lib/locale/C.utf8", "/usr/lib/locale/C.utf8/LC_CTYPE"
    }  # fmt: skip
    assert made.warnings == (
        "1 programs are static and keep the libc that they were linked with, such as /bin/b",
    )


def test_a_loader_that_would_not_find_the_libraries_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.img", tmp_path / "bad.img"
    programs: images.Tree = {"/bin/a": images.needing("GLIBC_2.28"), "/etc/x": b""}
    whole(good, {**images.glibc("2.36"), **programs})
    tree = {**old_glibc("2.31"), **programs}
    del tree["/etc/ld.so.cache"]
    whole(bad, tree)
    with pytest.raises(ImageError, match="does not look in /usr/lib/aarch64-linux-gnu"):
        compose(bad, {"libc": good}, tmp_path / "mix.img")


def musl(version: str, *exports: str) -> dict[str, File | Link]:
    text = b"\0" + version.encode() + b"\0"
    library = program(soname="libc.musl-aarch64.so.1", exports=exports, text=text)
    return {
        "/lib/ld-musl-aarch64.so.1": File(library, 0o755),
        "/lib/libc.musl-aarch64.so.1": Link("ld-musl-aarch64.so.1"),
    }


def test_musl_is_known_by_its_functions(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    using = program(
        needed=("libc.musl-aarch64.so.1",), interpreter="/lib/ld-musl-aarch64.so.1",
        imports=("puts", "newer"),
    )  # fmt: skip
    programs: images.Tree = {"/bin/a": File(using, 0o755), "/etc/x": b""}
    start = whole(good, {**musl("1.2.5", "puts", "newer"), **programs})
    whole(bad, {**musl("1.1.24", "puts"), **programs})
    with pytest.raises(ImageError, match=r"musl 1\.1\.24 of bad\.img is too old .*function newer"):
        compose(good, {"libc": bad}, out)
    made = compose(bad, {"libc": good}, out)
    images.check(out, start)
    assert made.layout.userland is not None and made.layout.userland.libc is not None
    assert (made.layout.userland.libc.kind, made.layout.userland.libc.version) == ("musl", "1.2.5")
    glibc = tmp_path / "glibc.img"
    whole(glibc, {**images.glibc("2.36"), "/etc/x": b"", "/bin/a": images.needing("GLIBC_2.17")})
    with pytest.raises(ImageError, match=r"for musl, and the libc of glibc\.img is glibc"):
        compose(bad, {"libc": glibc}, out)


def test_all_layers_of_an_image_make_that_image(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, bad, (boot, root) = pair
    out = tmp_path / "mix.img"
    layers = ("command-line", "device-tree", "kernel", "init-settings", "libc", "root")
    made = compose(bad, dict.fromkeys(layers, good), out)
    order = ["root", "libc", "init-settings", "kernel", "device-tree", "command-line"]
    assert [swapped.layer for swapped in made.layers] == order
    assert images.fat_files(out, boot) == images.fat_files(good, boot)
    images.check(out, root)
    after, theirs = images.inodes(out, root), images.inodes(good, root)
    # Directories that something was created in have another time, and fstab is of this card.
    touched = {"/etc", "/lib", "/lib/modules", "/etc/fstab"}
    assert set(after) == set(theirs)
    assert {p: after[p] for p in after if p not in touched} == {
        p: theirs[p] for p in theirs if p not in touched
    }


def test_a_boot_partition_may_be_ext4(tmp_path: Path) -> None:
    starts: list[int] = []
    for name in ("good", "bad"):
        boot = images.ext(
            2 * MIB,
            {
                "/vmlinuz": images.arm64_kernel(f"6.1-{name}"),
                "/initrd.img": name.encode(),
                "/extlinux/extlinux.conf": f"label l0\n kernel /vmlinuz\n initrd /initrd.img\n"
                f" append root=PARTUUID=11223344-02 {name}\n".encode(),
            },
            label="boot",
        )
        system = images.ext(4 * MIB, images.root_tree(name, f"6.1-{name}"))
        starts = images.mbr(tmp_path / f"{name}.img", [Part(boot), Part(system)])
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    made = compose(bad, {"kernel": good}, out)
    for start in starts:
        images.check(out, start)
    layout = made.layout
    assert (layout.boot_partition, layout.root_partition) == (1, 2)
    assert layout.modules == ("6.1-good",)
    assert layout.boot is not None and layout.boot.command_line is not None
    assert layout.boot.command_line.endswith(" bad")
    assert images.debugfs(out, starts[0], "cat /initrd.img").endswith("good")


def test_an_image_without_a_table_is_one_file_system(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        tree = {
            **images.root_tree(name, f"6.1-{name}"),
            "/boot/Image": images.arm64_kernel(f"6.1-{name}"),
            "/boot/extlinux/extlinux.conf": f"label l\nlinux /boot/Image\nappend {name}\n".encode(),
        }
        (tmp_path / f"{name}.img").write_bytes(images.ext(4 * MIB, tree))
    good, bad, out = tmp_path / "good.img", tmp_path / "bad.img", tmp_path / "mix.img"
    made = compose(bad, {"kernel": good, "init-settings": good}, out)
    images.check(out, 0)
    assert made.layout.scheme == "none"
    assert [kernel.version for _, kernel in made.layout.kernels] == ["6.1-good"]
    assert made.layout.modules == ("6.1-good",)
    assert "echo good" in images.debugfs(out, 0, "cat /etc/rc.local")
    with pytest.raises(ImageError, match=r"good\.img has no boot loader: the board brings"):
        compose(bad, {"bootloader": good}, out)


def test_what_is_not_an_ext_root_is_refused(
    pair: tuple[Path, Path, list[int]], tmp_path: Path
) -> None:
    good, _, _ = pair
    squash = tmp_path / "squash.img"
    boot = images.fat(
        4 * MIB,
        {
            "/Image": images.arm64_kernel("6.1"),
            "/extlinux/extlinux.conf": b"label l0\nkernel /Image\nappend root=/dev/mmcblk0p2\n",
        },
    )
    images.mbr(squash, [Part(boot, "0c"), Part(b"hsqs" + bytes(MIB))])
    for layer in ("kernel", "root", "init-settings", "libc"):
        with pytest.raises(
            ImageError, match=r"squash\.img has no supported root file system: .*squashfs"
        ):
            compose(squash, {layer: good}, tmp_path / "mix.img")
    compose(squash, {"command-line": good, "device-tree": good}, tmp_path / "mix.img")
