"""``benchvise versus``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.board import full_name
from benchvise.cli.output import (
    JsonOption,
    RigOption,
    WaitOption,
    be_patient,
    print_json,
    stderr,
    stdout,
)
from benchvise.errors import UsageError

# Headings of the help.
_AROUND = "Around the runs"
_HOW_OFTEN = "How often"
_WHAT = "What is measured"
_OUTPUT = "Output"

_NO_SHELL = "none"


def versus(
    commands: Annotated[
        list[str],
        typer.Argument(
            metavar="CMD...", help="Commands, each in quotes; the first is the base of the others."
        ),
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            "-n",
            metavar="TEXT",
            help="What a command is called; once for each, in their order.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    parameter_list: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter-list",
            "-L",
            metavar="NAME=A,B",
            help="Measure each command with each value in the place of {NAME}; repeatable.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    parameter_scan: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter-scan",
            "-P",
            metavar="NAME=LOW..HIGH[/STEP]",
            help="The same with numbers from LOW to HIGH; repeatable.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    shell: Annotated[
        str,
        typer.Option(
            "--shell",
            "-S",
            metavar="PROGRAM",
            help="The shell on the board that gets the command by -c; none: no shell reads it.",
            rich_help_panel=_WHAT,
        ),
    ] = "sh",
    no_shell: Annotated[
        bool,
        typer.Option("--no-shell", "-N", help="As --shell none.", rich_help_panel=_WHAT),
    ] = False,
    ignore_failure: Annotated[
        bool,
        typer.Option(
            "--ignore-failure",
            "-i",
            help="Time commands that fail, too. They are errors otherwise.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    cpu: Annotated[
        int | None,
        typer.Option(
            "--cpu",
            min=0,
            max=1023,
            help="Pin the commands to this CPU; they may use all of them otherwise.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    warmup: Annotated[
        int,
        typer.Option(
            "--warmup",
            "-w",
            min=0,
            max=1000,
            help="Runs of each command before the first that counts.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = 1,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-r",
            min=2,
            max=100000,
            help="Runs of each command.",
            show_default="as many as take 3 s, from 15 to 1000",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = None,
    timeout: Annotated[
        int,
        typer.Option(
            "--timeout",
            metavar="S",
            min=1,
            max=86400,
            help="Seconds after which a run is stopped, which is an error.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = 600,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Repeat an earlier order.", rich_help_panel=_HOW_OFTEN),
    ] = None,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            "-p",
            metavar="CMD",
            help="Execute before each run, not timed; once for all commands, or once for each.",
            rich_help_panel=_AROUND,
        ),
    ] = None,
    conclude: Annotated[
        list[str] | None,
        typer.Option(
            "--conclude",
            "-C",
            metavar="CMD",
            help="The same after each run.",
            rich_help_panel=_AROUND,
        ),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            "--setup",
            "-s",
            metavar="CMD",
            help="Execute before the first run of a command.",
            rich_help_panel=_AROUND,
        ),
    ] = None,
    cleanup: Annotated[
        list[str] | None,
        typer.Option(
            "--cleanup",
            "-c",
            metavar="CMD",
            help="Execute after the last run of a command, also where one failed.",
            rich_help_panel=_AROUND,
        ),
    ] = None,
    snapshots: Annotated[
        bool,
        typer.Option(
            "--snapshot/--no-snapshot",
            help="Read the board's state before and after, and tell what disturbed it.",
            rich_help_panel=_AROUND,
        ),
    ] = True,
    board: Annotated[
        str,
        typer.Option("--board", metavar="BOARD", help="Where they are executed; as for `run`."),
    ] = "local",
    rig: RigOption = None,
    wait: WaitOption = None,
    export_json: Annotated[
        Path | None,
        typer.Option(
            "--export-json",
            metavar="FILE",
            help="Also write all times as JSON, in the layout of hyperfine.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    export_csv: Annotated[
        Path | None,
        typer.Option(
            "--export-csv", metavar="FILE", help="The same as CSV.", rich_help_panel=_OUTPUT
        ),
    ] = None,
    export_markdown: Annotated[
        Path | None,
        typer.Option(
            "--export-markdown",
            metavar="FILE",
            help="Also write the tables as Markdown.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Time two or more commands side by side, in random order, and say which is faster.

    Nothing is stored. Each round runs every command once, in an order drawn for it, so that drift
    falls on all alike. The first command is the base of the others.

    Starting the shell is part of the time, and nothing is subtracted: add the command `true` to see
    how much it is.

    Example: benchvise versus 'gzip -9 -c f' 'zstd -19 -c f' --warmup 2
    """
    from benchvise.output_files import check_output_file, write_output

    exports = {"json": export_json, "csv": export_csv, "markdown": export_markdown}
    written = {kind: path for kind, path in exports.items() if path is not None}
    for kind, path in written.items():
        check_output_file(path, f"the {kind} export")
    be_patient(wait)
    from benchvise.cli.progress import VersusProgress
    from benchvise.flows import versus as flow
    from benchvise.measure.versus import VersusRequest
    from benchvise.report.rendering import rendered
    from benchvise.report.versus import EXPORTS, times_table, verdict_table, versus_document

    request = VersusRequest(
        commands=tuple(commands),
        names=tuple(name or ()),
        parameters=_parameters(parameter_list or (), parameter_scan or ()),
        prepare=tuple(prepare or ()),
        conclude=tuple(conclude or ()),
        setup=tuple(setup or ()),
        cleanup=tuple(cleanup or ()),
        warmup=warmup,
        runs=runs,
        shell="" if no_shell or shell == _NO_SHELL else shell,
        ignore_failure=ignore_failure,
        cpu=cpu,
        timeout_s=timeout,
        seed=seed,
    )
    with VersusProgress(stderr()) as progress:
        result = flow.versus(
            full_name(board), request, progress.observe, snapshots=snapshots, rig=rig
        )
    document = versus_document(result)
    for kind, path in written.items():
        write_output(path, EXPORTS[kind](document, result), f"the {kind} export")
    if as_json:
        print_json("versus", document)
        return
    stdout().print(rendered(times_table(document)))
    stdout().print()
    stdout().print(rendered(verdict_table(result)))


def _parameters(
    lists: list[str] | tuple[()], scans: list[str] | tuple[()]
) -> dict[str, tuple[str, ...]]:
    from benchvise.measure.versus import scan

    parameters: dict[str, tuple[str, ...]] = {}
    for text in lists:
        name, equals, values = text.partition("=")
        if not name or not equals:
            raise UsageError(
                f"--parameter-list {text!r} is not NAME=A,B", "write for example level=1,6,9"
            )
        parameters[name] = (*parameters.get(name, ()), *values.split(","))
    for text in scans:
        name, values_of_scan = scan(text)
        parameters[name] = (*parameters.get(name, ()), *values_of_scan)
    return parameters
