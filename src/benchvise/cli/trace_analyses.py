"""The commands of trace analyses, made of their records in ``benchvise.trace.catalogue``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchvise.cli.output import print_json, stderr, stdout
from benchvise.cli.records import (
    check_format,
    command_function,
    given_options,
    keyword,
    option_parameters,
    print_csv,
    print_tables,
)
from benchvise.errors import UsageError
from benchvise.trace.catalogue.options import TraceRequest
from benchvise.trace.catalogue.record import TraceAnalysis, with_cautions

if TYPE_CHECKING:
    from benchvise.trace.loaded import LoadedTrace


def analysis_command(analysis: TraceAnalysis[Any, Any]) -> Callable[..., None]:
    """The command of an analysis, for typer."""

    def run_analysis(
        *,
        table: str | None = None,
        as_csv: bool,
        as_markdown: bool,
        as_json: bool,
        **values: Any,
    ) -> None:
        check_format(as_csv, as_markdown, as_json)
        request = given_options(analysis.request, values)
        _check_table(analysis, table)
        record = analysis.instead(request) or analysis
        record.check(request)
        if as_csv or as_json:
            request = request.unlimited()
        with stderr().status("reading the trace"):
            traces = _open(record, request)
            answer = record.analyse(traces, request)
        if as_json:
            print_json(record.kind, record.document(answer, traces))
        else:
            tables = [
                filled
                for filled in record.tables(answer, request)
                if table is None or filled.name == table
            ]
            if not tables:
                raise UsageError(f"this answer has no table {table}", "name the actors")
            if as_csv:
                print_csv(
                    tables[0].columns,
                    [row for t in tables if t.columns is tables[0].columns for row in t.rows],
                )
            else:
                cautioned = with_cautions(tables, record.cautions(traces))
                print_tables(cautioned, as_markdown=as_markdown)
                _print_conclusions(record, answer)
        if record.fails(answer, request):
            raise typer.Exit(1)

    parameters = list(option_parameters(analysis.request))
    if len(analysis.shapes) > 1:
        parameters.append(keyword("table", _table_option(analysis), None))
    return command_function(run_analysis, analysis.help, parameters)


def _table_option(analysis: TraceAnalysis[Any, Any]) -> Any:
    option = typer.Option(
        "--table",
        metavar="NAME",
        help=f"Print this table only: {_table_names(analysis)}. CSV is the first one without it.",
        show_default=False,
    )
    return Annotated[str | None, option]


def _table_names(analysis: TraceAnalysis[Any, Any]) -> str:
    return ", ".join(shape.name for shape in analysis.shapes)


def _check_table(analysis: TraceAnalysis[Any, Any], table: str | None) -> None:
    if table is not None and table not in [shape.name for shape in analysis.shapes]:
        raise UsageError(
            f"trace {analysis.name} has no table {table}", f"say {_table_names(analysis)}"
        )


def _open(analysis: TraceAnalysis[Any, Any], request: TraceRequest) -> list[LoadedTrace]:
    if not analysis.loads:
        return []
    from benchvise.trace.loaded import load_trace

    since, until = request.span
    return [load_trace(path, since, until, use_cache=request.cache) for path in request.files]


def _print_conclusions(analysis: TraceAnalysis[Any, Any], answer: object) -> None:
    from benchvise.report.rendering import Cell, line

    for conclusion in analysis.conclusions(answer):
        stdout().print()
        stdout().print(line(Cell(conclusion.text, conclusion.tone)))
