"""Composing an image from layers of others, and telling what an image holds. Needs no root."""

from __future__ import annotations

from benchvise.rig.compose.compose import compose
from benchvise.rig.compose.describe import describe
from benchvise.rig.compose.errors import ComposeError
from benchvise.rig.compose.inside import Different, differing, inside
from benchvise.rig.compose.layers import LAYERS, Part
from benchvise.rig.compose.layout import Layout
from benchvise.rig.compose.manifest import Composition

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
