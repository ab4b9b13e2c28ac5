"""Composed images that are kept, by what they were made of: the same is not composed twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from benchvise.rig import images
from benchvise.rig.card.image import Image
from benchvise.rig.compose.compose import compose
from benchvise.rig.compose.manifest import SUFFIX

KEPT_BYTES = 8 << 30
"""What all of them may take on the disk; the least lately used go first."""


class Composed:
    """Images composed of others, in one directory."""

    def __init__(self, directory: Path | None = None) -> None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        root = Path(base) if base.startswith("/") else Path.home() / ".cache"
        self.directory = directory or root / "benchvise" / "composed"

    def place(
        self, base: Image, layers: Mapping[str, Image], parts: Mapping[str, Sequence[str]]
    ) -> Path:
        """Where such an image lies, if it was made."""
        recipe = [
            _composer(),
            base.sha256,
            sorted(
                (name, image.sha256, sorted(parts.get(name, ()))) for name, image in layers.items()
            ),
        ]
        name = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:24]
        return self.directory / f"{name}.img"

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
        sources = {name: image.path for name, image in layers.items()}
        compose(base.path, sources, path, progress, parts=parts)
        self._tidy(path)
        return path

    def _tidy(self, newest: Path) -> None:
        """Removes what is beyond the room that they may take."""
        found = [(path.stat(), path) for path in self.directory.glob("*.img")]
        taken = 0
        for stat, path in sorted(found, key=lambda pair: pair[0].st_mtime, reverse=True):
            taken += stat.st_blocks * 512
            if taken > KEPT_BYTES and path != newest:
                for beside in (path, Path(f"{path}.bmap"), Path(f"{path}{SUFFIX}")):
                    beside.unlink(missing_ok=True)


@cache
def _composer() -> str:
    """What composes: a change in it makes other images."""
    packages = (Path(__file__).parent, Path(images.__file__).parent)
    files = sorted(file for package in packages for file in package.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
