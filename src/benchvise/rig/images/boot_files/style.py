"""What a boot loader loads: kernel, initial RAM disk, device tree, command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from benchvise.rig.images.filesystems import Files


@dataclass(frozen=True, slots=True)
class BootEntry:
    """What one image's boot loader loads. Paths are those of the file system that it reads.

    ``trees`` are device trees and overlays, files or whole directories. ``command_line`` is None
    where it lies elsewhere (in the boot loader's environment, or in the device tree). A
    non-empty ``obstacle`` says why nothing of this can be changed.
    """

    style: str
    configuration: tuple[str, ...]
    kernels: tuple[str, ...] = ()
    initrds: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    command_line: str | None = None
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class BootSide:
    """The boot files of an image, and the entry that its boot loader boots."""

    files: Files
    boot: BootEntry


class BootStyle(Protocol):
    """A way to configure a boot loader. What is put comes from an image of the same style.

    The methods that put something return what they did, a sentence each, and raise ImageError when
    they cannot.
    """

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def find(self, files: Files) -> BootEntry | None:
        """The entry that boots; None when the file system has none of this style."""

    def put_kernel(self, target: BootSide, source: BootSide) -> list[str]:
        """Replaces kernel and initial RAM disk, and has the boot loader load them."""

    def put_trees(self, target: BootSide, source: BootSide) -> list[str]:
        """Replaces device trees and overlays."""

    def put_command_line(self, target: BootSide, line: str) -> list[str]:
        """Replaces the kernel's command line."""
