"""The layers of an image, in the order in which they are put: one module each.

A root file system brings its own libc and settings, so it comes before them; a kernel brings its
modules into whatever root file system there is by then.
"""

from __future__ import annotations

from benchvise.errors import UsageError
from benchvise.rig.compose.layers.bootloader import Bootloader
from benchvise.rig.compose.layers.command_line import CommandLine
from benchvise.rig.compose.layers.device_tree import DeviceTree
from benchvise.rig.compose.layers.init_settings import InitSettings
from benchvise.rig.compose.layers.kernel import KernelAndModules
from benchvise.rig.compose.layers.layer import DivisibleLayer, ImageLayer
from benchvise.rig.compose.layers.libc import CLibrary
from benchvise.rig.compose.layers.root import Root

LAYERS: dict[str, ImageLayer] = {
    layer.name: layer
    for layer in (
        Bootloader(),
        Root(),
        CLibrary(),
        InitSettings(),
        KernelAndModules(),
        DeviceTree(),
        CommandLine(),
    )
}


def is_divisible(layer: str) -> bool:
    """Whether parts of the layer of that name can be taken."""
    return isinstance(LAYERS[layer], DivisibleLayer)


def divisible(layer: ImageLayer) -> DivisibleLayer:
    """The layer as one of which parts can be taken; UsageError when it is taken whole."""
    if not isinstance(layer, DivisibleLayer):
        names = ", ".join(filter(is_divisible, LAYERS))
        raise UsageError(
            f"the layer {layer.name} can only be taken whole", f"parts can be taken of {names}"
        )
    return layer
