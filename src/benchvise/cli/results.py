"""``benchvise runs | show | compare | report``: what has been measured and diagnosed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from benchvise.board import full_name
from benchvise.cli.output import JsonOption, StoreOption, print_json, stdout, text_line
from benchvise.errors import UsageError
from benchvise.text import Untrusted, counted

if TYPE_CHECKING:
    from benchvise.store import RunInfo

LINE_LIMIT = 1000
"""Characters of a note that are shown."""

ComparisonFormatName = Literal[
    "table", "json", "csv", "tsv", "markdown", "html",
    "junit", "github", "gitlab", "bmf", "lava", "kcidb",
]  # fmt: skip
"""How ``compare`` prints: for people, as ``--json``, or as ``report.comparison_formats`` has it."""

RunOrDiagnosis = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the beginning of one, its label, or @ for the newest; or the id of a "
        "diagnosis.",
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run's id, the beginning of one, its label, or @ for the newest."
    ),
]


def runs(
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 20,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="TAG", help="Those with this tag.")
    ] = None,
    board: Annotated[
        str | None, typer.Option("--board", metavar="BOARD", help="Those of this board.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="Those of this suite.")
    ] = None,
    find: Annotated[
        str | None,
        typer.Option(
            "--find", metavar="TEXT", help="Those with this in label, board, suite or note."
        ),
    ] = None,
    diagnoses: Annotated[
        bool, typer.Option("--diagnoses", help="The diagnoses that `why` made instead.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the runs in the store, newest first.

    Example: benchvise runs --limit 5 --tag nightly
    """
    from benchvise.flows import results as flow
    from benchvise.report.rendering import rendered
    from benchvise.report.tables import list_rows
    from benchvise.store import RunFilter

    if diagnoses:
        _list_diagnoses(store, limit, as_json=as_json)
        return
    matching = RunFilter(board=full_name(board) if board else None, suite=suite, tag=tag, text=find)
    infos = flow.list_runs(store, limit, matching)
    if as_json:
        print_json("run-list", infos)
        return
    if infos:
        stdout().print(rendered(list_rows(infos)))
    elif matching != RunFilter():
        stdout().print("No such run.")
    else:
        stdout().print("No run yet. Measure this machine: benchvise run")
    if diagnosed := len(flow.list_diagnoses(store, None)):
        noun = counted(diagnosed, "diagnosis", "diagnoses")
        stdout().print(f"{noun}: benchvise runs --diagnoses")


def _list_diagnoses(store: str | None, limit: int, *, as_json: bool) -> None:
    from benchvise.flows import results as flow
    from benchvise.report.rendering import rendered
    from benchvise.report.why.terminal import diagnosis_rows

    infos = flow.list_diagnoses(store, limit)
    if as_json:
        print_json("diagnosis-list", infos)
    elif infos:
        stdout().print(rendered(diagnosis_rows(infos)))
    else:
        stdout().print("No diagnosis yet. See benchvise why --help")


def tag(
    run: RunArgument,
    names: Annotated[list[str], typer.Argument(metavar="TAG...", help="Single words.")],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the tags instead of adding them.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a run tags to find it by: benchvise runs --tag TAG.

    Example: benchvise tag @ nightly before-upgrade
    """
    from benchvise.flows import results as flow

    info = flow.tag_run(store, run, names, remove=remove)
    _print_annotations(info, f"tags: {' '.join(info.tags) or 'none'}", as_json=as_json)


def note(
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="'' takes the note away.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a note to a run, in the place of the one that it had.

    Example: benchvise note @ "heat sink off"
    """
    from benchvise.flows import results as flow

    info = flow.note_run(store, run, text)
    _print_annotations(
        info, f"note: {info.note:{LINE_LIMIT}}" if info.note else "note: none", as_json=as_json
    )


@dataclass(frozen=True, slots=True)
class RunAnnotations:
    """What users said of a run."""

    run: str
    tags: tuple[str, ...]
    note: Untrusted


def _print_annotations(info: RunInfo, line: str, *, as_json: bool) -> None:
    if as_json:
        print_json("run-said", RunAnnotations(info.id, info.tags, info.note))
    else:
        stdout().print(text_line(f"{info.id} {line}"), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class RunConsole:
    """What the console of a rig's board said from power on to the end of a run."""

    run: str
    """As it was asked for."""
    console: str


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report that was written."""

    page: str
    """The path of its page."""


def show(
    run: RunOrDiagnosis,
    notes: Annotated[
        bool, typer.Option("--notes", help="All that is known about what disturbed each series.")
    ] = False,
    console: Annotated[
        bool,
        typer.Option("--console", help="The console log of the run, for a board of a rig."),
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="The trace that was recorded with the run.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Copy that trace to this file."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: every series with its median, interval and what to know about it.

    Or a diagnosis, as `why` showed it.

    Example: benchvise show @
    """
    from benchvise.flows import results as flow
    from benchvise.report.data import run_data
    from benchvise.report.tables import run_table

    if console:
        text = flow.console_of(store, run)
        if as_json:
            print_json("console", RunConsole(run, text))
        else:
            for line in text.splitlines():
                stdout().print(text_line(line), soft_wrap=True)
        return
    if trace:
        _show_trace(store, run, output, as_json=as_json)
        return
    if output is not None:
        raise UsageError("-o is for the trace of a run", "add --trace, or use `report`")
    diagnosis = flow.load_diagnosis(store, run)
    if diagnosis is not None:
        show_diagnosis(diagnosis, as_json=as_json)
        return
    record = flow.load_run(store, run)
    if as_json:
        print_json("run", run_data(record))
    else:
        stdout().print(run_table(record, flow.summaries(record), notes=notes))


def show_diagnosis(document: Mapping[str, Any], *, as_json: bool) -> None:
    """A diagnosis on standard output: for `show`, and for `why` itself."""
    from benchvise.report.why.terminal import tables

    if as_json:
        print_json("diagnosis", document)
    else:
        stdout().print(tables(document), soft_wrap=True)


def _show_trace(store: str | None, run: str, output: Path | None, *, as_json: bool) -> None:
    from benchvise.flows import results as flow

    trace = flow.trace_of(store, run, output)
    if as_json:
        print_json("recording", trace)
        return
    place = output or trace.get("file")
    line = f"{trace.get('events')} events, {trace.get('lost')} lost, in {place}"
    stdout().print(text_line(line), soft_wrap=True)


def compare(
    base: RunArgument,
    other: RunArgument,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="PCT",
            min=0,
            help="Exit 1 when a series got worse by more than PCT percent.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the series without a difference.")
    ] = False,
    figures: Annotated[
        bool,
        typer.Option("--percentiles", help="Also compare percentiles, a series each."),
    ] = False,
    counters: Annotated[
        bool,
        typer.Option("--counters", help="Also show what an iteration costs, for what changed."),
    ] = False,
    format: Annotated[  # noqa: A002 - the option's name
        ComparisonFormatName,
        typer.Option("--format", help="The format of the output, for people or for a program."),
    ] = "table",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs: what changed, by how much, and whether that is more than noise.

    The first run is the base: "faster" means that the second is better.

    --format junit, github (annotations), gitlab (Code Quality), bmf (Bencher), lava
    (lava-test-case), kcidb and markdown are for pipelines: a series that is slower by more than
    --threshold is a failure there too.

    Example: benchvise compare before after --threshold 5
    """
    from benchvise.flows import results as flow
    from benchvise.report.data import comparison_data
    from benchvise.report.rendering import rendered
    from benchvise.report.state_tables import around_comparison
    from benchvise.report.tables import chance_remarks, compare_rows, counter_rows, tail_rows

    compared = flow.compare(store, base, other, figures=figures, every=everything)
    if as_json and format not in ("table", "json"):
        raise UsageError(f"--json and --format {format} exclude each other", "give one of them")
    result = compared.result
    document = comparison_data(result, compared.counters, compared.state, compared.equal_runs)
    if as_json or format == "json":
        print_json("comparison", document)
    elif format != "table":
        from benchvise.report.comparison_formats import COMPARISON_FORMATS  # most print a table

        sys.stdout.write(COMPARISON_FORMATS[format].write(document, threshold))
    else:
        around = [
            *chance_remarks(compared.equal_runs),
            *around_comparison(compared.base, compared.other, compared.state),
        ]
        table = compare_rows(
            result, simulated=compared.simulated, everything=everything, around=around
        )
        stdout().print(rendered(table))
        tails = tail_rows(result.tails, (result.a, result.b), everything=everything)
        if tails is not None:
            stdout().print("")
            stdout().print(rendered(tails))
        if counters:
            for key, changes in compared.counters.items():
                stdout().print("")
                stdout().print(rendered(counter_rows(key, (result.a, result.b), changes)))
    if threshold is not None and result.worst_regression > threshold:
        raise typer.Exit(1)


def report(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Runs, the first is the base; or one diagnosis."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the page is written.")
    ] = Path("benchvise-report"),
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one self-contained page about one or more runs, to look at or to mail.

    Of a diagnosis, the page with its evidence.

    Example: benchvise report before after -o report
    """
    from benchvise.flows import results as flow

    page = flow.report(store, runs, output)
    if as_json:
        print_json("report", WrittenReport(str(page)))
    else:
        stdout().print(f"{page}", soft_wrap=True)
