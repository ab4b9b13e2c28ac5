"""The bare-metal RISC-V program of ``examples/harts``: its forms, built, and as it lies in RAM."""

from __future__ import annotations

import importlib.metadata
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from elftools.elf.elffile import ELFFile

from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.images.cache import digest
from benchvise.rig.soak.cores import Symbols
from benchvise.rig.virtual.recipes import CACHE
from benchvise.text import last_line

RAM_BASE = 0x8000_0000
"""Where the RAM of QEMU's machine ``virt`` begins, and where all its harts do."""

MOST_HARTS = 8

_PACKAGE = Path(__file__).parents[3]
_TARGET = ("-target", "riscv64-freestanding-none", "-mcpu=baseline_rv64", "-mcmodel=medany")
_FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-builtin"),
    *("-fno-stack-protector", "-fno-pic", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
    *("-nostdlib", "-static", "-Wl,--build-id=none"),
)
_SOURCES = ("start.S", "main.c")
_SCRIPT = "harts.ld"


class HartsForm(StrEnum):
    """The forms of the program: where its wake flag lies, and how a woken hart answers."""

    FAULTY = "faulty"
    DOUBTED = "doubted"
    REPAIRED = "repaired"
    INITIALISED = "initialised"
    COPIED = "copied"


def form_named(name: str) -> HartsForm:
    """The form of a name. Raises UsageError when there is none."""
    try:
        return HartsForm(name)
    except ValueError:
        forms = ", ".join(HartsForm)
        raise UsageError(
            f"there is no form {name!r} of the harts program", f"use {forms}"
        ) from None


@dataclass(frozen=True, slots=True)
class HartsProgram:
    """A form, built.

    ``image`` is what has to lie at the beginning of RAM when power comes on; what follows it
    there is anything. ``path`` is the ELF file with the symbols.
    """

    form: HartsForm
    path: Path
    image: bytes
    symbols: Symbols

    def offset(self, name: str) -> int:
        """How far from the beginning of RAM a variable lies, in bytes."""
        return self.symbols.address(name) - RAM_BASE


def build(form: HartsForm) -> HartsProgram:
    """The program in one of its forms, compiled unless that was done before.

    It is kept under ``$XDG_CACHE_HOME/benchvise/virtual/harts``, by a hash of all that decides it.
    Raises BenchviseError when there is no compiler or it fails.
    """
    sources = _sources_directory()
    files = [*sorted(sources.glob("*.[chS]")), sources / _SCRIPT]
    origin = digest(
        _TARGET, _FLAGS, [(file.name, file.read_bytes()) for file in files], _compiler_version()
    )
    elf = CACHE.directory / "harts" / f"{form}-{origin}.elf"
    if not elf.exists():
        _compile(form, sources, elf)
    return HartsProgram(form, elf, _image(elf), Symbols.load(elf))


def _sources_directory() -> Path:
    """In a wheel the sources lie in the package, in a checkout beside it."""
    installed = _PACKAGE / "examples" / "harts"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "examples" / "harts"


def _compiler_version() -> str:
    try:
        return importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError as error:
        raise BenchviseError(
            "the harts program cannot be compiled: the Python package ziglang is not installed",
            "pip install ziglang",
        ) from error


def _compile(form: HartsForm, sources: Path, elf: Path) -> None:
    elf.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all, whoever else compiles at the same time.
    with tempfile.TemporaryDirectory(dir=elf.parent) as temporary:
        output = Path(temporary) / elf.name
        command: list[str | Path] = [
            *(sys.executable, "-m", "ziglang", "cc", *_TARGET, *_FLAGS),
            *(f"-DFORM={form.upper()}", "-T", sources / _SCRIPT, "-o", output),
            *(sources / name for name in _SOURCES),
        ]
        result = subprocess.run(command, capture_output=True, check=False)
        if result.returncode != 0 or not output.exists():
            complaints = [line for line in result.stderr.splitlines() if b"error" in line]
            reason = last_line(complaints[0] if complaints else result.stderr)
            raise BenchviseError(
                f"the harts program does not compile: {reason}",
                f"try it by hand: {shlex.join(map(str, command))}",
            )
        output.replace(elf)


def _image(elf: Path) -> bytes:
    """What the file brings into RAM: the loaded parts at their load addresses, and no .bss."""
    image = bytearray()
    with elf.open("rb") as stream:
        for segment in ELFFile(stream).iter_segments():
            data = segment.data()
            if segment["p_type"] != "PT_LOAD" or not data:
                continue
            offset = int(segment["p_paddr"]) - RAM_BASE
            image.extend(bytes(max(0, offset + len(data) - len(image))))
            image[offset : offset + len(data)] = data
    return bytes(image)
