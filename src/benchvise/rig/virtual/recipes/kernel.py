"""The kernel of a board: taken out of its Debian package, with the modules that the board needs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.faults import Fault, RigError
from benchvise.rig.images import cache
from benchvise.rig.virtual.recipes.modules import closure, dependency_file, module_name, plain
from benchvise.rig.virtual.recipes.packages import Package
from benchvise.rig.virtual.recipes.zimage import unpacked

_GZIP = b"\x1f\x8b"
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
class Kernel:
    """A kernel in ``directory``: its files lie there as they go into an image.

    ``order`` has each module that came along, with those that it needs.
    """

    directory: Path
    release: str
    order: dict[str, list[str]]
    paths: dict[str, str]

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
        order = closure_of(wanted, self.order)
        files = {
            self.paths[name]: (self.directory / "modules" / self.paths[name]).read_bytes()
            for name in order
        }
        files["modules.dep"] = dependency_file(order, self.paths).encode()
        return files


def closure_of(wanted: Iterable[str], order: dict[str, list[str]]) -> dict[str, list[str]]:
    """The part of an order of modules that is for the wanted ones."""
    names = {other for name in wanted if name in order for other in (name, *order[name])}
    return {name: needed for name, needed in order.items() if name in names}


def kernel(
    package: Package, modules: Sequence[str], device_tree: str = "", place: int = 0
) -> Kernel:
    """The kernel of a package, unpacked once and then kept.

    ``device_tree`` is a file name, ``modules`` are names of modules. ``place`` is where a
    ``zImage`` puts its kernel when it unpacks itself; 0 leaves that to it. RigError when the
    package has no kernel, or not that device tree.
    """
    made_of = cache.digest(_LAYOUT, sorted(modules), device_tree, place)
    name = f"{package.name}_{package.version}-{made_of}"
    directory = cache.directory() / "kernels" / name.replace(":", "_")
    with cache.locked(f"kernel-{package.name}"):
        if not directory.exists():
            with cache.fresh(directory) as made:
                _unpack(package, modules, device_tree, place, made)
    known = json.loads((directory / "kernel.json").read_text())
    return Kernel(directory, known["release"], known["order"], known["paths"])


def _unpack(
    package: Package, modules: Sequence[str], device_tree: str, place: int, made: Path
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
            (made / "config").write_bytes(data)
        elif member.name.startswith("boot/"):
            release = member.name.partition("-")[2]
            image = gzip.decompress(data) if data.startswith(_GZIP) else data
            (made / "image").write_bytes(unpacked(image, place) if place else image)
        elif member.name.endswith(".dtb"):
            (made / "board.dtb").write_bytes(data)
        else:
            packed[module_name(member.name)] = (member.name, data)
    wanted_files = {"image": "kernel", "config": "kernel configuration"}
    wanted_files |= {"board.dtb": device_tree} if device_tree else {}
    lacking = [what for file, what in wanted_files.items() if not (made / file).exists()]
    if lacking:
        raise RigError(
            Fault.RIG_BROKEN,
            f"{package.path.name} has no {lacking[0]}",
            "Debian has changed its packages: please report it",
        )

    def read(name: str) -> bytes | None:
        return plain(*packed[name]) if name in packed else None

    order = closure(modules, read)
    paths = {}
    for name in order:
        path, data = packed[name]
        inside = "kernel/" + path.partition("/kernel/")[2]
        paths[name] = inside.partition(".ko")[0] + ".ko"
        file = made / "modules" / paths[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(plain(path, data))
    known = {"release": release, "order": order, "paths": paths}
    (made / "kernel.json").write_text(json.dumps(known, indent=1))
