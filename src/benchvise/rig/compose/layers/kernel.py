"""What a boot loader loads: the kernel with its modules, the device tree, the command line.

Three layers: each can be taken alone, and each goes where the boot loader is configured to find it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence

from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary, Swap, digest, same_style
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files import style
from benchvise.rig.images.ext import Ext
from benchvise.rig.images.filesystems import below, read_text
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.kernel import embedded_config
from benchvise.rig.images.layout import MODULES, OpenedImage
from benchvise.text import Untrusted, enumerated

_NAMED_BY_VERSION = ("config", "System.map")
_MOST_CONFIG = 4 << 20  # bytes; real ones have under 400 kB


_PLACES = {"root", "rootfstype", "resume", "resume_offset", "nfsroot", "ubi.mtd"}
"""Options that name places of this card: they stay."""

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_FOR_INIT = "--"


class KernelAndModules:
    """The kernel with its own modules, without which it is of no use."""

    name = "kernel"

    def apply(self, swap: Swap) -> list[str]:
        """Replaces the boot files, then the modules that belong to them."""
        target, source = same_style(swap, self.name)
        if not source.boot.kernels or not target.boot.kernels:
            which = swap.source if not source.boot.kernels else swap.target
            raise ImageError(
                f"{which.name} has no kernel in its boot partition",
                "list its contents: benchvise rig compose --from IMAGE",
            )
        old = _versions(swap.target)
        done = style(target.boot.style).put_kernel(target, source)
        if swap.target.is_in_memory:
            return done
        done += _modules(swap, swap.target.need_root())
        return done + _companions(swap.source, swap.target, old)

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """Image, initial RAM disk, and which modules there are, by their sizes."""
        boot, files = opened.layout.boot, opened.boot_files
        if boot is None or files is None or not boot.kernels:
            return LayerSummary("", "")
        contents = [files.read(path) for path in boot.kernels if files.is_file(path)]
        contents += [files.read(path) for path in boot.initrds if files.is_file(path)]
        modules: list[str] = []
        if opened.root is not None:
            modules = [f"{path} {n.size}" for path, n in sorted(opened.root.walk(MODULES).items())]
        named = "; ".join(f"{k.version} {k.arch}".strip() for _, k in opened.layout.kernels)
        return LayerSummary(digest(*contents, *modules), named)


def kernel_configuration(opened: OpenedImage) -> bytes:
    """How the kernel was built, as text or packed by gzip; empty where the image does not say.

    Distributions lay it beside the kernel or its modules; else the kernel may hold it itself.
    """
    for version in sorted(_versions(opened)):
        for files, place in (
            (opened.root, f"/boot/config-{version}"),
            (opened.boot_files, f"/config-{version}"),
            (opened.root, f"{MODULES}/{version}/config"),
        ):
            if files is not None and files.is_file(place):
                return files.read(place, _MOST_CONFIG)
    boot, files = opened.layout.boot, opened.boot_files
    kernels = [] if boot is None or files is None else boot.kernels
    for path in kernels:
        if files is not None and files.is_file(path):
            embedded = embedded_config(files.read(path))
            if embedded:
                return embedded
    return b""


def _modules(swap: Swap, root: Ext) -> list[str]:
    """Replaces /lib/modules by those directories that fit the source's kernels."""
    theirs = swap.source.need_root()
    has = swap.source.layout.modules
    versions = {kernel.version for _, kernel in swap.source.layout.kernels}
    wanted = [version for version in has if version in versions or "" in versions]
    if not wanted and has:
        swap.warnings.append(
            f"{swap.source.name} has no modules for its kernel {', '.join(sorted(versions))}, "
            f"only for {', '.join(has)}: the kernel gets none"
        )
    where = root.make(MODULES)
    for version in swap.target.layout.modules:
        root.remove(posixpath.join(where, version))
    count = 0
    for version in wanted:
        top = posixpath.join(MODULES, version)
        count += graft(theirs, tree(theirs, top, posixpath.join(where, version)), root)
    gone = [version for version in swap.target.layout.modules if version not in wanted]
    done = [f"{count} files of modules for {', '.join(wanted)}"] if wanted else []
    return done + ([f"modules for {', '.join(gone)} removed"] if gone else [])


def _versions(opened: OpenedImage) -> set[str]:
    return {kernel.version for _, kernel in opened.layout.kernels if kernel.version}


def _companions(source: OpenedImage, target: OpenedImage, old: set[str]) -> list[str]:
    """config-VERSION and System.map-VERSION, which tell how the kernel was built."""
    done = []
    root = target.need_root()
    theirs = source.need_root()
    if not root.names("/boot"):
        return []
    new = _versions(source)
    for name in _NAMED_BY_VERSION:
        for version in old - new:
            root.remove(f"/boot/{name}-{version}")
        for version in new:
            path = f"/boot/{name}-{version}"
            if theirs.is_file(path):
                root.put(path, theirs.read(path))
                done.append(path)
    return done


class DeviceTree:
    """The description of the hardware that the kernel reads."""

    name = "device-tree"

    def apply(self, swap: Swap) -> list[str]:
        """Replaces the files, and their lines in the boot configuration."""
        target, source = same_style(swap, self.name)
        return style(target.boot.style).put_trees(target, source)

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """The files, by name and contents."""
        trees = device_tree_files(opened)
        pairs = [part for name, data in sorted(trees.items()) for part in (name, data)]
        return LayerSummary(digest(*pairs), enumerated(sorted(trees), 3))


def device_tree_files(opened: OpenedImage) -> dict[str, bytes]:
    """Device trees and overlays by their names; none where the boot loader or the board has them.

    Of a directory to choose from, all of them.
    """
    boot, files = opened.layout.boot, opened.boot_files
    if boot is None or files is None:
        return {}
    trees: dict[str, bytes] = {}
    for place in boot.trees:
        if files.is_file(place):
            trees[posixpath.basename(place)] = files.read(place)
        else:
            paths = below(files, place)
            trees.update({path[len(place) :].lstrip("/"): files.read(path) for path in paths})
    return trees


class CommandLine:
    """All options but those that name the root file system."""

    name = "command-line"

    def apply(self, swap: Swap) -> list[str]:
        """Sets the source's options, with the target's own about where things are."""
        theirs, ours = _line(swap.source), swap.target.boot_side().boot.command_line or ""
        return _put(swap, combined(theirs, ours))

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """All options but those about places."""
        line = opened.layout.boot.command_line if opened.layout.boot else None
        if line is None:
            return LayerSummary("", "")
        options = " ".join(option for option in _WORD.findall(line) if not is_place(option))
        return LayerSummary(digest(options), options)

    def parts(self, first: OpenedImage, second: OpenedImage) -> list[LayerPart]:
        """One for each option that is not the same in both, however often it is given."""
        here, there = _options(_line(first)), _options(_line(second))
        file = first.boot_side().boot.configuration[-1]
        differences = []
        for key in dict.fromkeys([*here, *there]):
            ours, theirs = here.get(key, []), there.get(key, [])
            if ours != theirs:
                lines = _place(first, ours), _place(second, theirs)
                differences.append(LayerPart(key, " ".join(ours), " ".join(theirs), file, *lines))
        return differences

    def apply_parts(self, swap: Swap, names: Sequence[str]) -> list[str]:
        """Sets these options to the source's, or removes them."""
        theirs, ours = _line(swap.source), _line(swap.target)
        unknown = sorted(set(names) - {part.name for part in self.parts(swap.target, swap.source)})
        if unknown:
            raise ImageError(
                f"the command lines of {swap.target.name} and {swap.source.name} do not differ in "
                f"'{Untrusted(unknown[0]):100}'",
                "name an option in which they do",
            )
        return _put(swap, with_options(ours, theirs, names))


def _line(opened: OpenedImage) -> str:
    line = opened.boot_side().boot.command_line
    if line is None:
        raise ImageError(
            f"the command line of {opened.name} stands in its boot loader's environment",
            "take the layer bootloader, or an image with extlinux.conf",
        )
    return line


def _place(opened: OpenedImage, options: Sequence[str]) -> int:
    """The line of the boot configuration that has these options; 0 without any."""
    if not options:
        return 0
    side = opened.boot_side()
    text = read_text(side.files, side.boot.configuration[-1])
    lines = enumerate(text.splitlines(), 1)
    return next((n for n, line in lines if set(options) <= set(_WORD.findall(line))), 0)


def _put(swap: Swap, line: str) -> list[str]:
    """Writes the target's new command line; warns when it gets another console."""
    target = swap.target.boot_side()
    ours = target.boot.command_line or ""
    consoles = [
        " ".join(word for word in text.split() if word.startswith("console="))
        for text in (line, ours)
    ]
    if consoles[0] != consoles[1]:
        swap.warnings.append(f"the console changes from '{consoles[1]}' to '{consoles[0]}'")
    return [*style(target.boot.style).put_command_line(target, line), line]


def is_place(word: str) -> bool:
    """Whether an option names a place of the card; initrds have own ones, like sdroot=."""
    key, equals, value = word.partition("=")
    return key in _PLACES or (bool(equals) and key.endswith("root") and value.startswith("/dev/"))


def combined(theirs: str, ours: str) -> str:
    """Their command line in their order, with our options in the place of theirs about places."""
    kept = [option for option in ours.split() if is_place(option)]
    options: list[str] = []
    for option in theirs.split():
        if not is_place(option):
            options.append(option)
        elif kept:
            options += kept
            kept = []
    return " ".join(options + kept)


def with_options(ours: str, theirs: str, keys: Collection[str]) -> str:
    """Our command line with theirs for these options, where ours were or else behind."""
    wanted = {key: options for key, options in _options(theirs).items() if key in keys}
    options: list[str] = []
    head, tail = _split(ours)
    for option in head:
        key = _key(option)
        if key not in keys or is_place(option):
            options.append(option)
        else:
            options += wanted.pop(key, ())
    rest = wanted.pop(_FOR_INIT, tail if _FOR_INIT not in keys else [])
    options += [option for new in wanted.values() for option in new]
    return " ".join([*options, *rest])


def _options(line: str) -> dict[str, list[str]]:
    """The options by their name, without those about places; those for init under ``--``."""
    head, tail = _split(line)
    options: dict[str, list[str]] = {}
    for word in head:
        if not is_place(word):
            options.setdefault(_key(word), []).append(word)
    return {**options, _FOR_INIT: tail} if tail else options


def _split(line: str) -> tuple[list[str], list[str]]:
    """The kernel's own options, and those for init with the ``--`` before them."""
    options = _WORD.findall(line)
    at = options.index(_FOR_INIT) if _FOR_INIT in options else len(options)
    return options[:at], options[at:]


def _key(word: str) -> str:
    """What an option is called: the kernel takes ``-`` for ``_``."""
    return word.partition("=")[0].replace("-", "_")
