"""The command table, and the one place where errors become messages and exit codes.

Exit codes: 0 ok, 1 failed or regression found, 2 usage, 3 board or rig not reachable,
4 interrupted with everything measured kept and everything set put back.
"""

from __future__ import annotations

import os
import signal
import sys

import typer

from benchvise.cli import (
    bench,
    doctor,
    health,
    measure,
    restore,
    results,
    rig,
    serve,
    state,
    trace,
    watch,
    why,
)
from benchvise.cli import signal as signals
from benchvise.cli.output import print_error
from benchvise.errors import BenchviseError, Interrupted
from benchvise.state.interrupts import deferred

app = typer.Typer(
    name="benchvise",
    help="Hold a board still, measure it, and find out why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")
app.command("run")(measure.run)
app.command("restore")(restore.restore)
app.command("runs")(results.runs)
app.command("show")(results.show)
app.command("compare")(results.compare)
app.command("report")(results.report)
app.command("why")(why.why)
app.command("watch")(watch.watch)
app.command("snapshot")(state.snapshot)
app.command("diff")(state.diff)
app.command("health")(health.health)
app.command("serve")(serve.serve)
app.add_typer(rig.app, name="rig")
app.add_typer(trace.app, name="trace")
app.add_typer(signals.app, name="signal")


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
        code = app(arguments, prog_name="benchvise", standalone_mode=False)
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
