"""``--help`` of a command: usage, what it does, examples, then arguments and options by subject."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from benchvise.cli.reference.described import DescribedCommand, DescribedOption, described
from benchvise.terminal_colors import COMMAND, NAME, VALUE

_NAME_COLUMN = 34
"""Columns of the terminal for an option's names at most: longer ones are broken."""


def print_help(command: Any, path: str, console: Console) -> None:
    """Prints the help of one of typer's commands on a console."""
    for part in help_parts(described(command, path)):
        console.print(part)


def help_parts(command: DescribedCommand) -> list[RenderableType]:
    """The paragraphs and panels of a command's help."""
    usage = Text.assemble(("Usage: ", VALUE), (command.usage, "bold"))
    parts: list[RenderableType] = [Padding(usage, 1)]
    parts += [Padding(Text(p), (0, 1, 1, 1)) for p in (command.summary, *command.paragraphs)]
    if command.examples:
        # No panel: a border would be copied with the command.
        examples = Group(*(Text(f"  {example}", style=COMMAND) for example in command.examples))
        parts.append(Padding(Group(Text("Example:"), examples), (0, 1, 1, 1)))
    if command.arguments:
        rows = [(Text(a.metavar, style=NAME), Text(a.help)) for a in command.arguments]
        parts.append(_panel("Arguments", rows))
    for heading, options in command.option_groups().items():
        parts.append(_panel(heading, [_option_row(option) for option in options]))
    return parts


def _option_row(option: DescribedOption) -> tuple[Text, Text]:
    names = Text(", ".join(option.names), style=NAME)
    if option.metavar:
        names.append(f" {option.metavar}", style=VALUE)
    details = f" {option.details}" if option.details else ""
    return names, Text.assemble(option.help, (details, "dim"))


def _panel(heading: str, rows: list[tuple[Text, Text]]) -> Panel:
    table = Table(show_header=False, expand=True, box=None, pad_edge=False)
    longest = max(name.cell_len for name, _ in rows)
    table.add_column(width=min(longest, _NAME_COLUMN), overflow="fold")
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return Panel(table, border_style="dim", title=heading, title_align="left")
