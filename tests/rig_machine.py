"""QEMU machines whose serial line is a console of the rig, with what they need to boot."""

from __future__ import annotations

import os
import select
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import skips
from guest_machine import BUSYBOX, EMULATOR, KERNEL

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
exec setsid cttyhack sh
"""


class Machine:
    """A machine that is switched on; its serial line can be read and written."""

    def __init__(self, *options: str | Path) -> None:
        command: Sequence[str | Path] = (
            *(EMULATOR, "-nodefaults", "-display", "none", "-m", "256", "-no-reboot"),
            *("-accel", "tcg", "-serial", "stdio", *options),
        )
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in.fileno(), data) :]

    def read(self, timeout: float) -> bytes:
        if not select.select([self._out], [], [], max(timeout, 0))[0]:
            return b""
        data = os.read(self._out.fileno(), 65536)
        if not data:
            raise EOFError("the machine is off")
        return data

    def off(self) -> None:
        self.process.kill()
        self.process.wait()
        self._in.close()
        self._out.close()


def missing() -> str:
    """Why no machine can boot a kernel here; empty when one can."""
    if missing_emulator := skips.lacking(EMULATOR):
        return missing_emulator
    if not (KERNEL / "vmlinux").exists():
        return str(skips.reason("guest kernel"))
    return "" if BUSYBOX.exists() else skips.packages("busybox-static")


def kernel(arguments: str, initrd: Path | None = None) -> list[str | Path]:
    """Options that boot Debian's kernel.

    It does not try whether its timer ticks: where other tests take the CPU from the emulator, that
    check fails now and then, and the kernel panics. Nor does it try its ciphers, which takes long.
    """
    options: list[str | Path] = [
        "-kernel",
        KERNEL / "vmlinux",
        "-append",
        f"console=ttyS0 no_timer_check cryptomgr.notests {arguments}",
    ]
    return [*options, "-initrd", initrd] if initrd else options


def shell_initrd(path: Path) -> Path:
    """A file system in memory with BusyBox, which ends at a shell on the console."""
    files: Mapping[str, bytes] = {"init": INIT.encode(), "bin/busybox": BUSYBOX.read_bytes()}
    directories = ["bin", "dev", "proc", "sys", "tmp"]
    archive = b"".join(_entry(name, stat.S_IFDIR | 0o755, b"") for name in directories)
    archive += b"".join(_entry(name, stat.S_IFREG | 0o755, data) for name, data in files.items())
    path.write_bytes(archive + _entry("TRAILER!!!", 0, b""))
    return path


def _entry(name: str, mode: int, data: bytes) -> bytes:
    """A file of a cpio archive in the "newc" format."""
    numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)
