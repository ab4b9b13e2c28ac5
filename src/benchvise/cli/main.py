"""The program: commands from their table, and the one place where errors become exit codes.

Exit codes: 0 ok, 1 failed or regression found, 2 usage, 3 board or rig not reachable,
4 interrupted with everything measured kept and everything set put back.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

import typer

from benchvise.cli.commands import PROGRAM
from benchvise.cli.groups import CommandGroup
from benchvise.errors import BenchviseError, Interrupted, TraceError
from benchvise.state.interrupts import deferred


def program() -> CommandGroup:
    """The whole program."""
    return CommandGroup(PROGRAM)


_GARBAGE_AFTER = 50_000
"""Objects that are made until garbage is looked for; Python's own number is 700."""

# What typer makes of a Ctrl-C that no command has caught.
_TYPER_INTERRUPTED = 130


def entry() -> None:
    """The ``benchvise`` program."""
    # Nearly all that an import makes stays: looking through it for garbage, several times, would
    # only cost a sixth of the time that most commands take.
    gc.set_threshold(_GARBAGE_AFTER)
    arguments = sys.argv[1:]
    try:
        code = _run_trace(arguments) if arguments[:1] == ["trace"] else run(arguments)
    except KeyboardInterrupt:
        code = Interrupted.exit_code
    except TraceError as error:
        _report(error, as_json="--json" in arguments)
        code = error.exit_code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the interpreter's own end
    sys.exit(code)


def _run_trace(arguments: list[str]) -> int:
    from benchvise.cli.mapping import maps_files, run_in_child  # others have no use for it

    return run_in_child(run, arguments) if maps_files(arguments) else run(arguments)


def run(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code.

    Raises nothing but KeyboardInterrupt: for a Ctrl-C while an error is being reported, afterwards.
    """
    as_json = "--json" in arguments
    try:
        code = program()(arguments, prog_name="benchvise", standalone_mode=False)
        if code == _TYPER_INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except BenchviseError as error:
        with deferred():
            _report(error, as_json=as_json)
        return error.exit_code
    except typer.TyperException as error:
        text = getattr(error, "format_message", error.__str__)()
        if not text:  # `benchvise` alone: its help has been printed
            return 2
        _report(CommandLineError(text), as_json=as_json)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _report(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code
    except BrokenPipeError:
        # `benchvise show … | head`: the reader has what it wants. Python would complain once
        # more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _report(error: BenchviseError, *, as_json: bool) -> None:
    from benchvise.cli.output import print_error  # rich's console is not needed for --help

    print_error(error, as_json=as_json)


class CommandLineError(BenchviseError):
    """A command line that the parser refused, in its own words."""

    exit_code = 2
