"""One cold boot of the harts program under QEMU, with chosen contents of RAM.

All harts leave reset at the same moment, as on the machine ``virt`` without firmware. The RAM is a
file that is filled before: with what RAM is to hold at power-on, then with the program's image.
QEMU itself loads nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchvise.errors import BenchviseError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.soak.cores import Core
from benchvise.rig.soak.debuggers import GdbStub, read_cores
from benchvise.rig.virtual.harts.program import MOST_HARTS, HartsProgram
from benchvise.text import last_line

EMULATOR = "qemu-system-riscv64"
PACKAGE = "qemu-system-misc"
"""The Debian package that has the emulator."""

RAM_BYTES = 4 * 1024 * 1024

_TICKS_PER_SECOND = 10_000_000  # of the machine's timer
_MTIME = 0x0200_BFF8
_BETWEEN_LOOKS = 0.05  # seconds; a good boot is over when it is first looked at
_LONGEST = 60.0  # seconds of this machine's time for one boot

_PARAMETERS = struct.Struct(f"<5I{MOST_HARTS}I")
_EVIDENCE = struct.Struct(f"<{8 * MOST_HARTS}x4I{2 * MOST_HARTS}Q")


class Interleaving(StrEnum):
    """How the harts run beside each other.

    In turns: each executes a fixed number of instructions, then the next (``-icount``). Time is
    counted in instructions too, so a boot is a function of the program and of RAM, and the same
    on every machine. Parallel: each is a thread of this machine, as fast as that lets it.
    """

    TURNS = "turns"
    PARALLEL = "parallel"


@dataclass(frozen=True, slots=True)
class Durations:
    """How long a boot takes in the guest, all in seconds.

    ``early`` is the boot hart's work before it clears .bss, ``init`` that from there to the first
    call. Called harts have ``patience`` to come up. A boot that is not over after ``limit`` never
    will be.
    """

    early: float
    init: float
    patience: float
    limit: float


DURATIONS: Mapping[Interleaving, Durations] = {
    Interleaving.TURNS: Durations(early=1.0, init=1.0, patience=4.0, limit=20.0),
    Interleaving.PARALLEL: Durations(early=0.1, init=0.1, patience=1.0, limit=3.0),
}
"""Long enough for every other hart to have several turns; see docs/explanation/boot-hang.md."""


@dataclass(frozen=True, slots=True)
class PowerOn:
    """What decides a boot: RAM's contents (``RAM_BYTES`` of them), and the straps.

    ``held`` are seconds of the guest by which a hart comes out of reset late.
    """

    ram: bytes
    boot_hart: int = 0
    harts: int = 4
    interleaving: Interleaving = Interleaving.TURNS
    held: Mapping[int, float] = field(default_factory=dict)
    durations: Durations | None = None


class HartsOutcome(StrEnum):
    """How a boot ended.

    Up: all harts work. Hang: the boot hart waits for ever. Lost: the boot hart believes that all
    are up, but not all are.
    """

    UP = "up"
    HANG = "hang"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class HartsBoot:
    """One boot, and what the program has noted of it; sets of harts are by their numbers.

    Of the harts that wait: those that had looked at the wake flag before .bss was cleared, those
    that did so between then and the first call, and those that had left by then, uncalled. Of all:
    those that came up, and mcause and mtval of those that trapped.

    ``phases`` are seconds of this machine's time since QEMU was started. ``cores`` is empty when
    all came up. ``ram`` is what RAM held when power went off.
    """

    outcome: HartsOutcome
    console: bytes
    phases: dict[str, float]
    cores: tuple[Core, ...]
    looked_before: frozenset[int]
    looked_between: frozenset[int]
    left_early: frozenset[int]
    up: frozenset[int]
    trapped: dict[int, tuple[int, int]]
    ram: bytes

    def in_order(self, power_on: PowerOn) -> bool:
        """Whether no hart came late.

        Every other hart has looked at the wake flag before .bss is cleared, and again, unless it
        has gone, before the first call.
        """
        others = frozenset(range(power_on.harts)) - {power_on.boot_hart}
        return others <= self.looked_before and others - self.left_early <= self.looked_between


def missing() -> str:
    """Why there can be no such machine here; empty when there can."""
    if shutil.which(EMULATOR) is None:
        return f"{EMULATOR} is not installed: apt install {PACKAGE}"
    return ""


def boot(program: HartsProgram, power_on: PowerOn) -> HartsBoot:
    """Switches the machine on, and off again once it is up or never will be.

    Raises BenchviseError when there is no emulator, RigError when it fails.
    """
    reason = missing()
    if reason:
        what, _, remedy = reason.partition(": ")
        raise BenchviseError(what, remedy)
    with tempfile.TemporaryDirectory(prefix="benchvise-harts-") as directory:
        ram = Path(directory) / "ram"
        ram.write_bytes(_ram(program, power_on))
        with _machine(Path(directory), power_on) as machine:
            outcome, cores = machine.watch(program, power_on)
        left = ram.read_bytes()
    evidence = _EVIDENCE.unpack_from(left, program.offset("evidence"))
    before, between, early, up = evidence[:4]
    causes, values = evidence[4 : 4 + MOST_HARTS], evidence[4 + MOST_HARTS :]
    return HartsBoot(
        outcome,
        bytes(machine.console),
        machine.phases,
        cores,
        _harts(before),
        _harts(between),
        _harts(early),
        _harts(up),
        {hart: (causes[hart], values[hart]) for hart in range(MOST_HARTS) if causes[hart]},
        left,
    )


def _harts(bits: int) -> frozenset[int]:
    return frozenset(hart for hart in range(MOST_HARTS) if bits >> hart & 1)


def _ram(program: HartsProgram, power_on: PowerOn) -> bytes:
    """RAM at power-on: anything, over it the image, in that the straps."""
    if len(power_on.ram) != RAM_BYTES:
        raise ValueError(f"RAM has {RAM_BYTES} bytes, not {len(power_on.ram)}")
    durations = power_on.durations or DURATIONS[power_on.interleaving]
    contents = bytearray(power_on.ram)
    contents[: len(program.image)] = program.image
    _PARAMETERS.pack_into(
        contents,
        program.offset("parameters"),
        power_on.boot_hart,
        power_on.harts,
        *(_ticks(s) for s in (durations.early, durations.init, durations.patience)),
        *(_ticks(power_on.held.get(hart, 0.0)) for hart in range(MOST_HARTS)),
    )
    return bytes(contents)


def _ticks(seconds: float) -> int:
    return round(seconds * _TICKS_PER_SECOND)


@contextlib.contextmanager
def _machine(directory: Path, power_on: PowerOn) -> Iterator[_Machine]:
    timing = {
        # 1024 ns an instruction, the slowest there is: then a turn is short.
        Interleaving.TURNS: ("-icount", "shift=10,sleep=off", "-rtc", "clock=vm"),
        Interleaving.PARALLEL: ("-accel", "tcg,thread=multi"),
    }[power_on.interleaving]
    gdb = directory / "gdb"
    command = [
        # Should this process die, the machine must not spin on.
        *("setpriv", "--pdeathsig", "KILL", EMULATOR),
        *("-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none"),
        *("-machine", "virt,memory-backend=ram", "-bios", "none"),
        *("-smp", str(power_on.harts), "-m", f"{RAM_BYTES // 1024 // 1024}M"),
        "-object",
        f"memory-backend-file,id=ram,size={RAM_BYTES},mem-path={directory / 'ram'},share=on",
        *("-serial", "stdio", "-gdb", f"unix:{gdb},server=on,wait=off", *timing),
    ]
    with (directory / "stderr").open("wb") as complaints:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
        )
    try:
        yield _Machine(process, started, gdb, directory / "stderr")
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class _Machine:
    """A QEMU that runs; its console is read into ``console``."""

    def __init__(
        self, process: subprocess.Popen[bytes], started: float, gdb: Path, complaints: Path
    ) -> None:
        assert process.stdout is not None  # noqa: S101 - as it was started
        self._process = process
        self._stdout = process.stdout.fileno()
        self._started = started
        self._gdb = gdb
        self._complaints = complaints
        self.console = bytearray()
        self.phases: dict[str, float] = {"power-on": 0.0}

    def watch(
        self, program: HartsProgram, power_on: PowerOn
    ) -> tuple[HartsOutcome, tuple[Core, ...]]:
        """Waits until the boot is over, or never will be; then where the cores stand."""
        limit = (power_on.durations or DURATIONS[power_on.interleaving]).limit
        everybody = (power_on.harts, power_on.harts)
        self._read_console(self._started + _LONGEST, first=True)
        while time.monotonic() < self._started + _LONGEST:
            self._read_console(time.monotonic() + _BETWEEN_LOOKS)
            if self._result() == everybody:
                return HartsOutcome.UP, ()
            with GdbStub(self._gdb) as stub:  # the harts stand still from here on
                self._read_console(time.monotonic())
                guest = int.from_bytes(stub.memory(_MTIME, 8), "little") / _TICKS_PER_SECOND
                if self._result() is None and guest < limit:
                    stub.resume()
                elif self._result() == everybody:
                    return HartsOutcome.UP, ()
                else:
                    outcome = HartsOutcome.HANG if self._result() is None else HartsOutcome.LOST
                    return outcome, _named(read_cores(stub, "riscv64", program.symbols))
        raise RigError(
            Fault.RIG_BROKEN,
            f"the simulated machine ran less than {limit:g} s in {_LONGEST:.0f} s of real time",
            "run fewer things at the same time",
        )

    def _result(self) -> tuple[int, int] | None:
        """How many harts of how many are up, once the program has said so."""
        fields = self.console.rpartition(b"harts: ")[2].split()
        if len(fields) == 4 and fields[1] == b"of" and self.console.endswith(b"up\n"):
            return int(fields[0]), int(fields[2])
        return None

    def _read_console(self, until: float, *, first: bool = False) -> None:
        """Reads until a moment of the monotonic clock, the last line, or just anything."""
        while self._result() is None and not (first and self.console):
            left = max(0.0, until - time.monotonic())
            if not select.select([self._stdout], [], [], left)[0]:
                return
            data = os.read(self._stdout, 4096)
            if not data:
                reason = last_line(self._complaints.read_bytes()) or "it printed no reason"
                raise RigError(Fault.RIG_BROKEN, f"{EMULATOR} ended: {reason}")
            self.console += data.replace(b"\r", b"")
            self._note_phases()

    def _note_phases(self) -> None:
        elapsed = time.monotonic() - self._started
        for name, text in _PHASES.items():
            if text in self.console:
                self.phases.setdefault(name, elapsed)


_PHASES = {
    "first-byte": b"harts: ",
    "memory": b"memory ready",
    "calling": b"starting hart",
    "up": b" up\n",
}


def _named(cores: tuple[Core, ...]) -> tuple[Core, ...]:
    """The cores as harts, which QEMU numbers in the same order."""
    return tuple(
        Core(f"hart {number}", core.address, core.symbol, core.caller)
        for number, core in enumerate(cores)
    )
