"""The kernel's command line alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary, Swap, digest
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files import style
from benchvise.rig.images.layout import OpenedImage
from benchvise.text import printable

_PLACES = {"root", "rootfstype", "resume", "resume_offset", "nfsroot", "ubi.mtd"}
"""Words that say where things are on this card: they stay."""

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_FOR_INIT = "--"


class CommandLine:
    """All words but those that say where the root file system is."""

    name = "command-line"

    def apply(self, swap: Swap) -> list[str]:
        """The source's words, and the target's own about where things are."""
        theirs, ours = _line(swap.source), swap.target.side().boot.command_line or ""
        return _put(swap, combined(theirs, ours))

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """All words but those about places."""
        line = opened.layout.boot.command_line if opened.layout.boot else None
        if line is None:
            return LayerSummary("", "")
        words = " ".join(word for word in _WORD.findall(line) if not is_place(word))
        return LayerSummary(digest(words), words)

    def parts(self, one: OpenedImage, other: OpenedImage) -> list[LayerPart]:
        """One for each option that is not the same in both, however often it is given."""
        here, there = _options(_line(one)), _options(_line(other))
        file = one.side().boot.configuration[-1]
        found = []
        for key in dict.fromkeys([*here, *there]):
            ours, theirs = here.get(key, []), there.get(key, [])
            if ours != theirs:
                lines = _place(one, ours), _place(other, theirs)
                found.append(LayerPart(key, " ".join(ours), " ".join(theirs), file, *lines))
        return found

    def apply_parts(self, swap: Swap, names: Sequence[str]) -> list[str]:
        """The words of these options become the source's, or go away."""
        theirs, ours = _line(swap.source), _line(swap.target)
        unknown = sorted(set(names) - {part.name for part in self.parts(swap.target, swap.source)})
        if unknown:
            raise ImageError(
                f"the command lines of {swap.target.name} and {swap.source.name} do not differ in "
                f"'{printable(unknown[0], 100)}'",
                "name an option in which they do",
            )
        return _put(swap, with_options(ours, theirs, names))


def _line(opened: OpenedImage) -> str:
    line = opened.side().boot.command_line
    if line is None:
        raise ImageError(
            f"the command line of {opened.name} stands in its boot loader's environment",
            "take the layer bootloader, or an image with extlinux.conf",
        )
    return line


def _place(opened: OpenedImage, words: Sequence[str]) -> int:
    """The line of the boot configuration that has these words; 0 without any."""
    if not words:
        return 0
    side = opened.side()
    text = side.files.read(side.boot.configuration[-1], 1 << 20).decode(errors="surrogateescape")
    lines = enumerate(text.splitlines(), 1)
    return next((n for n, line in lines if set(words) <= set(_WORD.findall(line))), 0)


def _put(swap: Swap, line: str) -> list[str]:
    """Writes the target's new command line; warns when it gets another console."""
    target = swap.target.side()
    ours = target.boot.command_line or ""
    consoles = [
        " ".join(word for word in text.split() if word.startswith("console="))
        for text in (line, ours)
    ]
    if consoles[0] != consoles[1]:
        swap.warnings.append(f"the console changes from '{consoles[1]}' to '{consoles[0]}'")
    return [*style(target.boot.style).put_command_line(target, line), line]


def is_place(word: str) -> bool:
    """Whether a word says where something is on the card; initrds have own ones, like sdroot=."""
    key, equals, value = word.partition("=")
    return key in _PLACES or (bool(equals) and key.endswith("root") and value.startswith("/dev/"))


def combined(theirs: str, ours: str) -> str:
    """Their command line in their order, with our words in the place of theirs about places."""
    kept = [word for word in ours.split() if is_place(word)]
    words: list[str] = []
    for word in theirs.split():
        if not is_place(word):
            words.append(word)
        elif kept:
            words += kept
            kept = []
    return " ".join(words + kept)


def with_options(ours: str, theirs: str, keys: Collection[str]) -> str:
    """Our command line with their words for these options, where ours were or else behind."""
    wanted = {key: words for key, words in _options(theirs).items() if key in keys}
    words: list[str] = []
    head, tail = _split(ours)
    for word in head:
        key = _key(word)
        if key not in keys or is_place(word):
            words.append(word)
        else:
            words += wanted.pop(key, ())
    rest = wanted.pop(_FOR_INIT, tail if _FOR_INIT not in keys else [])
    words += [word for new in wanted.values() for word in new]
    return " ".join([*words, *rest])


def _options(line: str) -> dict[str, list[str]]:
    """The words by their option, without those about places; those for init under ``--``."""
    head, tail = _split(line)
    found: dict[str, list[str]] = {}
    for word in head:
        if not is_place(word):
            found.setdefault(_key(word), []).append(word)
    return {**found, _FOR_INIT: tail} if tail else found


def _split(line: str) -> tuple[list[str], list[str]]:
    """The kernel's own words, and those for init with the ``--`` before them."""
    words = _WORD.findall(line)
    at = words.index(_FOR_INIT) if _FOR_INIT in words else len(words)
    return words[:at], words[at:]


def _key(word: str) -> str:
    """What an option is called: the kernel takes ``-`` for ``_``."""
    return word.partition("=")[0].replace("-", "_")
