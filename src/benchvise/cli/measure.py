"""``benchvise run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from benchvise.cli.progress import FleetProgress, RigProgress, RunProgress
from benchvise.cli.user_command import (
    WHAT_IS_MEASURED,
    BetterOption,
    MatchOption,
    UnitOption,
    user_command,
)
from benchvise.configuration import configured_suite
from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.flows import run as flow
from benchvise.flows.request import RunRequest, RunResult
from benchvise.flows.run import PlannedRun
from benchvise.flows.settings import restores_due
from benchvise.measure.model import RunRecord
from benchvise.measure.plan import PROCESSES, Plan
from benchvise.measure.runner import Event
from benchvise.rig.lanes import FleetPlan, check_parallel
from benchvise.terminal_colors import DOUBT, ERROR
from benchvise.trace.recording import RecordingPlan, check_events

if TYPE_CHECKING:
    from benchvise.store import Store

# Headings of the help.
_HOW_OFTEN = "How often"
_STATE = "State of the board"
_RIG = "Boards of a rig"
_OUTPUT = "Output"

_MOST_TABLES = 8
"""Runs that are shown series by series; of more, a line each."""


def run(
    boards: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BOARD]...",
            help="local, USER@HOST, an IP address, ssh://HOST:PORT, rig:NAME, rig:all, "
            "rig:tag=FEATURE, or those that are free: rig:any=FEATURE or rig:N=FEATURE.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            help="A named suite, or the path of a .toml file.",
            rich_help_panel=WHAT_IS_MEASURED,
        ),
    ] = None,
    bench: Annotated[
        list[str] | None,
        typer.Option(
            "--bench",
            metavar="ID[:param=value,...]",
            help="A benchmark; values may be lists (a+b) and ranges of sizes (4K..1M).",
            rich_help_panel=WHAT_IS_MEASURED,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="CMD",
            help="A command of yours: how long it takes, or with --match, what it prints.",
            rich_help_panel=WHAT_IS_MEASURED,
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
            help="A parameter of all series that have it; a name given twice has both values.",
            rich_help_panel=WHAT_IS_MEASURED,
        ),
    ] = None,
    label: Annotated[
        str, typer.Option("--label", help="A name to find the run by.", rich_help_panel=_OUTPUT)
    ] = "",
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            min=1,
            max=1000,
            help="Fresh processes a series.",
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
    time: Annotated[
        float | None,
        typer.Option(
            "--time",
            metavar="S",
            min=0,
            help="Repeat whole rounds for about S seconds instead of a number of processes.",
            rich_help_panel=_HOW_OFTEN,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KNOB=VALUE",
            help="Change a setting of the board for the run, and restore it. A+B measures a run "
            "with each value, `each` one with all that the board offers.",
            rich_help_panel=_STATE,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="Repeat the order of an earlier run.", rich_help_panel=_HOW_OFTEN
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Record kernel events during the run; `show RUN --trace -o FILE` writes the "
            "trace. Requires root on the board; adds tracing overhead.",
            rich_help_panel=_STATE,
        ),
    ] = False,
    trace_events: Annotated[
        list[str] | None,
        typer.Option(
            "--trace-events",
            metavar="SET",
            help="As `trace record --events`.",
            rich_help_panel=_STATE,
        ),
    ] = None,
    snapshots: Annotated[
        bool,
        typer.Option(
            "--snapshot/--no-snapshot",
            help="Record the board's state before and after.",
            rich_help_panel=_STATE,
        ),
    ] = True,
    remove_probe: Annotated[
        bool,
        typer.Option(
            "--remove-probe",
            help="Remove the probe from the boards afterwards.",
            rich_help_panel=_STATE,
        ),
    ] = False,
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            metavar="FILE",
            help="Write this image to the cards of the rig's boards first; `own`: each board's own "
            "from the rig file.",
            rich_help_panel=_RIG,
        ),
    ] = None,
    parallel: Annotated[
        str,
        typer.Option(
            "--parallel",
            metavar="N|auto|none",
            help="How many boards that share nothing are measured at once (none: all in turn, "
            "interleaved, to compare them in pairs). Boards that share a host, an address, a power "
            "budget, or a name in the rig file's `shares` are always measured in turn.",
            rich_help_panel=_RIG,
        ),
    ] = "auto",
    keep_on: Annotated[
        bool,
        typer.Option(
            "--keep-on", help="Leave boards of a rig switched on afterwards.", rich_help_panel=_RIG
        ),
    ] = False,
    rig: RigOption = None,
    wait: WaitOption = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the plan and stop.", rich_help_panel=_OUTPUT)
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure boards and keep the results.

    Without a board: this machine. Without a suite or benchmark: the quick suite.

    --command measures a command of yours; --param fills in what a suite cannot know, such as url.

    Several boards that share nothing are measured at once, those that do in turn, process by
    process, so that they can be compared in pairs; --plan says which and why. Boards of a rig are
    booted afresh before that, and switched off afterwards.

    Example: benchvise run local ssh://root@10.0.0.7 --suite quick --label first-look
    """
    be_patient(wait)
    request = RunRequest(
        boards=tuple(map(full_name, boards or ["local"])),
        suite=suite or (None if bench or command else configured_suite()),
        benches=tuple(bench or ()),
        command=user_command(command, match, better, unit),
        params=tuple(param or ()),
        label=label,
        processes=processes,
        batches=batches,
        seed=seed,
        time_s=time,
        remove_probe=remove_probe,
        settings=tuple(settings or ()),
        snapshots=snapshots,
        rig=rig,
        image=image,
        keep_on=keep_on,
        trace=_recording_plan(trace, trace_events),
        parallel=parallel,
    )
    check_parallel(parallel)
    if len(set(request.boards)) < len(request.boards):
        raise UsageError("a board is named twice", "to measure it twice, run twice")
    if plan:
        _print_plans(*flow.plan_only(request), as_json=as_json)
        return
    for due in restores_due():
        stderr().print(text_line(f"not as it was: {due}: benchvise restore", style=DOUBT))
    from benchvise.store import Store  # late, as --help and --plan do without

    with Store.open(store) as results:
        ended = _measured(request, results)
        records = [results.load(result.run_id) for result in ended if result.run_id]
    _print_runs(records, as_json=as_json)
    failures = [line for result in ended for line in result.failures]
    for line in failures:
        stderr().print(text_line(f"failed: {line}", style=ERROR))
    errors = [(result.board, result.error) for result in ended if result.error is not None]
    for name, error in errors:
        fault = getattr(error, "fault", "")
        text = str(error).removeprefix(f"{name}: ")
        line = f"{name}: {f'{fault}: ' if fault else ''}{text}"
        stderr().print(text_line(line, style=ERROR))
    if errors:
        raise typer.Exit(errors[0][1].exit_code)
    if failures:
        raise typer.Exit(1)


def _print_runs(records: Sequence[RunRecord], *, as_json: bool) -> None:
    from benchvise.flows.results import summaries
    from benchvise.report.data import run_data
    from benchvise.report.rendering import rendered
    from benchvise.report.tables import fleet_table, run_table, side_by_side

    if as_json:
        print_json("runs", [run_data(record) for record in records])
        return
    runs = [(record, summaries(record)) for record in records]
    if len(runs) > _MOST_TABLES:
        stdout().print(rendered(fleet_table(runs)))
        stdout().print("\nNext: benchvise show RUN, or benchvise compare RUN RUN", style="dim")
        return
    for number, (record, series) in enumerate(runs):
        if number:
            stdout().print()
        stdout().print(run_table(record, series, notes=False))
        stdout().print(_next_step(record.id), style="dim")
    if len(runs) > 1:
        stdout().print()
        stdout().print(rendered(side_by_side(runs)))


def _measured(request: RunRequest, results: Store) -> list[RunResult]:
    """Progress of the boards' boots first, then of what is measured; one line a board each."""
    if len(request.boards) > 1 or any(n == "rig:all" or "=" in n for n in request.boards):
        with FleetProgress(stderr()) as fleet:
            return flow.run(request, results, fleet.observe, fleet.observe_rig, fleet.observe_end)
    booting = RigProgress(stderr())
    measuring = RunProgress(stderr())
    started = False

    def observe(board: str, plan: Plan, event: Event) -> None:
        nonlocal started
        if not started:
            booting.__exit__(None, None, None)
            measuring.__enter__()
            started = True
        measuring.observe(board, plan, event)

    booting.__enter__()
    try:
        return flow.run(request, results, observe, booting.observe)
    finally:
        (measuring if started else booting).__exit__(None, None, None)


def _recording_plan(wanted: bool, events: list[str] | None) -> RecordingPlan | None:
    if wanted:
        return RecordingPlan(check_events(events or ()), progress_seconds=0)
    if events:
        raise UsageError("--trace-events are those of a trace", "add --trace")
    return None


def _next_step(run_id: str) -> str:
    return (
        f"\nKept as run {run_id}. Next: benchvise compare {run_id} OTHER, or "
        f"benchvise report {run_id} -o DIR"
    )


@dataclass(frozen=True, slots=True)
class BoardPlan:
    """What ``--plan --json`` prints of a board."""

    board: str
    plan: Plan = field(metadata=in_json(inline=True))
    settings: Mapping[str, str]
    """Values by knob."""
    in_turn_with: tuple[str, ...] = ()
    """The other boards of its lane: one after another, while other lanes go on."""
    shares: tuple[str, ...] = ()
    """What it has in common with them."""


def _print_plans(fleet: FleetPlan, runs: list[PlannedRun], *, as_json: bool) -> None:
    if as_json:
        print_json("plan", [_board_plan(run) for run in runs])
        return
    for sentence in fleet.sentences():
        stdout().print(text_line(sentence))
    for run in runs:
        plan = run.plan
        amount = f"for {plan.time_s:g} s" if plan.time_s else f"{plan.processes} processes"
        stdout().print(
            f"{run.board}: {len(plan.series)} series, {amount}"
            + (f" of {plan.batches} batches" if plan.batches else "")
            + f", seed {plan.seed}",
            style="bold",
        )
        for setting in run.combination.settings:
            stdout().print(f"  with {setting}")
        for spec in plan.series:
            stdout().print(f"  {spec.key}")


def _board_plan(run: PlannedRun) -> BoardPlan:
    others = tuple(name for name in run.lane.boards if name != run.board)
    return BoardPlan(run.board, run.plan, run.combination.values, others, run.lane.shared)
