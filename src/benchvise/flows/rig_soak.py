"""``benchvise rig soak``: a board booted many times."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from benchvise.errors import BenchviseError
from benchvise.rig.boot.report import BootReport
from benchvise.rig.client import HeldBoard, logs_directory
from benchvise.rig.environment import SIMULATED, Rig
from benchvise.rig.soak import Boot, RigFault, SoakResult, soak
from benchvise.rig.virtual.harts import HART_IDS, soak_harts

PREFIX = "harts:"
"""How the boot programs for many harts are named: ``harts:faulty``."""

OnBoot = Callable[[Boot | RigFault], None]


def soak_board(rig: Rig, name: str, boots: int, on_boot: OnBoot) -> SoakResult:
    """Boots a board of the rig ``boots`` times from cold; it is off afterwards."""
    with HeldBoard(rig, name, f"rig soak, {boots} boots") as held:
        held.request("off_at_end", off=True)

        def once(_number: int) -> BootReport:
            found = held.request("boot", directory=str(logs_directory(name)))
            return BootReport.from_json(found["report"])

        try:
            return soak(
                once,
                boots,
                board=name,
                on_boot=on_boot,
                simulated=SIMULATED in held.features,
            )
        finally:
            with contextlib.suppress(BenchviseError):
                held.request("power", to="off")


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
        directory=Path(logs_directory(f"harts-{form}" if form.isalnum() else "harts")),
        on_boot=on_boot,
    )
