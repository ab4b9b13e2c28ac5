"""Builds the probe and its helpers for every architecture, with ``zig cc``.

    python probe/build.py [--arch NAME]... [--output DIR]

Each architecture is built once: a stamp beside the binaries holds the hash of all sources, flags
and the compiler's version, and a build whose hash is the same is left alone. Binaries are replaced
as a whole, so that a probe that is running, or being copied to a board, is not disturbed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.resources
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).parent
DEFAULT_OUTPUT = HERE.parent / "src" / "benchvise" / "board" / "probes"
SIZE_LIMIT = 300_000  # bytes; the promise of docs and DESIGN for each probe

FLAGS = (
    "-std=gnu11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-D_GNU_SOURCE",
    # what a program does not use of what they share is left out
    "-ffunction-sections",
    "-fdata-sections",
    # nothing here unwinds, and the tables are a ninth of the probe
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
)

# What reaches out of the board or onto its disks is a program of its own.
IO = (
    "bench/gpio*.c",
    "bench/net*.c",
    "bench/storage*.c",
    "follow/*.c",
    "net/*.c",
    "serial/*.c",
    "trace/*.c",
)
PROBE_SOURCES = ("main.c", "bench/*.c", "core/*.c", "state/*.c")
IO_SOURCES = ("bvio/main.c", "bench/conditions.c", "bench/kernels*.c", "core/*.c", *IO)
# What is not timed is compiled for size, as far as the compiler can: zig takes -Oz for -Os.
FOR_SIZE = ("-Os", "-Xclang", "-Oz", "-mllvm", "-enable-machine-outliner=always")
SMALL = (
    "bench/command.c",
    "bench/conditions.c",
    "bench/grid.c",
    "bench/net.c",
    # of a disk: each of their steps waits for one far longer than it computes
    "bench/storage_*.c",
    "bvio/main.c",
    "core/attributes.c",
    "core/batch.c",
    "core/buffer.c",
    "core/clock.c",
    "core/counters.c",
    "core/environment.c",
    "core/evidence.c",
    "core/files.c",
    "core/histogram.c",
    "core/host.c",
    "core/json.c",
    "core/keep.c",
    "core/own_mounts.c",
    "core/pages.c",
    "core/param.c",
    "core/partner.c",
    "core/place.c",
    "core/program.c",
    "core/quota.c",
    "core/request.c",
    "core/serve.c",
    "core/sort.c",
    "core/vdso.c",
    "follow/*.c",
    "main.c",
    "net/control.c",
    "net/address.c",
    "net/client.c",
    "net/cost.c",
    "net/interface.c",
    "net/iperf3.c",
    "net/session.c",
    "serial/*.c",
    "state/*.c",
    "trace/*.c",
)
HELPER_SOURCES = (
    "libc/main.c",
    "bench/memory.c",
    "bench/kernels*.c",
    "core/batch.c",
    "core/buffer.c",
    "core/clock.c",
    "core/counters.c",
    "core/evidence.c",
    "core/files.c",
    "core/host.c",
    "core/json.c",
    "core/pages.c",
    "core/param.c",
    "core/place.c",
    "core/quota.c",
)


@dataclass(frozen=True)
class Target:
    """How zig calls an architecture; glibc 2.28 is that of Debian 10, the oldest still met."""

    musl: str
    glibc: str
    cpu: tuple[str, ...] = ()


# A compiler takes one CPU, and many files one after the other.
FREE_CPUS = threading.BoundedSemaphore(os.cpu_count() or 1)

TARGETS = {
    "x86_64": Target("x86_64-linux-musl", "x86_64-linux-gnu.2.28"),
    "aarch64": Target("aarch64-linux-musl", "aarch64-linux-gnu.2.28"),
    # Not every ARMv7 has NEON, which LLVM's v7a contains, so it is taken away again. The NEON
    # loops are assembly, used where the kernel announces it.
    "armv7hf": Target(
        "arm-linux-musleabihf",
        "arm-linux-gnueabihf.2.28",
        ("-mcpu=generic+v7a+vfp3d16-neon-d32-fp16",),
    ),
    "armv6hf": Target("arm-linux-musleabihf", "arm-linux-gnueabihf.2.28", ("-mcpu=arm1176jzf_s",)),
    "riscv64": Target("riscv64-linux-musl", "riscv64-linux-gnu.2.28"),
}


def fingerprint(target: Target) -> str:
    """Hash of everything that decides the binaries."""
    digest = hashlib.sha256(
        repr((target, FLAGS, FOR_SIZE, SMALL, PROBE_SOURCES, IO_SOURCES, HELPER_SOURCES)).encode()
    )
    digest.update(importlib.metadata.version("ziglang").encode())
    for path in sorted(HERE.rglob("*.[ch]")):
        name = path.relative_to(HERE).as_posix()
        if not name.startswith("tests/"):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


def sources_of(patterns: tuple[str, ...]) -> set[str]:
    """The sources that match any of the patterns, relative to ``probe/``."""
    return {
        path.relative_to(HERE).as_posix() for pattern in patterns for path in HERE.glob(pattern)
    }


def compile_c(
    target: tuple[str, ...], patterns: tuple[str, ...], output: Path, without: tuple[str, ...] = ()
) -> None:
    """Compiles and links with ``zig cc``; leaves with its exit code when it fails."""
    sources = sources_of(patterns) - sources_of(without)
    small = sorted(sources & sources_of(SMALL))
    call = [sys.executable, "-m", "ziglang", "cc", *FLAGS, "-I.", "-target", *target]
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".objects-") as directory:
        # one object of all: compiled with -c, only one of several would be left
        objects = [str(Path(directory, "small.o"))] if small else []
        if small:
            run_compiler([*call, *FOR_SIZE, "-r", "-o", *objects, *small])
        rest = sorted(sources - set(small))
        run_compiler([*call, "-s", "-Wl,--gc-sections", "-o", str(output), *rest, *objects])


def run_compiler(command: list[str]) -> None:
    """Runs a compiler in ``probe/`` on a free CPU; leaves with its exit code when it fails."""
    with FREE_CPUS:
        result = subprocess.run(command, cwd=HERE, env=compiler_environment(), check=False)
    if result.returncode:
        sys.exit(result.returncode)


@cache
def compiler_environment() -> dict[str, str]:
    """The environment, with zig's own sources under one path for all clones of this user.

    zig compiles the C library of an architecture in a minute of CPU time, and keeps it; but it
    finds that again only for sources of the same path, which is another in each clone.
    """
    try:
        sources = Path(str(importlib.resources.files("ziglang"))) / "lib"
        directory = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "benchvise"
        link = directory / f"ziglang-{importlib.metadata.version('ziglang')}"
        if not link.is_dir():
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=directory) as unfinished:
                Path(unfinished, "link").symlink_to(sources)
                Path(unfinished, "link").replace(link)
    except (OSError, RuntimeError) as error:  # such as: nobody's home directory
        print(f"the C library is compiled for this clone alone: {error}", file=sys.stderr)
        return dict(os.environ)
    return {**os.environ, "ZIG_LIB_DIR": str(link)}


def in_parallel(*steps: Callable[[], None]) -> None:
    """Takes all steps, each in a thread; leaves with the exit code of one that fails."""
    with ThreadPoolExecutor(len(steps)) as pool:
        for finished in [pool.submit(step) for step in steps]:
            finished.result()


def build(arch: str, output: Path) -> None:
    """Builds the programs of one architecture unless they are up to date."""
    target = TARGETS[arch]
    directory = output.resolve() / arch
    stamp = directory / ".built"
    wanted = fingerprint(target)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    directory.mkdir(parents=True, exist_ok=True)
    print(f"building the probe for {arch}", flush=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".building-") as unfinished:
        probe, reach, helper = (Path(unfinished, name) for name in ("bvprobe", "bvio", "bvlibc"))
        static = (target.musl, *target.cpu, "-static")
        in_parallel(
            partial(compile_c, static, PROBE_SOURCES, probe, without=IO),
            partial(compile_c, static, IO_SOURCES, reach),
            partial(compile_c, (target.glibc, *target.cpu), HELPER_SOURCES, helper),
        )
        for program in (probe, reach):
            size = program.stat().st_size
            if size >= SIZE_LIMIT:
                sys.exit(f"{arch}: {program.name} has {size} bytes, the limit is {SIZE_LIMIT}")
        stamp.unlink(missing_ok=True)
        for program in (helper, reach, probe):
            program.replace(directory / program.name)
    stamp.write_text(wanted)


def main() -> None:
    """Parses the command line and builds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--arch", action="append", choices=[*TARGETS, "native"])
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    arguments = parser.parse_args()
    native = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    wanted = {native if arch == "native" else arch for arch in arguments.arch or TARGETS}
    in_parallel(*(partial(build, arch, arguments.output) for arch in sorted(wanted)))


if __name__ == "__main__":
    main()
