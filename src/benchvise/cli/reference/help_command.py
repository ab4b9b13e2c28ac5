"""``benchvise help``: the help of a command, and the same as data."""

from __future__ import annotations

from typing import Annotated

import typer

from benchvise.cli.commands import PROGRAM
from benchvise.cli.groups import CommandGroup
from benchvise.cli.output import JsonOption, print_json
from benchvise.cli.reference.described import described
from benchvise.errors import UsageError


def help_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="The command: run, or rig boot."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the help of a command.

    Example: benchvise help rig boot
    """
    path = list(command or ())
    if not as_json:
        CommandGroup(PROGRAM)([*path, "--help"], prog_name="benchvise", standalone_mode=False)
        return
    current = CommandGroup(PROGRAM)
    for name in path:
        commands = getattr(current, "commands", {})
        if name not in commands:
            raise UsageError(f"there is no command {' '.join(path)}", "see benchvise --help")
        current = commands[name]
    print_json("help", described(current, " ".join(["benchvise", *path])))
