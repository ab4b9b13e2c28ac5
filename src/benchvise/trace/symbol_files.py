"""Names of functions from ELF files, for addresses of programs that a trace tells.

Files are named by the trace, which is not trusted: only regular files are read, so much of each,
and one that is not the module of the trace (by its build id, else by its size in memory) is not
used. They are looked for in a directory ``symbols`` within the trace or in one above it, where what
comes from a board lies as on the board or by its name alone, then where the trace says, on this
machine.

What perf keeps of the files that it saw (``perf buildid-cache``) is used, too, as it lies there by
its build id.

Source: System V ABI, "Object Files" (gabi); ``.note.gnu.build-id`` of binutils.
"""

from __future__ import annotations

import os
import stat
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
import numpy.typing as npt

from benchvise.trace.decoder import decoder

_LARGEST_TABLE = 256 << 20
_MOST_HEADERS = 4096
_LONGEST_SYMBOL = 4096
_LONGEST_NAME = 400
"""Characters of the source's name: those of templates fill pages."""
_LOAD, _NOTE = 1, 4
_SYMTAB, _DYNSYM = 2, 11
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_BUILD_ID = 3
_MOST_ABOVE = 6
"""Directories: a session has its traces four below, in ust/uid/0/64-bit."""

_ABSENT = "no such file can be read here: put it into a directory symbols beside the trace"
_UNKNOWN = "the recording tells no build-id of it (perf record --buildid-mmap does)"

_DEBUG_FILES = Path("/usr/lib/debug/.build-id")
_PERF_FILES = Path(".debug/.build-id")
"""Below the home directory; each is a directory with these:"""
_PERF_NAMES = ("debug", "elf", "vdso")


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """The file that a trace says was loaded; ``size`` is that in memory, ``build_id`` may be
    empty."""

    path: str
    size: int
    build_id: bytes
    inode: tuple[str, int] | None = None
    """``MAJOR:MINOR`` of its device and its number, where it was recorded on this machine."""


@dataclass(frozen=True, slots=True)
class ModuleSymbols:
    """The functions of a module, or ``reason``: why they are not available.

    ``segments`` are what of its file is in memory: (offset in the file, bytes, address).
    """

    functions: ElfFunctions | None
    segments: tuple[tuple[int, int, int], ...] = ()
    reason: str = ""

    def name_in_file(self, offset: int) -> tuple[str, int] | None:
        """The function at a place of the file, and how far behind its begin that is."""
        if self.functions is None:
            return None
        for begin, size, address in self.segments:
            if begin <= offset < begin + size:
                return self.functions.name_at(address + offset - begin)
        return None


class SymbolFiles:
    """The functions of the modules of one trace."""

    def __init__(self, trace: Path) -> None:
        directory = trace if trace.is_dir() else trace.parent
        above = (directory, *directory.resolve().parents)[:_MOST_ABOVE]
        self._roots = tuple(place / "symbols" for place in above)
        self._known: dict[ModuleFile, ElfFunctions | None] = {}
        self._symbols: dict[ModuleFile, ModuleSymbols] = {}
        self._recorded = trace.stat().st_mtime if trace.exists() else 0.0

    def functions(self, module: ModuleFile) -> ElfFunctions | None:
        """The functions of a module; None where no file of it can be had."""
        if module not in self._known:
            read = (_read(path) for path in self._places(module))
            fitting = (file for file in read if file is not None and file.is_of(module))
            self._known[module] = next(fitting, None)
        return self._known[module]

    def symbols(self, module: ModuleFile) -> ModuleSymbols:
        """The functions of a module with where in its file they are. Which file it is, its build id
        says; else that it is the very file, on this machine."""
        if module not in self._symbols:
            self._symbols[module] = self._symbols_of(module)
        return self._symbols[module]

    def _symbols_of(self, module: ModuleFile) -> ModuleSymbols:
        if not module.build_id:
            return self._by_inode(module)
        seen, fitting = 0, []
        for path in self._places(module):
            if (file := _read(path)) is not None:
                seen += 1
                if file.build_id == module.build_id:
                    fitting.append(file)
        # Of a stripped file, which tells what it exports, and its symbols: those.
        named = max(fitting, key=lambda file: file.function_count, default=None)
        # A file of symbols has a few bytes of what is loaded at most, and places of its own for it.
        segments = max((file.segments for file in fitting), key=_stored, default=())
        if named and named.function_count and segments:
            return ModuleSymbols(named, segments)
        if fitting:
            return ModuleSymbols(None, segments, "it has no table of symbols")
        if seen:
            return ModuleSymbols(None, reason="the build-id of the file here differs")
        return ModuleSymbols(None, reason=_ABSENT)

    def candidates(self, module: ModuleFile) -> tuple[Path, ...]:
        """Files that may be the module: of one whose build-id is known, whoever reads them holds it
        against theirs; of another only the very file."""
        if module.build_id:
            return tuple(self._places(module))
        return (Path(module.path),) if self._is_unchanged(module) else ()

    def _by_inode(self, module: ModuleFile) -> ModuleSymbols:
        """The same of one whose build-id the recording does not tell: perf writes those of files
        only in which samples were taken. The same file, unchanged since, has the same symbols."""
        if not self._is_unchanged(module):
            return ModuleSymbols(None, reason=_UNKNOWN)
        read = _read(Path(module.path))
        if read is not None and read.function_count:
            return ModuleSymbols(read, read.segments)
        return ModuleSymbols(None, reason="it has no table of symbols")

    def _is_unchanged(self, module: ModuleFile) -> bool:
        """Whether the module is the file of its path on this machine, as it was recorded."""
        with suppress(OSError, ValueError):
            file = Path(module.path).stat()
            device = f"{os.major(file.st_dev)}:{os.minor(file.st_dev)}"
            unchanged = max(file.st_mtime, file.st_ctime) < self._recorded
            return module.inode == (device, file.st_ino) and unchanged
        return False

    def _places(self, module: ModuleFile) -> Iterator[Path]:
        path = PurePosixPath(module.path)
        if module.build_id:
            name = module.build_id.hex()
            with suppress(RuntimeError):  # nobody knows where home is
                kept = Path.home() / _PERF_FILES / name[:2] / name[2:]
                yield from (kept / file for file in _PERF_NAMES)
        if not path.is_absolute() or ".." in path.parts:
            return
        for root in self._roots:
            yield root / path.relative_to("/")
            yield root / path.name
        if module.build_id:
            name = module.build_id.hex()
            yield _DEBUG_FILES / name[:2] / f"{name[2:]}.debug"
        yield Path(path)


def _stored(segments: tuple[tuple[int, int, int], ...]) -> int:
    return sum(size for _, size, _ in segments)


class ElfFunctions:
    """The functions of one ELF file, by address."""

    def __init__(
        self,
        base: int,
        size: int,
        build_id: bytes,
        symbols: npt.NDArray[np.uint64],
        names: bytes,
        segments: tuple[tuple[int, int, int], ...] = (),
    ) -> None:
        self._base, self._size, self.build_id = base, size, build_id
        self.segments = segments
        self._symbols, self._names = symbols, names
        self._begins: list[int] = symbols[:, 0].tolist()

    def is_of(self, module: ModuleFile) -> bool:
        """Whether it has functions, and is the file of a module."""
        same = self.build_id == module.build_id if module.build_id else self._size == module.size
        return same and bool(self._begins)

    @property
    def function_count(self) -> int:
        """How many it has."""
        return len(self._begins)

    def name(self, offset: int) -> tuple[str, int] | None:
        """The function that holds a place of the module, counted from where it is loaded, and how
        far behind its begin that is."""
        return self.name_at(self._base + offset)

    def name_at(self, address: int) -> tuple[str, int] | None:
        """The same of an address as the file has it."""
        at = bisect_right(self._begins, address) - 1
        if at < 0:
            return None
        begin, size, text = (int(value) for value in self._symbols[at])
        if address >= begin + max(size, 1):
            return None
        end = self._names.find(b"\0", text, text + _LONGEST_SYMBOL)
        name = self._names[text : end if end >= 0 else text + _LONGEST_SYMBOL]
        name = name.partition(b"@")[0]  # the version of the symbol
        if not name:
            return None
        return decoder().demangle(name.decode(errors="replace"))[:_LONGEST_NAME], address - begin


def _read(path: Path) -> ElfFunctions | None:
    """The functions of a file; None where it is no ELF file, or cannot be read."""
    with suppress(OSError, ValueError, struct.error, OverflowError):
        # A FIFO that somebody named must not make us wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return _Reader(file).functions()
    return None


class _Reader:
    """An open ELF file. ValueError, struct.error where it is none, or contradicts itself."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        identity = file.read(16)
        if identity[:4] != b"\x7fELF" or identity[4] not in (1, 2) or identity[5] not in (1, 2):
            raise ValueError("no ELF file")
        self._wide = identity[4] == 2
        self._order = "<" if identity[5] == 1 else ">"

    def functions(self) -> ElfFunctions:
        """All functions of its table of symbols, or of the dynamic one where it has only that."""
        form = "HHIQQQIHHHHHH" if self._wide else "HHIIIIIHHHHHH"
        head = self._unpack(form, 16)
        loads, segments, build_id = self._segments(head[4], head[8], head[9])
        if not loads:
            raise ValueError("nothing in it is loaded")
        lowest = min(address for address, _, _ in loads)
        low = min(address & -max(align, 1) for address, _, align in loads)
        high = max(address + size for address, size, _ in loads)
        symbols, names = self._symbols(head[5], head[10], head[11])
        return ElfFunctions(lowest, high - low, build_id, symbols, names, segments)

    def _segments(
        self, at: int, width: int, count: int
    ) -> tuple[list[tuple[int, int, int]], tuple[tuple[int, int, int], ...], bytes]:
        """Address, size and alignment of what is loaded; where of it what lies in the file is; and
        the build id."""
        loads, segments, build_id = [], [], b""
        for index in range(min(count, _MOST_HEADERS)):
            here = at + index * width
            if self._wide:
                kind, _, offset, address, _, stored, size, align = self._unpack("IIQQQQQQ", here)
            else:
                kind, offset, address, _, stored, size, _, align = self._unpack("IIIIIIII", here)
            if kind == _LOAD:
                loads.append((address, size, align))
                if stored:
                    segments.append((offset, stored, address))
            elif kind == _NOTE and not build_id:
                build_id = self._build_id(self._bytes(offset, min(stored, 1 << 16)))
        return loads, tuple(segments), build_id

    def _build_id(self, notes: bytes) -> bytes:
        at = 0
        while at + 12 <= len(notes):
            name, size, kind = struct.unpack_from(f"{self._order}III", notes, at)
            value = at + 12 + (name + 3 & ~3)
            if kind == _BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0":
                return notes[value : value + size]
            at = value + (size + 3 & ~3)
        return b""

    def _symbols(self, at: int, width: int, count: int) -> tuple[npt.NDArray[np.uint64], bytes]:
        """Begin, size and place of the name of each function, ascending; and the names."""
        form = "IIQQQQIIQQ" if self._wide else "IIIIIIIIII"
        sections = [
            self._unpack(form, at + index * width) for index in range(min(count, _MOST_HEADERS))
        ]
        kept: npt.NDArray[np.uint64] = np.zeros((0, 3), dtype=np.uint64)
        names = b""
        for kind in (_SYMTAB, _DYNSYM):
            table = next((section for section in sections if section[1] == kind), None)
            if table is None or table[6] >= len(sections) or len(kept):
                continue
            texts = sections[table[6]]
            names = self._bytes(texts[4], texts[5])
            kept = self._functions(self._bytes(table[4], table[5]))
        return kept, names

    def _functions(self, data: bytes) -> npt.NDArray[np.uint64]:
        number, (begin, size) = ("name", "u4"), (("begin", "u"), ("size", "u"))
        kinds = (("info", "u1"), ("other", "u1"), ("section", "u2"))
        width = "8" if self._wide else "4"
        place = tuple((name, code + width) for name, code in (begin, size))
        fields = (number, *kinds, *place) if self._wide else (number, *place, *kinds)
        form = np.dtype([(name, self._order + code) for name, code in fields])
        table = np.frombuffer(data[: len(data) // form.itemsize * form.itemsize], dtype=form)
        own = table[np.isin(table["info"] & 15, _FUNCTIONS) & (table["section"] != 0)]
        # Of several names of a function the last is taken: a global one before a weak or local one.
        rank = np.array([0, 2, 1, *[0] * 13])[own["info"] >> 4]
        own = own[np.lexsort((rank, own["begin"]))]
        columns = [own[name].astype(np.uint64) for name in ("begin", "size", "name")]
        return np.stack(columns, axis=1)

    def _unpack(self, form: str, at: int) -> tuple[int, ...]:
        form = self._order + form
        return struct.unpack(form, self._bytes(at, struct.calcsize(form)))

    def _bytes(self, at: int, size: int) -> bytes:
        if size > _LARGEST_TABLE:
            raise ValueError("a table of it is too large")
        self._file.seek(at)
        return self._file.read(size)
