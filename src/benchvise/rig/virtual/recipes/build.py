"""Building the image of a kind of board, or finding the one that was built before."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchvise.rig.images.assemble import assemble
from benchvise.rig.images.cache import digest, fresh, sources
from benchvise.rig.virtual.recipes import CACHE, keys, root
from benchvise.rig.virtual.recipes.firmware import firmware
from benchvise.rig.virtual.recipes.initrd import initrd
from benchvise.rig.virtual.recipes.kernel import BoardKernel, kernel
from benchvise.rig.virtual.recipes.packages import Archive, Package
from benchvise.rig.virtual.recipes.recipe import Recipe
from benchvise.rig.virtual.recipes.variants import Variant

PROGRAMS = ("busybox-static",)
LINKED = ("coreutils", "dropbear-bin")


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

    It is built if this very one has not been, with its map (``.bmap``) and the list of its packages
    (``.manifest``) beside it. ImageError when it cannot be built.
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
            _remove_old(directory.parent, f"{name}-{variant.name}-")
    return target


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
