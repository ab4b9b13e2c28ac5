"""A boot ROM for simulated boards without a bootloader: it reads the card and starts the kernel.

What it does is what U-Boot does with the same card: find ``extlinux.conf`` on the first partition,
and start the kernel that its default label names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.extlinux import Extlinux
from benchvise.rig.images.fat import Fat
from benchvise.rig.images.table import read_table
from benchvise.rig.images.tools import Tools


@dataclass(frozen=True, slots=True)
class StartFiles:
    """What a card has to be started: files that were copied from it, and the kernel's options."""

    kernel: Path
    initrd: Path | None
    append: str


def read_card(card: Path, directory: Path) -> StartFiles | None:
    """What a card says is to be started, copied into ``directory``; None when it says nothing."""
    try:
        table = read_table(card)
        if table.scheme == "none" or not table.partitions:
            return None
        files = Fat(
            Tools(directory), str(card.resolve()), table.partitions[0].start, f"{card.name}"
        )
        boot = Extlinux().find(files)
        if boot is None:
            return None
        kernel = directory / "kernel"
        kernel.write_bytes(files.read(boot.kernels[0]))
        initrd = directory / "initrd" if boot.initrds else None
        if initrd is not None:
            initrd.write_bytes(files.read(boot.initrds[0]))
    except (ImageError, OSError):
        return None
    return StartFiles(kernel, initrd, boot.command_line or "")
