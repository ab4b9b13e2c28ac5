"""What goes into the card image of a kind of board."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.rig.virtual.recipes.packages import Archive

EXT4 = ("crc16", "mbcache", "jbd2", "crc32c_generic", "libcrc32c", "ext4")
VIRTIO = ("virtio_pci", "virtio_blk")
VIRTIO_NET = ("virtio_net", "virtio-rng")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of an image.

    ``kernel`` is a package or metapackage of ``archive``; ``other_kernel`` is one that differs in
    version, with its own archive. ``disk_modules`` are loaded before the root file system is
    there, ``more_modules`` after it. ``disk`` is the card's name in Linux, ``tty`` the console's.
    ``image_name`` is how the bootloader knows the kernel; ``kernel_place`` is where a ``zImage`` is
    to be copied that is not to unpack itself. ``compression`` is that of the first root file
    system.

    ``firmware`` names the package and the file of the bootloader, ``firmware_at`` the byte of the
    card at which it lies (None: it is built into the board), and ``firmware_edits`` its settings
    before and after. ``monitor`` is what runs beneath it, where there is such a thing.
    """

    archive: Archive
    kernel: str
    disk: str
    tty: str
    image_name: str
    disk_modules: tuple[str, ...]
    more_modules: tuple[str, ...]
    append: str = ""
    compression: str = ""
    device_tree: str = ""
    kernel_place: int = 0
    other_archive: Archive | None = None
    other_kernel: str = ""
    firmware: tuple[str, str] | None = None
    firmware_at: int | None = None
    firmware_edits: tuple[tuple[str, str], ...] = ()
    monitor: tuple[str, str] | None = None
