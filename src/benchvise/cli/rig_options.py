"""Options that several commands on rigs have."""

from __future__ import annotations

from typing import Annotated

import typer

RigOption = Annotated[
    str | None,
    typer.Option(
        "--rig",
        envvar="BENCHVISE_RIG",
        metavar="FILE",
        help="The labgrid environment that describes the rig.",
        show_default="the virtual bench's, when it runs",
    ),
]
