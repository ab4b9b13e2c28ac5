"""``benchvise rig soak``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stderr, stdout, text_line
from benchvise.cli.rig_options import RigOption
from benchvise.errors import Interrupted, UsageError
from benchvise.rig.hold import actions

if TYPE_CHECKING:
    from benchvise.rig.soak.soak import RigFault, SoakBoot


def soak(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A board; or harts:FORM, a boot program for four RISC-V harts on a simulated "
            "machine, in the form faulty, doubted, repaired, initialised or copied.",
        ),
    ],
    boots: Annotated[int, typer.Option("--boots", min=1, max=100000, help="Number of boots.")] = 20,
    ram_fill: Annotated[
        str | None,
        typer.Option(
            "--ram-fill",
            metavar="WORD|random|hart-ids|kept:WORD",
            help="RAM contents at power-on, for harts: only (kept: as the last boot left it).",
            show_default="hart-ids",
        ),
    ] = None,
    boot_hart: Annotated[
        int, typer.Option("--boot-hart", min=0, help="Hart that boots, for harts: only.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random RAM contents.")] = 1,
    symbols: Annotated[
        Path | None,
        typer.Option(
            "--symbols",
            metavar="FILE",
            help="ELF file (such as vmlinux) with the names of functions, for failed boots.",
        ),
    ] = None,
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot a board many times from cold: failure rate, where it fails, durations.

    The failure rate comes with its exact interval. Exit code 1 when a boot failed.

    Example: benchvise rig soak harts:faulty --boots 40
    """
    # Late: it would make every other command start later.
    from benchvise.report.boot_tables import boot_line, soak_table
    from benchvise.rig.hold import board_soak
    from benchvise.rig.soak.soak import soak_document

    console = stderr()

    def show_boot(boot: SoakBoot | RigFault) -> None:
        if console.is_terminal:
            console.print(text_line(boot_line(boot), style="dim"))

    if name.startswith(board_soak.PREFIX):
        result = board_soak.soak_program(name, boots, ram_fill, boot_hart, seed, show_boot)
    else:
        if ram_fill is not None or boot_hart:
            raise UsageError(
                "--ram-fill and --boot-hart are for harts: only",
                "a board's RAM holds what it holds",
            )
        loaded = actions.load(rig)
        (board,) = loaded.select([name])[:1]
        result = board_soak.soak_board(loaded, board, boots, show_boot, symbols)
    if as_json:
        print_json("soak", soak_document(result))
    else:
        stdout().print(soak_table(result))
    if result.ended == "interrupted":
        raise typer.Exit(Interrupted.exit_code)
    if result.failed or result.rig_faults:
        raise typer.Exit(1)
