"""The device tree alone, with overlays."""

from __future__ import annotations

from benchvise.rig.compose.layers.layer import Swap
from benchvise.rig.compose.layers.sides import same_style
from benchvise.rig.compose.styles import style


class DeviceTree:
    """The description of the hardware that the kernel gets."""

    name = "device-tree"

    def apply(self, swap: Swap) -> list[str]:
        """Files, and what the boot configuration says about them."""
        target, source = same_style(swap, self.name)
        return style(target.boot.style).put_trees(target, source)
