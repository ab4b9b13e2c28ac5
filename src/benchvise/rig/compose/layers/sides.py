"""What layers of the boot have in common."""

from __future__ import annotations

from benchvise.rig.compose.layers.layer import Swap
from benchvise.rig.images.boot_files.style import Side
from benchvise.rig.images.errors import ComposeError


def same_style(swap: Swap, layer: str) -> tuple[Side, Side]:
    """The boot files of target and source. ComposeError unless both boot in the same style."""
    target, source = swap.target.side(), swap.source.side()
    if target.boot.style != source.boot.style:
        raise ComposeError(
            f"the layer {layer} cannot go from {swap.source.name} to {swap.target.name}: "
            f"one boots by {source.boot.style}, the other by {target.boot.style}",
            "take images that boot in the same way",
        )
    return target, source
