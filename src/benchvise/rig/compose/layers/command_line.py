"""The kernel's command line alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary, Swap, digest
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files import style
from benchvise.rig.images.layout import OpenedImage
from benchvise.text import Untrusted

_PLACES = {"root", "rootfstype", "resume", "resume_offset", "nfsroot", "ubi.mtd"}
"""Options that name places of this card: they stay."""

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_FOR_INIT = "--"


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
    text = side.files.read(side.boot.configuration[-1], 1 << 20).decode(errors="surrogateescape")
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
