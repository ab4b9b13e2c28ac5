"""``benchvise gate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchvise.board import full_name
from benchvise.cli.output import (
    JsonOption,
    RigOption,
    StoreOption,
    WaitOption,
    be_patient,
    print_json,
    stderr,
    stdout,
    text_line,
)
from benchvise.cli.progress import RunProgress
from benchvise.cli.user_command import BetterOption, MatchOption, UnitOption, user_command
from benchvise.errors import Undecided
from benchvise.flows.request import RunRequest
from benchvise.measure.plan import PROCESSES

if TYPE_CHECKING:
    from benchvise.measure.gate import GateVerdict

# Headings of the help.
_WHAT = "What is measured"
_HOW_OFTEN = "How often"


def gate(
    board: Annotated[
        str, typer.Argument(metavar="[BOARD]", help="As for `run`; this machine without one.")
    ] = "local",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="RUN|FILE|CMD",
            help="A stored run, or a file of `export` with one; with --install, the command that "
            "installs the old state.",
        ),
    ] = "",
    install: Annotated[
        str | None,
        typer.Option(
            "--install",
            metavar="CMD",
            help="The command that installs the new state on the board: both are measured in turn.",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", metavar="PCT", min=0, help="By how much a series may be worse."
        ),
    ] = 3.0,
    retry: Annotated[
        int,
        typer.Option(
            "--retry",
            metavar="N",
            min=0,
            max=20,
            help="Measure again what is undecided, up to N times.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = 2,
    suite: Annotated[
        str | None,
        typer.Option("--suite", help="A named suite, or a .toml file.", rich_help_panel=_WHAT),
    ] = None,
    bench: Annotated[
        list[str] | None,
        typer.Option(
            "--bench",
            metavar="ID[:param=value,...]",
            help="A benchmark, as for `run`.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="CMD",
            help="A command of yours: how long it takes, or with --match, what it prints.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    match: MatchOption = None,
    better: BetterOption = None,
    unit: UnitOption = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=VALUE",
            help="A parameter of all series that have it.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    label: Annotated[str, typer.Option("--label", help="A name for the new runs.")] = "",
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            min=2,
            max=1000,
            help="Fresh processes a series and pass.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = PROCESSES,
    batches: Annotated[
        int | None,
        typer.Option(
            "--batches",
            min=1,
            max=100000,
            help="Batches a process; by default 21, or as the benchmark says.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = None,
    snapshots: Annotated[
        bool,
        typer.Option("--snapshot/--no-snapshot", help="Record the board's state around each run."),
    ] = True,
    comment: Annotated[
        Path | None,
        typer.Option(
            "--comment", metavar="FILE", help="Also write a comment in Markdown, ready to post."
        ),
    ] = None,
    rig: RigOption = None,
    wait: WaitOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a change beside a baseline and say whether it may pass: exit 0, 1 or 5.

    Exit 1: a series is slower by more than the threshold. Exit 0: none can be, as even the worse
    end of every interval is within it. Exit 5: undecided, as noise may hide a regression; only what
    is undecided is measured again.

    Behind a stored run, its own series are measured, unless others are named. With --install, old
    and new are installed and measured in turn on the same board.

    Example: benchvise gate --baseline before --threshold 3 --retry 2 --comment comment.md
    """
    from benchvise.errors import UsageError
    from benchvise.output_files import check_output_file, write_output

    if not baseline:
        raise UsageError(
            "a gate needs a --baseline",
            "name a run (`benchvise runs`), or with --install the command for the old state",
        )
    if comment is not None:
        check_output_file(comment, "the comment")
    be_patient(wait)
    from benchvise.flows import gate as flow
    from benchvise.report.gate import gate_comment, gate_document, gate_table
    from benchvise.report.rendering import rendered
    from benchvise.store import Store

    request = flow.GateRequest(
        baseline,
        RunRequest(
            boards=(full_name(board),),
            suite=suite,
            benches=tuple(bench or ()),
            command=user_command(command, match, better, unit),
            params=tuple(param or ()),
            label=label,
            processes=processes,
            batches=batches,
            snapshots=snapshots,
            rig=rig,
        ),
        threshold,
        install,
        retry,
    )
    with Store.open(store) as results, RunProgress(stderr()) as progress:
        result = flow.gate(request, results, progress.observe)
    code = _exit_code(result.gate.verdict)
    document = gate_document(
        result.gate, board=result.board, passes=result.passes, runs=result.runs, exit_code=code
    )
    if comment is not None:
        write_output(comment, gate_comment(document), "the comment")
    if as_json:
        print_json("gate", document)
    else:
        stdout().print(rendered(gate_table(result.gate)))
        kept = ", ".join(result.runs)
        stdout().print()
        stdout().print(text_line(f"Kept as {kept}", style="dim"), soft_wrap=True)
    if code:
        raise typer.Exit(code)


def _exit_code(verdict: GateVerdict) -> int:
    return {"fine": 0, "regressed": 1, "undecided": Undecided.exit_code}[verdict]
