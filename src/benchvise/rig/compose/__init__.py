"""Composing an image from layers of others, and telling what an image holds. Needs no root."""

from __future__ import annotations

from benchvise.rig.compose.compose import compose
from benchvise.rig.compose.differences import Different, differing, inside
from benchvise.rig.compose.layers import LAYERS, Part
from benchvise.rig.compose.manifest import Composition
from benchvise.rig.images.describe import describe
from benchvise.rig.images.errors import ComposeError
from benchvise.rig.images.layout import Layout

__all__ = [
    "LAYERS",
    "ComposeError",
    "Composition",
    "Different",
    "Layout",
    "Part",
    "compose",
    "describe",
    "differing",
    "inside",
]
