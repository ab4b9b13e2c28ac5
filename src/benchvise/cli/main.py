"""The command table, and the one place where errors become messages and exit codes.

Exit codes: 0 ok, 1 failed or regression found, 2 usage, 3 board or rig not reachable,
4 interrupted with everything measured kept and everything set put back.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterable
from typing import Any

import typer

from benchvise.cli.output import print_error
from benchvise.errors import BenchviseError, Interrupted
from benchvise.state.interrupts import deferred

# Where each command is, below benchvise.cli. A command imports what it needs and nothing that the
# others need, which would take longer than most commands do.
COMMANDS = {
    "doctor": "doctor.doctor",
    "bench": "bench.app",
    "run": "measure.run",
    "restore": "restore.restore",
    "runs": "results.runs",
    "show": "results.show",
    "tag": "results.tag",
    "note": "results.note",
    "compare": "results.compare",
    "report": "results.report",
    "why": "why.why",
    "watch": "watch.watch",
    "snapshot": "state.snapshot",
    "diff": "state.diff",
    "health": "health.health",
    "serve": "serve.serve",
    "rig": "rig.app",
    "trace": "trace.app",
    "signal": "signal.app",
}


def table(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these of its commands."""
    app = typer.Typer(
        name="benchvise",
        help="Hold a board still, measure it, and find out why.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        add_completion=False,
    )
    app.callback()(_no_options)
    for name in names:
        found = _imported(f"benchvise.cli.{COMMANDS[name]}")
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _imported(path: str) -> Any:
    """What a module calls by that name.

    Nearly all that an import makes stays, so looking through it for garbage, several times, would
    only cost a sixth of the time.
    """
    module, _, attribute = path.rpartition(".")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(importlib.import_module(module), attribute)
    finally:
        if collecting:
            gc.enable()


def _no_options() -> None:
    """What makes a program of one command still ask for that command's name."""


# What typer makes of a Ctrl-C that no command has caught.
_TYPER_INTERRUPTED = 130


def entry() -> None:
    """The ``benchvise`` program."""
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = Interrupted.exit_code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the interpreter's own end
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code.

    Raises nothing but KeyboardInterrupt: for a Ctrl-C while an error is being reported, afterwards.
    """
    as_json = "--json" in arguments
    try:
        names = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
        code = table(names)(arguments, prog_name="benchvise", standalone_mode=False)
        if code == _TYPER_INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except BenchviseError as error:
        with deferred():
            print_error(error, as_json=as_json)
        return error.exit_code
    except typer.TyperException as error:
        text = getattr(error, "format_message", error.__str__)()
        if not text:  # `benchvise` alone: its help has been printed
            return 2
        print_error(CommandLineError(text), as_json=as_json)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        print_error(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code
    except BrokenPipeError:
        # `benchvise show … | head`: the reader has what it wants. Python would complain once
        # more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class CommandLineError(BenchviseError):
    """A command line that the parser refused, in its own words."""

    exit_code = 2
