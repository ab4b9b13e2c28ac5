"""The device tree alone, with overlays."""

from __future__ import annotations

import posixpath

from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest, same_style
from benchvise.rig.images.boot_files import style
from benchvise.rig.images.filesystems import below
from benchvise.rig.images.layout import OpenedImage


class DeviceTree:
    """The description of the hardware that the kernel reads."""

    name = "device-tree"

    def apply(self, swap: Swap) -> list[str]:
        """Replaces the files, and their lines in the boot configuration."""
        target, source = same_style(swap, self.name)
        return style(target.boot.style).put_trees(target, source)

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """The files, by name and contents."""
        trees = contents(opened)
        pairs = [part for name, data in sorted(trees.items()) for part in (name, data)]
        named = ", ".join(sorted(trees)[:3]) + (f" and {len(trees) - 3} more" * (len(trees) > 3))
        return LayerSummary(digest(*pairs), named)


def contents(opened: OpenedImage) -> dict[str, bytes]:
    """Device trees and overlays by their names; none where the boot loader or the board has them.

    Of a directory to choose from, all of them.
    """
    boot, files = opened.layout.boot, opened.boot_files
    if boot is None or files is None:
        return {}
    trees: dict[str, bytes] = {}
    for tree in boot.trees:
        if files.is_file(tree):
            trees[posixpath.basename(tree)] = files.read(tree)
        else:
            paths = below(files, tree)
            trees.update({path[len(tree) :].lstrip("/"): files.read(path) for path in paths})
    return trees
