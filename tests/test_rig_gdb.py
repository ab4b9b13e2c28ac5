"""Program counters of real emulators of every architecture, through their GDB stubs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
import skips
from waiting import PATIENCE

from benchvise.rig.faults import RigError
from benchvise.rig.soak.cores import Core
from benchvise.rig.soak.debuggers import cores_by_gdb

# Loading nothing at an address makes it the one where a core of the ARM machines begins.
_ARM = (
    *("-machine", "virt", "-device", "loader,addr=0x40000000,cpu-num=0"),
    *("-device", "loader,addr=0x40001000,cpu-num=1"),
)


@pytest.mark.parametrize(
    ("architecture", "emulator", "machine", "begin"),
    [
        ("riscv64", "qemu-system-riscv64", ("-machine", "virt", "-bios", "none"), (0x1000,) * 2),
        ("aarch64", "qemu-system-aarch64", (*_ARM, "-cpu", "cortex-a57"), (0x40000000, 0x40001000)),
        ("armv7hf", "qemu-system-arm", _ARM, (0x40000000, 0x40001000)),
        ("x86_64", "qemu-system-x86_64", (), (0xFFF0,) * 2),
    ],
)
def test_each_core_stands_where_it_begins(
    architecture: str,
    emulator: str,
    machine: tuple[str, ...],
    begin: tuple[int, int],
    tmp_path: Path,
) -> None:
    skips.need(emulator)
    gdb = tmp_path / "gdb"
    process = subprocess.Popen(
        [
            *(emulator, *machine, "-S", "-smp", "2", "-nodefaults", "-display", "none"),
            *("-gdb", f"unix:{gdb},server=on,wait=off"),
        ]
    )
    try:
        cores = _cores(gdb, architecture, process)
    finally:
        process.kill()
        process.wait()
    assert [(core.name, core.address) for core in cores] == [
        ("CPU#0", begin[0]),
        ("CPU#1", begin[1]),
    ]


def _cores(gdb: Path, architecture: str, process: subprocess.Popen[bytes]) -> tuple[Core, ...]:
    """Asks until the emulator listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return cores_by_gdb(gdb, architecture, resume=False)
        except RigError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
