"""The program: commands from their table, and the one place where errors become exit codes.

Exit codes: 0 ok, 1 failed or regression found, 2 usage, 3 board or rig not reachable,
4 interrupted with everything measured kept and everything set put back, 5 a gate is undecided.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import select
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any

import typer

from benchvise import __version__
from benchvise.cli.color import take_color_option
from benchvise.cli.commands import PROGRAM
from benchvise.cli.extras import missing_extra
from benchvise.cli.groups import CommandGroup
from benchvise.errors import BenchviseError, Interrupted, OutputError, TraceError
from benchvise.host_system import system_name
from benchvise.state.interrupts import deferred


def program() -> CommandGroup:
    """The whole program."""
    return CommandGroup(PROGRAM)


_GARBAGE_AFTER = 50_000
"""Objects that are made until garbage is looked for; Python's own number is 700."""

# What typer makes of a Ctrl-C that no command has caught.
_TYPER_INTERRUPTED = 130

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""A full disk, a limit of file sizes, a quota."""


def entry() -> None:
    """The ``benchvise`` program."""
    # Nearly all that an import makes stays: looking through it for garbage, several times, would
    # only cost a sixth of the time that most commands take.
    gc.set_threshold(_GARBAGE_AFTER)
    warnings.formatwarning = _warning_line
    _prepare_output()
    arguments = sys.argv[1:]
    try:
        code = _run_trace(arguments) if arguments[:1] == ["trace"] else run(arguments)
    except KeyboardInterrupt:
        code = Interrupted.exit_code
    except TraceError as error:
        _report(error, as_json="--json" in arguments)
        code = error.exit_code
    code = _ended(code)
    # Before it ends, the interpreter looks for garbage in all that is left, several times: a fifth
    # of the time that most commands take. What is frozen it passes over; DuckDB's binding would
    # take that for a leak, and say so.
    if "duckdb" not in sys.modules:
        gc.freeze()
    sys.exit(code)


def _prepare_output() -> None:
    """Has output that any text can be written to, whatever the locale and the caller are.

    Tables and units have signs that the code page of a Windows pipe has not; other encodings get an
    escape for what they lack. A standard stream that the caller closed is read by nobody.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, io.TextIOWrapper):
            utf8 = "utf-8" if system_name() == "Windows" else None
            stream.reconfigure(encoding=utf8, errors="backslashreplace")


def _warning_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001 - Python hands it over
) -> str:
    """A warning as a user reads it: one of ours without the place in our code."""
    if category.__module__.startswith("benchvise."):
        return f"benchvise: {message}\n"
    return f"{filename}:{lineno}: {category.__name__}: {message}\n"


def _run_trace(arguments: list[str]) -> int:
    from benchvise.cli.mapping import maps_files, run_in_child  # others have no use for it

    if maps_files(arguments):
        return run_in_child(lambda words: _ended(run(words)), arguments)
    return run(arguments)


def _ended(code: int) -> int:
    """The exit code, after all has been said; nothing interrupts what is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _flush_output() or code


def _flush_output(*, reports: bool = True) -> int:
    """Writes what is still buffered, unless its reader is gone; Python would complain at exit.

    The exit code: 0 unless a disk is full, which is reported, or was before.
    """
    code = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if error.errno in _FULL and reports:
                code = _report_full(error)
    return code


def _report_full(error: OSError) -> int:
    """Reports that output was lost because a disk is full; the exit code."""
    full = OutputError(
        f"the output cannot be written ({error.strerror})", "free some space, or send it elsewhere"
    )
    _report(full, as_json=False)
    return full.exit_code


def _is_reader_gone() -> bool:
    """Whether standard output or standard error leads to a pipe that nobody reads any more."""
    if not hasattr(select, "poll"):  # Windows: there a pipe that broke is that of a reader
        return True
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # no file, as in a test
            poll.register(stream.fileno(), select.POLLERR)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def run(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code.

    Raises nothing but KeyboardInterrupt: for a Ctrl-C while an error is being reported, afterwards.
    """
    try:
        return _run_reporting(arguments)
    except (BrokenPipeError, SystemExit) as stop:
        cause = stop.__context__ if isinstance(stop, SystemExit) else stop
        if not isinstance(cause, BrokenPipeError):  # typer ends the process with 1 for these
            raise
        if not _is_reader_gone():  # it was a pipe to a board or a program
            _report(BenchviseError("a program that was started ended early"), as_json=False)
            return BenchviseError.exit_code
        _flush_output()  # `benchvise show … | head`: the reader has what it wants
        return 0
    except OSError as error:  # of files that a user names, commands report it themselves
        if error.errno not in _FULL or error.filename is not None:
            raise
        code = _report_full(error)
        _flush_output(reports=False)  # it would be reported again for what is still buffered
        return code


def _run_reporting(arguments: list[str]) -> int:
    """Raises BrokenPipeError, and for the same typer's SystemExit."""
    as_json = "--json" in arguments
    try:
        arguments = take_color_option(arguments)
        if arguments[:1] == ["--version"]:
            print(f"benchvise {__version__}")
            return 0
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
    except ModuleNotFoundError as error:
        extra = missing_extra(error)
        if extra is None:
            raise
        _report(extra, as_json=as_json)
        return extra.exit_code
    except typer.TyperException as error:
        text = getattr(error, "format_message", error.__str__)()
        if not text:  # a group alone: its help has been printed
            return 2
        _report(_refusal(text, getattr(error, "ctx", None)), as_json=as_json)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _report(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code


def _report(error: BenchviseError, *, as_json: bool) -> None:
    from benchvise.cli.output import print_error  # rich's console is not needed for --help

    print_error(error, as_json=as_json)


def _refusal(text: str, context: Any) -> CommandLineError:
    """What the parser says, without its names of types, and where the rest is to be read."""
    text = re.sub("is not a valid (?:int|float)(?: range)?", "is no number", text)
    if context is None or text.endswith("?"):
        return CommandLineError(text)
    return CommandLineError(text.rstrip("."), f"see {context.command_path} --help")


class CommandLineError(BenchviseError):
    """A command line that the parser refused, in its own words."""

    exit_code = 2
