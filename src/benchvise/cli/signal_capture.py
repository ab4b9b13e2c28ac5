"""``benchvise signal capture``: record with a logic analyser; ``signal analysers``: which are
there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.cli.rig_options import RigOption
from benchvise.cli.signal_options import parse_rate
from benchvise.errors import Interrupted, UsageError
from benchvise.flows import signal_capture as flow
from benchvise.report import signal_json, signal_tables
from benchvise.report.terminal import rendered
from benchvise.signal.recording import Length, Recording
from benchvise.signal.recording import analysers as find_analysers


def analysers(as_json: JsonOption = False) -> None:
    """List the logic analysers that are plugged in here.

    Example: benchvise signal analysers
    """
    found = find_analysers()
    if as_json:
        print_json("signal-analysers", found)
        return
    for line in found:
        stdout().print(line, highlight=False, markup=False)


def capture(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The sigrok session (.sr) written."),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- CMD...]", help="Runs on this machine; the capture ends with it."
        ),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver",
            metavar="DRIVER",
            help="The analyser by its sigrok driver: fx2lafw, or fx2lafw:conn=1.7 of several.",
        ),
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(
            "--channels", metavar="LIST", help="The channels and their names: D0=IN,D1=OUT."
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            "--board",
            metavar="rig:NAME",
            help="The analyser of this board in the rig file, with its channels.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="HZ", help="Samples a second: 24M.", show_default="the device's own"
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--for", metavar="S", min=0.001, max=86400, help="Record for S seconds."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", metavar="N", min=1, help="Record N samples.")
    ] = None,
    triggers: Annotated[
        list[str] | None,
        typer.Option(
            "--trigger",
            metavar="LINE=r",
            help="Begin there: r rising, f falling, e either edge, 0 or 1; repeatable.",
        ),
    ] = None,
    rig_file: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record lines with a logic analyser, for a time or while a command runs.

    Ctrl-C ends it and keeps what there is.

    Example: benchvise signal capture -o boot.sr --driver fx2lafw --rate 24M --for 2
    """
    if (driver is None) == (board is None):
        raise UsageError(
            "which analyser?",
            "name its --driver (`benchvise signal analysers`) or a --board of the rig",
        )
    if board is not None and channels is not None:
        raise UsageError("--channels is for --driver", "the rig file names those of a board")
    if sum((seconds is not None, samples is not None, bool(command))) != 1:
        raise UsageError("for how long?", "say --for S, --samples N, or -- CMD")
    console = stderr()

    def observe() -> None:
        if console.is_terminal:
            console.print("recording; Ctrl-C ends it", style="dim")

    found = flow.record(
        output,
        Recording(Length(seconds, samples), parse_rate(rate), tuple(triggers or ())),
        device=driver,
        channels=channels,
        board=board,
        rig_file=rig_file,
        command=command or [],
        observe=observe,
    )
    if as_json:
        document = {**signal_json.capture(found.capture), "exit_code": found.exit_code}
        print_json("signal-capture", document)
    else:
        for table in signal_tables.capture_rows(found.capture):
            stdout().print(rendered(table))
            stdout().print()
    if found.interrupted:
        raise typer.Exit(Interrupted.exit_code)
    if found.exit_code:
        console.print(f"the command ended with exit code {found.exit_code}")
        raise typer.Exit(1)
