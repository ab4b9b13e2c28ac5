"""``benchvise trace info`` and ``query``: what a trace holds, and any question by SQL."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from benchvise.cli import trace_analyses, trace_export, trace_latency
from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.cli.trace_options import CacheOption, TraceArgument
from benchvise.cli.trace_record import record
from benchvise.flows import trace as flow
from benchvise.report.terminal import rendered
from benchvise.report.trace_tables import (
    answer_csv,
    answer_json,
    answer_rows,
    info_rows,
    stream_rows,
    type_rows,
)
from benchvise.trace.query import Limits

app = typer.Typer(help="Kernel traces: what they hold, and what it means.", no_args_is_help=True)


class AnswerFormat(StrEnum):
    """How the rows of a query are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


@app.command("info")
def info(
    file: TraceArgument,
    everything: Annotated[
        bool, typer.Option("--all", help="List every event type that occurred.")
    ] = False,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say what a trace holds: format, clock, streams, events, losses, damage.

    Example: benchvise trace info trace.dat
    """
    with stderr().status("reading the trace"):
        summary = flow.info(file, use_cache=cache)
    if as_json:
        print_json("trace-info", asdict(summary))
        return
    console = stdout()
    for table in (
        info_rows(summary),
        stream_rows(summary),
        type_rows(summary, everything=everything),
    ):
        console.print(rendered(table))
        console.print()


@app.command("query")
def query(
    file: TraceArgument,
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help='One query in DuckDB\'s SQL. "FROM tables" lists the tables.'
        ),
    ],
    layout: Annotated[
        AnswerFormat, typer.Option("--format", help="How the rows are printed.")
    ] = AnswerFormat.TABLE,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most this many rows.")
    ] = 1000,
    seconds: Annotated[
        float, typer.Option("--time", metavar="S", min=0.1, help="Give up after S seconds.")
    ] = 60,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MB", min=64, help="Memory that the query may use."),
    ] = 1024,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Ask a trace by SQL; every event type is a table, and so is every analysis.

    A query reads the tables of the trace and nothing else.

    Example: benchvise trace query trace.dat "SELECT cpu, count(*) FROM sched_switch GROUP BY cpu"
    """
    limits = Limits(rows=limit, seconds=seconds, memory_mb=memory)
    with stderr().status("reading the trace"):
        asked = flow.query(file, sql, limits, use_cache=cache)
    if as_json or layout is AnswerFormat.JSON:
        print_json("trace-query", answer_json(asked.answer, asked.seconds, asked.remarks))
    elif layout is AnswerFormat.CSV:
        print(answer_csv(asked.answer), end="")
    else:
        stdout().print(rendered(answer_rows(asked.answer, asked.remarks)))


app.command("record")(record)
app.command("stats")(trace_analyses.stats)
app.command("actors")(trace_analyses.actors)
app.command("load")(trace_analyses.load)
app.command("switches")(trace_analyses.switches)
app.command("latency")(trace_latency.latency)
app.command("sched")(trace_analyses.sched)
app.command("wakeups")(trace_analyses.wakeups)
app.command("syscalls")(trace_analyses.syscalls)
app.command("block")(trace_analyses.block)
app.command("timers")(trace_analyses.timers)
app.command("compare")(trace_latency.compare)
app.command("export")(trace_export.export)
