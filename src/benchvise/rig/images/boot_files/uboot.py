"""What U-Boot loads: by ``extlinux.conf``, as syslinux does too, or under fixed names.

extlinux.conf after U-Boot, doc/usage/cmd/sysboot and boot/pxe_utils.c: keywords in any case, one a
line; the label is that of DEFAULT or the one marked MENU DEFAULT, else the first; a path that does
not begin with ``/`` begins at the directory of the file. Files of fixed names are loaded by
U-Boot's own environment, with or without ``uEnv.txt``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.style import BootEntry, BootSide
from benchvise.rig.images.filesystems import Files, absolute, below, put_text, read_text, replace
from benchvise.rig.images.kernel import identify

_PLACES = (
    "/extlinux/extlinux.conf",
    "/boot/extlinux/extlinux.conf",
    "/extlinux.conf",
    "/boot/extlinux.conf",
    "/syslinux.cfg",
    "/syslinux/syslinux.cfg",
)
_KEYS = {
    "kernel": "kernel",
    "linux": "kernel",
    "initrd": "initrd",
    "fdt": "fdt",
    "devicetree": "fdt",
    "fdtdir": "fdtdir",
    "devicetreedir": "fdtdir",
    "fdtoverlays": "fdtoverlays",
    "devicetree-overlay": "fdtoverlays",
    "append": "append",
}


_HOMES = ("/", "/boot")
_KERNELS = ("Image", "zImage", "uImage", "Image.gz", "fitImage", "vmlinuz")
_INITRDS = ("initrd.img", "initrd", "initrd.gz", "uInitrd", "ramdisk.gz", "initramfs.img")
_SCRIPTS = ("boot.scr", "boot.scr.uimg")
_BOOTARGS = re.compile(r"^bootargs=(.*)$", re.M)


@dataclass(frozen=True, slots=True)
class BootLabel:
    """An entry of the file: the lines it takes, and its values by the keys of U-Boot."""

    name: str
    begin: int
    end: int
    values: Mapping[str, str]


class Extlinux:
    """Boots by extlinux.conf."""

    name = "extlinux"

    def find(self, files: Files) -> BootEntry | None:
        """The entry that boots by default."""
        place = next((place for place in _PLACES if files.is_file(place)), None)
        if place is None:
            return None
        text = read_text(files, place)
        label = chosen(text)
        if label is None or "kernel" not in label.values:
            return None
        directory = posixpath.dirname(place)
        overlays = label.values.get("fdtoverlays", "").split()
        trees = [label.values.get("fdt", ""), label.values.get("fdtdir", ""), *overlays]
        includes = any(line.split()[:1] == ["include"] for line in text.lower().splitlines())
        return BootEntry(
            self.name,
            (place,),
            (absolute(_file(label.values["kernel"]), directory),),
            tuple(absolute(name, directory) for name in _initrds(label)),
            tuple(absolute(tree, directory) for tree in trees if tree),
            " ".join(_options(label)),
            f"{place} includes other files" if includes else "",
        )

    def put_kernel(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts kernel and initial RAM disk where the old ones were, under their own names."""
        text, label = _label(target)
        old = [target.boot.kernels[0], *target.boot.initrds]
        taken = _used(text, target, but=label)
        kernel = _room(target.boot.kernels[0], source.boot.kernels[0], taken)
        place = (target.boot.initrds or target.boot.kernels)[0]
        initrds = [_room(place, initrd, taken | {kernel}) for initrd in source.boot.initrds]
        contents = [
            source.files.read(path) for path in (*source.boot.kernels, *source.boot.initrds)
        ]
        new = dict(zip([kernel, *initrds], contents, strict=True))
        replace(target.files, [path for path in old if path not in taken], new)
        suffix = _configuration(_label(source)[1].values["kernel"])
        values = {
            "kernel": kernel + suffix,
            "initrd": ",".join(initrds) or None,
            "append": " ".join(_options(label)) or None,
        }
        _write(target, edited(text, label, values))
        return [f"{kernel} in place of {old[0]}", *(f"initrd {path}" for path in initrds)]

    def put_trees(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts device tree, overlays, or the directory of device trees that U-Boot chooses from."""
        text, label = _label(target)
        _, theirs = _label(source)
        taken = _used(text, target, but=label) | {*target.boot.kernels, *target.boot.initrds}
        home = posixpath.dirname(target.boot.kernels[0])
        ours = posixpath.dirname(target.boot.configuration[0])
        where = posixpath.dirname(source.boot.configuration[0])
        old_file = absolute(label.values["fdt"], ours) if "fdt" in label.values else ""
        old_directory = absolute(label.values["fdtdir"], ours) if "fdtdir" in label.values else ""
        new: dict[str, bytes] = {}
        values: dict[str, str | None] = {"fdt": None, "fdtdir": None, "fdtoverlays": None}
        if "fdtdir" in theirs.values:
            top = absolute(theirs.values["fdtdir"], where)
            directory = old_directory or posixpath.join(home, "dtbs")
            values["fdtdir"] = directory
            for path in below(source.files, top):
                new[directory + path[len(top.rstrip("/")) :]] = source.files.read(path)
        if "fdt" in theirs.values:
            path = absolute(theirs.values["fdt"], where)
            file = _room(old_file or posixpath.join(home, "x"), path, taken)
            values["fdt"] = file
            new[file] = source.files.read(path)
        overlays = []
        for word in theirs.values.get("fdtoverlays", "").split():
            path = absolute(word, where)
            overlays.append(_room(old_file or posixpath.join(home, "x"), path, taken))
            new[overlays[-1]] = source.files.read(path)
        values["fdtoverlays"] = " ".join(overlays) or None
        if not new:
            raise ImageError(
                f"{source.files.where} has no device tree of its own: "
                "its boot loader brings one, or the board does",
                "take the layer bootloader instead",
            )
        kept = any(path == old_directory or path.startswith(old_directory + "/") for path in taken)
        if old_directory not in ("", "/") and not kept:
            target.files.remove(old_directory)
        if old_file and old_file not in taken:
            target.files.remove(old_file)
        for path, data in new.items():
            target.files.put(path, data)
        _write(target, edited(text, label, values))
        return [f"{len(new)} device trees and overlays, such as {min(new)}"]

    def put_command_line(self, target: BootSide, line: str) -> list[str]:
        """Sets APPEND of the entry that boots by default."""
        text, label = _label(target)
        ours = [word for word in label.values.get("append", "").split() if _names_initrd(word)]
        options = [*line.split(), *ours]
        _write(target, edited(text, label, {"append": " ".join(options) or None}))
        return [f"APPEND of {target.boot.configuration[0]}"]


def labels(text: str) -> list[BootLabel]:
    """All entries of the file."""
    lines = text.splitlines()
    begins = [index for index, line in enumerate(lines) if _key(line)[0] == "label"]
    entries = []
    for begin, end in zip(begins, [*begins, len(lines)][1:], strict=True):
        values: dict[str, str] = {}
        for line in lines[begin + 1 : end]:
            key, value = _key(line)
            if key in _KEYS and value != "-":  # syslinux: "append -" means none
                values[_KEYS[key]] = value
        entries.append(BootLabel(_key(lines[begin])[1], begin, end, values))
    return entries


def chosen(text: str) -> BootLabel | None:
    """The entry that boots when nobody chooses another."""
    entries = labels(text)
    lines = text.splitlines()
    default = next((_key(line)[1] for line in reversed(lines) if _key(line)[0] == "default"), "")
    for label in entries:
        marks = (line.lower().split() for line in lines[label.begin : label.end])
        if any(fields == ["menu", "default"] for fields in marks):
            default = label.name
    return next(
        (label for label in entries if label.name == default), entries[0] if entries else None
    )


def edited(text: str, label: BootLabel, values: Mapping[str, str | None]) -> str:
    """The file with these values in one entry; None takes a key out. All else stays as it is."""
    lines = text.splitlines()
    waiting = dict(values)
    entry: list[str] = []
    indent = "    "
    for line in lines[label.begin + 1 : label.end]:
        key = _KEYS.get(_key(line)[0], "")
        if key:
            indent = line[: len(line) - len(line.lstrip())]
        if key not in values:
            entry.append(line)
            continue
        value = waiting.pop(key, None)
        if value is not None:
            entry.append(f"{indent}{line.split()[0]} {value}")
    while entry and not entry[-1].strip():
        entry.pop()
    entry += [f"{indent}{key} {value}" for key, value in waiting.items() if value is not None]
    blank = [""] if label.end < len(lines) else []
    return "\n".join([*lines[: label.begin + 1], *entry, *blank, *lines[label.end :]]) + "\n"


def _key(line: str) -> tuple[str, str]:
    fields = line.strip().split(None, 1)
    if not fields or fields[0].startswith("#"):
        return "", ""
    return fields[0].lower(), fields[1].strip() if len(fields) > 1 else ""


def _write(target: BootSide, text: str) -> None:
    put_text(target.files, target.boot.configuration[0], text)


def _label(side: BootSide) -> tuple[str, BootLabel]:
    text = read_text(side.files, side.boot.configuration[0])
    label = chosen(text)
    if label is None:
        raise ImageError(f"{side.files.where}: its extlinux.conf has no entry", "add one")
    return text, label


def _file(kernel: str) -> str:
    """The path alone: behind ``#`` is which configuration of a FIT image to take."""
    return kernel.split("#", 1)[0]


def _configuration(kernel: str) -> str:
    return kernel[len(_file(kernel)) :]


def _names_initrd(word: str) -> bool:
    return word.startswith("initrd=")


def _initrds(label: BootLabel) -> list[str]:
    """From INITRD, or as syslinux allows, from the command line."""
    options = label.values.get("append", "").split()
    named = [option.removeprefix("initrd=") for option in options if _names_initrd(option)]
    listed = label.values["initrd"] if "initrd" in label.values else ",".join(named)
    return [name for name in listed.split(",") if name]


def _options(label: BootLabel) -> list[str]:
    return [word for word in label.values.get("append", "").split() if not _names_initrd(word)]


def _used(text: str, target: BootSide, *, but: BootLabel) -> set[str]:
    """The files that other entries name."""
    directory = posixpath.dirname(target.boot.configuration[0])
    used: set[str] = set()
    for label in labels(text):
        if label.begin != but.begin:
            named = [_file(label.values.get("kernel", "")), *_initrds(label)]
            named += [label.values.get("fdt", ""), label.values.get("fdtdir", "")]
            used |= {absolute(name, directory) for name in named if name}
    return used


def _room(old: str, new: str, taken: set[str]) -> str:
    """Where ``new`` goes: beside ``old``, under its own name unless another entry has that."""
    path = posixpath.join(posixpath.dirname(old), posixpath.basename(new))
    return path + ".layer" if path in taken else path


class Plain:
    """Boots what lies under the names that U-Boot was built with, or is told by a script."""

    name = "u-boot"

    def find(self, files: Files) -> BootEntry | None:
        """A kernel of a usual name."""
        for home in _HOMES:
            names = files.names(home)
            script = next((name for name in _SCRIPTS if name in names), "")
            kernel = next(
                (name for name in _KERNELS if files.is_file(posixpath.join(home, name))), ""
            )
            if not script and not kernel:
                continue
            initrd = next(
                (name for name in _INITRDS if files.is_file(posixpath.join(home, name))), ""
            )
            trees = [posixpath.join(home, name) for name in sorted(names) if name.endswith(".dtb")]
            trees += [posixpath.join(home, name) for name in ("dtbs", "dtb") if names.get(name)]
            environment = posixpath.join(home, "uEnv.txt")
            has_environment = files.is_file(environment)
            return BootEntry(
                self.name,
                (environment,) if has_environment else (),
                (posixpath.join(home, kernel),) if kernel else (),
                (posixpath.join(home, initrd),) if initrd else (),
                tuple(trees),
                _bootargs(files, environment) if has_environment else None,
                f"it boots by {script}, a script that decides itself what is loaded"
                if script
                else "",
            )
        return None

    def put_kernel(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts them under the old names, as U-Boot's environment knows no others."""
        ours, theirs = target.boot.kernels[0], source.boot.kernels[0]
        data = source.files.read(theirs)
        old, new = identify(target.files.read(ours)), identify(data)
        if old.form != new.form:
            raise ImageError(
                f"the U-Boot of {target.files.where} loads a kernel of the form {old.form}, "
                f"and that of {source.files.where} is {new.form or 'unknown'}",
                "take an image whose kernel has the same form, or one with extlinux.conf",
            )
        if bool(target.boot.initrds) != bool(source.boot.initrds):
            raise ImageError(
                f"only one of {target.files.where} and {source.files.where} has an initial RAM "
                "disk, and whether one is loaded stands in U-Boot's environment",
                "take images that both have one, or use extlinux.conf",
            )
        changes = [(ours, data)]
        for to, path in zip(target.boot.initrds, source.boot.initrds, strict=True):
            changes.append((to, source.files.read(path)))
        for to, contents in changes:
            target.files.put(to, contents)
        return [f"{to} replaced" for to, _ in changes]

    def put_trees(self, target: BootSide, source: BootSide) -> list[str]:
        """Puts them under their own names: U-Boot loads those that have the name of an old one."""
        if not source.boot.trees:
            raise ImageError(
                f"{source.files.where} has no device tree of its own", "take the layer bootloader"
            )
        new: dict[str, bytes] = {}
        home = posixpath.dirname(target.boot.kernels[0])
        for tree in source.boot.trees:
            to = posixpath.join(home, posixpath.basename(tree))
            if source.files.is_file(tree):
                new[to] = source.files.read(tree)
            else:
                for path in below(source.files, tree):
                    new[to + path[len(tree) :]] = source.files.read(path)
        replace(target.files, target.boot.trees, new)
        return [f"{len(new)} device trees, such as {min(new)}"]

    def put_command_line(self, target: BootSide, line: str) -> list[str]:
        """Sets ``bootargs=`` of uEnv.txt."""
        if target.boot.command_line is None:
            raise ImageError(
                f"the command line of {target.files.where} stands in U-Boot's environment, "
                "not in a file",
                "use an image with extlinux.conf, or with bootargs= in uEnv.txt",
            )
        path = target.boot.configuration[0]
        text = _BOOTARGS.sub(lambda _: f"bootargs={line}", read_text(target.files, path))
        put_text(target.files, path, text)
        return [f"bootargs of {path}"]


def _bootargs(files: Files, path: str) -> str | None:
    lines = _BOOTARGS.findall(read_text(files, path))
    return lines[-1].strip() if lines else None
