"""A command of the user's that is measured: its options, the same for ``run`` and ``why``."""

from __future__ import annotations

from typing import Annotated

import typer

from benchvise.errors import UsageError
from benchvise.flows.request import UserCommand
from benchvise.measure.model import Better

WHAT_IS_MEASURED = "What is measured"
"""The heading of these options in help."""

MatchOption = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="REGEX",
        help="Finds the number in the command's output: the first group of the last match.",
        rich_help_panel=WHAT_IS_MEASURED,
    ),
]
BetterOption = Annotated[
    Better | None,
    typer.Option(
        "--better", help="Which way that number is better.", rich_help_panel=WHAT_IS_MEASURED
    ),
]
UnitOption = Annotated[
    str | None,
    typer.Option(
        "--unit", metavar="TEXT", help="The unit of that number.", rich_help_panel=WHAT_IS_MEASURED
    ),
]


def user_command(
    line: str | None, match: str | None, better: str | None, unit: str | None
) -> UserCommand | None:
    """The command to be measured, by the options that describe it; None where there is none."""
    if line is None:
        if match or better or unit:
            raise UsageError("--match, --better and --unit belong to a command", "add --command")
        return None
    return UserCommand(line, match, better, unit)
