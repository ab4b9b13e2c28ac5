"""How boot loaders are configured: one module a style."""

from __future__ import annotations

from benchvise.rig.images.boot_files.raspberry import Raspberry
from benchvise.rig.images.boot_files.style import BootStyle
from benchvise.rig.images.boot_files.uboot import Extlinux, Plain

STYLES: tuple[BootStyle, ...] = (Extlinux(), Raspberry(), Plain())
"""In the order in which they are looked for: U-Boot on a Raspberry Pi reads extlinux.conf, and
the config.txt that is there too belongs to what comes before U-Boot."""


def style(name: str) -> BootStyle:
    """The style of that name."""
    return next(style for style in STYLES if style.name == name)
