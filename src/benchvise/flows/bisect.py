"""``benchvise bisect``: find the version that made it worse, although values scatter.

A bisection has a directory: ``request.json`` holds what was asked, ``measurements.jsonl`` every
sample. One that was stopped or killed goes on from there.
"""

from __future__ import annotations

import secrets
import shlex
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.command import CommandRecord
from benchvise.errors import Interrupted, UsageError
from benchvise.flows.bisect_request import (
    BisectOptions,
    BisectRequest,
    bisect_request,
    resumed_request,
)
from benchvise.flows.boards import command_line
from benchvise.flows.boots import reported_boots
from benchvise.kept_request import REQUEST, keep_request
from benchvise.output_files import check_output_directory
from benchvise.quantities import format_duration, format_value
from benchvise.rig.environment import be_patient
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.journal import state_directory
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.bisect.journal import JournalEntry, MeasurementJournal
    from benchvise.bisect.model import Bisection, ChangeOnBoard, MeasuredVersion
    from benchvise.flows.bisect_benches import BoardBench


def bisect(options: BisectOptions) -> Bisection:
    """Searches until the place of the change is known, or there is none, or the time is up.

    Raises UsageError, what opening the board raises, VersionUnusable where the good or the bad
    version cannot be measured, and Interrupted.
    """
    from benchvise.bisect.journal import MeasurementJournal
    from benchvise.bisect.loop import BisectionSearch
    from benchvise.bisect.model import BisectionOptions

    if options.wait is not None:
        be_patient(options.wait)
    request = resumed_request(options) if options.resume is not None else bisect_request(options)
    directory = options.resume or options.output or _new_directory()
    check_output_directory(directory, "the journal")
    if options.resume is None and (directory / REQUEST).exists():
        raise UsageError(
            f"{directory} has a bisection already",
            f"go on with it by --resume {directory}, or choose another directory",
        )
    limits = BisectionOptions(
        request.confidence,
        request.least,
        None if request.budget_min is None else 60.0 * request.budget_min,
    )
    try:
        with deferred(), ExitStack() as stack:
            stack.enter_context(reported_boots(options.store, command_line()))
            journal = MeasurementJournal(directory)
            stack.callback(journal.close)
            if options.resume is None:
                keep_request(directory, request)
            if request.is_of_several:
                from benchvise.flows.bisect_fleet import FleetBisection

                fleet = FleetBisection(
                    request, directory, journal, limits, options.observe, options.observe_board
                )
                return fleet.run(stack, partial(_next_step, request), str(directory))
            with let_through():
                bench = _open_bench(request, directory, stack, options)
                earlier = _earlier(request, bench, journal, options.store)
                search = BisectionSearch(
                    request.names, bench, journal, limits, options.observe, earlier
                )
                verdict = search.run()
            return search.answer(
                verdict, str(directory), lambda good, bad: _next_step(request, good, bad)
            )
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; what was measured is kept in {directory}",
            f"benchvise bisect --resume {directory}",
        ) from None


def _open_bench(
    request: BisectRequest, directory: Path, stack: ExitStack, options: BisectOptions
) -> BoardBench:
    """The board and what makes versions ready; the good version is ready already."""
    # Late: boards and rigs are not needed to refuse a command line.
    from benchvise.flows import bisect_benches as benches
    from benchvise.flows.boards import observe_waits

    metric = benches.VersionMetric(request.bench, request.command)
    observe = observe_waits(options.observe)
    good = request.names[0]
    options.observe(f"{len(request.names)} versions; {good} is made ready first")
    if request.kind == "images":
        session = benches.open_session(request.board, request.rig, stack, observe)
        images = benches.ImageMaker(session, metric.entry(good, session.name))
        stack.callback(images.close)
        return benches.BoardBench(request.names, metric, images)
    tree = directory.resolve() / "tree" if request.kind == "git" else None
    live = benches.open_live(
        request.board, request.rig, lambda board: metric.entry(good, board, tree), stack, observe
    )
    if tree is None:
        return benches.BoardBench(request.names, metric, benches.CommandMaker(live))
    from benchvise.flows.bisect_builds import CommitBuilds, GitMaker

    builds = CommitBuilds(Path(request.git), tree, request.build, 1)
    stack.callback(builds.close)
    maker = GitMaker(builds, request.deploy, live, is_alone=True)
    return benches.BoardBench(request.names, metric, maker)


def _earlier(
    request: BisectRequest, bench: BoardBench, journal: MeasurementJournal, store: str | None
) -> list[JournalEntry]:
    """The samples of the runs that are named, unless the journal has them already."""
    last = len(request.names) - 1
    named = {0: request.good_run, last: request.bad_run}
    runs = {version: run for version, run in named.items() if run is not None}
    if not runs or any(entry.run for entry in journal.entries):
        return []
    from benchvise.flows.bisect_runs import samples_of

    return [
        entry
        for version, run in runs.items()
        for entry in samples_of(
            store, run, request.board, bench.key(version), request.names[version]
        )
    ]


def _new_directory() -> Path:
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    return state_directory() / "bisect" / name


def _next_step(request: BisectRequest, good: str, bad: str, board: str = "") -> str:
    """What explains the difference of two neighbours: ``why`` for images, the commit itself."""
    if request.kind == "git":
        return shlex.join(["git", "-C", request.git, "show", bad])
    if request.kind != "images":
        return ""
    command = ["benchvise", "why", good, bad, "--board", board or request.board]
    if request.bench is not None:
        command += ["--bench", request.bench]
    elif request.command is not None:
        what = request.command
        options = {"--command": what.line, "--match": what.match, "--better": what.better}
        options["--unit"] = what.unit
        command += [word for name, value in options.items() if value for word in (name, value)]
    return shlex.join(command)


# -- how it is shown -------------------------------------------------------------------------------


def _probability(version: MeasuredVersion) -> float | None:
    return None if version.left_out else version.probability


def _version_columns(unit: str) -> tuple[ColumnSpec[MeasuredVersion], ...]:
    return (
        ColumnSpec("Version", ValueUnit.TEXT, lambda row: row.version),
        ColumnSpec("Number", ValueUnit.NUMBER, lambda row: row.number),
        ColumnSpec("Samples", ValueUnit.COUNT, lambda row: len(row.samples)),
        ColumnSpec(
            "Median",
            ValueUnit.QUANTITY,
            lambda row: row.median,
            text=lambda row: format_value(row.median, unit),
        ),
        ColumnSpec("P(change here)", ValueUnit.SHARE, _probability, key="probability"),
        ColumnSpec("Left out", ValueUnit.TEXT, lambda row: str(row.left_out), "doubt"),
        ColumnSpec("Board", ValueUnit.TEXT, lambda row: row.board),
    )


def _board_columns(unit: str) -> tuple[ColumnSpec[ChangeOnBoard], ...]:
    return (
        ColumnSpec("Board", ValueUnit.TEXT, lambda row: row.board),
        ColumnSpec("Change", ValueUnit.TEXT, lambda row: str(row.seen)),
        ColumnSpec("Size", ValueUnit.TEXT, _size),
        ColumnSpec("Levels", ValueUnit.TEXT, lambda row: _levels(row, unit)),
        ColumnSpec("Scatter", ValueUnit.SHARE, lambda row: row.scatter),
        ColumnSpec("Samples", ValueUnit.COUNT, lambda row: row.samples),
        ColumnSpec("Time", ValueUnit.TEXT, lambda row: format_duration(row.seconds)),
        ColumnSpec("Left out", ValueUnit.TEXT, lambda row: str(row.lost), "doubt"),
    )


def _size(row: ChangeOnBoard) -> str:
    if row.ratio is None or row.ratio_low is None or row.ratio_high is None:
        return "too little was measured"
    low, high = 100 * (row.ratio_low - 1), 100 * (row.ratio_high - 1)
    return f"{100 * (row.ratio - 1):+.1f} % ({low:+.1f} to {high:+.1f} %)"


def _levels(row: ChangeOnBoard, unit: str) -> str:
    if row.before is None or row.after is None:
        return ""
    return f"{format_value(row.before, unit)}, then {format_value(row.after, unit)}"


def _tables(result: Bisection, _options: BisectOptions) -> list[TableSpec[Any]]:
    rows = [NamedValue("Answer", result.headline, "strong")]
    if result.first_bad is not None:
        rows.append(NamedValue("Between", f"{result.last_good} and {result.first_bad}"))
    if len(result.candidates) > 1:
        rows.append(NamedValue("Candidates", ", ".join(result.candidates[:20])))
    if result.before is not None and result.after is not None and result.scatter is not None:
        levels = f"{format_value(result.before, result.unit)}, then "
        levels += f"{format_value(result.after, result.unit)}; one sample scatters by "
        rows.append(NamedValue("Levels", f"{levels}{100 * result.scatter:.2g} %"))
    measured = len({version.number for version in result.versions if version.samples})
    amount = f"{result.samples} samples of {measured} of "
    amount += f"{result.count} versions in {format_duration(result.seconds)}"
    if result.boards:
        amount += f" on {sum(bool(b.samples) for b in result.boards)} boards"
    if result.earlier:
        amount += f"; {result.earlier} samples of runs in the store were used, too"
    rows.append(NamedValue("Measured", amount))
    others = f"no change {100 * result.no_change:.1f} %, two changes "
    rows.append(NamedValue("Otherwise", f"{others}{100 * result.two_changes:.1f} %"))
    if result.next_step:
        rows.append(NamedValue("Next", result.next_step))
    title = f"Bisection from {result.good} to {result.bad}"
    tables: list[TableSpec[Any]] = [named_values(title, rows)]
    columns = _version_columns(result.unit)
    if result.boards:
        tables.append(TableSpec("Boards", _board_columns(result.unit), result.boards))
    else:
        columns = columns[:-1]
    return [*tables, TableSpec("What was measured", columns, result.versions)]


def _exit_code(result: Bisection) -> int:
    if result.boards and all(board.lost for board in result.boards):
        return 3 if result.verdict == "undecided" else 0
    return 1 if result.verdict == "undecided" else 0


def _messages(result: Bisection) -> list[str]:
    if result.verdict == "undecided":
        return [f"Go on: benchvise bisect --resume {result.directory} --budget MIN"]
    return [f"The journal is in {result.directory}"]


BISECT = CommandRecord(
    name="bisect",
    kind="bisection",
    summary="Find the version that made it worse, although values scatter.",
    details="Each sample is a fresh process. The next version is the one that tells most a minute; "
    "one that cannot be built, booted or measured is left out. Several boards are measured at the "
    "same time, and the answer says which of them have the change; one that is lost is left out. "
    "Ctrl-C keeps what was measured; --resume continues, after kill -9 too.\n\n"
    "Exit codes: 0 decided (also: no change, two changes); 1 undecided; 3 all boards were lost; "
    "4 interrupted.",
    example="benchvise bisect --git ~/src/app --good v1.4 --bad main --build 'make -j4' "
    "--command '{tree}/app --selftest'",
    options=BisectOptions,
    run=bisect,
    document=lambda result: result,
    tables=_tables,
    columns=_version_columns(""),
    rows=lambda result: result.versions,
    messages=_messages,
    exit_code=_exit_code,
)
