"""The kernel's configuration: what it begins with, before anything is set."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Stage
from benchvise.why.provenance.defaults import options
from benchvise.why.provenance.files import FILE_LIMIT, Tree, lines_of

RUNNING = "/proc/config.gz"
GLOBS = (
    RUNNING,
    "/boot/config",
    "/boot/config-*",
    "/lib/modules/*/config",
    "/usr/lib/modules/*/config",
    "/lib/modules/*/build/.config",
)
LINKS: tuple[str, ...] = ()

_SET = re.compile(r"(CONFIG_[A-Za-z0-9_]{1,80})=(.*)")
_UNSET = re.compile(r"# (CONFIG_[A-Za-z0-9_]{1,80}) is not set")


def find(tree: Tree) -> Iterator[Assignment]:
    """Every option, and what the files of the kernel begin with for it."""
    path = configuration(tree)
    if not path:
        return
    for line in lines_of(path, _text(tree, path)):
        found = _SET.fullmatch(line.text.strip()) or _UNSET.fullmatch(line.text.strip())
        if found is None:
            continue
        name, setting = found[1], found[2] if found.re is _SET else "n"
        when = (Stage.KERNEL_DEFAULT, 1, line.number)
        yield Assignment("kernel config", line, f"config:{name}", setting.strip('"'), when)
        for option in options():
            if option.name == name:
                value = option.file_value(setting)
                if value is not None:
                    yield Assignment("kernel config", line, option.path, value, when)


def configuration(tree: Tree) -> str:
    """The configuration of the kernel that runs, or of the only one that is installed; empty when
    there is none."""
    if tree.has(RUNNING):
        return RUNNING
    kernel = tree.source.roles.get("kernel", "")
    all_paths = [path for glob in GLOBS[1:] for path in tree.paths(glob)]
    if kernel:
        return next((path for path in all_paths if kernel in path), "")
    return all_paths[-1] if all_paths else ""


def _text(tree: Tree, path: str) -> bytes:
    data = tree.data(path)
    if not path.endswith(".gz"):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, FILE_LIMIT)
    except zlib.error:
        return b""
