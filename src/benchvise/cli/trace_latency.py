"""``benchvise trace latency | compare``: how long from here to there, and what has changed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json
from benchvise.cli.trace_analyses import load_trace
from benchvise.cli.trace_options import (
    CacheOption,
    NamesArgument,
    SinceOption,
    TopOption,
    TraceArgument,
    UnsureOption,
    UntilOption,
    show,
)
from benchvise.flows import trace_analyses as flow
from benchvise.report.terminal import line
from benchvise.report.trace_latency_tables import (
    assertion_lines,
    comparison_rows,
    latency_rows,
)

_END_HELP = (
    "irq:NAME, softirq:NAME or task:NAME, with .end for its end and .ready for its wake-up; "
    "or event:NAME, with [field==value] for some of its events."
)


class Match(StrEnum):
    """How a start finds its end."""

    AUTO = "auto"
    CAUSE = "cause"
    NEXT = "next"


def latency(
    file: TraceArgument,
    start: Annotated[
        str, typer.Option("--from", metavar="END", help=f"Where it begins: {_END_HELP}")
    ],
    end: Annotated[
        str, typer.Option("--to", metavar="END", help="Where it ends, in the same words.")
    ],
    via: Annotated[
        list[str] | None,
        typer.Option(
            "--via",
            metavar="END",
            help="A point between; again for more, in order.",
            show_default=False,
        ),
    ] = None,
    assertions: Annotated[
        list[str] | None,
        typer.Option(
            "--assert",
            metavar="LIMIT",
            help="Exit 1 unless it holds: 'p99 < 80us', 'max[2] < 1ms' (stage 2), "
            "'share[*waits*] < 50%', 'matched > 95%', 'count >= 100'. May be given again.",
            show_default=False,
        ),
    ] = None,
    match: Annotated[
        Match,
        typer.Option(
            "--match",
            help="By who woke or raised whom, or each start with the next end after it; auto: by "
            "cause when that matches anything.",
        ),
    ] = Match.AUTO,
    hops: Annotated[
        int,
        typer.Option("--hops", metavar="N", min=0, max=64, help="Wake-ups to climb, by cause."),
    ] = 4,
    ways: Annotated[
        int, typer.Option("--ways", metavar="N", min=1, help="Ways whose stages are shown.")
    ] = 3,
    worst: Annotated[
        int, typer.Option("--worst", metavar="N", min=0, help="Occurrences that are listed.")
    ] = 5,
    since: SinceOption = None,
    until: UntilOption = None,
    unsure: UnsureOption = False,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure from one point to another over all occurrences, stage by stage.

    From each end it climbs back along the wake-ups and raises to the nearest start.

    Example: benchvise trace latency FILE --from irq:eth0 --to task:iperf3 --assert 'p99 < 80us'
    """
    question = flow.question(
        [start, *(via or ()), end],
        assertions or (),
        method="" if match is Match.AUTO else match.value,
        hops=hops,
        unsure=unsure,
        worst=worst,
    )
    loaded = load_trace(file, since, until, cache=cache)
    found, checked = flow.latency(loaded, question)
    if as_json:
        told = loaded.told(found)
        told["answer"]["assertions"] = flow.plain(checked)
        print_json("trace-latency", told)
    else:
        lines = [line(cell) for cell in assertion_lines(checked)]
        show([*latency_rows(found, ways, loaded.cautions), *lines])
    if not all(one.holds for one in checked):
        raise typer.Exit(1)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The base: a trace file or directory.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The other one.")],
    names: NamesArgument = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="PCT",
            min=0,
            help="Exit 1 when execution, response or start latency of an actor changed and its "
            "median grew by more than PCT percent.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the figures in which no change was shown.")
    ] = False,
    unsure: UnsureOption = False,
    top: TopOption = 25,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Compare two traces, of two boards or two kernels, actor by actor, matched by name.

    Example: benchvise trace compare before.dat after.dat 'irq:*' --threshold 20
    """
    loaded = load_trace(a, None, None, cache=cache), load_trace(b, None, None, cache=cache)
    found, cautions = flow.compare(loaded, names or (), unsure=unsure)
    if as_json:
        data = {"a": str(a), "b": str(b), "cautions": cautions, "answer": flow.plain(found)}
        print_json("trace-comparison", data)
    else:
        show(comparison_rows(found, (a, b), top, cautions, everything=everything))
    if threshold is not None and found.worst_growth() > threshold:
        raise typer.Exit(1)
