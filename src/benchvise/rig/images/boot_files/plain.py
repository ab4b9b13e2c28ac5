"""Files of fixed names that U-Boot's own environment loads, with or without ``uEnv.txt``."""

from __future__ import annotations

import posixpath
import re

from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.style import BootEntry, BootSide
from benchvise.rig.images.filesystems import Files, below
from benchvise.rig.images.kernel import identify

_HOMES = ("/", "/boot")
_KERNELS = ("Image", "zImage", "uImage", "Image.gz", "fitImage", "vmlinuz")
_INITRDS = ("initrd.img", "initrd", "initrd.gz", "uInitrd", "ramdisk.gz", "initramfs.img")
_SCRIPTS = ("boot.scr", "boot.scr.uimg")
_BOOTARGS = re.compile(r"^bootargs=(.*)$", re.M)


class Plain:
    """Boots what lies under the names that U-Boot was built with, or is told by a script."""

    name = "u-boot"

    def find(self, files: Files) -> BootEntry | None:
        """A kernel of a usual name."""
        for home in _HOMES:
            names = files.names(home)
            script = next((name for name in _SCRIPTS if name in names), "")
            kernel = next((name for name in _KERNELS if files.is_file(_in(home, name))), "")
            if not script and not kernel:
                continue
            initrd = next((name for name in _INITRDS if files.is_file(_in(home, name))), "")
            trees = [_in(home, name) for name in sorted(names) if name.endswith(".dtb")]
            trees += [_in(home, name) for name in ("dtbs", "dtb") if names.get(name)]
            environment = _in(home, "uEnv.txt")
            has_environment = files.is_file(environment)
            return BootEntry(
                self.name,
                (environment,) if has_environment else (),
                (_in(home, kernel),) if kernel else (),
                (_in(home, initrd),) if initrd else (),
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
            to = _in(home, posixpath.basename(tree))
            if source.files.is_file(tree):
                new[to] = source.files.read(tree)
            else:
                for path in below(source.files, tree):
                    new[to + path[len(tree) :]] = source.files.read(path)
        for tree in target.boot.trees:
            target.files.remove(tree)
        for path, data in new.items():
            target.files.put(path, data)
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
        text = target.files.read(path).decode(errors="surrogateescape")
        text = _BOOTARGS.sub(lambda _: f"bootargs={line}", text)
        target.files.put(path, text.encode(errors="surrogateescape"))
        return [f"bootargs of {path}"]


def _in(home: str, name: str) -> str:
    return posixpath.join(home, name)


def _bootargs(files: Files, path: str) -> str | None:
    lines = _BOOTARGS.findall(files.read(path, 1 << 20).decode(errors="surrogateescape"))
    return lines[-1].strip() if lines else None
