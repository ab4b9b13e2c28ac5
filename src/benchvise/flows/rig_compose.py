"""``benchvise rig compose``: an image made of layers of others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.text import printable


def parse_layers(words: Sequence[str]) -> dict[str, Path]:
    """``LAYER=IMAGE`` words as layers; UsageError for one that is not, or is given twice."""
    layers: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not path:
            raise UsageError(f"--layer {printable(word)} is not LAYER=IMAGE", "kernel=fast.wic")
        if name in layers:
            raise UsageError(f"--layer {printable(name)} is given twice", "choose one image")
        layers[name] = Path(path).expanduser()
    return layers
