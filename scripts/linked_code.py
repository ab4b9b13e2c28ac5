"""What others wrote of the machine code in a wheel: its licences, and a bill of materials.

Crates are linked into the trace decoder, musl into the probes. Their licences ask to come along.
Packages of pages have theirs in front of the scripts (``web/scripts/licences.js``), and those of
Python come as packages of their own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CRATE = "tracefile-py"
_TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE")
_TEXT_OF = {"flatbuffers": "ahash"}
"""Crates that are packed without their licence text, which is Apache 2.0, and one that has it."""

_MUSL = "lib/libc/musl/COPYRIGHT"


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """A package whose machine code is in the wheel, with the texts of its licences."""

    name: str
    version: str
    licence: str
    url: str
    texts: tuple[str, ...]


def linked_code(root: Path) -> list[LinkedCode]:
    """All of it. FileNotFoundError for a package without a licence text."""
    return [*_crates(root), _musl()]


def notices(packages: list[LinkedCode]) -> str:
    """The licences as one text; packages of the same text share it."""
    by_texts: dict[tuple[str, ...], list[LinkedCode]] = {}
    for package in packages:
        by_texts.setdefault(package.texts, []).append(package)
    parts = []
    for texts, group in by_texts.items():
        names = ", ".join(f"{package.name} {package.version}" for package in group)
        parts.append("\n\n".join([f"{names} ({group[0].licence})", *texts]))
    return f"\n\n{'-' * 80}\n\n".join(parts) + "\n"


def bill_of_materials(packages: list[LinkedCode], name: str, release: str) -> dict[str, Any]:
    """The same as a CycloneDX document, which tools that look for known faults read."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": name, "version": release}},
        "components": [
            {
                "type": "library",
                "name": package.name,
                "version": package.version,
                "purl": package.url,
                "licenses": [{"expression": package.licence}],
            }
            for package in packages
        ],
    }


def _crates(root: Path) -> Iterator[LinkedCode]:
    # With the features that the decoder asks for: metadata knows those of the workspace only.
    tree = ("--package", CRATE, "--edges", "normal,no-proc-macro", "--prefix", "none")
    lines = _run(root, "cargo", "tree", "--locked", *tree, "--format", "{p}").splitlines()
    linked = {tuple(line.split()[:2]) for line in lines}
    host = next(
        line.split()[1] for line in _run(root, "rustc", "-vV").splitlines() if "host:" in line
    )
    words = ("--locked", "--format-version", "1", "--filter-platform", host)
    packages = json.loads(_run(root, "cargo", "metadata", *words))["packages"]
    directories = {each["name"]: Path(each["manifest_path"]).parent for each in packages}
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name, release = package["name"], package["version"]
        if package["source"] is None or (name, f"v{release}") not in linked:
            continue
        texts = (
            _texts(directories[_TEXT_OF[name]], "LICENSE-APACHE")
            if name in _TEXT_OF
            else _texts(directories[name])
        )
        if not texts:
            raise FileNotFoundError(f"{name} is linked into the wheel and has no licence text")
        # The slash of old manifests means what the expression says with OR.
        licence = package["license"].replace("/", " OR ")
        yield LinkedCode(name, release, licence, f"pkg:cargo/{name}@{release}", texts)


def _texts(directory: Path, *names: str) -> tuple[str, ...]:
    names = names or _TEXTS
    files = [path for path in directory.iterdir() if path.name.upper().startswith(names)]
    return tuple(path.read_text(encoding="utf-8").strip() for path in sorted(files))


def _musl() -> LinkedCode:
    """The C library of the probes, as ``ziglang`` brings it."""
    zig = find_spec("ziglang")
    if zig is None or zig.origin is None:
        raise FileNotFoundError("ziglang, which has musl's licence, is not installed: make install")
    text = (Path(zig.origin).parent / _MUSL).read_text(encoding="utf-8")
    release = version("ziglang")
    url = f"pkg:pypi/ziglang@{release}"
    return LinkedCode("musl", f"of zig {release}", "MIT", url, (text.strip(),))


def _run(root: Path, *command: str) -> str:
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
