#!/usr/bin/env python3
"""Fetches Debian's kernel for the tests that need a machine of their own, which QEMU emulates.

Nothing is installed: only what the tests start is unpacked, into ``build/guest-kernel``. Version
and checksum are pinned (``benchvise.rig.virtual.recipes.pins``), and the package is kept in the
user's cache directory. Where it cannot be had those tests skip; with STRICT=1 that is an error.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath

from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import fresh
from benchvise.rig.virtual.recipes.packages import Archive

DIRECTORY = Path(__file__).resolve().parents[1] / "build" / "guest-kernel"
ARCHIVE = Archive("bookworm", "amd64")
PACKAGES = ("linux-image-amd64",)
_MODULES = ("hid.ko", "uhid.ko", "hid-cp2112.ko")
_USED = "package"


def main() -> int:
    """Fetches it unless it is there. Returns the exit status."""
    try:
        fetch()
    except ImageError as error:
        print(
            f"no kernel for the tests in a virtual machine, which are left out: {error}",
            file=sys.stderr,
        )
        return int(os.environ.get("STRICT", "") not in ("", "0"))
    return 0


def fetch() -> None:
    """Unpacks kernel and modules. ImageError when the package cannot be had or used."""
    (package,) = ARCHIVE.download(PACKAGES)
    used = f"{package.name} {package.version} sha256:{package.sha256}\n"
    note = DIRECTORY / _USED
    if note.exists() and note.read_text() == used:
        return
    print(f"unpacking {package.name} for the tests in a virtual machine")
    with fresh(DIRECTORY) as unfinished:
        for member, data in package.members(is_wanted):
            name = PurePosixPath(member.name).name
            (unfinished / ("vmlinuz" if name.startswith("vmlinuz") else name)).write_bytes(data)
        unpacked = {path.name.removesuffix(".xz") for path in unfinished.iterdir()}
        if missing := {"vmlinuz", *_MODULES} - unpacked:
            raise ImageError(
                f"{package.name} {package.version} has no {', '.join(sorted(missing))}",
                "pin another kernel: scripts/pin_packages.py",
            )
        (unfinished / _USED).write_text(used)


def is_wanted(path: str) -> bool:
    """Whether the tests use this file of the package."""
    if path.startswith("boot/vmlinuz-"):
        return True
    return "/drivers/hid/" in path and path.removesuffix(".xz").endswith(
        tuple(f"/{name}" for name in _MODULES)
    )


if __name__ == "__main__":
    sys.exit(main())
