"""Telling what an image holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchvise.rig.card.image import open_image
from benchvise.rig.images.layout import Layout
from benchvise.rig.images.workplace import Workplace


def describe(image: Path) -> Layout:
    """What an image holds, compressed or not; it is only read.

    Raises ComposeError when it is damaged or of a kind that cannot be told, UsageError and
    FlashError (image-damaged) as ``open_image`` does.
    """
    found = open_image(image)
    with Workplace(Path(tempfile.gettempdir()) / image.name, lambda _step: None) as work:
        return work.source(found, 0).layout
