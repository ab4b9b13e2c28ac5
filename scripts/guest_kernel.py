#!/usr/bin/env python3
"""Fetches Debian's kernel for the tests that need a machine of their own, which QEMU emulates.

Nothing is installed: only what the tests start is unpacked, into ``build/guest-kernel``; the kernel
too, which would take an emulator longer to unpack at each boot than to start it. Version
and checksum are pinned (``benchvise.rig.virtual.recipes.pins``), and the package is kept in the
user's cache directory. Where it cannot be had those tests skip; with STRICT=1 that is an error.
"""

from __future__ import annotations

import lzma
import os
import struct
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
_SETUP_SECTORS = 0x1F1
_PAYLOAD = 0x248  # offset and size
_REPIN = "pin another kernel: scripts/pin_packages.py"


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
    used = f"{package.name} {package.version} sha256:{package.sha256}, kernel unpacked\n"
    note = DIRECTORY / _USED
    if note.exists() and note.read_text() == used:
        return
    print(f"unpacking {package.name} for the tests in a virtual machine")
    with fresh(DIRECTORY) as unfinished:
        for member, data in package.members(is_wanted):
            name = PurePosixPath(member.name).name
            if name.startswith("vmlinuz"):
                (unfinished / "vmlinux").write_bytes(unpacked_kernel(data))
            else:
                (unfinished / name).write_bytes(data)
        unpacked = {path.name.removesuffix(".xz") for path in unfinished.iterdir()}
        if missing := {"vmlinux", *_MODULES} - unpacked:
            raise ImageError(
                f"{package.name} {package.version} has no {', '.join(sorted(missing))}",
                _REPIN,
            )
        (unfinished / _USED).write_text(used)


def unpacked_kernel(image: bytes) -> bytes:
    """The ELF program in a kernel for a PC. ImageError where it is packed otherwise than Debian's.

    Where it lies is told by the image's header (Linux, Documentation/arch/x86/boot.rst).
    """
    sectors = image[_SETUP_SECTORS] or 4
    offset, size = struct.unpack_from("<II", image, _PAYLOAD)
    begin = (sectors + 1) * 512 + offset
    unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        kernel = unpacking.decompress(image[begin : begin + size])
    except lzma.LZMAError:
        kernel = b""
    if not unpacking.eof:
        raise ImageError("the kernel is not packed as Debian's was", _REPIN)
    return kernel


def is_wanted(path: str) -> bool:
    """Whether the tests use this file of the package."""
    if path.startswith("boot/vmlinuz-"):
        return True
    return "/drivers/hid/" in path and path.removesuffix(".xz").endswith(
        tuple(f"/{name}" for name in _MODULES)
    )


if __name__ == "__main__":
    sys.exit(main())
