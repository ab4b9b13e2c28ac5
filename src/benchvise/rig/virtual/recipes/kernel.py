"""The kernel of a board: taken out of its Debian package, with the modules that the board needs.

A Debian kernel has its drivers for disks, cards and networks as modules, so that what starts a
board must bring them along, with the modules that those need, in the order in which they load.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import zstandard
from elftools.elf.elffile import ELFFile

from benchvise.documents import decode, encode
from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import digest, fresh
from benchvise.rig.virtual.recipes import CACHE
from benchvise.rig.virtual.recipes.packages import Package
from benchvise.rig.virtual.recipes.zimage import unpacked

_GZIP = b"\x1f\x8b"
_CONTENTS = "kernel.json"
_LAYOUT = 2  # of what is kept: raised when that becomes something else

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
    """A module's file without the compression that its name tells of."""
    match PurePosixPath(path).suffix:
        case ".xz":
            return lzma.decompress(data)
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
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
    """Those of the wanted modules that exist, and what they need, what is needed first.

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
