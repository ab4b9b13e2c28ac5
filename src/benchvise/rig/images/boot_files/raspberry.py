"""``config.txt`` and ``cmdline.txt``: what the firmware of a Raspberry Pi reads.

After the Raspberry Pi documentation, "The config.txt file". One file tells the firmware's own
settings, the kernel, and device trees; its lines are split among the layers by their keys.
Filters such as ``[pi4]`` hold until the next of them, and add up until ``[all]``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.style import BootEntry, BootSide
from benchvise.rig.images.filesystems import Files, absolute, below, put_text, read_text, replace

CONFIG = "/config.txt"

_KERNEL_KEYS = {
    "kernel",
    "initramfs",
    "auto_initramfs",
    "ramfsfile",
    "ramfsaddr",
    "kernel_address",
    "arm_64bit",
}
_TREE_KEYS = {
    "device_tree",
    "device_tree_address",
    "device_tree_end",
    "device_tree_param",
    "dtoverlay",
    "dtparam",
}
_PLACE_KEYS = {"os_prefix", "overlay_prefix", "cmdline", "include"}
"""Where things lie in this image: these stay."""

_KERNEL_FILE = re.compile(r"kernel[0-9a-z_]*\.img$")
_INITRD_FILE = re.compile(r"(initramfs|initrd)[\w.+-]*$")
_FIRMWARE_FILE = re.compile(r"(bootcode\.bin|start\w*\.elf|fixup\w*\.dat)$", re.I)


class Raspberry:
    """Boots by the firmware of a Raspberry Pi, which loads Linux itself."""

    name = "raspberry-pi"

    def find(self, files: Files) -> BootEntry | None:
        """All kernels, as the firmware takes one or another according to the board."""
        names = files.names("/")
        if not files.is_file(CONFIG):
            return None
        text = read_text(files, CONFIG)
        prefix = _prefix(text)
        kernels = _kernels(files, text, prefix)
        if not kernels and not any(_FIRMWARE_FILE.match(name) for name in names):
            return None
        line_file = _command_line_file(files, text)
        command_line = read_text(files, line_file) if kernels else ""
        home = files.names(posixpath.dirname(prefix) or "/")
        trees = [prefix + name for name in sorted(home) if name.endswith(".dtb")]
        overlays = _overlays(files, text, prefix)
        includes = any(_key(line) == "include" for line in text.splitlines())
        return BootEntry(
            self.name,
            (CONFIG, line_file),
            kernels,
            _initrds(files, text, prefix),
            (*trees, *([overlays] if overlays else [])),
            command_line.split("\n")[0].strip(),
            "its config.txt includes other files" if includes else "",
        )

    def put_kernel(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts all kernels and initial RAM disks, and the lines of config.txt about them."""
        ours, theirs = read_text(target.files, CONFIG), read_text(source.files, CONFIG)
        files = (*source.boot.kernels, *source.boot.initrds)
        new = _moved(files, source, theirs, _prefix(ours))
        replace(target.files, (*target.boot.kernels, *target.boot.initrds), new)
        put_text(target.files, CONFIG, merged(ours, theirs, is_kernel_key))
        return [f"{', '.join(sorted(new))} and the lines of config.txt about them"]

    def put_trees(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts all device trees and overlays, and the lines of config.txt about them."""
        ours, theirs = read_text(target.files, CONFIG), read_text(source.files, CONFIG)
        if not source.boot.trees:
            raise ImageError(
                f"{source.files.where} has no device tree", "take the layer from another image"
            )
        files = [
            path
            for tree in source.boot.trees
            for path in ([tree] if source.files.is_file(tree) else below(source.files, tree))
        ]
        new = _moved(files, source, theirs, _prefix(ours))
        replace(target.files, target.boot.trees, new)
        put_text(target.files, CONFIG, merged(ours, theirs, is_tree_key))
        return [f"{len(new)} device trees and overlays and the lines of config.txt about them"]

    def put_command_line(self, target: BootSide, line: str) -> list[str]:
        """Sets the first line of cmdline.txt, or of what config.txt names instead."""
        path = target.boot.configuration[1]
        put_text(target.files, path, f"{line}\n")
        return [path]


def is_kernel_key(key: str) -> bool:
    """Whether a line of config.txt belongs to the kernel."""
    return key in _KERNEL_KEYS


def is_tree_key(key: str) -> bool:
    """Whether a line of config.txt belongs to the device tree."""
    return key in _TREE_KEYS


def is_firmware_key(key: str) -> bool:
    """Whether a line of config.txt is for the firmware itself: clocks, memory, displays."""
    return key not in _KERNEL_KEYS | _TREE_KEYS | _PLACE_KEYS


def firmware_files(files: Files) -> list[str]:
    """What the boot ROM loads."""
    return [f"/{name}" for name in sorted(files.names("/")) if _FIRMWARE_FILE.match(name)]


def merged(ours: str, theirs: str, belongs: Callable[[str], bool]) -> str:
    """``ours``, with all lines that belong to a layer taken from ``theirs``, in their order."""
    kept = [line for line in ours.splitlines() if not (_key(line) and belongs(_key(line)))]
    while kept and not kept[-1].strip():
        kept.pop()
    under: tuple[str, ...] = ()
    added: list[str] = []
    for filters, line in _filtered(theirs):
        if belongs(_key(line)):
            if filters != under or not added:
                added += ["[all]", *filters]
                under = filters
            added.append(line)
    return "\n".join([*kept, *added, *(["[all]"] if under else [])]) + "\n"


def _filtered(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The lines that set something, each with the filters it stands under."""
    filters: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            inside = stripped[1:-1].lower()
            if inside in ("all", "none"):
                filters = {} if inside == "all" else {"none": stripped}
            else:  # filters of one type replace each other
                filters[re.split(r"[=:]", inside)[0] if re.search("[=:]", inside) else ""] = (
                    stripped
                )
        elif _key(line):
            yield tuple(filters.values()), stripped


def _key(line: str) -> str:
    """What a line sets; empty for comments and filters."""
    stripped = line.strip()
    if not stripped or stripped[0] in "#[":
        return ""
    return re.split(r"[=\s]", stripped, maxsplit=1)[0].lower()


def _values(text: str, key: str) -> list[str]:
    values = []
    for _, line in _filtered(text):
        if _key(line) == key:
            values.append(line.split("=", 1)[-1] if "=" in line.split()[0] else line)
    return values


def _prefix(text: str) -> str:
    """What comes before the names of kernel, device trees and command line: often a directory."""
    return "/" + (_values(text, "os_prefix") or [""])[-1].strip().lstrip("/")


def _command_line_file(files: Files, text: str) -> str:
    name = (_values(text, "cmdline") or ["cmdline.txt"])[-1].strip()
    return _prefix(text) + name if files.is_file(_prefix(text) + name) else absolute(name)


def _kernels(files: Files, text: str, prefix: str) -> tuple[str, ...]:
    named = [value.strip() for value in _values(text, "kernel")]
    return _loadable(files, prefix, _KERNEL_FILE, named)


def _initrds(files: Files, text: str, prefix: str) -> tuple[str, ...]:
    named = [line.split()[1] for line in _values(text, "initramfs") if len(line.split()) > 1]
    return _loadable(files, prefix, _INITRD_FILE, named)


def _loadable(
    files: Files, prefix: str, usual: re.Pattern[str], named: Sequence[str]
) -> tuple[str, ...]:
    """The files that are there: those of usual names, and those that config.txt names."""
    home = posixpath.dirname(prefix)
    standard = (posixpath.join(home, name) for name in files.names(home) if usual.match(name))
    paths = {*standard, *(prefix + name for name in named)}
    return tuple(sorted(path for path in paths if files.is_file(path)))


def _overlays(files: Files, text: str, prefix: str) -> str:
    directory = (_values(text, "overlay_prefix") or ["overlays/"])[-1].strip().rstrip("/")
    path = absolute(prefix + directory)
    return path if files.names(path) else ""


def _moved(
    paths: list[str] | tuple[str, ...], source: BootSide, text: str, prefix: str
) -> dict[str, bytes]:
    """Files of the source by the paths they get under another prefix."""
    theirs = _prefix(text)
    return {prefix + path.removeprefix(theirs): source.files.read(path) for path in paths}
