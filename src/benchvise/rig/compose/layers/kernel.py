"""The kernel: its image, its initial RAM disk, its modules, and what points at them."""

from __future__ import annotations

import posixpath

from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest, same_style
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files import style
from benchvise.rig.images.ext import Ext
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.kernel import embedded_config
from benchvise.rig.images.layout import MODULES, OpenedImage

_TOLD_BY_VERSION = ("config", "System.map")
_MOST_CONFIG = 4 << 20  # bytes; real ones have under 400 kB


class KernelAndModules:
    """The kernel with its own modules, without which it is of no use."""

    name = "kernel"

    def apply(self, swap: Swap) -> list[str]:
        """Replaces the boot files, then the modules that belong to them."""
        target, source = same_style(swap, self.name)
        if not source.boot.kernels or not target.boot.kernels:
            which = swap.source if not source.boot.kernels else swap.target
            raise ImageError(
                f"{which.name} has no kernel in its boot partition",
                "list its contents: benchvise rig compose --from IMAGE",
            )
        old = _versions(swap.target)
        done = style(target.boot.style).put_kernel(target, source)
        if swap.target.is_in_memory:
            return done
        done += _modules(swap, swap.target.need_root())
        return done + _companions(swap.source, swap.target, old)

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """Image, initial RAM disk, and which modules there are, by their sizes."""
        boot, files = opened.layout.boot, opened.boot_files
        if boot is None or files is None or not boot.kernels:
            return LayerSummary("", "")
        contents = [files.read(path) for path in boot.kernels if files.is_file(path)]
        contents += [files.read(path) for path in boot.initrds if files.is_file(path)]
        modules: list[str] = []
        if opened.root is not None:
            modules = [f"{path} {n.size}" for path, n in sorted(opened.root.walk(MODULES).items())]
        named = "; ".join(f"{k.version} {k.arch}".strip() for _, k in opened.layout.kernels)
        return LayerSummary(digest(*contents, *modules), named)


def config(opened: OpenedImage) -> bytes:
    """How the kernel was built, as text or packed by gzip; empty where the image does not say.

    Distributions lay it beside the kernel or its modules; else the kernel may hold it itself.
    """
    for version in sorted(_versions(opened)):
        for files, place in (
            (opened.root, f"/boot/config-{version}"),
            (opened.boot_files, f"/config-{version}"),
            (opened.root, f"{MODULES}/{version}/config"),
        ):
            if files is not None and files.is_file(place):
                return files.read(place, _MOST_CONFIG)
    boot, files = opened.layout.boot, opened.boot_files
    kernels = [] if boot is None or files is None else boot.kernels
    for path in kernels:
        if files is not None and files.is_file(path):
            embedded = embedded_config(files.read(path))
            if embedded:
                return embedded
    return b""


def _modules(swap: Swap, root: Ext) -> list[str]:
    """Replaces /lib/modules by those directories that fit the source's kernels."""
    theirs = swap.source.need_root()
    has = swap.source.layout.modules
    versions = {kernel.version for _, kernel in swap.source.layout.kernels}
    wanted = [version for version in has if version in versions or "" in versions]
    if not wanted and has:
        swap.warnings.append(
            f"{swap.source.name} has no modules for its kernel {', '.join(sorted(versions))}, "
            f"only for {', '.join(has)}: the kernel gets none"
        )
    where = root.make(MODULES)
    for version in swap.target.layout.modules:
        root.remove(posixpath.join(where, version))
    count = 0
    for version in wanted:
        top = posixpath.join(MODULES, version)
        count += graft(theirs, tree(theirs, top, posixpath.join(where, version)), root)
    gone = [version for version in swap.target.layout.modules if version not in wanted]
    done = [f"{count} files of modules for {', '.join(wanted)}"] if wanted else []
    return done + ([f"modules for {', '.join(gone)} removed"] if gone else [])


def _versions(opened: OpenedImage) -> set[str]:
    return {kernel.version for _, kernel in opened.layout.kernels if kernel.version}


def _companions(source: OpenedImage, target: OpenedImage, old: set[str]) -> list[str]:
    """config-VERSION and System.map-VERSION, which tell how the kernel was built."""
    done = []
    root = target.need_root()
    theirs = source.need_root()
    if not root.names("/boot"):
        return []
    new = _versions(source)
    for word in _TOLD_BY_VERSION:
        for version in old - new:
            root.remove(f"/boot/{word}-{version}")
        for version in new:
            path = f"/boot/{word}-{version}"
            if theirs.is_file(path):
                root.put(path, theirs.read(path))
                done.append(path)
    return done
