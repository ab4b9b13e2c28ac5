"""Init settings: what /etc tells the system to do and to set when it starts."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from benchvise.rig.compose.layers import init_parts
from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary, Swap, digest
from benchvise.rig.compose.layers.lines import is_active
from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.layout import OpenedImage

SETTINGS = (
    "rc.local", "rc.conf", "inittab", "init.d", "rcS.d", "rc.d", "local.d", "conf.d", "runlevels",
    *(f"rc{level}.d" for level in range(7)), "default",
    *(f"systemd/{name}" for name in (
        "system", "user", "system-preset", "user-preset", "system.conf", "system.conf.d",
        "user.conf", "journald.conf", "journald.conf.d", "logind.conf", "sleep.conf", "oomd.conf",
        "zram-generator.conf",
    )),
    "sysctl.conf", "sysctl.d",
    "modprobe.conf", "modprobe.d", "modules", "modules-load.d",
    "udev", "mdev.conf", "mdev", "tmpfiles.d", "binfmt.d",
    "security/limits.conf", "security/limits.d",
    "cpufrequtils", "tuned", "tlp.conf", "tlp.d", "irqbalance.conf", "sysfs.conf", "sysfs.d",
    "ld.so.preload", "environment",
)  # fmt: skip
"""In /etc. Accounts, addresses, certificates, fstab and what packages note for themselves are not
among them: these belong to the root file system, whose files carry the owners that they name."""

_MOST_NAMED = 5


class InitSettings:
    """Scripts, units, presets, sysctl, module options, udev rules, limits."""

    name = "init-settings"

    def apply(self, swap: Swap) -> list[str]:
        """Each item becomes the source's; what the source does not have goes away."""
        ours, theirs = swap.target.need_root(), swap.source.need_root()
        there, here = settings(theirs), settings(ours)
        if not there:
            raise ImageError(
                f"{swap.source.name} has no init settings in /etc", "look at what the image holds"
            )
        _refuse_other_init(swap)
        for name in here:
            ours.remove(posixpath.join("/etc", name))
        count = 0
        for name in there:
            path = posixpath.join("/etc", name)
            parent = ours.make(posixpath.dirname(path))
            items = tree(theirs, path, posixpath.join(parent, posixpath.basename(path)))
            count += graft(theirs, items, ours)
            swap.warnings += _dangling(ours, theirs, items)
        gone = [name for name in here if name not in there]
        return [f"{count} files: {', '.join(there)}", *(f"/etc/{name} removed" for name in gone)]

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """All files but for comments: by path, mode and contents."""
        if opened.root is None:
            return LayerSummary("", "")
        settings_files = files(opened.root)
        pairs = [
            part
            for path, file in settings_files.items()
            for part in (path, f"{file.node.mode:o}", "\n".join(_effective_lines(file)))
        ]
        return LayerSummary(digest(*pairs), f"{len(settings_files)} files")

    def parts(self, first: OpenedImage, second: OpenedImage) -> list[LayerPart]:
        """Lines of texts, and files that are no text or that one side does not have."""
        return init_parts.parts(files(first.need_root()), files(second.need_root()))

    def apply_parts(self, swap: Swap, names: Sequence[str]) -> list[str]:
        """These lines and files become the source's."""
        _refuse_other_init(swap)
        return init_parts.apply_parts(swap, names, files)


def files(root: Ext) -> dict[str, init_parts.SettingsFile]:
    """All files of the init settings by path."""
    return init_parts.files(root, [posixpath.join("/etc", name) for name in settings(root)])


def _effective_lines(file: init_parts.SettingsFile) -> list[str]:
    """What a file says: a text without its comments, all else by its contents."""
    return (
        [file.content] if file.lines is None else [line for line in file.lines if is_active(line)]
    )


def _refuse_other_init(swap: Swap) -> None:
    """ImageError when the settings of one mean nothing to the other."""
    inits = [
        side.layout.userland.init for side in (swap.target, swap.source) if side.layout.userland
    ]
    if len(inits) == 2 and inits[0].split(" ")[0] != inits[1].split(" ")[0]:
        raise ImageError(
            f"{swap.target.name} starts by {inits[0] or 'an unknown init'} and "
            f"{swap.source.name} by {inits[1] or 'an unknown init'}: the settings of one mean "
            "nothing to the other",
            "take the layer root instead",
        )


def settings(root: Ext) -> list[str]:
    """Which of them a root file system has."""
    return [name for name in SETTINGS if root.find(f"/etc/{name}", follow=False) is not None]


def _dangling(ours: Ext, theirs: Ext, items: dict[str, Inode]) -> list[str]:
    """Links of the source that meant something there and mean nothing here."""
    links = {path: node for path, node in items.items() if node.is_link}
    missing = [
        path
        for path, node in links.items()
        if ours.find(path) is None and theirs.find(path) is not None and theirs.target(node)
    ]
    if not missing:
        return []
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    return [f"settings name what this root has not: {', '.join(missing[:_MOST_NAMED])}{more}"]
