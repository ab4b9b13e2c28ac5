"""A boot ROM for simulated boards without a bootloader: it reads the card and starts the kernel.

What it does is what U-Boot does with the same card: find ``extlinux/extlinux.conf`` on the first
partition, and start the kernel that its default label names.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.faults import RigError
from benchvise.rig.virtual.recipes import tools

_SECTOR = 512
_FIRST_PARTITION = 446


@dataclass(frozen=True, slots=True)
class Start:
    """What was found on a card: files that were copied from it, and the kernel's words."""

    kernel: Path
    initrd: Path | None
    append: str


def read_card(card: Path, directory: Path) -> Start | None:
    """What a card says is to be started, copied into ``directory``; None when it says nothing."""
    try:
        with card.open("rb") as file:
            table = file.read(_SECTOR)
        (first,) = struct.unpack_from("<I", table, _FIRST_PARTITION + 8)
    except (OSError, struct.error):
        return None
    partition = f"{card}@@{first * _SECTOR}"
    if not first or not table.endswith(b"\x55\xaa"):
        return None
    try:
        settings = tools.run("mcopy", "-i", partition, "::/extlinux/extlinux.conf", "-")
        words = default_label(settings)
        for name in ("kernel", "initrd"):
            if name in words:
                source = f"::{words[name]}"
                tools.run("mcopy", "-n", "-o", "-i", partition, source, directory / name)
    except RigError:
        return None
    if "kernel" not in words:
        return None
    initrd = directory / "initrd" if "initrd" in words else None
    return Start(directory / "kernel", initrd, words.get("append", ""))


def default_label(settings: str) -> dict[str, str]:
    """The lines of an ``extlinux.conf`` for its default label, by their first word."""
    labels: dict[str, dict[str, str]] = {}
    label: dict[str, str] = {}
    default = ""
    for line in settings.splitlines():
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "default":
                default = rest.strip()
            case "label":
                label = labels.setdefault(rest.strip(), {})
            case "linux":
                label["kernel"] = rest.strip()
            case other:
                label[other] = rest.strip()
    return labels.get(default) or next(iter(labels.values()), {})
