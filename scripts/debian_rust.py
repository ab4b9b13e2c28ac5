"""Debian's Rust, for a target that this machine's own Rust has no standard library for.

Compiler and libraries have to be of one version, so both are Debian's: `rustc-web`, which its
security archive keeps current for browsers. Nothing is installed: packages are unpacked into
``build/debian-rust``, and cargo and the linker stay this machine's.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import fresh
from benchvise.rig.images.tools import find_program
from benchvise.rig.virtual.recipes.packages import Archive, Package

DIRECTORY = Path(__file__).resolve().parents[1] / "build" / "debian-rust"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_SUITE = "bookworm"
_COMPILER, _LIBRARY = "rustc-web", "libstd-rust-web-dev"
_OF_EVERY_SYSTEM = {"gcc-12-base", "libc6", "libgcc-s1", "libstdc++6"}


def compiler_for(arch: str) -> Path:
    """A rustc that compiles for this machine and the architecture, unpacked where it is not there.

    ImageError where the packages cannot be had.
    """
    host = ARCHITECTURES.get(platform.machine())
    if host is None:
        raise ImageError(f"Debian's Rust is not taken for a {platform.machine()} host", "")
    packages = [
        package
        for package in _archive(host).download((_COMPILER,), (_LIBRARY,))
        if package.name not in _OF_EVERY_SYSTEM
    ]
    packages += _archive(ARCHITECTURES[arch]).download((_LIBRARY,))
    versions = {p.version for p in packages if p.name in (_COMPILER, _LIBRARY)}
    if len(versions) != 1:
        raise ImageError(
            f"Debian's Rust is not of one version ({', '.join(sorted(versions))})",
            f"remove {packages[0].path.parent.parent} so that it is downloaded again",
        )
    return _unpacked(packages)


def _archive(architecture: str) -> Archive:
    return Archive(_SUITE, architecture, with_security=True)


def _unpacked(packages: list[Package]) -> Path:
    compiler, note = DIRECTORY / "rustc", DIRECTORY / "packages"
    names = "".join(f"{package.path.name} {package.sha256}\n" for package in packages)
    if note.exists() and note.read_text() == names:
        return compiler
    libraries = f"{platform.machine()}-linux-gnu"
    with fresh(DIRECTORY) as unfinished:
        for package in packages:
            command = [find_program("dpkg-deb"), "--extract", str(package.path), str(unfinished)]
            subprocess.run(command, check=True)
        (script := unfinished / compiler.name).write_text(
            "#!/bin/sh\n"
            'here=$(dirname "$(readlink -f "$0")")\n'
            f'export LD_LIBRARY_PATH="$here/usr/lib/{libraries}:$here/lib/{libraries}"\n'
            'exec "$here/usr/bin/rustc" "$@"\n'
        )
        script.chmod(0o755)
        (unfinished / note.name).write_text(names)
    return compiler
