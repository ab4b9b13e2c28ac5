"""Composing an image: the layers of one, some of them taken from others.

Beside the result lies a manifest, a JSON file: which layer came from where. Images that are
composed on behalf of a diagnosis are kept in the user's cache directory, by what they are made of.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchvise.documents import encode, in_json
from benchvise.errors import UsageError
from benchvise.rig.card.image import Image, open_image
from benchvise.rig.compose.layers import LAYERS, divisible
from benchvise.rig.compose.layers.layer import ImageLayer, Swap
from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import CacheDirectory, digest, sources
from benchvise.rig.images.kernel import RUNS
from benchvise.rig.images.layout import Layout, LayoutDocument, OpenedImage, again
from benchvise.rig.images.sparse import block_map, used_ranges
from benchvise.rig.images.workplace import Workplace

MANIFEST_SUFFIX = ".layers.json"
BLOCK_MAP_SUFFIX = ".bmap"
KEPT_BYTES = 8 << 30
"""What all kept images may take on the disk; the least lately used go first."""

_MANIFEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SwappedLayer:
    """A layer that was taken from ``image``; ``steps`` say what that meant.

    ``parts`` are what of it was taken; all of it when there are none.
    """

    layer: str
    image: Image
    steps: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """A composed image: ``sha256`` is that of the file ``out``."""

    out: Path
    sha256: str
    base: Image
    layers: tuple[SwappedLayer, ...]
    warnings: tuple[str, ...]
    layout: Layout

    def manifest(self) -> Manifest:
        """What the file beside the image holds. The same images give the same text."""
        return Manifest(
            _MANIFEST_FORMAT,
            self.out.name,
            self.sha256,
            SourceImage(self.base.path.name, self.base.sha256),
            tuple(
                ManifestLayer(
                    swapped.layer,
                    swapped.image.path.name,
                    swapped.image.sha256,
                    swapped.parts,
                    swapped.steps,
                )
                for swapped in self.layers
            ),
            self.warnings,
            self.layout.document(),
        )


@dataclass(frozen=True, slots=True)
class SourceImage:
    """An image that another was composed of."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ManifestLayer:
    """Where a layer came from: the ``parts`` that were taken, and what was ``done``."""

    layer: str
    name: str
    sha256: str
    parts: tuple[str, ...] = field(default=(), metadata=in_json(omit_default=True))
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a composed image is made of, and what it ``holds``."""

    format: int
    image: str
    sha256: str
    base: SourceImage
    layers: tuple[ManifestLayer, ...]
    warnings: tuple[str, ...]
    holds: LayoutDocument


def compose(
    base: Path,
    layers: Mapping[str, Path],
    out: Path,
    progress: Callable[[str], None] = lambda _step: None,
    *,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Composition:
    """Makes ``out``: ``base``, with each of these layers from another image. Needs no root.

    Of a layer that ``parts`` names, only these parts are taken, by their names in ``layer_parts``.
    Beside ``out`` come its block map and a manifest; until all is done, nothing of it is there.
    ``progress`` gets a line for each step. Raises UsageError for a layer that does not exist,
    ImageError when images cannot be read or do not fit together, and FlashError
    (image-damaged) for a file that is not what its name says.
    """
    parts = parts or {}
    wanted = _requested(base, layers, out)
    images = {path: open_image(path) for path in dict.fromkeys([base, *layers.values()])}
    with Workplace(out, progress) as work:
        others = _open_sources({images[path] for _, path in wanted}, work)
        target = work.base(images[base])
        _refuse_foreign_kernel(target, {layer.name: others[images[p]] for layer, p in wanted})
        swapped: list[SwappedLayer] = []
        warnings: list[str] = []
        for layer, path in wanted:
            progress(f"{layer.name} from {path.name}")
            swap = Swap(target, others[images[path]], work, frozenset(layers), warnings)
            names = tuple(parts.get(layer.name, ()))
            steps = divisible(layer).apply_parts(swap, names) if names else layer.apply(swap)
            swapped.append(SwappedLayer(layer.name, images[path], tuple(steps), names))
            target = again(target, work.tools)
        progress("checking the result")
        finished = work.finish()
        free = finished.free_ranges(work.tools)
        mapping = block_map(finished.path, used_ranges(finished.table.size, free))
        result = Composition(
            out, work.digest(), images[base], tuple(swapped), tuple(warnings), finished.layout
        )
        manifest = (json.dumps(encode(result.manifest()), indent=2) + "\n").encode()
        work.publish({MANIFEST_SUFFIX: manifest, BLOCK_MAP_SUFFIX: mapping})
    return result


def _requested(base: Path, layers: Mapping[str, Path], out: Path) -> list[tuple[ImageLayer, Path]]:
    """The layers in the order in which they are put."""
    unknown = sorted(set(layers) - set(LAYERS))
    if unknown or not layers:
        problem = f"there is no layer '{unknown[0]}'" if unknown else "no layer is named"
        raise UsageError(problem, f"the layers are {', '.join(LAYERS)}")
    if any(
        out.exists() and path.exists() and out.samefile(path) for path in (base, *layers.values())
    ):
        raise UsageError(f"{out} is one of the images to compose from", "name another result")
    if out.suffix not in (".img", ".wic", ".raw", ".sdcard"):
        raise UsageError(
            f"the name {out.name} is not that of an uncompressed image",
            "let it end in .img or .wic",
        )
    return [(layer, layers[name]) for name, layer in LAYERS.items() if name in layers]


def _open_sources(images: set[Image], work: Workplace) -> dict[Image, OpenedImage]:
    ordered = sorted(images, key=lambda image: str(image.path))
    return {image: work.source(image, number) for number, image in enumerate(ordered)}


def _refuse_foreign_kernel(base: OpenedImage, layers: Mapping[str, OpenedImage]) -> None:
    """ImageError unless kernel and programs of the result fit, whichever images they are of."""
    kernel, root = layers.get("kernel", base), layers.get("root", base)
    kernels = {form.arch for _, form in kernel.layout.kernels if form.arch}
    programs = root.layout.userland.arch if root.layout.userland else ""
    if kernels and programs and not any(programs in RUNS.get(arch, {arch}) for arch in kernels):
        raise ImageError(
            f"the kernel of {kernel.name} is for {' and '.join(sorted(kernels))}, and the programs "
            f"of {root.name} are for {programs}",
            "take images that are built for the same architecture",
        )


class ComposedImages:
    """Composed images that are kept in one directory: the same is not composed twice."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or CacheDirectory("composed").directory

    def place(
        self, base: Image, layers: Mapping[str, Image], parts: Mapping[str, Sequence[str]]
    ) -> Path:
        """Where such an image lies, if it was made."""
        chosen = sorted(
            (name, image.sha256, sorted(parts.get(name, ()))) for name, image in layers.items()
        )
        return self.directory / f"{digest(_composer(), base.sha256, chosen)}.img"

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
        """Removes the least lately used images beyond ``KEPT_BYTES``."""
        kept = [(path.stat(), path) for path in self.directory.glob("*.img")]
        taken = 0
        for stat, path in sorted(kept, key=lambda pair: pair[0].st_mtime, reverse=True):
            taken += stat.st_blocks * 512
            if taken > KEPT_BYTES and path != newest:
                for suffix in ("", BLOCK_MAP_SUFFIX, MANIFEST_SUFFIX):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)


@functools.cache
def _composer() -> list[bytes]:
    """The sources that compose: a change in them makes other images."""
    return sources("benchvise.rig.compose", "benchvise.rig.images")
