"""The programs that images are built with, and the Debian packages that hold them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchvise.rig.faults import Fault, RigError

PACKAGES = {
    "apt-cache": "apt",
    "apt-config": "apt",
    "apt-get": "apt",
    "debugfs": "e2fsprogs",
    "dpkg-deb": "dpkg",
    "dumpe2fs": "e2fsprogs",
    "mcopy": "mtools",
    "mke2fs": "e2fsprogs",
    "mkfs.vfat": "dosfstools",
    "mmd": "mtools",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-arm": "qemu-system-arm",
    "qemu-system-riscv64": "qemu-system-misc",
    "qemu-system-x86_64": "qemu-system-x86",
    "ssh-keygen": "openssh-client",
}
"""Which Debian package has a program."""

EPOCH = 1_700_000_000
"""Seconds since 1970 that every file of an image is dated: the same input gives the same bytes."""

_ADMINISTRATORS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # not in everybody's PATH


def find(program: str) -> str | None:
    """The path of a program; None when it is not here."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_ADMINISTRATORS])
    return shutil.which(program, path=path)


def program(name: str) -> str:
    """The path of a program. RigError, with the package that has it, when it is not here."""
    path = find(name)
    if path is None:
        package = PACKAGES.get(name, name)
        raise RigError(
            Fault.RIG_BROKEN,
            f"the virtual bench needs {name}, which is not installed",
            f"apt-get install --no-install-recommends {package}",
        )
    return path


def run(
    name: str,
    *arguments: str | Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> str:
    """Runs a program to its end and returns its standard output.

    Its clock for what it writes into file systems stands at EPOCH. RigError, with the last line
    that it said, when it fails.
    """
    still = {
        "E2FSPROGS_FAKE_TIME": str(EPOCH),
        "LC_ALL": "C",
        "MTOOLS_SKIP_CHECK": "1",
        "SOURCE_DATE_EPOCH": str(EPOCH),
        "TZ": "UTC",
    }
    done = subprocess.run(
        [program(name), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **still, **(environment or {})},
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip() or "it does not say why"
        raise RigError(
            Fault.RIG_BROKEN,
            f"{name} {arguments[0] if arguments else ''} fails: {said.splitlines()[-1]}",
            "is there room in the cache directory, and is the network there?",
        )
    return done.stdout.decode("utf-8", "replace")
