"""Composed images that are kept, by what they were made of: the same is not composed twice."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchvise.rig.card.image import Image
from benchvise.rig.compose.compose import BLOCK_MAP_SUFFIX, MANIFEST_SUFFIX, compose
from benchvise.rig.images.cache import CacheDirectory, digest, sources

KEPT_BYTES = 8 << 30
"""What all of them may take on the disk; the least lately used go first."""


class Composed:
    """Images composed of others, in one directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or CacheDirectory("composed").directory

    def place(
        self, base: Image, layers: Mapping[str, Image], parts: Mapping[str, Sequence[str]]
    ) -> Path:
        """Where such an image lies, if it was made."""
        chosen = sorted(
            (name, image.sha256, sorted(parts.get(name, ()))) for name, image in layers.items()
        )
        return self.directory / f"{digest(_sources(), base.sha256, chosen)}.img"

    def make(
        self,
        base: Image,
        layers: Mapping[str, Image],
        parts: Mapping[str, Sequence[str]],
        progress: Callable[[str], None] = lambda _step: None,
    ) -> Path:
        """Such an image, composed now unless it is there. Raises as ``compose`` does."""
        path = self.place(base, layers, parts)
        if path.exists():
            os.utime(path)
            return path
        self.directory.mkdir(parents=True, exist_ok=True)
        paths = {name: image.path for name, image in layers.items()}
        compose(base.path, paths, path, progress, parts=parts)
        self._tidy(path)
        return path

    def _tidy(self, newest: Path) -> None:
        """Removes what is beyond the room that they may take."""
        kept = [(path.stat(), path) for path in self.directory.glob("*.img")]
        taken = 0
        for stat, path in sorted(kept, key=lambda pair: pair[0].st_mtime, reverse=True):
            taken += stat.st_blocks * 512
            if taken > KEPT_BYTES and path != newest:
                for suffix in ("", BLOCK_MAP_SUFFIX, MANIFEST_SUFFIX):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)


@functools.cache
def _sources() -> list[bytes]:
    """The sources that compose: a change in them makes other images."""
    return sources("benchvise.rig.compose", "benchvise.rig.images")
