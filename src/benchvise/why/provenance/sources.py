"""Where the files of a system are read: in a directory, on a board that runs, in an image.

A directory is a root tree of a build or a mounted card; symbolic links are followed inside of it,
as if it were the root. A board is read through its probe. Of an image it is the root file system,
with the boot partition where it is mounted: nothing is mounted and no root is needed, as
``benchvise.rig.images`` reads ext and FAT.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from benchvise.board.messages import FileError, FileValue
from benchvise.rig.card.image import open_image
from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.filesystems import Files
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.workplace import Workplace
from benchvise.why.provenance.files import FILE_LIMIT
from benchvise.why.provenance.globs import is_pattern, matches

_MOST_LINKS = 40  # as Linux: more symbolic links than these on one path are a circle


class DirectoryFiles:
    """The files below ``root``; ``roles`` are the devices that the system will have."""

    is_live = False

    def __init__(self, root: Path, name: str = "", roles: Mapping[str, str] | None = None) -> None:
        self._root = root
        self.name = name or root.name
        self.roles: Mapping[str, str] = dict(roles or {})
        self.unread: dict[str, str] = {}

    def names(self, directory: str) -> list[str]:
        """What a directory of the system holds."""
        place = self._resolve(directory)
        try:
            return [entry.name for entry in place.iterdir()] if place is not None else []
        except NotADirectoryError:
            return []
        except OSError as error:
            self.unread[directory] = error.strerror or "cannot be listed"
            return []

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The first bytes of each file that matches."""
        contents: dict[str, bytes] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            place = self._resolve(path)
            if place is None:
                continue
            try:
                if not stat.S_ISREG(place.stat().st_mode):
                    continue
                with place.open("rb") as stream:
                    contents[path] = stream.read(FILE_LIMIT)
            except OSError as error:
                self.unread[path] = error.strerror or "cannot be read"
        return contents

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead."""
        targets: dict[str, str] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            parent = self._resolve(posixpath.dirname(path))
            place = None if parent is None else parent / posixpath.basename(path)
            with contextlib.suppress(OSError):  # it is none, or may not be looked at
                if place is not None and place.is_symlink():
                    targets[path] = str(place.readlink())
        return targets

    def located(self, path: str) -> str | None:
        """The true path of a file of the system; None where there is none."""
        place = self._resolve(path)
        try:
            if place is None or not stat.S_ISREG(place.stat().st_mode):
                return None
        except OSError:
            return None
        return f"/{place.relative_to(self._root).as_posix()}"

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is larger than that."""
        try:
            with self._root.joinpath(path.lstrip("/")).open("rb") as stream:
                data = stream.read(limit + 1)
        except OSError:
            return None
        return data if len(data) <= limit else None

    def _resolve(self, path: str) -> Path | None:
        """Where a path of the system lies on this machine; None when there is nothing."""
        waiting = [part for part in path.split("/") if part][::-1]
        way: list[str] = []
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                way = way[:-1]
                continue
            here = self._root.joinpath(*way, part)
            try:
                if here.is_symlink():
                    links += 1
                    if links > _MOST_LINKS:
                        self.unread[path] = "a circle of symbolic links"
                        return None
                    target = str(here.readlink())
                    waiting += [piece for piece in target.split("/") if piece][::-1]
                    way = [] if target.startswith("/") else way
                    continue
                here.lstat()
            except FileNotFoundError:
                return None
            except OSError as error:
                self.unread[path] = error.strerror or "cannot be looked at"
                return None
            if part != ".":
                way.append(part)
        return self._root.joinpath(*way)


# -- a board ---------------------------------------------------------------------------------------

# By these a path says that there is nothing to read: no such file, or a directory.
_NOTHING = frozenset({"ENOENT", "ENOTDIR", "EISDIR", "EINVAL"})

# What lies here is a script or a program that a line of some other file runs.
_COMMANDS = ("/bin/", "/sbin/", "/usr/", "/lib/", "/opt/")
_HEAD = 64  # bytes that tell a program from a text

_LIMIT = 64 << 10
_LARGE = ("/proc/config.gz", "/boot/", "/lib/modules/", "/usr/lib/modules/", "/sys/firmware/fdt")
_LARGE_LIMIT = 480 << 10


class Readable(Protocol):
    """What is needed of a probe's channel."""

    def read(self, globs: Iterable[str], *, limit: int = 0) -> dict[str, FileValue | FileError]:
        """By path, what the files that the globs mean begin with, or why they cannot be read."""

    def links(self, globs: Iterable[str]) -> dict[str, str | FileError]:
        """By path, where the symbolic links that the globs mean lead."""


class ProbedFiles:
    """The files of a board. ``roles`` are those of its snapshot."""

    is_live = True

    def __init__(
        self, channel: Readable, name: str, roles: Mapping[str, str] | None = None
    ) -> None:
        self._channel = channel
        self.name = name
        self.roles: Mapping[str, str] = dict(roles or {})
        self.unread: dict[str, str] = {}

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The contents of all files that match, in three requests at most."""
        wanted = self._without_programs(list(globs))
        large = [glob for glob in wanted if glob.startswith(_LARGE)]
        contents: dict[str, bytes] = {}
        for group, limit in (
            ([glob for glob in wanted if glob not in set(large)], _LIMIT),
            (large, _LARGE_LIMIT),
        ):
            if group:
                self._take(self._channel.read(group, limit=limit), limit, contents)
        return contents

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead."""
        targets = self._channel.links(globs)
        return {path: target for path, target in targets.items() if isinstance(target, str)}

    def _without_programs(self, globs: list[str]) -> list[str]:
        """Without the files that are commands and no text: programs are large."""
        commands = [glob for glob in globs if glob.startswith(_COMMANDS) and not is_pattern(glob)]
        if not commands:
            return globs
        heads = self._channel.read(commands, limit=_HEAD)
        programs = {
            path
            for path, head in heads.items()
            if isinstance(head, FileValue) and (isinstance(head.value, bytes) or "\0" in head.value)
        }
        return [glob for glob in globs if glob not in programs]

    def _take(
        self, answer: Mapping[str, FileValue | FileError], limit: int, contents: dict[str, bytes]
    ) -> None:
        for path, content in answer.items():
            if isinstance(content, FileError):
                if content.name not in _NOTHING:
                    self.unread[path] = content.name[:40]
                continue
            value = content.value
            contents[path] = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
            if content.truncated:
                self.unread[path] = f"only its first {limit >> 10} KiB were looked at"


# -- an image --------------------------------------------------------------------------------------

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
        command_line = boot.command_line if boot is not None else None
        self.roles: Mapping[str, str] = dict(roles) if roles is not None else _roles(command_line)
        if opened.boot_files is not None and not opened.boots_from_root:
            self._mounts.append((self._boot_mount(), opened.boot_files))

    def names(self, directory: str) -> list[str]:
        """What a directory of the system holds."""
        mounted = self._mounted(directory)
        if mounted is not None:
            return list(mounted[0].names(mounted[1]))
        names = list(self._root.names(directory))
        return names + [
            posixpath.basename(point)
            for point, _ in self._mounts
            if posixpath.dirname(point) == directory and posixpath.basename(point) not in names
        ]

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The first bytes of each file that matches: those of the root in few runs of debugfs."""
        contents: dict[str, bytes] = {}
        nodes: dict[int, tuple[Inode, list[str]]] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            mounted = self._mounted(path)
            if mounted is not None:
                if mounted[0].is_file(mounted[1]):
                    contents[path] = mounted[0].read(mounted[1], FILE_LIMIT)
                continue
            node = self._root.find(path)
            if node is None or not node.is_file:
                continue
            if node.size > FILE_LIMIT:
                self.unread[path] = f"only its first {FILE_LIMIT >> 10} KiB were looked at"
            nodes.setdefault(node.inode, (node, []))[1].append(path)
        for node, data in self._root.contents(node for node, _ in nodes.values()):
            for path in nodes[node.inode][1]:
                contents[path] = data[:FILE_LIMIT]
        return contents

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead; a FAT file system has none."""
        targets: dict[str, Inode] = {}
        for path in dict.fromkeys(path for glob in globs for path in matches(self, glob)):
            if self._mounted(path) is None:
                node = self._root.find(path, follow=False)
                if node is not None and node.is_link:
                    targets[path] = node
        details = self._root.details(targets.values()) if targets else {}
        return {path: details[node.inode].target for path, node in targets.items()}

    def located(self, path: str) -> str | None:
        """The true path of a file of the root file system; None where there is none."""
        entry = self._root.locate(path)
        return entry[0] if entry is not None and entry[1].is_file else None

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is larger than that."""
        node = self._root.find(path)
        if node is None or node.size > limit:
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
        mount = _BOOT_MOUNT.search(table)
        return mount[1] if mount else "/boot"

    def _mounted(self, path: str) -> tuple[Files, str] | None:
        for point, files in self._mounts:
            if path == point or path.startswith(point + "/"):
                return files, path[len(point) :] or "/"
        return None


def _roles(command_line: str | None) -> dict[str, str]:
    """The root's device as the command line calls it."""
    root = _ROOT_WORD.search(command_line or "")
    if root is None:
        return {}
    whole = _WHOLE.match(root[1])
    disk = (whole[1] or whole[2]) if whole else root[1]
    return {"root_part": root[1], "root_disk": disk}
