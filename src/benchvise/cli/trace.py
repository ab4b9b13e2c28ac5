"""``benchvise trace query`` and ``export``; the analyses are made of their records."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stderr, stdout, text_line
from benchvise.trace.catalogue.options import CACHE, FILE

TraceArgument = Annotated[Path, typer.Argument(metavar=FILE.metavar, help=FILE.help)]
CacheOption = Annotated[bool, typer.Option(CACHE.flag, help=CACHE.help)]


class QueryFormat(StrEnum):
    """How the rows of a query are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class ExportFormat(StrEnum):
    """The formats that a trace can be written in."""

    PERFETTO = "perfetto"
    CHROME = "chrome"
    PARQUET = "parquet"


def query(
    file: TraceArgument,
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help='One query in DuckDB\'s SQL. "FROM tables" lists the tables.'
        ),
    ],
    layout: Annotated[
        QueryFormat, typer.Option("--format", help="How the rows are printed.")
    ] = QueryFormat.TABLE,
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
    """Query a trace by SQL: every event type is a table, and so is every analysis.

    A query reads the tables of the trace and nothing else.

    Example: benchvise trace query trace.dat "SELECT cpu, count(*) FROM sched_switch GROUP BY cpu"
    """
    from benchvise.documents import encode
    from benchvise.report.rendering import query_csv, query_table, rendered
    from benchvise.trace.opening import open_trace
    from benchvise.trace.query import QueryLimits, ask, query_document

    with stderr().status("reading the trace"):
        trace = open_trace(file, use_cache=cache)
        answer = ask(trace, sql, QueryLimits(rows=limit, seconds=seconds, memory_mb=memory))
    if as_json or layout is QueryFormat.JSON:
        print_json("trace-query", encode(query_document(answer, trace.remarks)))
    elif layout is QueryFormat.CSV:
        print(query_csv(answer), end="")
    else:
        stdout().print(rendered(query_table(answer, trace.remarks)))


def export(
    file: TraceArgument,
    target: Annotated[
        ExportFormat,
        typer.Option(
            "--to",
            help="perfetto: its native protobuf, every event, for ui.perfetto.dev; chrome: JSON of "
            "what ran where; parquet: a directory with a file for each table.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The file or directory.")
    ],
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Write a trace for another program.

    Example: benchvise trace export trace.dat --to perfetto -o trace.perfetto-trace
    """

    from benchvise.documents import encode
    from benchvise.quantities import format_value
    from benchvise.trace.export.export import export_trace

    with stderr().status("writing"):
        exported = export_trace(file, target.value, output, use_cache=cache)
    if as_json:
        print_json("trace-export", encode(exported))
        return
    console = stdout()
    size = format_value(exported.bytes, "B")
    summary = f"{exported.output}: {exported.written} {exported.unit}, {size}"
    console.print(text_line(summary), soft_wrap=True)
    for remark in exported.remarks:
        console.print(text_line(remark, style="dim"), soft_wrap=True)
