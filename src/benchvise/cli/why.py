"""``benchvise why``, and its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

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
from benchvise.cli.progress import LineColumn, RigProgress
from benchvise.cli.user_command import BetterOption, MatchOption, UnitOption, user_command
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.terminal_colors import DOUBT
from benchvise.why.bench import PATIENCE_S
from benchvise.why.events import (
    CauseConfirmed,
    CommandWatched,
    Event,
    ExperimentBegun,
    ExperimentDecided,
    FindingMade,
    GapMeasured,
    LeftOut,
    StageBegun,
    SuspectsRanked,
    TrialFailed,
    TrialTaken,
)
from benchvise.why.model import Grade

if TYPE_CHECKING:
    from benchvise.flows import why as flow

_LINE_LIMIT = 300
_BESIDE_SEARCH = 4  # experiments besides those of the search: all at once, and the confirmation


class WhyProgress:
    """What is being tried, of how many experiments, and about how long it will take.

    On a terminal, a line that is always there and one for each thing that was found out; elsewhere
    nothing is said, as by other commands. Redrawn by events only, as a board may be this machine.
    """

    def __init__(self, console: Console, budget_s: float = math.inf) -> None:
        self._console = console
        self._budget_s = budget_s
        self._begun = time.monotonic()
        self._progress = Progress(
            LineColumn(
                "{task.description}",
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            BarColumn(bar_width=12),
            LineColumn("{task.fields[count]}", style="dim"),
            TimeElapsedColumn(),
            LineColumn("{task.fields[left]}", style="dim"),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("opening", total=None, count="", left="")
        self._testable = 0
        self._experiments: list[float] = []

    def __enter__(self) -> WhyProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def observe(self, event: Event) -> None:
        """Takes note of an event of the diagnosis."""
        match event:
            case StageBegun(stage):
                self._update(str(stage), 0, None)
            case FindingMade(finding):
                style = DOUBT if finding.grade is not Grade.NOTES else "dim"
                self._say(f"{finding.rule}: {finding.sentence}", style)
            case SuspectsRanked(suspects, excluded):
                self._testable = sum(suspect.testable for suspect in suspects)
                self._say(
                    f"{len(suspects)} differences may be the cause, {self._testable} of them can "
                    f"be tried; {len(excluded)} cannot matter here"
                )
            case GapMeasured(gap):
                apart = gap.goodness.value
                self._say(
                    f"the good side is {'better' if apart > 0 else 'worse'} by a factor of "
                    f"{math.exp(abs(apart)):.3f}, in {gap.blocks} blocks"
                )
            case CommandWatched(witness):
                self._say(witness.sentence)
            case ExperimentBegun(_, question, _, blocks, _):
                self._update(question, 0, blocks)
            case TrialTaken():
                self._progress.advance(self._task)
                self._count()
            case TrialFailed(_, flipped, reason):
                self._say(f"{' with '.join(flipped) or 'the metric'}: {reason}", DOUBT)
            case LeftOut(suspect, side, reason):
                self._say(f"left out on the {side} side: {suspect.id}: {reason}", DOUBT)
            case ExperimentDecided(experiment):
                self._experiments.append(experiment.seconds)
                self._say(f"{experiment.question} {experiment.outcome}", "dim")
            case CauseConfirmed(cause):
                self._say(f"confirmed: {cause.name}, {100 * cause.share.value:.0f} % of it", "bold")

    def _say(self, text: str, style: str = "") -> None:
        if self._console.is_terminal:
            self._progress.console.print(Text(text, style=style))
            self._count()

    def _update(self, what: str, done: int, total: int | None) -> None:
        self._progress.update(self._task, description=what, completed=done, total=total)
        self._count()

    def _count(self) -> None:
        done = len(self._experiments)
        count = f"{done} experiments" if done != 1 else "1 experiment"
        if self._testable:
            count = f"{done} of about {max(done, self._expected)} experiments"
        self._progress.update(self._task, count=count, left=self._left())
        self._progress.refresh()

    @property
    def _expected(self) -> int:
        """A search among n that halves, and what comes before and after."""
        return _BESIDE_SEARCH + math.ceil(math.log2(self._testable + 1))

    def _left(self) -> str:
        budget = self._budget_s - (time.monotonic() - self._begun)
        if not (self._experiments and self._testable):
            return f"at most {_duration(budget)} left" if 0 < budget < math.inf else ""
        each = sum(self._experiments) / len(self._experiments)
        estimate = max(self._expected - len(self._experiments), 1) * each
        return f"about {_duration(min(budget, estimate))} left" if budget > 0 else ""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def why(
    boards: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GOOD] BAD",
            help="The good board and the bad one: local, USER@HOST, an IP address, "
            "ssh://HOST:PORT, rig:NAME. Only the bad one with --good.",
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
            "--budget",
            metavar="MIN",
            min=0,
            help="Minutes after which it stops and answers with what is known.",
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="NAME,…|all",
            help="Also try these settings, which can disturb all that runs on a board: services, "
            "swap, packet filters.",
        ),
    ] = None,
    risky: Annotated[bool, typer.Option("--risky", help="The same as --allow all.")] = False,
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
    to_try: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="ID",
            help="Try this difference of a diagnosis by itself, from its evidence on: of the one "
            "that --resume names, else of the last one. Repeatable.",
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
    wait: WaitOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out why two boards differ, and prove it.

    Measures the gap, applies settings of one board to the other, confirms the cause in both
    directions, and restores everything. Ctrl-C prints the answer so far; --resume continues.

    --try ID continues a diagnosis with its evidence, and tests one of its differences.

    Exit codes: 0 explained, or no difference; 1 not explained; 3 a board was lost; 4 interrupted.

    Example: benchvise why ssh://root@10.0.0.7 ssh://root@10.0.0.8 --bench memory.copy
    """
    from benchvise.flows import why as flow
    from benchvise.flows.settings import restores_due
    from benchvise.flows.why_sides import Sides
    from benchvise.report.why.terminal import tables

    be_patient(wait)
    if resume is None and to_try:
        resume = flow.newest_directory()
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
        first, other = _sides(boards or [], good, good_root)
        if board:  # to be found again by --resume, wherever that is called
            first, other = (str(Path(name).resolve()) for name in (first, other))
        wanted = user_command(command, match, better, unit)
        root = "" if good_root is None else str(good_root.resolve())
        sides = Sides(first, other, bench, wanted, rig, patience, tuple(board or ()), root)
        sides.entry()
        allowed = flow.allowed_settings(allow or (), all_of_them=risky)
        request = flow.settled(flow.WhyRequest(sides, budget, layers, seed, allowed), store)
    for due in restores_due():
        stderr().print(text_line(f"not as it was: {due}: benchvise restore", style=DOUBT))
    if dry_run:
        _print_plan(request, store, as_json=as_json)
        return
    answer = _diagnosed(
        request, store, resume or output, resume=resume is not None, to_try=to_try or ()
    )
    document = encode(answer.diagnosis)
    if as_json:
        print_json(
            "diagnosis", {**document, "id": answer.identity, "evidence": str(answer.directory)}
        )
    else:
        stdout().print(tables(document), soft_wrap=True)
        stdout().print(text_line(_next_step(answer), style="dim"), soft_wrap=True)
    if answer.unkept:
        stderr().print(text_line(answer.unkept, style=DOUBT), soft_wrap=True)
    raise typer.Exit(answer.exit_code)


def _sides(boards: list[str], good: str | None, root: Path | None) -> tuple[str, str]:
    """The good one and the bad one; UsageError where that is not what the words say."""
    if root is not None:
        if not root.exists():
            raise UsageError(f"there is no {root}", "name a directory or an image")
        if len(boards) != 1:
            raise UsageError(
                f"{_boards_named(len(boards))} beside --good-root",
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
        _boards_named(len(boards)) + (" beside --good" if good is not None else ""),
        "name the bad one, with --good RUN"
        if good is not None
        else "name the good one and the bad one, or one with --good RUN",
    )


def _boards_named(count: int) -> str:
    if count == 0:
        return "no board is named"
    return "one board alone is named" if count == 1 else f"{count} boards are named"


def _diagnosed(
    request: flow.WhyRequest,
    store: str | None,
    directory: Path | None,
    *,
    resume: bool,
    to_try: Sequence[str],
) -> flow.DiagnosisAnswer:
    """Progress of boards of a rig first, then of the diagnosis."""
    from benchvise.flows import why as flow

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
            to_try=to_try,
            observe_rig=booting.observe,
        )
    finally:
        (trying if started else booting).__exit__(None, None, None)


def _print_plan(request: flow.WhyRequest, store: str | None, *, as_json: bool) -> None:
    from benchvise.flows import why as flow
    from benchvise.report.why.plan import plan_page

    booting = RigProgress(stderr())
    with booting:
        plan = flow.plan(request, store, booting.observe)
    if as_json:
        print_json("why-plan", encode(plan))
    else:
        stdout().print(plan_page(plan), soft_wrap=True)


def _next_step(answer: flow.DiagnosisAnswer) -> str:
    from benchvise.report.html import PAGE

    page = answer.directory / PAGE
    lines = [f"The evidence is in {answer.directory}; to be mailed: {page}"]
    if answer.diagnosis.stopped is not None:
        lines.append(f"Go on: benchvise why --resume {answer.directory}")
    if not answer.diagnosis.restored:
        lines.append("Restore what is still set: benchvise restore")
    return "\n" + "\n".join(lines)
