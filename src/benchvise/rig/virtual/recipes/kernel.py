"""The kernel of a board: taken out of its Debian package, with the modules that the board needs.

A Debian kernel has its drivers for disks, cards and networks as modules, so that what starts a
board must bring them along, with the modules that those need, in the order in which they load.

A kernel for 32-bit ARM that unpacks itself takes an emulator many seconds. A ``zImage`` is a
program that unpacks the kernel to its place and starts it. Here a program of a few instructions
takes its place that only copies a kernel which is not packed. Bootloaders do not see the
difference: the header is that which the kernel's ``booting`` document describes.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from elftools.elf.elffile import ELFFile

from benchvise.documents import decode, encode
from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import digest, fresh
from benchvise.rig.virtual.recipes import CACHE
from benchvise.rig.virtual.recipes.packages import Package

_GZIP = b"\x1f\x8b"
_CONTENTS = "kernel.json"
_LAYOUT = 2  # of the kept files: raise it when it changes

# Thousands of modules that no simulated board has a use for.
_OF_NO_USE = (
    "/kernel/sound/",
    "/kernel/drivers/gpu/",
    "/kernel/drivers/iio/",
    "/kernel/drivers/infiniband/",
    "/kernel/drivers/media/",
    "/kernel/drivers/net/wireless/",
    "/kernel/drivers/scsi/",
    "/kernel/drivers/staging/",
    "/kernel/drivers/usb/",
)


@dataclass(frozen=True, slots=True)
class KernelContents:
    """What a kernel consists of, as ``kernel.json`` keeps it.

    ``order`` has each module that came along, with those that it needs; ``paths`` where each lies
    below ``/lib/modules/RELEASE``.
    """

    release: str
    order: dict[str, list[str]]
    paths: dict[str, str]


@dataclass(frozen=True, slots=True)
class BoardKernel:
    """A kernel in ``directory``: its files lie there as they go into an image."""

    directory: Path
    contents: KernelContents

    @property
    def release(self) -> str:
        """Its version, as uname says it."""
        return self.contents.release

    @property
    def order(self) -> dict[str, list[str]]:
        """Each module that came along, with those that it needs."""
        return self.contents.order

    @property
    def image(self) -> Path:
        """What a bootloader starts."""
        return self.directory / "image"

    @property
    def device_tree(self) -> Path:
        """The description of the board's hardware, where one was asked for."""
        return self.directory / "board.dtb"

    @property
    def config(self) -> Path:
        """How it was built, as Debian tells it."""
        return self.directory / "config"

    def module_files(self, names: Iterable[str]) -> dict[str, bytes]:
        """What belongs below ``/lib/modules/RELEASE`` to load these modules, by path."""
        wanted = [name.replace("-", "_") for name in names]
        modules = {
            other for name in wanted if name in self.order for other in (name, *self.order[name])
        }
        order = {name: before for name, before in self.order.items() if name in modules}
        paths = self.contents.paths
        files = {
            paths[name]: (self.directory / "modules" / paths[name]).read_bytes() for name in order
        }
        files["modules.dep"] = dependency_file(order, paths).encode()
        return files


def kernel(
    package: Package, modules: Sequence[str], device_tree: str = "", place: int = 0
) -> BoardKernel:
    """The kernel of a package, unpacked once and then kept.

    ``device_tree`` is a file name, ``modules`` are names of modules. ``place`` is where a
    ``zImage`` puts its kernel when it unpacks itself; 0 leaves that to it. ImageError when the
    package has no kernel, or not that device tree.
    """
    selection = digest(_LAYOUT, sorted(modules), device_tree, place)
    name = f"{package.name}_{package.version}-{selection}"
    directory = CACHE.directory / "kernels" / name.replace(":", "_")
    with CACHE.locked(f"kernel-{package.name}"):
        if not directory.exists():
            with fresh(directory) as unfinished:
                _unpack(package, modules, device_tree, place, unfinished)
    contents = decode(KernelContents, json.loads((directory / _CONTENTS).read_text()))
    return BoardKernel(directory, contents)


def _unpack(
    package: Package, modules: Sequence[str], device_tree: str, place: int, directory: Path
) -> None:
    def wanted(path: str) -> bool:
        if path.endswith(".dtb"):
            return bool(device_tree) and path.endswith(f"/{device_tree}")
        if ".ko" in path:
            return not any(part in path for part in _OF_NO_USE)
        return path.startswith(("boot/vmlinuz-", "boot/vmlinux-", "boot/config-"))

    release = ""
    packed: dict[str, tuple[str, bytes]] = {}
    for member, data in package.members(wanted):
        if member.name.startswith("boot/config-"):
            (directory / "config").write_bytes(data)
        elif member.name.startswith("boot/"):
            release = member.name.partition("-")[2]
            image = gzip.decompress(data) if data.startswith(_GZIP) else data
            (directory / "image").write_bytes(unpacked(image, place) if place else image)
        elif member.name.endswith(".dtb"):
            (directory / "board.dtb").write_bytes(data)
        else:
            packed[module_name(member.name)] = (member.name, data)
    wanted_files = {"image": "kernel", "config": "kernel configuration"}
    wanted_files |= {"board.dtb": device_tree} if device_tree else {}
    lacking = [what for file, what in wanted_files.items() if not (directory / file).exists()]
    if lacking:
        raise ImageError(
            f"{package.path.name} has no {lacking[0]}",
            "Debian has changed its packages: please report it",
        )

    def read(name: str) -> bytes | None:
        return unpacked_module(*packed[name]) if name in packed else None

    order = closure(modules, read)
    paths = {}
    for name in order:
        path, data = packed[name]
        inside = "kernel/" + path.partition("/kernel/")[2]
        paths[name] = inside.partition(".ko")[0] + ".ko"
        file = directory / "modules" / paths[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(unpacked_module(path, data))
    contents = encode(KernelContents(release, order, paths))
    (directory / _CONTENTS).write_text(json.dumps(contents, indent=1))


def module_name(path: str) -> str:
    """The name that the kernel knows it by: ``kernel/fs/nls/nls-cp437.ko.xz`` is nls_cp437."""
    return PurePosixPath(path).name.partition(".ko")[0].replace("-", "_")


def unpacked_module(path: str, data: bytes) -> bytes:
    """A module's file without the compression in its name's suffix."""
    from benchvise.rig import zstd  # of the extra `rig`

    match PurePosixPath(path).suffix:
        case ".xz":
            return lzma.decompress(data)
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstd.decompress(data)
        case _:
            return data


def _needs(module: bytes) -> list[str]:
    """The modules whose symbols this one uses, from its section ``.modinfo``."""
    section = ELFFile(io.BytesIO(module)).get_section_by_name(".modinfo")
    entries = section.data().split(b"\0") if section else []
    for entry in entries:
        key, _, value = entry.partition(b"=")
        if key == b"depends":
            return [name.replace("-", "_") for name in value.decode().split(",") if name]
    return []


def closure(wanted: Iterable[str], read: Callable[[str], bytes | None]) -> dict[str, list[str]]:
    """The wanted modules that exist, each after the modules that it needs.

    Names may be written with ``-``. ``read`` gives the file of a module; None for one that is
    built into the kernel or not there at all, which is left out. Each name comes with the names of
    all that it needs.
    """
    order: dict[str, list[str]] = {}

    def add(name: str) -> None:
        module = None if name in order else read(name)
        if module is None:
            return
        direct = _needs(module)
        for other in direct:
            add(other)
        order[name] = list(
            dict.fromkeys(
                other for near in direct if near in order for other in (*order[near], near)
            )
        )

    for name in wanted:
        add(name.replace("-", "_"))
    return order


def dependency_file(order: Mapping[str, Sequence[str]], paths: Mapping[str, str]) -> str:
    """A ``modules.dep`` as depmod(8) writes it: what has to be loaded last is named first."""
    return "".join(
        f"{paths[name]}: {' '.join(paths[other] for other in reversed(before))}".rstrip() + "\n"
        for name, before in order.items()
    )


_MAGIC = 0x016F2818
_XZ = b"\xfd7zXZ\0"
_CODE_AT = 0x30
_NOTHING = 0xE1A00000  # mov r0, r0

# Registers 0 to 2 are what the bootloader tells the kernel.
_COPY = (
    0xE28F3024,  #       add   r3, pc, #36        the kernel as it lies here
    0xE59F4018,  #       ldr   r4, [pc, #24]      where it belongs
    0xE59F5018,  #       ldr   r5, [pc, #24]      and where that ends
    0xE1A09004,  #       mov   r9, r4
    0xE8B305C0,  # more: ldmia r3!, {r6-r8, r10}
    0xE8A405C0,  #       stmia r4!, {r6-r8, r10}
    0xE1540005,  #       cmp   r4, r5
    0x3AFFFFFB,  #       blo   more
    0xE1A0F009,  #       mov   pc, r9
)


def unpacked(image: bytes, place: int) -> bytes:
    """The ``zImage`` with its kernel not compressed, to be copied to ``place`` and started there.

    ``place`` is the beginning of the memory plus the kernel's own offset (``textofs`` in its
    Makefile). ImageError when there is no kernel compressed by xz in it.
    """
    kernel = b""
    at = image.find(_XZ)
    while at >= 0 and not kernel:
        try:
            kernel = lzma.LZMADecompressor().decompress(image[at:])
        except lzma.LZMAError:  # the word alone, within the program that unpacks
            at = image.find(_XZ, at + 1)
    if not kernel:
        raise ImageError(
            "the kernel for 32-bit ARM is not compressed by xz any more",
            "Debian has changed its packages: please report it",
        )
    kernel += bytes(-len(kernel) % 16)
    size = _CODE_AT + 4 * (len(_COPY) + 2) + len(kernel)
    head = struct.pack("<9I3I", *[_NOTHING] * 8, _branch(0x20, _CODE_AT), _MAGIC, 0, size)
    addresses = struct.pack(f"<{len(_COPY) + 2}I", *_COPY, place, place + len(kernel))
    return head + addresses + kernel


def _branch(here: int, there: int) -> int:
    """The instruction that goes from one place to another."""
    return 0xEA000000 | ((there - here - 8) // 4 & 0xFFFFFF)
