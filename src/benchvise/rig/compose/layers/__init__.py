"""The layers of an image, in the order in which they are put: one module each.

A root file system brings its own libc and settings, so it comes before them; a kernel brings its
modules into whatever root file system there is by then.
"""

from __future__ import annotations

from benchvise.rig.compose.layers.bootloader import Bootloader
from benchvise.rig.compose.layers.command_line import CommandLine
from benchvise.rig.compose.layers.device_tree import DeviceTree
from benchvise.rig.compose.layers.init_settings import InitSettings
from benchvise.rig.compose.layers.kernel import KernelAndModules
from benchvise.rig.compose.layers.layer import Divisible, Layer, Part, Swap, Told
from benchvise.rig.compose.layers.libc import CLibrary
from benchvise.rig.compose.layers.root import Root

__all__ = ["LAYERS", "Divisible", "Layer", "Part", "Swap", "Told"]

LAYERS: dict[str, Layer] = {
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
