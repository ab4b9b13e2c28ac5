"""What differs between two images: which layers, and what inside a layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.card.image import open_image
from benchvise.rig.compose.layers import LAYERS, device_tree, divisible, kernel
from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.workplace import reading


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
        return kernel.config(here), kernel.config(there)


def device_trees(first: Path, second: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The device trees of two images by name, as they are compiled."""
    with _both(first, second) as (here, there):
        return device_tree.contents(here), device_tree.contents(there)


@contextmanager
def _both(first: Path, second: Path) -> Iterator[tuple[OpenedImage, OpenedImage]]:
    with reading(first.name) as work:
        yield work.source(open_image(first), 0), work.source(open_image(second), 1)
