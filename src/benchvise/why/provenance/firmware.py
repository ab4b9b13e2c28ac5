"""What comes before Linux: config.txt of a Raspberry Pi, and properties of the device tree.

The live device tree is compiled: it names no line. The property is named as it is, and where it
may have been set: an overlay of config.txt or armbianEnv.txt, or the tree that came with the
kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Stage
from benchvise.why.provenance.files import Tree

CONFIG = ("/boot/firmware/config.txt", "/boot/config.txt", "/config.txt",
          "/boot/firmware/usercfg.txt", "/boot/usercfg.txt")  # fmt: skip
OVERLAYS = ("/boot/armbianEnv.txt", "/boot/uEnv.txt", "/boot/orangepiEnv.txt", "/uEnv.txt")

GLOBS = (*CONFIG, *OVERLAYS)
LINKS: tuple[str, ...] = ()

_SETTING = re.compile(r"\s*([a-z0-9_]{1,60})\s*=\s*(.*)", re.IGNORECASE)
_OVERLAY_KEYS = frozenset({"overlays", "user_overlays", "fdtfile", "dtbo", "uboot_overlay_addr4"})


def find(tree: Tree) -> Iterator[Assignment]:
    """The settings of the firmware, with the filters that they stand under."""
    for rank, path in enumerate(CONFIG):
        under = ""
        for line in tree.lines(path):
            text = line.text.split("#")[0].strip()
            if text.startswith("[") and text.endswith("]"):
                under = "" if text.lower() == "[all]" else text
                continue
            match = _SETTING.fullmatch(text)
            if match is None:
                continue
            name, value = match[1].lower(), match[2].strip()
            target = f"firmware:{name}"
            if name in ("dtoverlay", "dtparam", "device_tree_param"):
                target = f"firmware:{name}={value.partition('=')[0].partition(',')[0]}"
            note = f"only on {under}" if under else ""
            yield Assignment("config.txt", line, target, value,
                             (Stage.DEVICE_TREE, rank, line.number), not under, note)  # fmt: skip
    for rank, path in enumerate(OVERLAYS):
        for line in tree.lines(path):
            match = _SETTING.fullmatch(line.text.strip())
            if match is not None and match[1].lower() in _OVERLAY_KEYS:
                for name in match[2].split():
                    yield Assignment("device tree overlay", line, f"overlay:{name}", name,
                                     (Stage.DEVICE_TREE, rank, line.number))  # fmt: skip
