"""Copying trees from one ext file system into another with all that inodes carry.

debugfs's ``rdump`` makes files of this machine's, which belong to whoever runs it and can be no
devices. So contents go by way of plain files without meaning, and type, mode, owner, times,
device numbers, links and extended attributes are set in the inodes of the target.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Mapping
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext, Inode, InodeDetails, quoted
from benchvise.text import Untrusted

_OLD_INODE = 128  # bytes; without room for times of birth and for nanoseconds
_OLD_TIMES = ("ctime", "atime", "mtime")

_SPECIAL = {stat.S_IFCHR: "c", stat.S_IFBLK: "b", stat.S_IFIFO: "p"}


def tree(source: Ext, top: str, target: str) -> dict[str, Inode]:
    """A directory or file of ``source`` with all below it, by the paths they get in a target."""
    located = source.locate(top, follow=False)
    if located is None:
        return {}
    real, node = located
    below = source.walk(real) if node.is_directory else {}
    return {target: node, **{target + path[len(real) :]: child for path, child in below.items()}}


def needed_bytes(items: Mapping[str, Inode], block: int) -> int:
    """The bytes that these take in a file system with blocks of this size, at most."""
    blocks = sum(
        -(-node.size // block) + (1 if node.is_directory else 0) for node in items.values()
    )
    # One block in 64 for what tells where the others are, and one for directories that grow.
    return (blocks + blocks // 64 + len({posixpath.dirname(path) for path in items})) * block


def graft(source: Ext, items: Mapping[str, Inode], target: Ext) -> int:
    """Creates in ``target`` what ``source`` has; how many items that were.

    ``items`` are the new paths, those above before those below, of which none is there yet, and
    the source's nodes. Sockets are left out: programs make them anew. ImageError when it does
    not fit.
    """
    items = {path: node for path, node in items.items() if not stat.S_ISSOCK(node.mode)}
    if not items:
        return 0
    summary = target.summary
    need = needed_bytes(items, summary.block)
    if need > summary.free or len(items) > summary.free_inodes:
        raise ImageError(
            f"{target.where} has no room for {len(items)} files of {source.where}: "
            f"they take {need} bytes and {len(items)} inodes, "
            f"{summary.free} and {summary.free_inodes} are free",
            "take the other image as the base, and the other layers from this one",
        )
    details = source.details(items.values())
    directory = target.tools.directory / target.tools.scratch()
    directory.mkdir()
    try:
        _export(source, items, details, directory)
        target.execute(_script(items, details, directory.name, summary.inode_size), write=True)
    finally:
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()
    return len(items)


def _export(
    source: Ext, items: Mapping[str, Inode], details: Mapping[int, InodeDetails], directory: Path
) -> None:
    """Contents become files INODE, extended attributes INODE.NUMBER in the directory."""
    commands = []
    for node in {node.inode: node for node in items.values()}.values():
        if node.is_file:
            commands.append(f"dump <{node.inode}> {directory.name}/{node.inode}")
        for number, name in enumerate(details[node.inode].attributes):
            value = f"{directory.name}/{node.inode}.{number}"
            commands.append(f"ea_get -r -f {value} <{node.inode}> {quoted(name)}")
    source.execute(commands)
    for path, node in items.items():
        if node.is_file and (directory / str(node.inode)).stat().st_size != node.size:
            raise ImageError(
                f"{source.where}: {Untrusted(path)} could not be read whole",
                "check the image's partition with e2fsck -f, or get the image again",
            )


def _script(
    items: Mapping[str, Inode], details: Mapping[int, InodeDetails], directory: str, inode_size: int
) -> list[str]:
    """The commands that create everything."""
    commands: list[str] = []
    first: dict[int, str] = {}  # of files with several names
    several: dict[int, int] = {}
    above = ""
    for path, node in items.items():
        parent, name = posixpath.split(path)
        if parent != above:
            commands.append(f"cd {quoted(parent)}")
            above = parent
        more = details[node.inode]
        if node.inode in first:
            commands.append(f"ln {quoted(first[node.inode])} {quoted(name)}")
            several[node.inode] = several.get(node.inode, 1) + 1
            continue
        commands.append(_creation(node, more, name, directory))
        if not node.is_directory:
            first[node.inode] = path
        for number, attribute in enumerate(more.attributes):
            value = f"{directory}/{node.inode}.{number}"
            commands.append(f"ea_set -r -f {value} {quoted(path)} {quoted(attribute)}")
    for inode, links in several.items():
        commands.append(f"sif {quoted(first[inode])} links_count {links}")
    # Times last, and those below before those above: creating something sets its directory's.
    for path, node in reversed(list(items.items())):
        if first.get(node.inode, path) == path:
            itself = quoted(path)
            commands.append(f"sif {itself} mode 0{node.mode:o}")
            commands.append(f"sif {itself} uid {node.uid}")
            commands.append(f"sif {itself} gid {node.gid}")
            for field, value in details[node.inode].times:
                if inode_size > _OLD_INODE or field in _OLD_TIMES:
                    commands.append(f"sif {itself} {field} {value}")
    return commands


def _creation(node: Inode, details: InodeDetails, name: str, directory: str) -> str:
    if node.is_directory:
        return f"mkdir {quoted(name)}"
    if node.is_link:
        return f"symlink {quoted(name)} {quoted(details.target)}"
    if node.is_file:
        return f"write {directory}/{node.inode} {quoted(name)}"
    kind = _SPECIAL[stat.S_IFMT(node.mode)]
    numbers = f" {details.device[0]} {details.device[1]}" if details.device and kind != "p" else ""
    return f"mknod {quoted(name)} {kind}{numbers}"
