"""The protocol of a layer, and what its methods get and return."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.style import BootSide
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.workplace import Workplace


@dataclass(slots=True)
class Swap:
    """One layer on its way from ``source`` into ``target``, which is ours to change.

    ``warnings`` are what the user should know though nothing was refused. ``others`` are the
    names of all layers that are swapped.
    """

    target: OpenedImage
    source: OpenedImage
    work: Workplace
    others: frozenset[str]
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """What a layer of an image is: ``digest`` is equal where the layers are, ``text`` for people.

    ``digest`` is empty where the image has no such layer.
    """

    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class LayerPart:
    """A difference inside a layer that can be taken alone.

    ``name`` is the same from whichever image it is looked at. ``first`` and ``second`` are what the
    two images have there, as text; empty where one has nothing. ``file`` is where that is, and the
    lines count from 1; 0 where it has no line.
    """

    name: str
    first: str
    second: str
    file: str = ""
    first_line: int = 0
    second_line: int = 0


def digest(*contents: bytes | str) -> str:
    """The SHA-256 of several contents in their order; empty when all of them are."""
    sha = hashlib.sha256()
    for content in contents:
        data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest() if any(contents) else ""


def same_style(swap: Swap, layer: str) -> tuple[BootSide, BootSide]:
    """The boot files of target and source. ImageError unless both boot in the same style."""
    target, source = swap.target.boot_side(), swap.source.boot_side()
    if target.boot.style != source.boot.style:
        raise ImageError(
            f"the layer {layer} cannot go from {swap.source.name} to {swap.target.name}: "
            f"one boots by {source.boot.style}, the other by {target.boot.style}",
            "take images that boot in the same way",
        )
    return target, source


class ImageLayer(Protocol):
    """A part of an image that can be taken from another one."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def apply(self, swap: Swap) -> list[str]:
        """Puts the source's layer into the target; returns what was done, a sentence each.

        ImageError when it does not fit; the target is of no use then.
        """

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """What the layer is in an image: equal digests mean that swapping it changes nothing."""


@runtime_checkable
class DivisibleLayer(Protocol):
    """A layer of which parts can be taken alone."""

    def parts(self, first: OpenedImage, second: OpenedImage) -> list[LayerPart]:
        """What differs; ImageError when that cannot be determined."""

    def apply_parts(self, swap: Swap, names: Sequence[str]) -> list[str]:
        """Puts these parts of the source into the target, as ``apply`` does with all.

        ImageError also for a part that there is not.
        """
