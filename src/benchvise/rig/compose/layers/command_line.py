"""The kernel's command line alone."""

from __future__ import annotations

from benchvise.rig.compose.errors import ComposeError
from benchvise.rig.compose.layers.layer import Swap
from benchvise.rig.compose.styles import style

_PLACES = {"root", "rootfstype", "resume", "resume_offset", "nfsroot", "ubi.mtd"}
"""Words that say where things are on this card: they stay."""


class CommandLine:
    """All words but those that say where the root file system is."""

    name = "command-line"

    def apply(self, swap: Swap) -> list[str]:
        """The source's words, and the target's own about where things are."""
        target = swap.target.side()
        theirs = swap.source.side().boot.command_line
        if theirs is None:
            raise ComposeError(
                f"the command line of {swap.source.name} stands in its boot loader's environment",
                "take the layer bootloader, or an image with extlinux.conf",
            )
        ours = target.boot.command_line or ""
        line = combined(theirs, ours)
        consoles = [
            [word for word in text.split() if word.startswith("console=")]
            for text in (theirs, ours)
        ]
        if consoles[0] != consoles[1]:
            swap.warnings.append(
                f"the console changes from '{' '.join(consoles[1])}' to '{' '.join(consoles[0])}'"
            )
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
