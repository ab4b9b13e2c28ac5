"""Building the card image and the bootloader of a kind of board, or finding those built before.

A card has a partition table, a boot and a root partition, and a block map beside it. Bootloaders
are taken out of their Debian packages, with the settings that suit a bench: U-Boot's default
settings are words in its binary, each ended by a zero byte. Some are written over in place, so that
a board neither waits long for a key nor looks for a network or USB disk to boot from. Nothing but
these words changes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import digest, fresh, sources
from benchvise.rig.images.ext import free_blocks, make_ext4
from benchvise.rig.images.fat import free_clusters, make_fat
from benchvise.rig.images.sparse import BLOCK, block_map, used_ranges
from benchvise.rig.images.table import dos_table
from benchvise.rig.images.tools import EPOCH, Tools
from benchvise.rig.virtual.recipes import CACHE, keys, root
from benchvise.rig.virtual.recipes.initrd import initrd
from benchvise.rig.virtual.recipes.kernel import BoardKernel, kernel
from benchvise.rig.virtual.recipes.packages import Archive, Package
from benchvise.rig.virtual.recipes.recipe import Recipe, Variant

PROGRAMS = ("busybox-static",)
LINKED = ("coreutils", "dropbear-bin")

BOOT_START = 1 << 20
BOOT_SIZE = 64 << 20
ROOT_START = BOOT_START + BOOT_SIZE

_CHUNK = 4 << 20

_UIMAGE_MAGIC = b"\x27\x05\x19\x56"
_HEADER = struct.Struct(">4sIIIIII")  # magic, header's sum, time, size, load, entry, contents' sum
_UIMAGE_HEADER_SIZE = 64


def rom(recipe: Recipe) -> Path:
    """The bootloader that is built into a board (or lies on its card). ImageError without one."""
    if recipe.firmware is None:
        raise ValueError("this kind of board has no bootloader")
    package, path = recipe.firmware
    return firmware(_only(recipe.archive, package), path, recipe.firmware_edits)


def monitor(recipe: Recipe) -> Path | None:
    """What runs beneath the bootloader where the architecture has such a thing: OpenSBI."""
    if recipe.monitor is None:
        return None
    package, path = recipe.monitor
    return firmware(_only(recipe.archive, package), path)


def image(name: str, recipe: Recipe, size: int, variant: Variant) -> Path:
    """The image of a board called ``name``, ``size`` bytes long.

    It is built if this very one has not been, with its map (``.bmap``), the list of its packages
    (``.manifest``) and their checksums (``.buildinfo``) beside it. ImageError when it cannot be
    built.
    """
    programs = recipe.archive.download(PROGRAMS, LINKED)
    other = variant.other_kernel and recipe.other_kernel
    archive = (recipe.other_archive or recipe.archive) if other else recipe.archive
    core = _only(archive, recipe.other_kernel if other else recipe.kernel)
    loader = rom(recipe) if recipe.firmware else None
    host_key = keys.host_key(name)
    public = keys.user_key().with_suffix(".pub").read_text()
    packages = [*programs, core]
    identity = digest(
        sources("benchvise.rig.virtual.recipes", "benchvise.rig.images"),
        recipe, variant, size, host_key, public, name,
        [package.sha256 for package in packages], loader.read_bytes() if loader else b"",
    )  # fmt: skip
    directory = CACHE.directory / "images" / f"{name}-{variant.name}-{identity}"
    target = directory / f"{name}-{variant.name}.img"
    with CACHE.locked(f"image-{name}-{variant.name}"):
        if not target.exists():
            modules = (*recipe.disk_modules, *recipe.more_modules)
            started = kernel(core, modules, recipe.device_tree, recipe.kernel_place)
            with fresh(directory) as unfinished:
                _build(
                    unfinished / target.name, name, recipe, size, variant, started, programs,
                    (host_key, public), identity, loader,
                )  # fmt: skip
                manifest = "".join(f"{p.name} {p.architecture} {p.version}\n" for p in packages)
                (unfinished / f"{target.stem}.manifest").write_text(manifest)
                (unfinished / f"{target.stem}.buildinfo").write_text(sources_of(packages))
            _remove_old(directory.parent, f"{name}-{variant.name}-")
    return target


def package_sets(recipe: Recipe) -> Iterator[tuple[Archive, tuple[str, ...], tuple[str, ...]]]:
    """All that images and boards of a recipe are made of: archive, packages alone, and whole."""
    yield recipe.archive, PROGRAMS, LINKED
    yield recipe.archive, (recipe.kernel,), ()
    if recipe.other_kernel:
        yield recipe.other_archive or recipe.archive, (recipe.other_kernel,), ()
    for package, _ in filter(None, (recipe.firmware, recipe.monitor)):
        yield recipe.archive, (package,), ()


def sources_of(packages: Iterable[Package]) -> str:
    """Which files of Debian an image is made of, a line each."""
    return "".join(
        f"{p.name} {p.version} {p.architecture} sha256:{p.sha256}"
        f"{'' if p.is_pinned else ' (not the pinned version)'}\n"
        for p in packages
    )


def _build(
    target: Path,
    name: str,
    recipe: Recipe,
    size: int,
    variant: Variant,
    started: BoardKernel,
    programs: Sequence[Package],
    key_pair: tuple[bytes, str],
    identity: str,
    loader: Path | None,
) -> None:
    work = target.parent / "work"
    tree = work / "root"
    tree.mkdir(parents=True)
    present = [m for m in recipe.more_modules if m.replace("-", "_") in started.order]
    modules = started.module_files(started.order)
    root.make(
        tree,
        programs,
        hostname=name,
        tty=recipe.tty,
        login=variant.login,
        modules=present,
        kernel_files={
            f"boot/config-{started.release}": started.config.read_bytes(),
            **{f"usr/lib/modules/{started.release}/{p}": d for p, d in modules.items()},
        },
        release={
            "KIND": name,
            "VARIANT": variant.name,
            "IDENTITY": identity,
            "KERNEL": started.release,
        },
        keys=key_pair,
        scripts=variant.files,
    )
    boot = {} if variant.blank_boot else _boot_files(work, recipe, variant, started, tree)
    bootloader = None
    if loader is not None and recipe.firmware_at is not None:
        bootloader = (recipe.firmware_at, loader.read_bytes())
    assemble(target, size, boot, tree, identity, bootloader=bootloader)
    shutil.rmtree(work)


def _boot_files(
    work: Path, recipe: Recipe, variant: Variant, started: BoardKernel, tree: Path
) -> dict[str, Path]:
    """The files of the boot partition: what extlinux.conf names, and that itself."""
    busybox = (tree / "usr/bin/busybox").read_bytes()
    packed = initrd(started, busybox, recipe.disk_modules, recipe.compression)
    start = work / "initrd"
    start.write_bytes(packed)
    options = f"console={recipe.tty},115200 root={recipe.disk}{variant.root} rw"
    lines = [
        "default linux",
        "timeout 1",
        "label linux",
        f"  kernel /{recipe.image_name}",
        "  initrd /initrd",
        f"  append {' '.join(filter(None, (options, recipe.append, variant.append)))}",
    ]
    files = {recipe.image_name: started.image, "initrd": start}
    if recipe.device_tree:
        lines.append(f"  fdt /{recipe.device_tree}")
        files[recipe.device_tree] = started.device_tree
    settings = work / "extlinux.conf"
    settings.write_text("\n".join(lines) + "\n")
    return {"extlinux/extlinux.conf": settings, **files}


def _only(archive: Archive, name: str) -> Package:
    """One package of an archive."""
    (package,) = archive.download((name,))
    return package


def _remove_old(directory: Path, prefix: str) -> None:
    """Removes all but the latest two images of a board and variant: others are out of date."""
    pattern = re.compile(re.escape(prefix) + "[0-9a-f]+")
    images = [path for path in directory.iterdir() if pattern.fullmatch(path.name)]
    for path in sorted(images, key=lambda path: path.stat().st_mtime)[:-2]:
        shutil.rmtree(path, ignore_errors=True)


def assemble(
    target: Path,
    size: int,
    boot: Mapping[str, Path],
    root: Path,
    identity: str,
    *,
    bootloader: tuple[int, bytes] | None = None,
) -> None:
    """Makes a card of ``size`` bytes from the files of its boot partition and a root tree.

    ``bootloader`` is what lies before the partitions, and at which byte. The map is written beside
    the card, as ``NAME.bmap``. ImageError when something does not fit.
    """
    tools = Tools(target.parent, EPOCH, "is there room in the cache directory?")
    serial = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16)
    first, second = (target.with_suffix(suffix) for suffix in (".boot", ".root"))
    root_size = size - ROOT_START
    make_fat(tools, first.name, BOOT_SIZE, boot, serial)
    make_ext4(tools, second.name, root_size, root, identity)
    boot_used = list(used_ranges(BOOT_SIZE, free_clusters(first, 0, BOOT_SIZE)))
    root_used = list(used_ranges(root_size, free_blocks(tools, second.name)))
    ranges = [(0, BLOCK)]
    with target.open("wb") as card:
        card.truncate(size)
        card.write(dos_table(serial, (BOOT_START, BOOT_SIZE), (ROOT_START, root_size)))
        if bootloader is not None:
            at, program = bootloader
            card.seek(at)
            card.write(program)
            ranges.append((at, at + len(program)))
        ranges += _copy(first, boot_used, card, BOOT_START)
        ranges += _copy(second, root_used, card, ROOT_START)
    first.unlink()
    second.unlink()
    target.with_name(f"{target.name}.bmap").write_bytes(block_map(target, ranges))


def _copy(
    source: Path, ranges: Iterable[tuple[int, int]], card: BinaryIO, offset: int
) -> list[tuple[int, int]]:
    """Copies these parts of a file to where they lie on the card, and returns them."""
    copied = []
    with source.open("rb") as file:
        for start, end in ranges:
            for at in range(start, end, _CHUNK):
                file.seek(at)
                card.seek(offset + at)
                card.write(file.read(min(_CHUNK, end - at)))
            copied.append((offset + start, offset + end))
    return copied


def firmware(package: Package, path: str, edits: Sequence[tuple[str, str]] = ()) -> Path:
    """A file of a package, unpacked once and then kept, with its settings edited.

    Each edit is a setting as it is (``bootdelay=2``) and as it shall be, no longer than before.
    ImageError when the package has no such file, or the file no such setting.
    """
    name = f"{package.name}_{package.version}-{digest(path, tuple(edits))}"
    directory = CACHE.directory / "firmware" / name.replace(":", "_")
    file = directory / Path(path).name
    with CACHE.locked(f"firmware-{package.name}"):
        if not file.exists():
            contents = [data for _, data in package.members(lambda member: member == path)]
            if not contents:
                raise ImageError(
                    f"{package.path.name} has no {path}",
                    "Debian has changed its packages: please report it",
                )
            with fresh(directory) as unfinished:
                (unfinished / file.name).write_bytes(with_settings(contents[0], edits))
    return file


def with_settings(program: bytes, edits: Sequence[tuple[str, str]]) -> bytes:
    """A bootloader with other default settings.

    ImageError when a setting is not there or the new one is longer.
    """
    data = bytearray(program)
    images = _summed_images(data)
    for before, after in edits:
        old, new = before.encode() + b"\0", after.encode() + b"\0"
        at = data.find(old)
        if at < 0 or len(new) > len(old):
            raise ImageError(
                f"the bootloader has no setting {before} that could become {after}",
                "Debian has changed its packages: please report it",
            )
        data[at : at + len(old)] = new[:-1].ljust(len(old) - 1, b" ") + b"\0"
    for at in images:
        _, _, *kept, _ = _HEADER.unpack_from(data, at)
        body = data[at + _UIMAGE_HEADER_SIZE : at + _UIMAGE_HEADER_SIZE + kept[1]]
        _HEADER.pack_into(data, at, _UIMAGE_MAGIC, 0, *kept, zlib.crc32(body))
        struct.pack_into(">I", data, at + 4, zlib.crc32(data[at : at + _UIMAGE_HEADER_SIZE]))
    return bytes(data)


def _summed_images(data: bytes | bytearray) -> list[int]:
    """Where images in U-Boot's own format (``uImage``) begin, whose sums an edit makes wrong."""
    starts = []
    at = data.find(_UIMAGE_MAGIC)
    while at >= 0 and at + _UIMAGE_HEADER_SIZE <= len(data):
        header = bytearray(data[at : at + _UIMAGE_HEADER_SIZE])
        (sum_of_header,) = struct.unpack_from(">I", header, 4)
        header[4:8] = bytes(4)
        if zlib.crc32(header) == sum_of_header:
            starts.append(at)
        at = data.find(_UIMAGE_MAGIC, at + 4)
    return starts
