"""A machine of its own for what a test may not do to the one it runs on: QEMU, busybox, a script.

It counts time by the instructions that it has executed (``-icount``), so that nothing which it sees
depends on how busy the real machine is: neither sleeps nor latencies. It has one CPU of an old kind
and no performance counters.
"""

from __future__ import annotations

import importlib.util
import lzma
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
import skips
from probe_programs import ROOT

KERNEL = ROOT / "build" / "guest-kernel"
PROGRAMS = ROOT / "build" / "guest"
SOURCES = ROOT / "tests" / "guest"
EMULATOR = "qemu-system-x86_64"
BUSYBOX = Path("/bin/busybox")
MODULES = ("hid", "uhid", "hid-cp2112")

# What a line joined to another needs is loaded; the script's output is what the tests read.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in {modules}; do insmod /lib/$module.ko; done
sh /script > /tmp/output
stty -F /dev/ttyS1 raw
cat /tmp/output > /dev/ttyS1
poweroff -f
"""


def missing() -> str:
    """Why there can be no such machine here; empty when there can."""
    if missing_emulator := skips.lacking(EMULATOR):
        return missing_emulator
    if not (KERNEL / "vmlinux").exists():
        return str(skips.reason("guest kernel"))
    if not BUSYBOX.exists() or needs_a_loader(BUSYBOX.read_bytes()):
        return skips.packages("busybox-static")
    return ""


def needs_a_loader(program: bytes) -> bool:
    """Whether a 64-bit ELF program has a part of the type PT_INTERP."""
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, offset + size * n) == (3,) for n in range(count))


def build_program(name: str) -> Path:
    """Compiles ``tests/guest/NAME.c`` for the guest, unless that is done."""
    source, program = SOURCES / f"{name}.c", PROGRAMS / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        PROGRAMS.mkdir(parents=True, exist_ok=True)
        probe = probe_build()
        compiler = (sys.executable, "-m", "ziglang", "cc", "-target", probe.TARGETS["x86_64"].musl)
        # With other options than the probe's, zig would make a C library of its own for it.
        command = [*compiler, "-static", *probe.FLAGS, "-s", "-o", str(program), str(source)]
        subprocess.run(command, check=True, env=probe.compiler_environment())
    return program


def probe_build() -> ModuleType:
    """``probe/build.py``."""
    spec = importlib.util.spec_from_file_location("probe_build", ROOT / "probe" / "build.py")
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_guest(directory: Path, script: str, files: Mapping[str, Path], *, timeout: float) -> str:
    """Boots, runs the script as root with ``files`` at their paths, and returns what it wrote.

    ``directory`` is for what comes and goes with the machine. Fails the test when the machine does
    not end by itself in ``timeout`` seconds.
    """
    console, output = directory / "console", directory / "output"
    (directory / "initrd").write_bytes(_archive(script, files))
    command: list[str | Path] = [
        *(EMULATOR, "-machine", "q35", "-cpu", "qemu64", "-smp", "1", "-m", "256"),
        *("-icount", "shift=1,sleep=off", "-display", "none", "-no-reboot", "-nodefaults"),
        *("-serial", f"file:{console}", "-serial", f"file:{output}"),
        *("-kernel", KERNEL / "vmlinux", "-initrd", directory / "initrd"),
        *("-append", "console=ttyS0 panic=-1 quiet no_timer_check cryptomgr.notests"),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=timeout)
    except subprocess.SubprocessError as error:
        said = console.read_text(errors="replace")[-2000:] if console.exists() else ""
        reason = getattr(error, "stderr", b"") or b""
        pytest.fail(f"the machine did not end by itself: {error}\n{reason.decode()}\n{said}")
    return output.read_text(errors="replace")


def _archive(script: str, files: Mapping[str, Path]) -> bytes:
    """The first file system: a cpio archive in the new portable format."""
    contents = {
        "init": (0o755, INIT.format(modules=" ".join(MODULES)).encode()),
        "script": (0o644, script.encode()),
        "bin/busybox": (0o755, BUSYBOX.read_bytes()),
        "etc/passwd": (0o644, b"root::0:0::/:/bin/sh\nsomebody::1000:1000::/:/bin/sh\n"),
        **{f"lib/{name}.ko": (0o644, _module(name)) for name in MODULES},
        **{path: (0o755, source.read_bytes()) for path, source in files.items()},
    }
    folders = ("bin", "dev", "etc", "lib", "proc", "sys", "tmp")
    parts = [_entry(folder, stat.S_IFDIR | 0o755) for folder in folders]
    parts += [_entry(path, stat.S_IFREG | mode, data) for path, (mode, data) in contents.items()]
    parts.append(_entry("dev/console", stat.S_IFCHR | 0o600, device=os.makedev(5, 1)))
    return b"".join([*parts, _entry("TRAILER!!!", 0)])


def _module(name: str) -> bytes:
    plain, packed = KERNEL / f"{name}.ko", KERNEL / f"{name}.ko.xz"
    return plain.read_bytes() if plain.exists() else lzma.decompress(packed.read_bytes())


def _entry(path: str, mode: int, data: bytes = b"", device: int = 0) -> bytes:
    name = path.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, os.major(device), os.minor(device))
    head = b"070701" + b"".join(b"%08X" % number for number in (*numbers, len(name), 0)) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
