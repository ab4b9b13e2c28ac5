"""Composing an image: the layers of one, some of them taken from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.card.image import Image, open_image
from benchvise.rig.compose.differences import divisible
from benchvise.rig.compose.layers import LAYERS, Layer, Swap
from benchvise.rig.compose.manifest import Composition, Swapped, place
from benchvise.rig.images.blockmap import block_map
from benchvise.rig.images.errors import ComposeError
from benchvise.rig.images.kernel import RUNS
from benchvise.rig.images.layout import Opened, again
from benchvise.rig.images.workplace import Workplace


def compose(
    base: Path,
    layers: Mapping[str, Path],
    out: Path,
    progress: Callable[[str], None] = lambda _step: None,
    *,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Composition:
    """Makes ``out``: ``base``, with each of these layers from another image. Needs no root.

    Of a layer that ``parts`` names, only these parts are taken, by their names in ``inside``.
    Beside ``out`` come its block map and a manifest; until all is done, nothing of it is there.
    ``progress`` gets a line for each step. Raises UsageError for a layer that does not exist,
    ComposeError when images cannot be read or do not fit together, and FlashError
    (image-damaged) for a file that is not what its name says.
    """
    parts = parts or {}
    wanted = _requested(base, layers, out)
    images = {path: open_image(path) for path in dict.fromkeys([base, *layers.values()])}
    with Workplace(out, progress) as work:
        sources = _sources({images[path] for _, path in wanted}, work)
        target = work.base(images[base])
        _refuse_foreign_kernel(target, {layer.name: sources[images[p]] for layer, p in wanted})
        done: list[Swapped] = []
        warnings: list[str] = []
        for layer, path in wanted:
            progress(f"{layer.name} from {path.name}")
            swap = Swap(target, sources[images[path]], work, frozenset(layers), warnings)
            names = tuple(parts.get(layer.name, ()))
            steps = divisible(layer).apply_parts(swap, names) if names else layer.apply(swap)
            done.append(Swapped(layer.name, images[path], tuple(steps), names))
            target = again(target, work.tools)
        progress("checking the result")
        made = work.finish()
        mapping = block_map(made, work.tools)
        result = Composition(
            out, work.digest(), images[base], tuple(done), tuple(warnings), made.layout
        )
        work.publish({place(out): result.text(), out.with_name(f"{out.name}.bmap"): mapping})
    return result


def _requested(base: Path, layers: Mapping[str, Path], out: Path) -> list[tuple[Layer, Path]]:
    """The layers in the order in which they are put."""
    unknown = sorted(set(layers) - set(LAYERS))
    if unknown or not layers:
        said = f"there is no layer '{unknown[0]}'" if unknown else "no layer is named"
        raise UsageError(said, f"the layers are {', '.join(LAYERS)}")
    if any(
        out.exists() and path.exists() and out.samefile(path) for path in (base, *layers.values())
    ):
        raise UsageError(f"{out} is one of the images to compose from", "name another result")
    if out.suffix not in (".img", ".wic", ".raw", ".sdcard"):
        raise UsageError(
            f"the result {out.name} is an uncompressed image", "let its name end in .img or .wic"
        )
    return [(layer, layers[name]) for name, layer in LAYERS.items() if name in layers]


def _sources(images: set[Image], work: Workplace) -> dict[Image, Opened]:
    ordered = sorted(images, key=lambda image: str(image.path))
    return {image: work.source(image, number) for number, image in enumerate(ordered)}


def _refuse_foreign_kernel(base: Opened, sources: Mapping[str, Opened]) -> None:
    """Kernel and programs of the result must fit, whoever brings them."""
    kernel, root = sources.get("kernel", base), sources.get("root", base)
    kernels = {known.arch for _, known in kernel.layout.kernels if known.arch}
    programs = root.layout.userland.arch if root.layout.userland else ""
    if kernels and programs and not any(programs in RUNS.get(arch, {arch}) for arch in kernels):
        raise ComposeError(
            f"the kernel of {kernel.name} is for {' and '.join(sorted(kernels))}, and the programs "
            f"of {root.name} are for {programs}",
            "take images that are built for the same architecture",
        )
