"""``benchvise health``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stdout
from benchvise.flows import health as flow
from benchvise.health.judging import HealthVerdict
from benchvise.report.health_tables import health_report

_WIDTH = 80


def health(
    board: Annotated[
        str, typer.Argument(metavar="BOARD", help="local, ssh://user@host[:port], or rig:NAME.")
    ],
    sensors: Annotated[
        Path | None,
        typer.Option(
            "--sensors",
            metavar="FILE",
            help="A sensors3.conf with labels and scaling, in place of the board's own.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how well a board is: kernel log, disks, network, memory, sensors, clocks.

    Example: benchvise health ssh://root@10.0.0.7

    Only reads. Ends with exit code 1 when something is failing.
    """
    judgement = flow.health(board, sensors)
    if as_json:
        print_json("health", judgement)
    else:
        console = stdout()
        console.width = min(console.width, _WIDTH)
        console.print(health_report(judgement))
    if judgement.verdict is HealthVerdict.FAILING:
        raise typer.Exit(1)
