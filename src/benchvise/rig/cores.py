"""Where each core of a board stands: its program counter, by the name of the function.

Of a simulated board through QEMU's GDB stub (``cores_by_gdb``), of a real one through OpenOCD: its
GDB port, or its command port (``benchvise.rig.openocd``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.gdbstub import GdbStub
from benchvise.rig.symbols import Symbols


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

    ``pc`` is None when it could not be read. ``symbol`` is ``function+0x14`` or empty, ``caller``
    the same for the return address in the register that the architecture has for it: where the
    function was called from, if it has not called another since.
    """

    name: str
    pc: int | None
    symbol: str = ""
    caller: str = ""

    @property
    def function(self) -> str:
        """The function alone, or the address where it has no name."""
        return self.symbol.partition("+")[0] or self.place

    @property
    def place(self) -> str:
        """Where it stands, in one word."""
        return self.symbol or ("unknown" if self.pc is None else f"0x{self.pc:x}")

    def as_json(self) -> dict[str, object]:
        """The documented shape."""
        pc = {"na": "not readable"} if self.pc is None else f"0x{self.pc:x}"
        return {"name": self.name, "pc": pc, "symbol": self.symbol, "caller": self.caller}


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
    """The registers of an architecture. Raises UsageError when nobody knows them."""
    try:
        return REGISTERS[architecture]
    except KeyError:
        raise UsageError(
            f"no core of the architecture {architecture} can be looked at",
            f"known are {', '.join(REGISTERS)}",
        ) from None


def read_cores(stub: GdbStub, architecture: str, symbols: Symbols | None) -> tuple[Core, ...]:
    """All cores of a stub that one is connected to, and whose cores therefore stand still."""
    wanted = registers_of(architecture)
    numbers = (wanted.pc,) if wanted.caller is None else (wanted.pc, wanted.caller)
    cores = []
    for index, thread in enumerate(stub.threads()):
        pc, *caller = stub.registers(thread, numbers, wanted.width)
        # "CPU#1 [running]", or what OpenOCD calls a core: the state is that of a stopped machine.
        name = stub.description(thread).partition("[")[0].strip() or f"core {index}"
        cores.append(core_at(name, pc, caller[0] if caller else None, symbols))
    return tuple(cores)


def cores_by_gdb(
    address: Path | tuple[str, int],
    architecture: str,
    symbols: Symbols | None = None,
    *,
    resume: bool = True,
) -> tuple[Core, ...]:
    """All cores of the machine behind a GDB stub: a Unix socket, or host and port.

    They stand still while they are read; with ``resume`` they go on afterwards. Raises RigError
    when the stub does not answer as it should, UsageError for an unknown architecture.
    """
    registers_of(architecture)
    with GdbStub(address) as stub:
        cores = read_cores(stub, architecture, symbols)
        if resume:
            stub.resume()
    return cores
