"""Where each core of a board stands: its program counter, by the name of the function.

``debuggers`` reads the registers; the symbols of what the board runs give them names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from benchvise.documents import computed, in_json
from benchvise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Registers:
    """What the registers are called that hold the program counter and the return address.

    ``pc`` and ``caller`` are GDB's numbers, ``names`` what OpenOCD calls them, ``width`` is in
    bytes. x86 keeps its return addresses in memory only.
    """

    pc: int
    caller: int | None
    names: tuple[str, ...]
    width: int = 8


REGISTERS: Mapping[str, Registers] = {
    "riscv64": Registers(32, 1, ("pc", "ra")),
    "aarch64": Registers(32, 30, ("pc", "x30")),
    "armv7hf": Registers(15, 14, ("pc", "lr"), 4),
    "x86_64": Registers(16, None, ("rip",)),
}
"""By the architecture's name, as in the rest of Benchvise."""


@dataclass(frozen=True, slots=True)
class Core:
    """A core and where it stands.

    ``address`` is the program counter, None when it could not be read. ``symbol`` is
    ``function+0x14`` or empty, ``caller`` the same for the return address in the register that the
    architecture has for it: where the function was called from, if it has not called another since.
    """

    name: str
    address: int | None = field(metadata=in_json(hidden=True))
    symbol: str = ""
    caller: str = ""

    @property
    def function(self) -> str:
        """The function alone, or the address where it has no name."""
        return self.symbol.partition("+")[0] or self.place

    @property
    def place(self) -> str:
        """Where it stands, in one word."""
        return self.symbol or ("unknown" if self.address is None else f"0x{self.address:x}")

    @computed.before("symbol")
    def pc(self) -> str | dict[str, str]:
        """The program counter in hexadecimal, or why there is none."""
        return {"na": "not readable"} if self.address is None else f"0x{self.address:x}"


def core_at(name: str, pc: int | None, caller: int | None, symbols: Symbols | None) -> Core:
    """A core by its registers, named."""
    if symbols is None:
        return Core(name, pc)
    return Core(
        name,
        pc,
        "" if pc is None else symbols.name(pc),
        # The call itself stands before the return address, which may be of the next function.
        "" if caller is None else symbols.name(caller - 1),
    )


def registers_of(architecture: str) -> Registers:
    """The registers of an architecture. Raises UsageError for an unknown one."""
    try:
        return REGISTERS[architecture]
    except KeyError:
        raise UsageError(
            f"cores of the architecture {architecture} cannot be read",
            f"known are {', '.join(REGISTERS)}",
        ) from None


# Code is a function, or a label of hand-written assembly, which has no type.
_CODE = ("STT_FUNC", "STT_NOTYPE")
_EXECUTABLE = 0x4  # SHF_EXECINSTR


@dataclass(frozen=True, slots=True)
class Symbol:
    """Where something of a program lies; ``size`` in bytes, 0 where the program does not say."""

    name: str
    address: int
    size: int = 0


class Symbols:
    """What the addresses of a program are called.

    ``code`` are its functions and labels, ``ranges`` the first address of each piece of code and
    the one behind its last, ``addresses`` where anything that has a name lies.
    """

    def __init__(
        self,
        code: Iterable[Symbol],
        ranges: Iterable[tuple[int, int]],
        addresses: Mapping[str, int],
    ) -> None:
        ordered = sorted(code, key=lambda symbol: symbol.address)
        self._functions = [symbol for symbol in ordered if symbol.size]
        self._labels = [symbol for symbol in ordered if not symbol.size]
        self._ranges = list(ranges)
        self._addresses = dict(addresses)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads the symbols of a program, of a kernel's ``vmlinux`` for instance.

        Raises UsageError when the file cannot be read, is no ELF file, or has no symbols.
        """
        try:
            with Path(path).open("rb") as stream:
                symbols = cls._read(ELFFile(stream))
        except (OSError, ELFError) as error:
            reason = getattr(error, "strerror", None) or error or "damaged"
            raise _no_symbols(path, f"cannot be read as a program ({reason})") from error
        if not symbols._addresses:
            raise _no_symbols(path, "has no symbols")
        return symbols

    @classmethod
    def _read(cls, elf: ELFFile) -> Self:
        code: list[Symbol] = []
        addresses: dict[str, int] = {}
        executable = {
            index: (int(section["sh_addr"]), int(section["sh_addr"]) + int(section["sh_size"]))
            for index, section in enumerate(elf.iter_sections())
            if section["sh_flags"] & _EXECUTABLE
        }
        table = elf.get_section_by_name(".symtab")
        if isinstance(table, SymbolTableSection):
            for entry in table.iter_symbols():
                symbol = Symbol(str(entry.name), int(entry["st_value"]), int(entry["st_size"]))
                # "$x" and its like only tell code from data.
                if not symbol.name or symbol.name.startswith(("$", ".L")):
                    continue
                addresses[symbol.name] = symbol.address
                if entry["st_info"]["type"] in _CODE and entry["st_shndx"] in executable:
                    code.append(symbol)
        return cls(code, executable.values(), addresses)

    def address(self, name: str) -> int:
        """Where a function or a variable lies. KeyError when nothing has the name."""
        return self._addresses[name]

    def name(self, address: int) -> str:
        """``start_hart+0x14``, say, for an address of the program's code; empty for any other."""
        if not any(begin <= address < end for begin, end in self._ranges):
            return ""
        function, label = _last(self._functions, address), _last(self._labels, address)
        if function is not None and address < function.address + function.size:
            return _written(function, address)
        if label is not None and (function is None or label.address > function.address):
            return _written(label, address)
        return ""


def _last(symbols: list[Symbol], address: int) -> Symbol | None:
    index = bisect_right(symbols, address, key=lambda symbol: symbol.address)
    return symbols[index - 1] if index else None


def _written(symbol: Symbol, address: int) -> str:
    offset = address - symbol.address
    return f"{symbol.name}+0x{offset:x}" if offset else symbol.name


def _no_symbols(path: str | Path, why: str) -> UsageError:
    return UsageError(f"{path} {why}", "give the ELF file of what the board runs, not stripped")
