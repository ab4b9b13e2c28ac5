"""The real traces of ../shared/data/traces, unpacked once into build/traces.

They are not part of the repository: a clone without them leaves out what needs them, and says
which.

    python tests/trace_data.py [TRACE|all]...    prints the directory, or nothing without them
"""

from __future__ import annotations

import fcntl
import io
import json
import shutil
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import skips

from benchvise.rig import zstd

ROOT = Path(__file__).parents[1]
ARCHIVES = ROOT.parent / "shared" / "data" / "traces"
UNPACKED = ROOT / "build" / "traces"

# Each trace by its name: the archive that holds it, and where it lies once unpacked.
TRACES = {
    "f100k": ("ftrace.tar.zst", "f100k.dat"),
    "f100k-v6": ("ftrace.tar.zst", "f100k-v6.dat"),
    "f100k-zstd": ("ftrace.tar.zst", "f100k-zstd.dat"),
    "f1m": ("ftrace.tar.zst", "f1m.dat"),
    "many-threads": ("lttng-public.tar.zst", "many-threads"),
    "lttng-tracefile-rotation": ("lttng-public.tar.zst", "lttng-tracefile-rotation/kernel"),
    "ros2": ("lttng-public.tar.zst", "ros2"),
    "dpdk_service_cores": ("lttng-public.tar.zst", "dpdk_service_cores"),
    "vm-small": ("lttng-vm.tar.zst", "small/kernel"),
    "vm-big": ("lttng-vm.tar.zst", "big/kernel"),
}
LARGE = {
    "f10m": ("f10m.dat.zst", "f10m.dat"),
    "vm-huge": ("lttng-vm-huge.tar.zst", "huge/kernel"),
}
"""For benchmarks and the tests of the crates: 650 MB unpacked."""


def trace(name: str) -> Path:
    """Where the trace lies, unpacked if need be; the test is skipped when it cannot be had."""
    archive, path = TRACES[name]
    if not (ARCHIVES / archive).exists():
        skips.skip("traces", archive)
    unpack(archive)
    return UNPACKED / path


def recorded(name: str, directory: Path) -> Path:
    """A small recording of ``tests/data/traces``, made in a guest with Debian's kernel 6.1.

    ``guest-NAME.dat`` are pages of the ring buffer, ``guest-NAME.txt`` is what the kernel wrote in
    ``trace`` of the same buffer. ``preempt-rt.dat`` is of Debian's linux-image-6.1.0-57-rt-amd64
    (6.1.192-3) in QEMU: ``listener`` (SCHED_FIFO 80) reads /dev/rtc0 with update interrupts, and
    ``sleeper`` sleeps 20 ms at a time; ``bvprobe trace --events sched,irq``. ``guest-timerlat.dat``
    and ``guest-osnoise.dat`` are what ``trace-cmd record -p timerlat -e osnoise`` (or ``osnoise``)
    recorded on linux-image-6.12.95+deb12-rt-amd64 in QEMU on a busy machine, with ``dd`` and
    ``ping``; a part of the kernel's symbols is in them.
    """
    packed = ROOT / "tests" / "data" / "traces" / f"{name}.zst"
    path = directory / name
    path.write_bytes(zstd.decompress(packed.read_bytes()))
    return path


def recorded_directory(name: str, directory: Path) -> Path:
    """A small recording of ``tests/data/traces`` that is a directory, unpacked.

    ``ust-meter`` is what LTTng-UST 2.13.5 of Debian 12 recorded of ``tests/data/ust/meter.c``:
    first with liblttng-ust-libc-wrapper.so and liblttng-ust-cyg-profile.so, then with the fast
    variant.

    ``cat-kernel-ust`` is CPU 7 of ``labs/202-bug-hunt/traces/cat-kern-ust.tgz`` of
    github.com/tuxology/tracevizlab (commit 7d8093c6, CC BY 4.0): one session of LTTng 2.11 with the
    kernel and ``cat`` beside each other.
    """
    path = directory / name
    path.mkdir()
    packed = ROOT / "tests" / "data" / "traces" / f"{name}.tar.zst"
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(packed.read_bytes()))) as files:
        files.extractall(path)  # noqa: S202 - this archive is our own
    return path


@cache
def expected(name: str) -> dict[str, Any]:
    """What an independent decoder says of the trace."""
    found: dict[str, Any] = json.loads((ARCHIVES / "expected.json").read_text())[name]
    return found


def unpack(archive: str) -> None:
    """Puts what an archive holds into build/traces, once, whoever else wants it meanwhile."""
    done = UNPACKED / f".{archive}.unpacked"
    if done.exists():
        return
    UNPACKED.mkdir(parents=True, exist_ok=True)
    with (UNPACKED / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return
        with tempfile.TemporaryDirectory(dir=UNPACKED, prefix=".unpacking-") as unfinished:
            _extract(ARCHIVES / archive, Path(unfinished))
            for entry in Path(unfinished).iterdir():
                target = UNPACKED / entry.name
                if target.is_dir():
                    shutil.rmtree(target)
                entry.rename(target)
        done.touch()


def _extract(archive: Path, directory: Path) -> None:
    largest_window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 31}
    with zstd.ZstdFile(archive, options=largest_window) as plain:
        if archive.name.endswith(".tar.zst"):
            with tarfile.open(fileobj=plain, mode="r|") as files:
                if hasattr(tarfile, "data_filter"):
                    files.extractall(directory, filter="data")
                else:  # before Python 3.11.4; and these archives are our own
                    files.extractall(directory)  # noqa: S202
        else:
            with (directory / archive.stem).open("wb") as file:
                shutil.copyfileobj(plain, file, 1 << 20)


def main(names: list[str]) -> None:
    """Unpacks the traces named, or all but the large ones."""
    every = TRACES | LARGE
    wanted = {every[name][0] for name in (every if names == ["all"] else names or TRACES)}
    if all((ARCHIVES / archive).exists() for archive in wanted):
        for archive in sorted(wanted):
            unpack(archive)
        print(UNPACKED)
    else:
        print("left out: checks with real traces: no ../shared/data/traces", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
