"""Groups of the command table: each command is imported when it is called or asked for its help.

A group's own help lists the summaries of the table. It looks as the help of a command does, but
needs no command's module.
"""

from __future__ import annotations

import importlib
import math
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from benchvise.cli.color import color_options
from benchvise.cli.commands import PROGRAM_OPTIONS, Command, Group
from benchvise.configuration import command_defaults
from benchvise.errors import UsageError
from benchvise.host_system import require, supports
from benchvise.terminal_colors import NAME, VALUE

_HELP_NAMES = ["-h", "--help"]
_NEVER_EMPTY = ("bench", "boards", "rig", "store", "suite")
"""Parameters that choose something: empty, as a variable is that nobody set, they would choose
what is chosen without them."""
_CONTEXT = {"help_option_names": _HELP_NAMES}


class ProgramCommand(TyperCommand):
    """A command whose parameters are ``_PlainParameter``s, with defaults of the user's files."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """The parsed command line. UsageError for a configuration file with a mistake, and for a
        value that no command can do anything with.
        """
        if not set(_HELP_NAMES) & set(args):
            path = f"{parent.command_path} {info_name}" if parent else str(info_name)
            names = [str(parameter.name) for parameter in self.params]
            extra.setdefault("default_map", command_defaults(path, names))
        context = super().make_context(info_name, args, parent, **extra)
        for parameter in self.params:
            _refuse_unusable(parameter, context.params.get(str(parameter.name)))
        return context

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - rich formats
        """Prints the command's help."""
        from benchvise.cli.reference.help_page import print_help

        print_help(self, ctx.command_path, help_console())


def _refuse_unusable(parameter: Any, setting: object) -> None:
    for value in setting if isinstance(setting, list | tuple) else (setting,):
        name = max(parameter.opts, key=len)
        if not name.startswith("-"):
            name = parameter.human_readable_name
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name}: {value} is no number to work with", "give a finite one")
        if value == "" and parameter.name in _NEVER_EMPTY:
            raise UsageError(
                f"{name} is empty", "name one, or leave it out; is a variable of a script not set?"
            )


class CommandGroup(TyperGroup):
    """A group of the command table as typer runs it."""

    def __init__(self, group: Group, path: str = "benchvise ") -> None:
        super().__init__(
            name=group.name,
            help=group.summary,
            no_args_is_help=True,
            context_settings=_CONTEXT,
        )
        self.subjects = group.by_subject()
        self.default = group.default
        self.takes_text = group.takes_text
        self._imported = _ImportedCommands({entry.name: entry for entry in group.entries})
        self._imported.added, self._imported.path = group.added, path
        self.commands = self._imported

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words, with the name of the default command where no command is named."""
        names_none = args and args[0] not in self.commands and args[0] not in _HELP_NAMES
        is_for_default = names_none and (self.takes_text or args[0].startswith("-"))
        if self.default and (not args or is_for_default):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - rich formats
        """Prints the group's help."""
        from rich.padding import Padding
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        shared = [("-h, --help", "Show this help, or with a command, its help.")]
        if ctx.parent is None:
            shared += [
                (f"{option.name} {option.metavar}".rstrip(), option.help)
                for option in PROGRAM_OPTIONS
            ]
        panels = [
            (heading, [(entry.name, entry.summary) for entry in entries])
            for heading, entries in self.subjects
        ]
        if added := self._imported.added_summaries():
            panels.append(("Added (benchvise plugins)", added))
        longest = max(len(name) for _, lines in panels for name, _ in lines)
        usage = Text.assemble(("Usage: ", VALUE), f"{ctx.command_path} COMMAND ...")
        console = help_console()
        console.print(Padding(usage, 1), style="bold")
        console.print(Padding(Text(self.help or ""), (0, 1, 1, 1)))
        for title, lines in (*panels, ("Options", shared)):
            table = Table(show_header=False, expand=True, box=None, pad_edge=False)
            # As wide in each panel, so that the summaries stand in one column.
            table.add_column(style=NAME, no_wrap=True, min_width=longest)
            table.add_column(ratio=10)
            for name, text in lines:
                table.add_row(Text(name), Text(text))
            console.print(Panel(table, border_style="dim", title=title, title_align="left"))


def help_console() -> Any:
    """A console for help; a reader that goes away (``| head``) is left to ``main``."""
    from rich.console import Console

    class HelpConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return HelpConsole(highlight=False, **color_options())


class _ImportedCommands(UserDict[str, Any]):
    """Commands by their names; each is imported when it is looked up for the first time, if this
    machine has what it needs.

    Those that users add are looked for where a name is no other's.
    """

    added = ""
    path = ""
    """Of the group that they belong to, as it is typed."""

    def __getitem__(self, name: str) -> Any:
        entry = self.data.get(name)
        if isinstance(entry, Command | Group):
            require(entry.needs, f"`{self.path}{entry.name}`")
        if entry is None:
            self.data[name] = _command_of(name, self._added_functions()[name])
        elif isinstance(entry, Group):
            self.data[name] = CommandGroup(entry, f"{self.path}{name} ")
        elif isinstance(entry, Command):
            self.data[name] = _imported(entry)
        return self.data[name]

    def __iter__(self) -> Iterator[str]:
        """The names of those that this machine can run."""
        for name, entry in self.data.items():
            if not isinstance(entry, Command | Group) or supports(entry.needs):
                yield name

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self._added_functions()

    def added_summaries(self) -> list[tuple[str, str]]:
        """What users added, with the first line of its help."""
        return [
            (name, str(function.__doc__).partition("\n")[0])
            for name, function in self._added_functions().items()
        ]

    def _added_functions(self) -> dict[str, Callable[..., None]]:
        return _object(f"cli.{self.added}")() if self.added else {}


def _imported(entry: Command) -> TyperCommand:
    """A command, made of its function."""
    function = _object(f"cli.{entry.source}")
    if entry.record:
        function = function(_object(entry.record))
    if entry.rows:
        from benchvise.cli.list_formats import with_list_format  # late: help imports no command

        function = with_list_format(function, entry.rows)
    return _command_of(entry.name, function)


def _command_of(name: str, function: Callable[..., None]) -> TyperCommand:
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)
    app.command(name, cls=ProgramCommand, context_settings=_CONTEXT)(function)
    command = cast(TyperCommand, typer.main.get_command(app))
    command.help = _flowing(command.help or "")
    return command


def _flowing(text: str) -> str:
    """Each paragraph as one line, which the terminal breaks where its own width ends.

    A paragraph with indented lines stays as it is.
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if "\n " in p else p.replace("\n", " ") for p in paragraphs)


def _object(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"benchvise.{module}"), name)
