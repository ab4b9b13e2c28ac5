"""The kernel: its image, its initial RAM disk, its modules, and what points at them."""

from __future__ import annotations

import posixpath

from benchvise.rig.compose.errors import ComposeError
from benchvise.rig.compose.ext import Ext
from benchvise.rig.compose.graft import graft, tree
from benchvise.rig.compose.layers.layer import Swap
from benchvise.rig.compose.layers.sides import same_style
from benchvise.rig.compose.layout import MODULES, Opened
from benchvise.rig.compose.styles import style

_TOLD_BY_VERSION = ("config", "System.map")


class KernelAndModules:
    """A kernel cannot do without its own modules, so they come along, and the old ones go."""

    name = "kernel"

    def apply(self, swap: Swap) -> list[str]:
        """Boot files first: they tell which modules belong to them."""
        target, source = same_style(swap, self.name)
        if not source.boot.kernels or not target.boot.kernels:
            which = swap.source if not source.boot.kernels else swap.target
            raise ComposeError(
                f"{which.name} has no kernel in its boot partition", "look at what it holds"
            )
        old = _versions(swap.target)
        done = style(target.boot.style).put_kernel(target, source)
        if swap.target.is_in_memory:
            return done
        done += _modules(swap, swap.target.need_root())
        return done + _companions(swap.source, swap.target, old)


def _modules(swap: Swap, root: Ext) -> list[str]:
    """Replaces /lib/modules by those directories that fit the source's kernels."""
    theirs = swap.source.need_root()
    has = swap.source.layout.modules
    known = {kernel.version for _, kernel in swap.source.layout.kernels}
    wanted = [version for version in has if version in known or "" in known]
    if not wanted and has:
        swap.warnings.append(
            f"{swap.source.name} has no modules for its kernel {', '.join(sorted(known))}, "
            f"only for {', '.join(has)}: the kernel gets none"
        )
    where = modules_directory(root)
    for version in swap.target.layout.modules:
        root.remove(posixpath.join(where, version))
    count = 0
    for version in wanted:
        top = posixpath.join(MODULES, version)
        count += graft(theirs, tree(theirs, top, posixpath.join(where, version)), root)
    gone = [version for version in swap.target.layout.modules if version not in wanted]
    done = [f"{count} files of modules for {', '.join(wanted)}"] if wanted else []
    return done + ([f"modules for {', '.join(gone)} removed"] if gone else [])


def modules_directory(root: Ext) -> str:
    """Where modules are, without symbolic links; made if there is no such directory."""
    return root.make(MODULES)


def _versions(opened: Opened) -> set[str]:
    return {kernel.version for _, kernel in opened.layout.kernels if kernel.version}


def _companions(source: Opened, target: Opened, old: set[str]) -> list[str]:
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
