"""How every command speaks: tables for people, one JSON shape for programs.

With ``--json`` a command prints one document on standard output:
``{"benchvise": "0.1.0", "kind": "run", "data": …}``; an error has kind ``error`` and
``data: {"message", "remedy", "exit"}``. Without it, results go to standard output, progress and
errors to standard error.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

from benchvise import __version__
from benchvise.errors import BenchviseError
from benchvise.text import printable

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="BENCHVISE_STORE",
        help="Where results are kept: a file for SQLite, or a postgresql:// URL.",
        show_default="SQLite under the XDG data directory",
    ),
]

MESSAGE_LIMIT = 2000


class _Console(Console):
    """A console that leaves a reader's going away (``| head``) to ``main``."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout() -> Console:
    """The console for results; as wide as a page when it is no terminal."""
    console = _Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    return console


def stderr() -> Console:
    """The console for progress and errors."""
    return Console(stderr=True, highlight=False)


def print_json(kind: str, data: Any) -> None:
    """The one JSON shape of every command."""
    print(json.dumps({"benchvise": __version__, "kind": kind, "data": data}, allow_nan=False))


def print_error(error: BenchviseError, *, as_json: bool) -> None:
    """One line that names the thing and the remedy."""
    message = printable(error.message, MESSAGE_LIMIT)
    remedy = printable(error.remedy, MESSAGE_LIMIT)
    if as_json:
        print_json("error", {"message": message, "remedy": remedy, "exit": error.exit_code})
        return
    line = f"{message}: {remedy}" if remedy else message
    stderr().print(f"[bold red]benchvise:[/] {_escape(line)}", soft_wrap=True)


def _escape(text: str) -> str:
    return text.replace("[", r"\[")
