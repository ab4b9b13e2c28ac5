"""The root file system: all of it but what belongs to the kernel and to this card.

It moves block by block, so nothing of any file is lost; then the base's own parts are put back:
modules, boot files, and the table of what is mounted where. Its identity (UUID, label) becomes
that of the base's, so that everything that names it still finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchvise.rig.compose.layers.init_settings import settings_files
from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest
from benchvise.rig.compose.layers.libc import library_files
from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext
from benchvise.rig.images.filesystems import Files, put_text, read_text
from benchvise.rig.images.graft import graft, needed_bytes, tree
from benchvise.rig.images.layout import MODULES, OpenedImage

_MINIMUM = re.compile(rb"minimum size of the filesystem: (\d+)")
_FSTAB = "/etc/fstab"
_BOOT = "/boot"


class Root:
    """Programs, libraries, settings, accounts."""

    name = "root"

    def apply(self, swap: Swap) -> list[str]:
        """Prepares the new file system in a file of its own, then puts it over the old one."""
        old, new_name = swap.target.need_root(), _resized(swap)
        new = Ext(swap.work.tools, new_name, 0, f"{swap.target.name} with the new root")
        done = [f"{new.summary.size} bytes of {swap.source.name}"]
        put_back = [MODULES] if "kernel" not in swap.others else []
        if swap.target.boots_from_root:
            put_back.append(_BOOT)
        elif swap.source.boots_from_root and swap.source.layout.boot is not None:
            boot = swap.source.layout.boot
            for path in (*boot.configuration, *boot.kernels, *boot.initrds, *boot.trees):
                new.remove(path)
        new.remove(MODULES)
        for path in put_back:
            _put_back(old, new, path)
            done.append(f"{path} is still that of {swap.target.name}")
        done += _table(old, new)
        swap.work.insert(new_name, swap.target.path, swap.target.root_place)
        return done

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """What of it is no layer of its own: all files but settings, C library and modules."""
        root = opened.root
        if root is None:
            return LayerSummary("", "")
        others = {*settings_files(root), *library_files(root)}
        left_out = [f"{MODULES}/", f"/usr{MODULES}/", "/boot/config-", "/boot/System.map-"]
        left_out += [f"{_BOOT}/"] if opened.boots_from_root else []
        nodes = {
            path: node
            for path, node in root.walk("/").items()
            if path not in others and path != _FSTAB and not path.startswith(tuple(left_out))
        }
        inodes = {node.inode: node for node in nodes.values() if node.is_file}
        data = {node.inode: digest(content) for node, content in root.contents(inodes.values())}
        pairs = [
            part
            for path, node in sorted(nodes.items())
            for part in (path, f"{node.mode:o} {node.uid} {node.gid}", data.get(node.inode, ""))
        ]
        land = opened.layout.userland
        return LayerSummary(
            digest(*pairs), f"{land.distribution if land else ''} {len(nodes)} files".strip()
        )


def _resized(swap: Swap) -> str:
    """The source's root file system in a file, as large as the target's; the file's name."""
    work, old, theirs = swap.work, swap.target.need_root(), swap.source.need_root()
    room, was, now = swap.target.root_place.size, old.summary, theirs.summary
    name = work.extract(swap.source.path, swap.source.root_place, now.size)
    work.check(name)
    output = work.tools.run(["resize2fs", "-P", name])
    minimum = _MINIMUM.search(output.stdout)
    least = int(minimum[1]) * now.block if minimum else now.size - now.free
    keep = needed_bytes(tree(old, MODULES, MODULES), now.block)
    if swap.target.boots_from_root:
        keep += needed_bytes(tree(old, _BOOT, _BOOT), now.block)
    size = was.size if least + keep <= was.size else room
    if least + keep > room:
        raise ImageError(
            f"the root of {swap.source.name} is too large for {swap.target.name}: it takes {least} "
            f"bytes, with what stays there {least + keep}, and the partition has {room}",
            f"take {swap.source.name} as the base, and the other layers from {swap.target.name}",
        )
    path = work.tools.directory / name
    with path.open("r+b") as stream:
        stream.truncate(max(size, now.size))
    work.tools.run(["resize2fs", name, f"{size // 1024}K"])
    work.tools.run(["tune2fs", "-U", was.identity, "-L", was.label, name])
    return name


def _put_back(old: Ext, new: Ext, path: str) -> None:
    """A directory of the old file system, in place of the new one's."""
    located = new.locate(path, follow=False)
    if located is not None:
        new.remove(path)
    kept = old.locate(path)
    if kept is None:
        return
    parent, _, name = path.rpartition("/")
    place = new.make(parent or "/").rstrip("/")
    graft(old, tree(old, kept[0], f"{place}/{name}"), new)


def _table(old: Ext, new: Ext) -> list[str]:
    """fstab of this card, and the directories that it needs."""
    ours = _fstab(old)
    if not ours:
        new.remove(_FSTAB)
        return []
    put_text(new, _FSTAB, merged_fstab(ours, _fstab(new)))
    for point in mount_points(ours):
        if new.locate(point) is None:
            new.make(point)
    return [f"{_FSTAB} is merged: devices of the old one, mount options of the new one"]


def _fstab(files: Files) -> str:
    return read_text(files, _FSTAB) if files.is_file(_FSTAB) else ""


def merged_fstab(ours: str, theirs: str) -> str:
    """Our table, which knows this card's partitions, with their options where both mount the same.

    So a mount option that makes a difference (noatime, commit=) comes along with the root.
    """
    options = {(fields[1], fields[2]): fields[3] for fields in _fstab_entries(theirs)}
    lines = []
    for line in ours.splitlines():
        fields = _fstab_fields(line)
        if fields and (fields[1], fields[2]) in options:
            fields[3] = options[fields[1], fields[2]]
            line = "\t".join(fields)
        lines.append(line)
    return "\n".join(lines) + "\n" if lines else ""


def mount_points(text: str) -> list[str]:
    """The directories that it mounts something on."""
    return [fields[1] for fields in _fstab_entries(text) if fields[1].startswith("/")]


def _fstab_entries(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        fields = _fstab_fields(line)
        if fields:
            yield fields


def _fstab_fields(line: str) -> list[str]:
    """Device, mount point, type, options and what follows; empty for a comment."""
    fields = line.split()
    return fields if len(fields) >= 4 and not fields[0].startswith("#") else []
