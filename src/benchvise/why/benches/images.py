"""Two images of a diagnosis: the layers in which they differ, and images in between.

An arm is one side's image with layers, or parts of layers, of the other one. A root file system
is taken without the layers that are parts of it: its settings and its C library are suspects of
their own. Options of a kernel and nodes of a device tree cannot be swapped singly, as that takes
building the layer anew; they are ranked, so that it is known what to try first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchvise.rig.card.image import Image, open_image
from benchvise.rig.compose.compose import ComposedImages
from benchvise.rig.compose.layers import (
    LayerDifference,
    configurations,
    device_trees,
    differing,
    is_divisible,
    layer_parts,
)
from benchvise.rig.compose.layers.layer import LayerPart
from benchvise.rig.images import ImageError
from benchvise.state.normalise.fdt import device_tree
from benchvise.state.normalise.kernel import kernel_config
from benchvise.text import Untrusted
from benchvise.why.model import Layer, LayerMeans, Origin, Side, Suspect, Term
from benchvise.why.provenance import find_origins
from benchvise.why.provenance.sources import image_files
from benchvise.why.suspects.ranking import layer_terms, option_terms, part_terms
from benchvise.why.suspects.reduction import Reach, reach_of

_OF_ROOT = ("init-settings", "libc")

_KINDS = {
    "bootloader": Layer.BOOTLOADER,
    "root": Layer.ROOT,
    "libc": Layer.LIBC,
    "init-settings": Layer.INIT_SETTINGS,
    "kernel": Layer.KERNEL,
    "device-tree": Layer.DEVICE_TREE,
    "command-line": Layer.COMMAND_LINE,
}

_TITLES = {
    "bootloader": "the boot loader",
    "root": "the root file system, but for its settings and its C library",
    "libc": "the C library",
    "init-settings": "the init settings",
    "kernel": "the kernel with its modules",
    "device-tree": "the device tree",
    "command-line": "the kernel's command line",
}

_VALUE_LIMIT = 300  # characters of a value

_FEW_PARTS = 40
"""More of them, and whether it is the layer at all is asked first."""

Flips = frozenset[LayerMeans]


class Images:
    """The image of each side. Raises as ``open_image`` does."""

    def __init__(
        self, paths: Mapping[Side, Path], benchmark: str, cache: ComposedImages | None = None
    ) -> None:
        self._own = {side: open_image(path) for side, path in paths.items()}
        self._reach = reach_of(benchmark)
        self._cache = cache or ComposedImages()
        self._made: dict[tuple[Side, Flips], Path] = {
            (side, frozenset()): image.path for side, image in self._own.items()
        }
        self._different: list[LayerDifference] | None = None
        self._inside: dict[str, list[LayerPart]] = {}

    def own(self, side: Side) -> Image:
        """That side's own image."""
        return self._own[side]

    def is_made(self, side: Side, flips: Flips) -> bool:
        """Whether an arm's image is there already."""
        return (side, flips) in self._made

    def make(
        self, side: Side, flips: Flips, say: Callable[[str], None] = lambda _step: None
    ) -> Path:
        """The image of an arm; raises as ``compose`` does."""
        if (side, flips) not in self._made:
            own, other = self._own[side], self._own[side.other]
            whole = {means.layer for means in flips if not means.part}
            base = own
            if "root" in whole:
                kept = [name for name in self._of_root() if name not in whole]
                layers = {"root": other, **dict.fromkeys(kept, own)}
                base = open_image(self._cache.make(base, layers, {}, say))
            parts: dict[str, list[str]] = {}
            for means in sorted(flips, key=lambda means: means.part):
                if means.part and means.layer not in whole:
                    parts.setdefault(means.layer, []).append(means.part)
            layers = dict.fromkeys([*sorted(whole - {"root"}), *parts], other)
            path = self._cache.make(base, layers, parts, say) if layers else base.path
            self._made[side, flips] = path
        return self._made[side, flips]

    def layers(self) -> list[Suspect]:
        """What can be swapped: layers that differ, and of those with few parts the parts.

        A boot is dear, so a layer is not tried first and then its parts again. Raises as
        ``compose`` does.
        """
        suspects: list[Suspect] = []
        for different in self._differing():
            parts = self.parts(different.layer) if is_divisible(different.layer) else []
            suspects += parts if 0 < len(parts) <= _FEW_PARTS else [self._whole(different)]
        return suspects

    def parts(self, layer: str) -> list[Suspect]:
        """What differs inside a layer: to be taken singly, or without means where it takes building
        the layer anew; none where that cannot be told."""
        paths = (self._own[Side.GOOD].path, self._own[Side.BAD].path)
        if layer == "kernel":
            return kernel_options(*configurations(*paths), self._reach)
        if layer == "device-tree":
            return tree_nodes(*device_trees(*paths))
        if not is_divisible(layer):
            return []
        if layer not in self._inside:
            try:
                self._inside[layer] = layer_parts(layer, *paths)
            except ImageError:
                self._inside[layer] = []
        return [self._part(layer, part) for part in self._inside[layer]]

    def origins(self, side: Side, suspect: Suspect, roles: Mapping[str, str]) -> Sequence[Origin]:
        """Where the image of a side has the line that a suspect is, or sets what it is.

        ``roles`` are those of the devices of the board that it runs on.
        """
        means = suspect.means
        if isinstance(means, LayerMeans):
            return [
                Origin(
                    side,
                    _KINDS[means.layer].value,
                    Untrusted(part.file),
                    line,
                    Untrusted(text.splitlines()[0]),
                )
                for part in self._inside.get(means.layer, ())
                for line, text in [_of_side(part, side)]
                if part.name == means.part and text
            ]
        with image_files(self._own[side].path, roles=roles) as files:
            return find_origins(files, suspect, side)

    def _whole(self, different: LayerDifference) -> Suspect:
        name = different.layer
        return Suspect(
            name,
            _TITLES[name],
            _KINDS[name],
            name,
            different.first.text[:_VALUE_LIMIT] or "none",
            different.second.text[:_VALUE_LIMIT] or "none",
            means=LayerMeans(name),
            terms=layer_terms(name, self._reach),
        )

    def _part(self, layer: str, part: LayerPart) -> Suspect:
        line, text = _of_side(part, Side.BAD) if part.second else _of_side(part, Side.GOOD)
        where = f"{part.file}:{line}" if line else part.file
        return Suspect(
            f"{layer}:{part.name}",
            f"{part.name} of the command line"
            if layer == "command-line"
            else f"{where}: {text.splitlines()[0]}",
            _KINDS[layer],
            layer,
            part.first[:_VALUE_LIMIT] or "not there",
            part.second[:_VALUE_LIMIT] or "not there",
            (f"{layer}:{part.name}",),
            means=LayerMeans(layer, part.name),
            terms=part_terms(layer, part, self._reach),
        )

    def _of_root(self) -> Iterable[str]:
        """The layers within a root file system in which the two differ."""
        return [
            difference.layer for difference in self._differing() if difference.layer in _OF_ROOT
        ]

    def _differing(self) -> list[LayerDifference]:
        if self._different is None:
            self._different = differing(self._own[Side.GOOD].path, self._own[Side.BAD].path)
        return self._different


def _of_side(part: LayerPart, side: Side) -> tuple[int, str]:
    """Line and text of a part: images are always looked at with the good one first."""
    good = side is Side.GOOD
    return (part.first_line, part.first) if good else (part.second_line, part.second)


# -- inside a layer that is built from source ------------------------------------------------------


MOST = 30
"""Differences of a layer that are listed."""

_UNKNOWN = Term("nothing known", -2.0, "it is in no list of what matters")
_NOT_SET = "not set"
_VALUE_SHOWN = 120  # characters of a value


def kernel_options(good: bytes, bad: bytes, reach: Reach) -> list[Suspect]:
    """The options in which two kernel configurations differ, best first.

    An option that can only be set because another one is, by its name, goes with that one. None
    where either image does not say how its kernel was built.
    """
    try:
        first, other = kernel_config(good), kernel_config(bad)
    except ValueError:
        return []
    names = {name for name in {*first, *other} if first.get(name) != other.get(name)}
    heads = _heads(names, first, other)
    return _best(
        Suspect(
            f"kernel:CONFIG_{head}",
            f"CONFIG_{head}" + (f" and {len(below)} options below it" if below else ""),
            Layer.KERNEL,
            "kernel",
            first.get(head, _NOT_SET)[:_VALUE_SHOWN],
            other.get(head, _NOT_SET)[:_VALUE_SHOWN],
            tuple(f"CONFIG_{name}" for name in (head, *below)),
            untestable=f"it takes a kernel built with CONFIG_{head} as on the other side",
            terms=option_terms("options", head, reach) or (_UNKNOWN,),
        )
        for head, below in heads.items()
    )


def tree_nodes(good: Mapping[str, bytes], bad: Mapping[str, bytes]) -> list[Suspect]:
    """The properties in which device trees differ; references stand by the node they mean.

    Trees of one name are compared, or the only one of each side.
    """
    pairs = [(name, good[name], bad[name]) for name in sorted({*good} & {*bad})]
    if not pairs and len(good) == len(bad) == 1:
        (name, first), (other,) = *good.items(), bad.values()
        pairs = [(name, first, other)]
    suspects: list[Suspect] = []
    for name, first, other in pairs:
        try:
            here, there = device_tree(first), device_tree(other)
        except ValueError:
            continue
        for path in sorted({*here, *there}):
            if here.get(path) != there.get(path):
                suspects.append(_property(name, path, here.get(path), there.get(path)))
    return _best(suspects)


def _property(name: str, path: str, first: Any, other: Any) -> Suspect:
    return Suspect(
        f"device-tree:{path}",
        f"{path} of {name}",
        Layer.DEVICE_TREE,
        "device-tree",
        "not there" if first is None else str(first)[:_VALUE_SHOWN],
        "not there" if other is None else str(other)[:_VALUE_SHOWN],
        untestable="it takes a device tree compiled with the other side's value",
        terms=(_UNKNOWN,),
    )


def _heads(
    names: set[str], first: Mapping[str, str], other: Mapping[str, str]
) -> dict[str, list[str]]:
    """The options that differ by themselves, each with those below it.

    Below is what is named after another one (NUMA_BALANCING after NUMA) and is missing where
    that one is not set.
    """
    heads: dict[str, list[str]] = {}
    for name in sorted(names):
        above = _above(name, names, first, other)
        if above is None:
            heads.setdefault(name, [])
        else:
            heads.setdefault(above, []).append(name)
    return heads


def _above(
    name: str, names: set[str], first: Mapping[str, str], other: Mapping[str, str]
) -> str | None:
    """The outermost option that takes this one with it."""
    parts = name.split("_")
    for end in range(1, len(parts)):
        head = "_".join(parts[:end])
        if head in names and any(head not in side and name not in side for side in (first, other)):
            return head
    return None


def _best(suspects: Iterable[Suspect]) -> list[Suspect]:
    return sorted(suspects, key=lambda suspect: (-suspect.log_odds, suspect.id))[:MOST]
