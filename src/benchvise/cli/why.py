"""``benchvise why``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.command_options import BetterOption, MatchOption, UnitOption
from benchvise.cli.measure import user_command
from benchvise.cli.output import JsonOption, StoreOption, print_json, stderr, stdout, text_line
from benchvise.cli.progress import RigProgress
from benchvise.cli.rig_options import RigOption
from benchvise.cli.why_progress import WhyProgress
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.flows import why as flow
from benchvise.flows.settings import restores_due
from benchvise.flows.why_sides import Sides
from benchvise.report.html import PAGE
from benchvise.report.why_plan import plan_page
from benchvise.report.why_terminal import tables
from benchvise.why.benches.live_board import PATIENCE_S
from benchvise.why.events import Event


def why(
    boards: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GOOD] BAD",
            help="The good board and the bad one: local, ssh://user@host[:port], rig:NAME. Only "
            "the bad one with --good.",
        ),
    ] = None,
    good: Annotated[
        str | None,
        typer.Option(
            "--good",
            metavar="SNAP",
            help="The good side as recorded: a run, or the file of a snapshot.",
        ),
    ] = None,
    good_root: Annotated[
        Path | None,
        typer.Option(
            "--good-root",
            metavar="DIR",
            help="The good side's root file system, as a directory or an image here: the command "
            "is run with its programs and libraries. Without another good side that is the good "
            "one.",
        ),
    ] = None,
    bench: Annotated[
        str | None,
        typer.Option("--bench", metavar="ID[:param=value,...]", help="The benchmark that differs."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="CMD",
            help="A command of yours that differs: its time, or with --match, what it prints.",
        ),
    ] = None,
    match: MatchOption = None,
    better: BetterOption = None,
    unit: UnitOption = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="MIN", min=0, help="Minutes after which it says what it knows."
        ),
    ] = None,
    risky: Annotated[
        bool,
        typer.Option(
            "--risky",
            help="Also try settings that can disturb all that runs on a board, such as swapping.",
        ),
    ] = False,
    patience: Annotated[
        float,
        typer.Option(
            "--patience", metavar="S", min=0, help="Seconds that a board that was lost is awaited."
        ),
    ] = PATIENCE_S,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be tried, and written where; set nothing."
        ),
    ] = False,
    layers: Annotated[
        bool,
        typer.Option(
            "--layers/--no-layers",
            help="Go on with kernel, command line and root file system where settings do not "
            "explain it.",
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="DIR",
            help="Where evidence, document and page go.",
            show_default="a new directory beside the journals of settings",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="DIR",
            help="Go on with a diagnosis that was stopped; it knows what it was asked.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Repeat the order of earlier trials.")
    ] = None,
    board: Annotated[
        list[str] | None,
        typer.Option(
            "--board",
            metavar="rig:NAME",
            help="GOOD and BAD are images: run both on this board of a rig, written and booted as "
            "needed. Twice: the good image's board and the bad one's.",
        ),
    ] = None,
    rig: RigOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out why two boards differ, and prove it.

    Measures the gap, flips what differs on one board and on the other, confirms what closes and
    opens it, and puts everything back. Ctrl-C gives the answer as far as it is known; --resume
    goes on.

    Exit codes: 0 explained, or no difference; 1 not explained; 3 a board was lost; 4 interrupted.

    Example: benchvise why ssh://root@10.0.0.7 ssh://root@10.0.0.8 --bench memory.copy
    """
    if resume is not None:
        if boards or good or good_root or bench or command or output:
            raise UsageError(
                "--resume goes on with what was asked before",
                f"give no boards and nothing to measure: benchvise why --resume {resume}",
            )
        request = flow.resumed(resume)
    else:
        if board and good_root is not None:
            raise UsageError("two images have a root each", "leave --good-root out")
        one, other = _sides(boards or [], good, good_root)
        if board:  # to be found again by --resume, wherever that is called
            one, other = (str(Path(name).resolve()) for name in (one, other))
        wanted = user_command(command, match, better, unit)
        root = "" if good_root is None else str(good_root.resolve())
        sides = Sides(one, other, bench, wanted, rig, patience, tuple(board or ()), root)
        sides.entry()
        request = flow.settled(flow.WhyRequest(sides, budget, layers, seed, risky), store)
    for due in restores_due():
        stderr().print(text_line(f"not as it was: {due}: benchvise restore", style="yellow"))
    if dry_run:
        _print_plan(request, store, as_json=as_json)
        return
    answer = _diagnosed(request, store, resume or output, resume=resume is not None)
    document = encode(answer.diagnosis)
    if as_json:
        print_json(
            "diagnosis", {**document, "id": answer.identity, "evidence": str(answer.directory)}
        )
    else:
        stdout().print(tables(document), soft_wrap=True)
        stdout().print(text_line(_next_step(answer), style="dim"), soft_wrap=True)
    if answer.unkept:
        stderr().print(text_line(answer.unkept, style="yellow"), soft_wrap=True)
    raise typer.Exit(answer.exit_code)


def _sides(boards: list[str], good: str | None, root: Path | None) -> tuple[str, str]:
    """The good one and the bad one; UsageError where that is not what the words say."""
    if root is not None:
        if not root.exists():
            raise UsageError(f"there is no {root}", "name a directory or an image")
        if len(boards) != 1:
            raise UsageError(
                f"{len(boards)} boards are named beside --good-root",
                "name the bad one: it runs the good side's programs, too",
            )
        if good is None:
            return "", boards[0]
    if good is not None and len(boards) == 1:
        file = Path(good)
        return str(file.resolve()) if file.is_file() else good, boards[0]
    if good is None and len(boards) == 2:
        return boards[0], boards[1]
    raise UsageError(
        f"{len(boards)} boards are named" + (" beside --good" if good is not None else ""),
        "name the bad one, with --good RUN"
        if good is not None
        else "name the good one and the bad one, or one with --good RUN",
    )


def _diagnosed(
    request: flow.WhyRequest, store: str | None, directory: Path | None, *, resume: bool
) -> flow.DiagnosisAnswer:
    """Progress of boards of a rig first, then of the diagnosis."""
    booting = RigProgress(stderr())
    budget_s = math.inf if request.budget_min is None else 60 * request.budget_min
    trying = WhyProgress(stderr(), budget_s)
    started = False

    def observe(event: Event) -> None:
        nonlocal started
        if not started:
            booting.__exit__(None, None, None)
            trying.__enter__()
            started = True
        trying.observe(event)

    booting.__enter__()
    try:
        return flow.why(
            request,
            store,
            observe,
            directory=directory,
            resume=resume,
            observe_rig=booting.observe,
        )
    finally:
        (trying if started else booting).__exit__(None, None, None)


def _print_plan(request: flow.WhyRequest, store: str | None, *, as_json: bool) -> None:
    booting = RigProgress(stderr())
    with booting:
        plan = flow.plan(request, store, booting.observe)
    if as_json:
        print_json("why-plan", encode(plan))
    else:
        stdout().print(plan_page(plan), soft_wrap=True)


def _next_step(answer: flow.DiagnosisAnswer) -> str:
    page = answer.directory / PAGE
    lines = [f"The evidence is in {answer.directory}; to be mailed: {page}"]
    if answer.diagnosis.stopped is not None:
        lines.append(f"Go on: benchvise why --resume {answer.directory}")
    if not answer.diagnosis.restored:
        lines.append("Restore what is still set: benchvise restore")
    return "\n" + "\n".join(lines)
