"""Small ELF files with just the dynamic sections that loaders and linkers look at."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

AARCH64, RISCV64, X86_64 = 183, 243, 62


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def program(
    machine: int = AARCH64,
    *,
    interpreter: str = "",
    soname: str = "",
    needed: Sequence[str] = (),
    versions: Mapping[str, Sequence[str]] | None = None,
    defines: Sequence[str] = (),
    imports: Sequence[str] = (),
    exports: Sequence[str] = (),
    text: bytes = b"",
) -> bytes:
    """A 64-bit little-endian ELF file; all of it is loaded at address 0. ``text`` is put in."""
    if not (needed or soname or interpreter):
        return _static(machine, text)
    strings = _Strings()
    body = bytearray(64 + 3 * 56)

    def put(data: bytes) -> int:
        body.extend(bytes(-len(body) % 8))
        at = len(body)
        body.extend(data)
        return at

    tags = [(1, strings.add(name)) for name in needed]
    if soname:
        tags.append((14, strings.add(soname)))
    interp = put(interpreter.encode() + b"\0")
    put(text + b"\0")
    if versions:
        tags.append((0x6FFFFFFE, put(_verneed(versions, strings))))
    if defines:
        tags.append((0x6FFFFFFC, put(_verdef(defines, strings))))
    symbols = bytearray(24)
    for name in imports:
        symbols += struct.pack("<IBBHQQ", strings.add(name), 0x12, 0, 0, 0, 0)
    for name in exports:
        symbols += struct.pack("<IBBHQQ", strings.add(name), 0x12, 0, 1, 4096, 8)
    dynsym = put(bytes(symbols))
    dynstr = put(bytes(strings.data))
    tags += [(5, dynstr), (6, dynsym), (0, 0)]
    dynamic = put(b"".join(struct.pack("<qQ", *tag) for tag in tags))
    sections = put(
        bytes(64)
        + _section(11, dynsym, len(symbols), 2)
        + _section(3, dynstr, len(strings.data), 0)
    )
    segments = [(1, 0, len(body)), (2, dynamic, 16 * len(tags))]
    if interpreter:
        segments.append((3, interp, len(interpreter) + 1))
    body[:64] = _header(machine, len(segments), sections, 3)
    for index, (kind, at, size) in enumerate(segments):
        struct.pack_into("<IIQQQQQQ", body, 64 + 56 * index, kind, 4, at, at, at, size, size, 8)
    return bytes(body)


def _static(machine: int, text: bytes) -> bytes:
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 128 + len(text), 128 + len(text), 8)
    return _header(machine, 1, 0, 0) + load + bytes(8) + text


def _header(machine: int, segments: int, sections: int, count: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, sections, 0, 64, 56, segments, 64, count, 0
    )


def _section(kind: int, at: int, size: int, link: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", 0, kind, 0, at, at, size, link, 0, 8, 0)


def _verneed(versions: Mapping[str, Sequence[str]], strings: _Strings) -> bytes:
    data = bytearray()
    for number, (library, names) in enumerate(versions.items()):
        following = 0 if number == len(versions) - 1 else 16 + 16 * len(names)
        data += struct.pack("<HHIII", 1, len(names), strings.add(library), 16, following)
        for index, name in enumerate(names):
            onward = 0 if index == len(names) - 1 else 16
            data += struct.pack("<IHHII", 0, 0, index + 2, strings.add(name), onward)
    return bytes(data)


def _verdef(names: Sequence[str], strings: _Strings) -> bytes:
    data = bytearray()
    for index, name in enumerate(names):
        following = 0 if index == len(names) - 1 else 28
        data += struct.pack("<HHHHIII", 1, 0, index + 1, 1, 0, 20, following)
        data += struct.pack("<II", strings.add(name), 0)
    return bytes(data)
