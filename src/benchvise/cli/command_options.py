"""Options that say which number of a user's command is measured."""

from __future__ import annotations

from typing import Annotated

import typer

from benchvise.measure.model import Better

MatchOption = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="REGEX",
        help="Finds the number in the command's output: the first group of the last match.",
    ),
]
BetterOption = Annotated[
    Better | None, typer.Option("--better", help="Which way that number is better.")
]
UnitOption = Annotated[
    str | None, typer.Option("--unit", metavar="TEXT", help="The unit of that number.")
]
