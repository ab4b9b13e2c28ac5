"""Places for the storage benchmarks to work in: file systems and disks in a file, by loop devices.

They take root and loop devices; without them, what asks for one is skipped. The fixtures are in
``test_probe_storage``.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import skips
from probe_programs import ROOT

MIB = 1 << 20


def tool(*command: str | Path) -> str:
    """Runs a system tool; skips the test where it is missing or not allowed."""
    skips.need(str(command[0]))
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        skips.skip("storage tool", f"{command[0]}: {done.stderr}")
    return done.stdout.strip()


@contextlib.contextmanager
def directory_on_storage() -> Iterator[Path]:
    """An empty directory beside the repository, as the temporary ones may lie in memory."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="storage-") as name:
        yield Path(name)


@dataclass(frozen=True)
class Disk:
    """A loop device over a file of ours."""

    device: Path
    image: Path


@contextlib.contextmanager
def loop_disk(size: int, *options: str) -> Iterator[Disk]:
    """A disk of that many bytes, all zero."""
    skips.need_root()
    with directory_on_storage() as directory:
        image = directory / "image"
        with image.open("wb") as file:
            file.truncate(size)
        device = tool("losetup", *options, "--find", "--show", image)
        try:
            yield Disk(Path(device), image)
        finally:
            subprocess.run(["losetup", "--detach", device], check=True)


@contextlib.contextmanager
def mounted(device: Path, *options: str) -> Iterator[Path]:
    """The file system of a device, mounted."""
    with directory_on_storage() as point:
        tool("mount", *options, device, point)
        try:
            yield point
        finally:
            subprocess.run(["umount", point], check=True)


@contextlib.contextmanager
def file_system(size: int, *options: str) -> Iterator[Path]:
    """A fresh ext4 of that many bytes, mounted."""
    with loop_disk(size) as disk:
        tool("mkfs.ext4", "-q", disk.device)
        with mounted(disk.device, *options) as point:
            yield point
