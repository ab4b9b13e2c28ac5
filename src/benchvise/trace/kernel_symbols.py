"""Names of kernel functions for a recording that brings no table of symbols of its own.

A table (``kallsyms``) is only taken where it belongs to the kernel of the recording: that of this
machine, and those that perf keeps of kernels it saw, by the kernel's build id; one that lies in a
directory ``symbols`` beside the trace where the address of the symbol that the recording names is
the same. A kernel that was loaded elsewhere at its last boot (KASLR) has its symbols moved by as
much, without those of modules.

Source: perf-record(1), perf-buildid-cache(1).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LARGEST = 256 << 20
_MASK = (1 << 64) - 1
_FURTHEST = 1 << 24
"""Bytes behind the begin of a function: further away lies no code of it."""

KERNEL = "[kernel.kallsyms]"
"""How perf calls the kernel's mapping, before the name of a symbol in it."""


@dataclass(frozen=True, slots=True)
class RecordedKernel:
    """The kernel that was recorded: its build id (may be empty), and where a symbol of it was."""

    build_id: bytes
    symbol: str
    address: int


class KernelSymbols:
    """Names of addresses of the recorded kernel; ``reason`` says why there are none."""

    def __init__(self, image: RecordedKernel | None, trace: Path) -> None:
        self.reason = ""
        self._begins: list[int] = []
        self._names: list[tuple[str, str]] = []
        if image is None:
            self.reason = "the recording does not tell which kernel it was"
            return
        for path, verified in _tables(image, trace):
            if self._take(path, image, verified=verified):
                return
        unnamed = "the recording tells no build-id of the kernel"
        self.reason = (
            f"{'no kallsyms of that kernel is here' if image.build_id else unnamed}; copy "
            "the board's /proc/kallsyms (as root) to symbols/kallsyms beside the file"
        )

    def name(self, address: int) -> tuple[str, str] | None:
        """Name and module (empty for the kernel itself) of the function at an address."""
        at = bisect_right(self._begins, address) - 1
        if at < 0 or address - self._begins[at] > _FURTHEST:
            return None
        return self._names[at]

    def _take(self, path: Path, image: RecordedKernel, *, verified: bool) -> bool:
        rows = _read(path)
        here = next((at for at, name, _ in rows if name == image.symbol), None)
        if here is None or (here != image.address and not verified):
            return False
        moved = image.address - here
        if moved:
            rows = [row for row in rows if not row[2]]
        rows.sort(key=lambda row: row[0])
        for at, name, module in rows:
            if not self._begins or self._begins[-1] != at + moved:
                self._begins.append(at + moved & _MASK)
                self._names.append((name, module))
        return True


def _tables(image: RecordedKernel, trace: Path) -> Iterator[tuple[Path, bool]]:
    """Where a table may lie, and whether the build id says that it is of the kernel."""
    directory = trace if trace.is_dir() else trace.parent
    yield directory / "symbols" / "kallsyms", False
    if not image.build_id:
        return
    name = image.build_id.hex()
    with suppress(RuntimeError):
        yield Path.home() / ".debug/.build-id" / name[:2] / name[2:] / "kallsyms", True
    if running_build_id() == image.build_id:
        yield Path("/proc/kallsyms"), True


def running_build_id() -> bytes:
    """The build id of the kernel that runs here; empty where it does not tell."""
    try:
        notes = Path("/sys/kernel/notes").read_bytes()
    except OSError:
        return b""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("=III", notes, at)
        value = at + 12 + (name + 3 & ~3)
        if kind == 3 and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[value : value + size]
        at = value + (size + 3 & ~3)
    return b""


def _read(path: Path) -> list[tuple[int, str, str]]:
    """Address, name and module of each line ``ADDRESS TYPE NAME [MODULE]``, weak names last, as
    perf prefers the others of an address; none of a kernel that hides its addresses."""
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            text = file.read(_LARGEST).decode(errors="replace")
    except OSError:
        return []
    strong, weak = [], []
    for line in text.splitlines():
        fields = line.split(maxsplit=3)
        with suppress(ValueError, IndexError):
            address = int(fields[0], 16)
            row = (address, fields[2], fields[3].strip("[] ") if len(fields) > 3 else "")
            if address and fields[1] in "tT":
                strong.append(row)
            elif address and fields[1] in "wW":
                weak.append(row)
    return strong + weak
