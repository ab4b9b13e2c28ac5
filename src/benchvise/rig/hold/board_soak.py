"""A soak of a board that is held, or of the boot programs for many harts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchvise.errors import BenchviseError
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import PREFIX as BOARD_PREFIX
from benchvise.rig.environment import SIMULATED, Rig
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.messages import PowerChange
from benchvise.rig.machine_turn import MachineTurn
from benchvise.rig.soak.cores import REGISTERS, Core, Symbols
from benchvise.rig.soak.debuggers import cores_at
from benchvise.rig.soak.soak import RigFault, SoakBoot, SoakResult, soak
from benchvise.rig.virtual.harts.soak import HART_IDS, soak_harts

PREFIX = "harts:"
"""How the boot programs for many harts are named: ``harts:faulty``."""

OnBoot = Callable[[SoakBoot | RigFault], None]


def soak_board(
    rig: Rig, name: str, boots: int, on_boot: OnBoot, symbols: Path | None = None
) -> SoakResult:
    """Boots a board of the rig ``boots`` times from cold; it is off afterwards.

    Where the rig file names a debugger for the board, a failed boot says where its cores stand;
    ``symbols`` is the ELF file that has their names.
    """
    table = Symbols.load(symbols) if symbols is not None else None
    purpose = f"rig soak, {boots} boots"
    with ExitStack() as stack:
        MachineTurn(rig, stack, purpose).take_for([f"{BOARD_PREFIX}{name}"])
        held = stack.enter_context(HeldBoard(rig, name, purpose))
        held.switch_off_at_end(True)
        try:
            return soak(
                lambda _number: held.boot(logs_directory(name)).report,
                boots,
                board=name,
                cores=_cores(held, table),
                on_boot=on_boot,
                simulated=SIMULATED in held.features,
            )
        finally:
            with contextlib.suppress(BenchviseError):
                held.switch_power(PowerChange.OFF)


def _cores(held: HeldBoard, symbols: Symbols | None) -> Callable[[int], Sequence[Core]] | None:
    """How to ask where the board's cores stand; None without a debugger or a known architecture."""
    where = held.find_debugger()
    architecture = next((name for name in sorted(held.features) if name in REGISTERS), None)
    if not where or architecture is None:
        return None
    return lambda _number: cores_at(where, architecture, symbols)


def soak_program(
    name: str, boots: int, ram_fill: str | None, boot_hart: int, seed: int, on_boot: OnBoot
) -> SoakResult:
    """Boots one of the boot programs for many harts, with chosen contents of RAM."""
    form = name.removeprefix(PREFIX)
    return soak_harts(
        form,
        boots,
        ram_fill or HART_IDS,
        boot_hart,
        seed=seed,
        directory=logs_directory(f"harts-{form}" if form.isalnum() else "harts"),
        on_boot=on_boot,
    )
