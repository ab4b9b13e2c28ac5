"""What differs between two images: which layers, and what inside a layer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.card.image import open_image
from benchvise.rig.compose.layers import (
    LAYERS,
    Divisible,
    Layer,
    Part,
    Told,
    device_tree,
    kernel,
)
from benchvise.rig.images.layout import Opened
from benchvise.rig.images.workplace import Workplace
from benchvise.text import printable


@dataclass(frozen=True, slots=True)
class Different:
    """A layer in which two images differ, and what it is in each."""

    layer: str
    one: Told
    other: Told


def differing(one: Path, other: Path) -> list[Different]:
    """The layers in which two images differ, in the order of ``LAYERS``. They are only read.

    A root file system counts without the layers that are parts of it. Raises as ``compose`` does.
    """
    with _both(one, other) as (here, there):
        told = [Different(name, each.tell(here), each.tell(there)) for name, each in LAYERS.items()]
    return [different for different in told if different.one.digest != different.other.digest]


def inside(layer: str, one: Path, other: Path) -> list[Part]:
    """What differs inside a layer, in parts that ``compose`` can take singly; raises as it does."""
    known = divisible(LAYERS[layer])
    with _both(one, other) as (here, there):
        return known.parts(here, there)


def configurations(one: Path, other: Path) -> tuple[bytes, bytes]:
    """How the kernels of two images were built: text, gzip, or nothing where it is not said."""
    with _both(one, other) as (here, there):
        return kernel.config(here), kernel.config(there)


def device_trees(one: Path, other: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The device trees of two images by name, as they are compiled."""
    with _both(one, other) as (here, there):
        return device_tree.contents(here), device_tree.contents(there)


def is_divisible(layer: str) -> bool:
    """Whether parts of the layer of that name can be taken."""
    return isinstance(LAYERS[layer], Divisible)


def divisible(layer: Layer) -> Divisible:
    """The layer as one of which parts can be taken; UsageError when it is taken whole."""
    if not isinstance(layer, Divisible):
        names = ", ".join(name for name, known in LAYERS.items() if isinstance(known, Divisible))
        raise UsageError(
            f"the layer {printable(layer.name)} is only taken whole",
            f"parts can be taken of {names}",
        )
    return layer


@contextmanager
def _both(one: Path, other: Path) -> Iterator[tuple[Opened, Opened]]:
    place = Path(tempfile.gettempdir()) / one.name
    with Workplace(place, lambda _step: None) as work:
        yield work.source(open_image(one), 0), work.source(open_image(other), 1)
