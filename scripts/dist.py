"""Builds what is released, into dist/: the source distribution and, for each architecture, a
manylinux wheel of Benchvise and one of the decoder alone.

    python scripts/dist.py [--arch NAME]...

The trace decoder is cross-built by cargo-zigbuild against the glibc of Debian 10; auditwheel then
says whether a wheel keeps to that. For a target that rustup has not installed, Debian's Rust is
taken (``debian_rust``). What a machine cannot build is left out, in one line, with the command
that gets what is missing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from debian_rust import compiler_for

from benchvise.rig.images import ImageError

ROOT = Path(__file__).parents[1]
DECODER = ROOT / "crates" / "tracefile-py"
"""The decoder alone, as a package that needs nothing else."""
ARCHITECTURES = ("x86_64", "aarch64")
GLIBC = (2, 28)


def main() -> int:
    """Builds everything; 1 where an architecture was left out."""
    parser = argparse.ArgumentParser(description="Build the source distribution and the wheels.")
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES, help="only these")
    chosen = parser.parse_args().arch or ARCHITECTURES
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    hatchling("sdist")
    complete = True
    for arch in chosen:
        module = build_module(arch)
        if module is None:
            complete = False
            continue
        platform = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{arch}"
        variables = {
            "BENCHVISE_WHEEL_MODULE": str(module),
            "BENCHVISE_WHEEL_PLATFORM": platform,
        }
        hatchling("wheel", ROOT, variables)
        hatchling("wheel", DECODER, variables)
        for wheel in (ROOT / "dist").glob(f"*{platform}.whl"):
            check(wheel, platform)
    for path in sorted((ROOT / "dist").iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0 if complete else 1


def build_module(arch: str) -> Path | None:
    """The trace decoder for an architecture; None, after one line, where it cannot be built."""
    target = f"{arch}-unknown-linux-gnu"
    compiler = {}
    if not has_library(target):
        try:
            compiler["RUSTC"] = str(compiler_for(arch))
        except ImageError as error:
            print(f"no wheel for {arch}: rustup target add {target} ({error})", file=sys.stderr)
            return None
    programs = Path(sys.executable).parent  # there cargo-zigbuild finds Python with zig
    subprocess.run(
        [
            *(programs / "cargo-zigbuild", "zigbuild", "--quiet", "--release", "--locked"),
            *("--package", "tracefile-py", "--target", f"{target}.{GLIBC[0]}.{GLIBC[1]}"),
        ],
        cwd=ROOT,
        check=True,
        env={
            **os.environ,
            **compiler,
            "CARGO_PROFILE_RELEASE_STRIP": "symbols",
            "PATH": f"{programs}:{os.environ['PATH']}",
        },
    )
    output = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return output / target / "release" / "libnative.so"


def has_library(target: str) -> bool:
    """Whether this machine's Rust has the standard library of the target."""
    sysroot = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return (Path(sysroot) / "lib" / "rustlib" / target / "lib").is_dir()


def hatchling(
    kind: str, project: Path = ROOT, variables: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Builds one distribution of a project, with these variables in the environment.

    CalledProcessError where that fails.
    """
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(ROOT / "dist")]
    subprocess.run(
        command, cwd=project, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **variables}
    )


def check(wheel: Path, platform: str) -> None:
    """Ends with auditwheel's words where the wheel needs more than its tag promises."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel],
        check=False,
        capture_output=True,
        text=True,
    )
    words = " ".join(shown.stdout.split())
    if shown.returncode or f'"{platform}"' not in words:
        raise SystemExit(f"{wheel.name}: {words or shown.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
