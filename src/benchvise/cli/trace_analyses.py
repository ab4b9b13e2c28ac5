"""The commands of trace analyses, made of their records in ``benchvise.trace.catalogue``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchvise.cli.output import (
    FormatOption,
    JsonOption,
    OutputFormat,
    print_json,
    print_tables,
    stderr,
    stdout,
)
from benchvise.errors import UsageError
from benchvise.trace.catalogue.record import AnswerTable, TraceAnalysis
from benchvise.trace.catalogue.request import Option, Request, option

if TYPE_CHECKING:
    from benchvise.trace.loaded import LoadedTrace


def annotation(option: Option) -> Any:
    """An option of a record as typer takes it."""
    spelling = option.spelling
    words: dict[str, Any] = {
        "metavar": spelling.metavar,
        "help": spelling.meaning.replace("[", r"\["),  # which Rich would take for markup
        "min": spelling.minimum,
        "max": spelling.maximum,
        "show_default": option.default not in (None, "", ()),
    }
    if option.is_argument:
        return Annotated[_parsed_type(option), typer.Argument(**words)]
    return Annotated[_parsed_type(option), typer.Option(*spelling.flags, **words)]


def _parsed_type(option: Option) -> Any:
    return list[str] | None if option.type == tuple[str, ...] else option.type


TraceArgument = annotation(option("file", {}))
CacheOption = annotation(option("cache", {}))


def command(analysis: TraceAnalysis[Any]) -> Callable[..., None]:
    """The command of an analysis, for typer."""

    def run(
        *, layout: OutputFormat, table: str | None = None, as_json: bool, **values: Any
    ) -> None:
        request = Request(**{name: _value(value) for name, value in values.items()})
        wanted = OutputFormat.JSON if as_json else layout
        _answer(analysis.instead(request) or analysis, request, wanted, table)

    parameters = [
        _parameter(option.name, option.default, annotation(option), option.spelling.required)
        for option in analysis.described_options()
    ]
    if len(analysis.shapes) > 1:
        parameters.append(_parameter("table", None, _table_option(analysis)))
    parameters.append(_parameter("layout", OutputFormat.TABLE, FormatOption))
    parameters.append(_parameter("as_json", False, JsonOption))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    run.__name__ = analysis.name
    run.__doc__ = _help(analysis)
    return run


def _help(analysis: TraceAnalysis[Any]) -> str:
    example = f"Example: benchvise trace {analysis.example}"
    return "\n\n".join(filter(None, (analysis.summary, analysis.description, example)))


def _parameter(name: str, default: object, kind: Any, required: bool = False) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=kind,
    )


def _table_option(analysis: TraceAnalysis[Any]) -> Any:
    names = ", ".join(shape.name for shape in analysis.shapes)
    return Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help=f"Print this table only: {names}. CSV is the first unless one is named.",
            show_default=False,
        ),
    ]


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _answer(
    analysis: TraceAnalysis[Any], request: Request, layout: OutputFormat, table: str | None
) -> None:
    """Asks, prints the answer, and exits as the record says."""
    if table is not None and table not in [shape.name for shape in analysis.shapes]:
        names = ", ".join(shape.name for shape in analysis.shapes)
        raise UsageError(f"{analysis.name} has no table {table}", f"say {names}")
    analysis.check(request)
    if layout in (OutputFormat.CSV, OutputFormat.JSON):
        request = replace(request, top=None, ways=None)
    with stderr().status("reading the trace"):
        traces = _open(analysis, request)
        answer = analysis.analyse(traces, request)
    if layout is OutputFormat.JSON:
        print_json(analysis.kind, analysis.document(answer, traces))
    else:
        tables = [
            filled
            for filled in analysis.tables(answer, request)
            if table is None or filled.shape.name == table
        ]
        _print(analysis, answer, tables, analysis.cautions(traces), layout)
    if analysis.fails(answer, request):
        raise typer.Exit(1)


def _open(analysis: TraceAnalysis[Any], request: Request) -> list[LoadedTrace]:
    if not analysis.loads:
        return []
    from benchvise.trace.loaded import load_trace

    return [
        load_trace(path, request.since, request.until, use_cache=request.cache)
        for path in request.files
    ]


def _print(
    analysis: TraceAnalysis[Any],
    answer: object,
    tables: Sequence[AnswerTable[Any]],
    cautions: Sequence[str],
    layout: OutputFormat,
) -> None:
    from benchvise.report.trace_tables import answer_csv, answer_tables, conclusion_cell

    if layout is OutputFormat.CSV:
        print(answer_csv([t for t in tables if t.shape is tables[0].shape]), end="")
        return
    stacked = layout is OutputFormat.TABLE
    print_tables(answer_tables(tables, cautions, stacked=stacked), layout)
    if layout is OutputFormat.TABLE:
        from benchvise.report.terminal import line

        for conclusion in analysis.conclusions(answer):
            stdout().print()
            stdout().print(line(conclusion_cell(conclusion)))
