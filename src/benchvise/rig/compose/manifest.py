"""Which layer of a composed image came from where: a JSON file beside the image."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.card.image import Image
from benchvise.rig.images.layout import Layout

FORMAT = 1
SUFFIX = ".layers.json"


@dataclass(frozen=True, slots=True)
class Swapped:
    """A layer that was taken from ``image``; ``done`` says in words what that meant.

    ``parts`` are what of it was taken; all of it when there are none.
    """

    layer: str
    image: Image
    done: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """A composed image: ``sha256`` is that of the file ``out``."""

    out: Path
    sha256: str
    base: Image
    layers: tuple[Swapped, ...]
    warnings: tuple[str, ...]
    layout: Layout

    def as_json(self) -> dict[str, object]:
        """What the file beside the image holds. The same images give the same text."""
        return {
            "format": FORMAT,
            "image": self.out.name,
            "sha256": self.sha256,
            "base": _named(self.base),
            "layers": [
                {
                    "layer": swapped.layer,
                    **_named(swapped.image),
                    **({"parts": list(swapped.parts)} if swapped.parts else {}),
                    "done": list(swapped.done),
                }
                for swapped in self.layers
            ],
            "warnings": list(self.warnings),
            "holds": self.layout.as_json(),
        }

    def text(self) -> bytes:
        """The file itself."""
        return (json.dumps(self.as_json(), indent=2) + "\n").encode()


def place(out: Path) -> Path:
    """Where the manifest of an image lies."""
    return out.with_name(out.name + SUFFIX)


def _named(image: Image) -> Mapping[str, str]:
    return {"name": image.path.name, "sha256": image.sha256}
