"""What the kernel starts first: it loads the drivers of the card and goes on from there.

The script takes ``root=`` and ``init=`` from the kernel's command line, waits a few seconds for
that device, and says what it misses in the words of Debian's initramfs-tools.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import zstandard

from benchvise.rig.images import cpio
from benchvise.rig.virtual.recipes.kernel import BoardKernel

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
    files = kernel.module_files(modules)
    present = [name for name in modules if name.replace("-", "_") in kernel.order]
    base = f"lib/modules/{kernel.release}"
    entries = [
        cpio.file("init", _INIT.format(modules=" ".join(present)).encode(), 0o755),
        cpio.file("bin/busybox", busybox, 0o755),
        *(cpio.link(f"bin/{applet}", "busybox") for applet in _APPLETS),
        *(cpio.directory(path) for path in ("dev", "proc", "root")),
        *(cpio.file(f"{base}/{path}", data) for path, data in sorted(files.items())),
    ]
    data = cpio.archive(entries)
    match compression:
        case "zstd":
            return zstandard.ZstdCompressor(level=19).compress(data)
        case "gzip":
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # no time of day in the header
            return packer.compress(data) + packer.flush()
        case _:
            return data
