"""The root file system of a card: ext4, made without privileges, and which of its blocks matter."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

from benchvise.rig.virtual.recipes import tools
from benchvise.rig.virtual.recipes.tools import EPOCH

BLOCK = 4096
_FEATURES = (
    "none,has_journal,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,large_file,"
    "huge_file,dir_nlink,extra_isize,uninit_bg"
)
_FILES = 8192  # room in its table of files, which is written to a card as a whole
_FREE = re.compile(r"^ +Free blocks: (.+)$", re.MULTILINE)


def make(target: Path, size: int, tree: Path, identity: str) -> None:
    """Makes a file system of ``size`` bytes that holds the files of ``tree``, owned by root.

    ``identity`` decides its UUID. The features are those that every kernel and every bootloader
    of the last ten years reads. RigError when the files do not fit.
    """
    name = str(uuid.uuid5(uuid.NAMESPACE_OID, identity))
    with target.open("wb") as image:
        image.truncate(size)
    options = f"root_owner=0:0,lazy_itable_init=1,nodiscard,hash_seed={name}"
    tools.run(
        *("mke2fs", "-q", "-F", "-t", "ext4", "-O", _FEATURES, "-b", str(BLOCK), "-I", "256"),
        *("-N", str(_FILES), "-m", "0", "-J", "size=4", "-L", "root", "-U", name, "-E", options),
        *("-d", tree, target),
    )
    tools.run("debugfs", "-w", "-f", "-", target, stdin=_own(tree).encode())


def _own(tree: Path) -> str:
    """Commands that give all files to root and set the times that mke2fs took from this system."""
    commands = []
    for directory, below, files in os.walk(tree):
        for name in (".", *sorted(below), *sorted(files)):
            path = "/" + str((Path(directory) / name).relative_to(tree))
            commands += [f'sif "{path}" {field} 0' for field in ("uid", "gid")]
            commands += [f'sif "{path}" {time} @{EPOCH}' for time in ("atime", "ctime", "crtime")]
    return "\n".join(commands) + "\n"


def used(image: Path) -> list[tuple[int, int]]:
    """The blocks in use, as start and end in bytes: what a card has to be written with."""
    said = tools.run("dumpe2fs", image)
    end = image.stat().st_size // BLOCK
    free = sorted(
        (int(first), int(last or first))
        for line in _FREE.findall(said)
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", line)
    )
    ranges, start = [], 0
    for first, last in [*free, (end, end)]:
        if first > start:
            ranges.append((start * BLOCK, first * BLOCK))
        start = last + 1
    return ranges
