"""What an ELF program or library needs and provides, read from its dynamic section.

After the System V ABI (gabi) and, for symbol versions, the Linux Standard Base, chapter 10. Files
come from an image and are not trusted: whatever does not fit into the file is not there, and every
loop has an end. pyelftools would not do: it takes some seventy times the time, which counts where
all programs of a root file system are read, and it repeats a record as often as a file says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_MOST_ENTRIES = 1 << 16
_NAMES_SHARE = 4  # real names hardly overlap, so together they are shorter than the file

_LOAD, _DYNAMIC, _INTERP = 1, 2, 3
_DT_NEEDED, _STRTAB, _SONAME = 1, 5, 14
_RPATH, _RUNPATH = 15, 29
_VERDEF, _VERNEED = 0x6FFFFFFC, 0x6FFFFFFE
_DYNSYM_SECTION = 11

ARCHITECTURES: Mapping[int, str] = {
    3: "i386",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
}
"""Architectures as uname says them (``arm`` for all 32-bit ARM) by their numbers in ELF files."""

_ARM_HARD_FLOAT = 0x400


@dataclass(frozen=True, slots=True)
class Elf:
    """``arch`` as uname says it; ``dynamic`` unless it is linked statically. ``search`` are
    directories that it has its ``libraries`` looked for in, ``$ORIGIN`` for its own.

    ``versions`` are the symbol versions it needs, by library; ``defines`` those it provides.
    ``imports`` and ``exports`` are names of symbols.
    """

    arch: str
    bits: int
    flags: int = 0
    dynamic: bool = False
    interpreter: str = ""
    soname: str = ""
    libraries: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    versions: dict[str, frozenset[str]] = field(default_factory=dict)
    defines: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    exports: frozenset[str] = frozenset()

    @property
    def abi(self) -> tuple[str, int, bool]:
        """What must be the same for code to be linked together: the last is ARM's hard float."""
        hard = self.arch == "arm" and bool(self.flags & _ARM_HARD_FLOAT)
        return self.arch, self.bits, hard


def parse(data: bytes, *, symbols: bool = False) -> Elf | None:
    """What these bytes are; None when they are no ELF file for Linux as we know it.

    ``symbols``: also names of symbols, which takes longer.
    """
    if data[:4] != b"\x7fELF" or len(data) < 64 or data[4] not in (1, 2) or data[5] != 1:
        return None  # big-endian boards are not among those we know
    try:
        return _Reader(data).elf(symbols)
    except (struct.error, IndexError, ValueError, OverflowError):
        return None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._wide = data[4] == 2
        self._segments = list(self._program_headers())

    def elf(self, symbols: bool) -> Elf | None:
        data = self._data
        machine = struct.unpack_from("<H", data, 18)[0]
        flags = struct.unpack_from("<I", data, 48 if self._wide else 36)[0]
        arch, bits = ARCHITECTURES.get(machine, f"machine {machine}"), 64 if self._wide else 32
        dynamic = next((s for s in self._segments if s[0] == _DYNAMIC), None)
        interp = next((s for s in self._segments if s[0] == _INTERP), None)
        if dynamic is None:
            return Elf(arch, bits, flags)
        tags = list(self._dynamic(dynamic[1], dynamic[3]))
        first = dict(reversed(tags))
        strings = self._at(first.get(_STRTAB, 0))
        libraries = tuple(self._text(strings + value) for tag, value in tags if tag == _DT_NEEDED)
        searched = first.get(_RUNPATH, first.get(_RPATH))
        search = "" if searched is None else self._text(strings + searched)
        imports: set[str] = set()
        exports: set[str] = set()
        if symbols:
            imports, exports = self._symbols()
        return Elf(
            arch,
            bits,
            flags,
            bool(libraries) or interp is not None or _SONAME in first,
            self._text(interp[1]) if interp else "",
            self._text(strings + first[_SONAME]) if _SONAME in first else "",
            libraries,
            tuple(filter(None, search.split(":"))),
            dict(self._needed_versions(first, strings)),
            frozenset(self._defined_versions(first, strings)),
            frozenset(imports),
            frozenset(exports),
        )

    def _program_headers(self) -> Iterator[tuple[int, int, int, int]]:
        """Type, offset, address and size in the file."""
        data = self._data
        at = struct.unpack_from("<Q" if self._wide else "<I", data, 32 if self._wide else 28)[0]
        width, count = struct.unpack_from("<HH", data, 54 if self._wide else 42)
        for index in range(min(count, 256)):
            here = at + index * width
            if self._wide:
                kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, here)
            else:
                kind, offset, address, _, size = struct.unpack_from("<IIIII", data, here)
            yield kind, offset, address, size

    def _dynamic(self, offset: int, size: int) -> Iterator[tuple[int, int]]:
        form, width = ("<qQ", 16) if self._wide else ("<iI", 8)
        for index in range(min(size // width, _MOST_ENTRIES)):
            tag, value = struct.unpack_from(form, self._data, offset + index * width)
            if tag == 0:
                return
            yield tag, value

    def _at(self, address: int) -> int:
        """The offset in the file of the data loaded at this address."""
        for kind, offset, begin, size in self._segments:
            if kind == _LOAD and begin <= address < begin + size:
                return offset + address - begin
        raise IndexError(address)

    def _text(self, at: int) -> str:
        end = self._data.index(b"\0", at, at + 4096) if 0 <= at < len(self._data) else at
        return self._data[at:end].decode(errors="replace")

    def _needed_versions(
        self, tags: dict[int, int], strings: int
    ) -> Iterator[tuple[str, frozenset[str]]]:
        at = self._at(tags[_VERNEED]) if _VERNEED in tags else -1
        left = _MOST_ENTRIES if at >= 0 else 0
        while left > 0:
            _, count, file, auxiliary, following = struct.unpack_from("<HHIII", self._data, at)
            left -= 1 + count
            names = set()
            here = at + auxiliary
            for _ in range(count):
                _, flags, _, name, onward = struct.unpack_from("<IHHII", self._data, here)
                if not flags & 2:  # weak: the program runs without it
                    names.add(self._text(strings + name))
                here += onward
            yield self._text(strings + file), frozenset(names)
            if following == 0:
                return
            at += following

    def _defined_versions(self, tags: dict[int, int], strings: int) -> Iterator[str]:
        at = self._at(tags[_VERDEF]) if _VERDEF in tags else -1
        for _ in range(_MOST_ENTRIES if at >= 0 else 0):
            auxiliary, following = struct.unpack_from("<II", self._data, at + 12)
            yield self._text(strings + struct.unpack_from("<I", self._data, at + auxiliary)[0])
            if following == 0:
                return
            at += following

    def _symbols(self) -> tuple[set[str], set[str]]:
        """Names that are wanted from elsewhere, and that are offered; from the section table.

        ValueError when the names take more room together than the file has for them.
        """
        data, wide = self._data, self._wide
        at = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
        width, count = struct.unpack_from("<HH", data, 58 if wide else 46)
        sections = (self._section(at + index * width) for index in range(count))
        table = next((section for section in sections if section[0] == _DYNSYM_SECTION), None)
        imports: set[str] = set()
        exports: set[str] = set()
        if table is None:
            return imports, exports
        _, begin, size, link = table
        strings = self._section(at + link * width)[1]
        step = 24 if wide else 16
        room = _NAMES_SHARE * len(data)
        for here in range(begin + step, begin + size, step):
            if wide:
                offset, info, _, section = struct.unpack_from("<IBBH", data, here)
            else:
                offset, _, _, info, _, section = struct.unpack_from("<IIIBBH", data, here)
            if info >> 4 in (1, 2) and (section or info >> 4 == 1):  # weak imports may be left
                name = self._text(strings + offset)
                (exports if section else imports).add(name)
                room -= len(name)
                if room < 0:
                    raise ValueError("the names of symbols overlap")
        return imports, exports

    def _section(self, at: int) -> tuple[int, int, int, int]:
        """Type, offset, size and link."""
        if self._wide:
            kind, _, _, begin, size, link = struct.unpack_from("<IQQQQI", self._data, at + 4)
        else:
            kind, _, _, begin, size, link = struct.unpack_from("<IIIIII", self._data, at + 4)
        return kind, begin, size, link
