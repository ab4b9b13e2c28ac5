"""The initial RAM disk of a board: it loads the drivers of the card and starts from there.

The archive has the format ``newc`` of cpio(5), described in the kernel's
``driver-api/early-userspace/buffer-format``: a header of hexadecimal fields, the name, the
contents, each padded to 4 bytes. The script takes ``root=`` and ``init=`` from the kernel's command
line, waits a few seconds for that device, and says what it misses in the words of Debian's
initramfs-tools.
"""

from __future__ import annotations

import stat
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchvise.rig.images.tools import EPOCH
from benchvise.rig.virtual.recipes.kernel import BoardKernel

_TRAILER = "TRAILER!!!"
_APPLETS = ("ls", "modprobe", "mount", "sh", "switch_root", "umount", "usleep")

_INIT = """\
#!/bin/sh
PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
read -r words < /proc/cmdline
root= init=/sbin/init
for word in $words; do
  case $word in
    root=*) root=${{word#root=}};;
    init=*) init=${{word#init=}};;
  esac
done
modprobe -a {modules}
tries=0
until [ -b "$root" ]; do
  tries=$((tries + 1))
  if [ $tries -gt 50 ]; then
    echo "Gave up waiting for root file system device."
    echo "ALERT!  $root does not exist.  Dropping to a shell!"
    PS1='(initramfs) ' exec sh
  fi
  usleep 100000
done
if ! mount -t ext4 -o rw "$root" /root; then
  echo "Failed to mount $root as root file system."
  PS1='(initramfs) ' exec sh
fi
mount -o move /dev /root/dev
umount /proc
exec switch_root /root "$init"
"""


def initrd(
    kernel: BoardKernel, busybox: bytes, modules: Sequence[str], compression: str = ""
) -> bytes:
    """The archive for a kernel; ``busybox`` is a static one, ``modules`` are loaded in that order.

    ``compression`` is gzip, zstd, or nothing: unpacking takes long in an emulator, and so does
    reading from a slow card.
    """
    from benchvise.rig import zstd  # of the extra `rig`

    files = kernel.module_files(modules)
    present = [name for name in modules if name.replace("-", "_") in kernel.order]
    base = f"lib/modules/{kernel.release}"
    entries = [
        cpio_file("init", _INIT.format(modules=" ".join(present)).encode(), 0o755),
        cpio_file("bin/busybox", busybox, 0o755),
        *(cpio_link(f"bin/{applet}", "busybox") for applet in _APPLETS),
        *(cpio_directory(path) for path in ("dev", "proc", "root")),
        *(cpio_file(f"{base}/{path}", data) for path, data in sorted(files.items())),
    ]
    data = cpio_archive(entries)
    match compression:
        case "zstd":
            return zstd.compress(data, 19)
        case "gzip":
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # no time of day in the header
            return packer.compress(data) + packer.flush()
        case _:
            return data


@dataclass(frozen=True, slots=True)
class CpioEntry:
    """A file, directory or symbolic link; ``data`` of a link is what it points to."""

    path: str
    mode: int
    data: bytes = b""


def cpio_directory(path: str) -> CpioEntry:
    """A directory that everybody may enter."""
    return CpioEntry(path, stat.S_IFDIR | 0o755)


def cpio_file(path: str, data: bytes, mode: int = 0o644) -> CpioEntry:
    """A regular file."""
    return CpioEntry(path, stat.S_IFREG | mode, data)


def cpio_link(path: str, target: str) -> CpioEntry:
    """A symbolic link."""
    return CpioEntry(path, stat.S_IFLNK | 0o777, target.encode())


def cpio_archive(entries: Iterable[CpioEntry]) -> bytes:
    """All entries, owned by root; the directories above each are added where they are missing."""
    parts: list[bytes] = []
    seen: set[str] = set()
    number = 0

    def add(entry: CpioEntry) -> None:
        nonlocal number
        number += 1
        seen.add(entry.path)
        parts.append(_record(entry, number))

    for entry in entries:
        above = entry.path.split("/")[:-1]
        for depth in range(1, len(above) + 1):
            path = "/".join(above[:depth])
            if path not in seen:
                add(cpio_directory(path))
        if entry.path not in seen:
            add(entry)
    parts.append(_record(CpioEntry(_TRAILER, 0), 0))
    return b"".join(parts)


def _record(entry: CpioEntry, number: int) -> bytes:
    name = entry.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    when = EPOCH if number else 0
    # number, mode, owner, group, links, time, size, device 2x, device node 2x, length, checksum
    fields = (number, entry.mode, 0, 0, links, when, len(entry.data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
