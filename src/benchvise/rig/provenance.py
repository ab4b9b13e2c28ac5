"""Where an image came from: what its build system left beside it.

Yocto (OpenEmbedded) puts beside an image its list of packages (``.manifest``) and the variables of
its build (``.testdata.json``); others a ``.buildinfo`` or a file ``buildinfo``. All of it is taken
as text of unknown origin: bounded and sanitised.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from benchvise.rig.decompress import plain_name
from benchvise.text import printable

PACKAGES_LIMIT = 3000
"""Packages that are kept by name and version; all are counted."""

TESTDATA_KEYS = (
    *("MACHINE", "DISTRO", "DISTRO_NAME", "DISTRO_VERSION", "DISTRO_CODENAME", "IMAGE_BASENAME"),
    *("IMAGE_VERSION_SUFFIX", "DATETIME", "BUILD_SYS", "TARGET_SYS", "TARGET_ARCH", "DEFAULTTUNE"),
    *("TUNE_FEATURES", "TCLIBC", "GCCVERSION", "LINUXLIBCVERSION", "METADATA_BRANCH"),
    *("METADATA_REVISION", "KERNEL_IMAGETYPE", "PREFERRED_PROVIDER_virtual/kernel"),
    *("PREFERRED_VERSION_linux-yocto", "EXTRA_IMAGE_FEATURES", "IMAGE_FEATURES", "INIT_MANAGER"),
)
"""The variables of a build that are kept: they name the machine, the release and the compiler."""

_READ_LIMIT = 16 << 20
_LINES_LIMIT = 200
_WORD, _LINE = 100, 300  # characters


def beside(path: Path) -> dict[str, object]:
    """What lies beside an image, by kind: ``manifest``, ``testdata``, ``buildinfo``.

    What is not there is left out. Where ``path`` is a link (as in a Yocto deploy directory), what
    lies beside its target counts too.
    """
    found: dict[str, object] = {}
    for place in dict.fromkeys([path, path.resolve()]):
        directory, name = place.parent, plain_name(place)
        for stem in dict.fromkeys([Path(name).stem, name]):
            for kind, file in (
                ("manifest", directory / f"{stem}.manifest"),
                ("testdata", directory / f"{stem}.testdata.json"),
                ("buildinfo", directory / f"{stem}.buildinfo"),
            ):
                _take(found, kind, file)
        _take(found, "buildinfo", directory / "buildinfo")
    return found


def _take(found: dict[str, object], kind: str, file: Path) -> None:
    if kind in found:
        return
    try:
        with file.open("rb") as opened:
            data = opened.read(_READ_LIMIT + 1)
    except OSError:
        return
    said: dict[str, object] = {
        "name": printable(file.name),
        "sha256": hashlib.sha256(data[:_READ_LIMIT]).hexdigest(),
    }
    if len(data) > _READ_LIMIT:
        found[kind] = {"name": said["name"], "na": f"larger than {_READ_LIMIT >> 20} MiB"}
        return
    read = {"manifest": _manifest, "testdata": _testdata, "buildinfo": _buildinfo}[kind]
    found[kind] = {**said, **read(data.decode("utf-8", "replace"))}


def _manifest(text: str) -> dict[str, object]:
    """Lines of ``name architecture version``."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    kept = lines[:PACKAGES_LIMIT]
    packages = {printable(line[0], _WORD): printable(line[-1], _WORD) for line in kept}
    return {"count": len(lines), "packages": packages}


def _testdata(text: str) -> dict[str, object]:
    try:
        variables = json.loads(text)
    except (ValueError, RecursionError):
        return {"na": "it is not JSON"}
    if not isinstance(variables, dict):
        return {"na": "it is not a JSON object"}
    kept = {
        key: printable(str(variables[key]), _LINE)
        for key in TESTDATA_KEYS
        if isinstance(variables.get(key), str | int | float)
    }
    return {"variables": kept}


def _buildinfo(text: str) -> dict[str, object]:
    lines = text.splitlines()
    return {
        "lines": [printable(line, _LINE) for line in lines[:_LINES_LIMIT]],
        "count": len(lines),
    }
