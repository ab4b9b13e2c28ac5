"""How every command speaks: tables for people, one JSON shape for programs.

With ``--json`` a command prints one document on standard output:
``{"benchvise": "0.1.0", "kind": "run", "data": …}``; an error has kind ``error`` and
``data: {"message", "remedy", "exit"}``. Without it, results go to standard output, progress and
errors to standard error.

The options that several commands have stand here too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.theme import Theme

from benchvise import __version__
from benchvise.cli.color import color_options
from benchvise.command import RIG_OPTION, STORE_OPTION, WAIT_OPTION, CommandOption
from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.report.sinks import LINE_LIMIT, Terminal, json_text, sentence
from benchvise.terminal_colors import BAD, PROGRESS
from benchvise.text import AnyText, printable

if TYPE_CHECKING:
    from benchvise.report.list_formats import FileFormatName


def unmarked(text: str) -> str:
    """The text with brackets that Rich does not take for markup."""
    return text.replace("[", r"\[")


def typer_option(option: CommandOption) -> Any:
    """What typer reads in place of a record's option."""
    return typer.Option(
        option.flag,
        *([option.short] if option.short else []),
        metavar=option.metavar,
        help=unmarked(option.help),
        min=option.minimum,
        max=option.maximum,
        parser=option.parse,
        envvar=option.environment,
        show_default=option.default_text or True,
    )


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
StoreOption = Annotated[str | None, typer_option(STORE_OPTION)]
RigOption = Annotated[str | None, typer_option(RIG_OPTION)]


def stdout() -> Terminal:
    """The console for results; as wide as a page when it is no terminal."""
    console = Terminal(highlight=False, theme=Theme(PROGRESS), **color_options())
    if not console.is_terminal:
        console.width = 120
    return console


def stderr() -> Terminal:
    """The console for progress and errors."""
    return Terminal(stderr=True, highlight=False, theme=Theme(PROGRESS), **color_options())


def text_line(text: AnyText, style: str = "") -> Text:
    """Any text as one line for a console."""
    return Text(sentence(text), style=style)


_LIST_FORMAT: ContextVar[tuple[FileFormatName, str] | None] = ContextVar("list", default=None)


@contextmanager
def listed_as(format_name: FileFormatName, rows: str) -> Iterator[None]:
    """Meanwhile ``print_json`` writes the list under that key in a format for files."""
    token = _LIST_FORMAT.set((format_name, rows))
    try:
        yield
    finally:
        _LIST_FORMAT.reset(token)


def print_json(kind: str, data: Any) -> None:
    """The one JSON shape of every command; ``data`` is of the type that ``json_kinds`` names.

    Within ``listed_as``, the list of the document in that format; UsageError where it has none.
    """
    if (chosen := _LIST_FORMAT.get()) is not None:
        from benchvise.report.list_formats import write_list  # late: only where it is asked for

        format_name, rows = chosen
        sys.stdout.write(write_list(kind, encode(data), rows, format_name))
        return
    print(json_text({"benchvise": __version__, "kind": kind, "data": encode(data)}))


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """What ``--json`` prints of an error."""

    message: str
    """What failed, on what, and why."""
    remedy: str
    """What to do about it."""
    exit: int
    """The exit code."""


def print_error(error: BenchviseError, *, as_json: bool) -> None:
    """One line that names the thing and the remedy."""
    message, remedy = printable(error.message, LINE_LIMIT), printable(error.remedy, LINE_LIMIT)
    if as_json:
        print_json("error", ErrorDocument(message, remedy, error.exit_code))
        return
    line = f"{message}: {remedy}" if remedy else message
    stderr().print(Text.assemble(("benchvise: ", BAD), line), soft_wrap=True)


WaitOption = Annotated[str | None, typer_option(WAIT_OPTION)]


def be_patient(wait: str | None) -> None:
    """Takes what ``--wait`` says."""
    if wait is not None:
        from benchvise.rig import environment  # late: only where it is asked for

        environment.be_patient(wait)
