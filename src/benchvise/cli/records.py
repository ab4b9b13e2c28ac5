"""Command lines of what a record describes: a ``CommandRecord``, or a ``TraceAnalysis``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Protocol,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from benchvise.cli.list_formats import ListFormatName
from benchvise.cli.output import JsonOption, print_json, stderr, stdout, typer_option, unmarked
from benchvise.command import (
    CommandArgument,
    CommandOption,
    CommandRecord,
    ObservedBoardsOptions,
    ObservedOptions,
    OptionsT,
    ResultT,
)
from benchvise.errors import UsageError
from benchvise.table import ColumnSpec, TableSpec

if TYPE_CHECKING:
    from benchvise.trace.catalogue.record import Conclusion, TraceAnalysis, TraceRequest
    from benchvise.trace.loaded import LoadedTrace

CsvOption = Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
RecordFormatOption = Annotated[
    ListFormatName,
    typer.Option(
        "--format",
        help="The format of the output: csv and tsv have all rows with values as they are, html "
        "is a page.",
    ),
]


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """What a command worked out; each format is made of it when it is asked for.

    ``csv`` gives the columns and rows, ``messages`` are lines about what was done, ``conclusions``
    stand below the tables.
    """

    kind: str
    document: Callable[[], object]
    csv: Callable[[], tuple[Sequence[ColumnSpec[Any]], Sequence[Any]]]
    tables: Callable[[], Iterable[TableSpec[Any]]]
    messages: Sequence[str] = ()
    conclusions: Sequence[Conclusion] = ()
    exit_code: int = 0
    text: Iterable[str] | None = None
    """Lines that stand in place of the tables."""


OptionValues: TypeAlias = dict[str, Any]
"""What typer made of the command line, by the names of the options' fields."""


def command_line(record: CommandRecord[OptionsT, ResultT]) -> Callable[..., None]:
    """The function that typer makes a command of."""

    def answer(values: OptionValues, *, all_rows: bool) -> PrintedResult:  # noqa: ARG001 - it has
        options = _filled_options(record.options, values)
        result = _run(record, options)
        return PrintedResult(
            record.kind,
            lambda: record.document(result),
            lambda: (record.columns, record.rows(result)),
            lambda: record.tables(result, options),
            record.messages(result),
            exit_code=record.exit_code(result),
        )

    return _command(answer, record.help, _option_parameters(record.options))


def _run(record: CommandRecord[OptionsT, ResultT], options: OptionsT) -> ResultT:
    """Runs it; of several boards, a terminal shows a line each meanwhile."""
    if not isinstance(options, ObservedBoardsOptions):
        return record.run(options)
    from benchvise.cli.progress import ActivityProgress

    with ActivityProgress(stderr()) as progress:
        return record.run(replace(options, observe_board=progress.observe))


def analysis_command(analysis: TraceAnalysis[Any, Any]) -> Callable[..., None]:
    """The same of an analysis of traces, which are opened first; ``--table`` chooses a table."""
    names = [shape.name for shape in analysis.shapes]

    def answer(values: OptionValues, *, all_rows: bool) -> PrintedResult:
        from benchvise.trace.catalogue.record import with_cautions

        chosen = values.pop("table", None)
        if chosen is not None and chosen not in names:
            raise UsageError(
                f"trace {analysis.name} has no table {chosen}", f"say {', '.join(names)}"
            )
        request = _filled_options(analysis.request, values)
        record = analysis.instead(request) or analysis
        record.check(request)
        if all_rows:
            request = request.unlimited()
        with stderr().status("reading the trace"):
            if request.memory is not None:
                from benchvise.trace.decoder import bound_memory

                bound_memory(request.memory)
            traces = _opened_traces(record, request)
            result = record.analyse(traces, request)

        def tables() -> list[TableSpec[Any]]:
            there = record.tables(result, request)
            specs = [s for s in there if chosen in (None, s.name)]
            if not specs:
                raise UsageError(
                    f"this answer has no table {chosen}",
                    f"it has {', '.join(s.name for s in there)}",
                )
            return specs

        def csv() -> tuple[Sequence[ColumnSpec[Any]], Sequence[Any]]:
            specs = tables()
            columns = specs[0].columns
            return columns, [row for s in specs if s.columns is columns for row in s.rows]

        return PrintedResult(
            record.kind,
            lambda: record.document(result, traces),
            csv,
            lambda: with_cautions(tables(), record.cautions(traces)),
            conclusions=record.conclusions(result),
            exit_code=int(record.fails(result, request)),
            text=record.text(result, request),
        )

    parameters = list(_option_parameters(analysis.request))
    if len(names) > 1:
        option = typer.Option(
            "--table",
            metavar="NAME",
            help=f"Print this table only: {', '.join(names)}. CSV is the first one without it.",
            show_default=False,
        )
        parameters.append(_keyword("table", Annotated[str | None, option], None))
    return _command(answer, analysis.help, parameters)


def _opened_traces(analysis: TraceAnalysis[Any, Any], request: TraceRequest) -> list[LoadedTrace]:
    if not analysis.loads:
        return []
    from benchvise.trace.loaded import load_trace

    since, until = request.span
    return [
        load_trace(path, since, until, cache=request.cache, summed=analysis.sums)
        for path in request.files
    ]


class _Answering(Protocol):
    def __call__(self, values: OptionValues, *, all_rows: bool) -> PrintedResult:
        """Runs the command; ``all_rows``: for a program, which leaves out by itself."""


def _command(
    answer: _Answering, text: str, options: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """A function as typer reads it: its help, its options, and those that say how it prints."""

    def run(
        *,
        as_csv: bool,
        as_markdown: bool,
        as_json: bool,
        list_format: ListFormatName,
        **values: Any,
    ) -> None:
        flags = {"csv": as_csv, "markdown": as_markdown, "json": as_json}
        chosen = {name for name, is_set in flags.items() if is_set} | {list_format} - {"table"}
        if len(chosen) > 1:
            raise UsageError(
                "--csv, --markdown, --json and --format exclude each other", "give one of them"
            )
        format_name = next(iter(chosen), "table")
        result = answer(values, all_rows=format_name in ("csv", "tsv", "json"))
        _WRITERS[format_name](result)
        for message in result.messages:
            stderr().print(message, soft_wrap=True, markup=False)
        if result.exit_code:
            raise typer.Exit(result.exit_code)

    parameters = [
        *options,
        _keyword("list_format", RecordFormatOption, "table"),
        _keyword("as_csv", CsvOption, False),
        _keyword("as_markdown", MarkdownOption, False),
        _keyword("as_json", JsonOption, False),
    ]
    run.__doc__ = text
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _print_csv(result: PrintedResult, delimiter: str = ",") -> None:
    from benchvise.report.rendering import csv_text

    sys.stdout.write(csv_text(*result.csv(), delimiter))


def _print_tables(result: PrintedResult) -> None:
    """Prints tables for people, an empty line between them, then what follows from them."""
    from benchvise.report.rendering import rendered, table_of

    if result.text is not None:
        sys.stdout.writelines(f"{line}\n" for line in result.text)
        return
    for number, spec in enumerate(result.tables()):
        if number:
            print()
        stdout().print(rendered(table_of(spec)))
    _print_conclusions(result)


def _print_markdown(result: PrintedResult) -> None:
    from benchvise.report.rendering import table_markdown, table_of

    tables = [table_markdown(table_of(spec, stacked=False)) for spec in result.tables()]
    print("\n".join(tables), end="")
    _print_conclusions(result)


def _print_conclusions(result: PrintedResult) -> None:
    from benchvise.report.rendering import Cell, line

    for conclusion in result.conclusions:
        stdout().print()
        stdout().print(line(Cell(conclusion.text, conclusion.tone)))


def _print_page(result: PrintedResult) -> None:
    from benchvise.report.rendering import table_of
    from benchvise.report.table_pages import page

    tables = [table_of(spec, stacked=False) for spec in result.tables()]
    lead = " ".join(conclusion.text for conclusion in result.conclusions)
    sys.stdout.write(page(tables[0].heading if tables else result.kind, tables, lead))


_WRITERS: Mapping[str, Callable[[PrintedResult], None]] = {
    "table": _print_tables,
    "json": lambda result: print_json(result.kind, result.document()),
    "csv": _print_csv,
    "tsv": lambda result: _print_csv(result, "\t"),
    "markdown": _print_markdown,
    "html": _print_page,
}


def _option_parameters(options: type) -> Iterator[inspect.Parameter]:
    """A command's parameters: arguments, options of the class itself, those that it inherits."""
    hints = get_type_hints(options, include_extras=True)
    by_name = {field.name: field for field in fields(options)}
    own_first = [name for base in options.__mro__ for name in inspect.get_annotations(base)]
    annotated = [
        (by_name[name], *_parts(hints[name]))
        for name in dict.fromkeys(own_first)
        if name in by_name and get_origin(hints[name]) is Annotated
    ]
    for field, kind, what in sorted(annotated, key=lambda part: isinstance(part[2], CommandOption)):
        yield _parameter(field, kind, what)


def _parts(hint: Any) -> tuple[Any, CommandArgument | CommandOption]:
    kind, *notes = get_args(hint)
    return kind, next(n for n in notes if isinstance(n, CommandArgument | CommandOption))


def _parameter(
    field: Field[Any], kind: Any, what: CommandArgument | CommandOption
) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    if get_origin(kind) is tuple:  # of any length; typer knows lists only
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
        if default is not inspect.Parameter.empty:
            kind, default = kind | None, None
    if isinstance(what, CommandArgument):
        info: Any = typer.Argument(metavar=what.metavar, help=unmarked(what.help))
    else:
        info = typer_option(what)
    return _keyword(field.name, Annotated[kind, info], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command, by the annotation that typer reads."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _filled_options(kind: type[OptionsT], values: dict[str, Any]) -> OptionsT:
    """The options with what was given; the fields' own defaults stand for what was not."""
    present = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None and value != () and value != []
    }
    if issubclass(kind, ObservedOptions):
        present["observe"] = _observe
    return kind(**present)


def _observe(line: str) -> None:
    console = stderr()
    if console.is_terminal:
        console.print(line, style="dim", markup=False)
