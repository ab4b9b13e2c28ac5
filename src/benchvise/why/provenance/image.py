"""The files of an image: its root file system, with the boot partition where it is mounted.

Nothing is mounted and no root is needed: ``benchvise.rig.compose`` reads ext and FAT.
"""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchvise.rig.card.image import open_image
from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.filesystems import Files
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.workplace import Workplace
from benchvise.why.provenance.files import FILE_LIMIT
from benchvise.why.provenance.globs import matches

_BOOT_MOUNT = re.compile(r"^\S+\s+(/boot(?:/\w+)?)\s+(?:vfat|msdos|auto|ext[234])\s", re.M)
_ROOT_WORD = re.compile(r"(?:^|\s)root=/dev/(\w+)")
_WHOLE = re.compile(r"((?:mmcblk|nvme\d+n)\d+)p\d+$|([a-z]+)\d+$")


@contextmanager
def image_files(
    image: Path, name: str = "", roles: Mapping[str, str] | None = None
) -> Iterator[ImageFiles]:
    """The files of an image, compressed or not, while the context lasts; it is only read.

    Raises what ``benchvise.rig.images.describe`` raises, and ImageError when there is no root
    file system that can be read.
    """
    place = Path(tempfile.gettempdir()) / image.name
    with Workplace(place, lambda _step: None) as work:
        yield ImageFiles(work.source(open_image(image), 0), name, roles)


class ImageFiles:
    """The files of an opened image; ``roles`` are guessed from its command line unless given."""

    is_live = False

    def __init__(
        self, opened: OpenedImage, name: str = "", roles: Mapping[str, str] | None = None
    ) -> None:
        self._root: Ext = opened.need_root()
        self._mounts: list[tuple[str, Files]] = []
        self.name = name or opened.name
        self.unread: dict[str, str] = {}
        boot = opened.layout.boot
        told = boot.command_line if boot is not None else None
        self.roles: Mapping[str, str] = dict(roles) if roles is not None else _roles(told)
        if opened.boot_files is not None and not opened.boots_from_root:
            self._mounts.append((self._boot_mount(), opened.boot_files))

    def names(self, directory: str) -> list[str]:
        """What a directory of the system holds."""
        mounted = self._mounted(directory)
        if mounted is not None:
            return list(mounted[0].names(mounted[1]))
        found = list(self._root.names(directory))
        return found + [
            posixpath.basename(point)
            for point, _ in self._mounts
            if posixpath.dirname(point) == directory and posixpath.basename(point) not in found
        ]

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The first bytes of each file that matches: those of the root in few runs of debugfs."""
        found: dict[str, bytes] = {}
        nodes: dict[int, tuple[Inode, list[str]]] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            mounted = self._mounted(path)
            if mounted is not None:
                if mounted[0].is_file(mounted[1]):
                    found[path] = mounted[0].read(mounted[1], FILE_LIMIT)
                continue
            node = self._root.find(path)
            if node is None or not node.is_file:
                continue
            if node.size > FILE_LIMIT:
                self.unread[path] = f"only its first {FILE_LIMIT >> 10} KiB were looked at"
            nodes.setdefault(node.inode, (node, []))[1].append(path)
        for node, data in self._root.contents(node for node, _ in nodes.values()):
            for path in nodes[node.inode][1]:
                found[path] = data[:FILE_LIMIT]
        return found

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead; a FAT file system has none."""
        found: dict[str, Inode] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            if self._mounted(path) is None:
                node = self._root.find(path, follow=False)
                if node is not None and node.is_link:
                    found[path] = node
        details = self._root.details(found.values()) if found else {}
        return {path: details[node.inode].target for path, node in found.items()}

    def located(self, path: str) -> str | None:
        """The true path of a file of the root file system; None where there is none."""
        found = self._root.locate(path)
        return found[0] if found is not None and found[1].is_file else None

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is larger than that."""
        found = self._root.find(path)
        if found is None or found.size > limit:
            return None
        try:
            return self._root.read(path)
        except ImageError:
            return None

    def _boot_mount(self) -> str:
        """Where the system mounts the boot partition; /boot unless its fstab says otherwise."""
        try:
            table = self._root.read("/etc/fstab", FILE_LIMIT).decode("utf-8", "replace")
        except ImageError:
            return "/boot"
        said = _BOOT_MOUNT.search(table)
        return said[1] if said else "/boot"

    def _mounted(self, path: str) -> tuple[Files, str] | None:
        for point, files in self._mounts:
            if path == point or path.startswith(point + "/"):
                return files, path[len(point) :] or "/"
        return None


def _roles(command_line: str | None) -> dict[str, str]:
    """The root's device as the command line calls it."""
    said = _ROOT_WORD.search(command_line or "")
    if said is None:
        return {}
    whole = _WHOLE.match(said[1])
    disk = (whole[1] or whole[2]) if whole else said[1]
    return {"root_part": said[1], "root_disk": disk}
