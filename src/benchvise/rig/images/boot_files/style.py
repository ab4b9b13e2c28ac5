"""What a boot loader is told: which kernel, initial RAM disk, device tree and command line."""

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
    """The boot files of an image, and what its boot loader is told."""

    files: Files
    boot: BootEntry


class BootStyle(Protocol):
    """A way to tell a boot loader. What is put comes from an image of the same style.

    The methods that put something return what they did, in words, and raise ImageError when
    they cannot.
    """

    @property
    def name(self) -> str:
        """How users call it."""

    def find(self, files: Files) -> BootEntry | None:
        """What lies there, if the file system holds a boot of this style."""

    def put_kernel(self, target: BootSide, source: BootSide) -> list[str]:
        """Kernel and initial RAM disk become the source's, and the boot loader takes them."""

    def put_trees(self, target: BootSide, source: BootSide) -> list[str]:
        """Device trees and overlays become the source's."""

    def put_command_line(self, target: BootSide, line: str) -> list[str]:
        """The command line becomes this one."""
