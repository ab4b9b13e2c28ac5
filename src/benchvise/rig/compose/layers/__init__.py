"""The layers of an image, and those in which two images differ.

    layer          the protocol of a layer
    bootloader     what runs before the kernel
    kernel         what it loads: kernel, device tree, command line
    root           the root file system
    libc           its C library
    init_settings  what it sets when it starts

``LAYERS`` has them in the order in which they are put. A root file system brings its own libc and
settings, so it comes before them; a kernel brings its modules into whatever root file system there
is by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.card.image import open_image
from benchvise.rig.compose.layers.bootloader import Bootloader
from benchvise.rig.compose.layers.init_settings import InitSettings
from benchvise.rig.compose.layers.kernel import (
    CommandLine,
    DeviceTree,
    KernelAndModules,
    device_tree_files,
    kernel_configuration,
)
from benchvise.rig.compose.layers.layer import DivisibleLayer, ImageLayer, LayerPart, LayerSummary
from benchvise.rig.compose.layers.libc import CLibrary
from benchvise.rig.compose.layers.root import Root
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.workplace import reading

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


@dataclass(frozen=True, slots=True)
class LayerDifference:
    """A layer in which two images differ, and what it is in each."""

    layer: str
    first: LayerSummary
    second: LayerSummary


def differing(first: Path, second: Path) -> list[LayerDifference]:
    """The layers in which two images differ, in the order of ``LAYERS``. They are only read.

    A root file system counts without the layers that are parts of it. Raises as ``compose`` does.
    """
    with _both(first, second) as (here, there):
        layers = [
            LayerDifference(name, layer.summary(here), layer.summary(there))
            for name, layer in LAYERS.items()
        ]
    return [layer for layer in layers if layer.first.digest != layer.second.digest]


def layer_parts(layer: str, first: Path, second: Path) -> list[LayerPart]:
    """What differs inside a layer, in parts that ``compose`` can take singly; raises as it does."""
    parts_of = divisible(LAYERS[layer]).parts
    with _both(first, second) as (here, there):
        return parts_of(here, there)


def configurations(first: Path, second: Path) -> tuple[bytes, bytes]:
    """The configurations of two images' kernels: text or gzip, empty where they are not known."""
    with _both(first, second) as (here, there):
        return kernel_configuration(here), kernel_configuration(there)


def device_trees(first: Path, second: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The device trees of two images by name, as they are compiled."""
    with _both(first, second) as (here, there):
        return device_tree_files(here), device_tree_files(there)


@contextmanager
def _both(first: Path, second: Path) -> Iterator[tuple[OpenedImage, OpenedImage]]:
    with reading(first.name) as work:
        yield work.source(open_image(first), 0), work.source(open_image(second), 1)
