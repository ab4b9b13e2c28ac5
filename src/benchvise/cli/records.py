"""Command lines of commands that are described by a ``CommandRecord``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.command import (
    CommandArgument,
    CommandOption,
    CommandRecord,
    ObservedOptions,
    OptionsT,
    ResultT,
)
from benchvise.errors import UsageError
from benchvise.table import ColumnSpec, TableSpec

CsvOption = Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]


def command_line(record: CommandRecord[OptionsT, ResultT]) -> Callable[..., None]:
    """The function that typer makes a command of."""

    def run_record(*, as_csv: bool, as_markdown: bool, as_json: bool, **values: Any) -> None:
        check_format(as_csv, as_markdown, as_json)
        options = given_options(record.options, values)
        result = record.run(options)
        if as_json:
            print_json(record.kind, record.document(result))
        elif as_csv:
            print_csv(record.columns, record.rows(result))
        else:
            print_tables(record.tables(result, options), as_markdown=as_markdown)
        for line in record.messages(result):
            stderr().print(line, soft_wrap=True, markup=False)
        if code := record.exit_code(result):
            raise typer.Exit(code)

    return command_function(run_record, record.help, option_parameters(record.options))


def command_function(
    run: Callable[..., None], text: str, options: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """``run`` as typer reads it: its help, its options, and those that say how it prints."""
    parameters = [
        *options,
        keyword("as_csv", CsvOption, False),
        keyword("as_markdown", MarkdownOption, False),
        keyword("as_json", JsonOption, False),
    ]
    run.__doc__ = text
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def check_format(*formats: bool) -> None:
    """UsageError where more than one format is asked for."""
    if sum(formats) > 1:
        raise UsageError("--csv, --markdown and --json exclude each other", "give one of them")


def print_csv(columns: Sequence[ColumnSpec[Any]], rows: Sequence[Any]) -> None:
    """Prints rows for spreadsheets and programs."""
    from benchvise.report.rendering import csv_text

    sys.stdout.write(csv_text(columns, rows))


def print_tables(specs: Iterable[TableSpec[Any]], *, as_markdown: bool) -> None:
    """Prints tables for people, an empty line between them."""
    from benchvise.report.rendering import rendered, table_markdown, table_of

    for number, spec in enumerate(specs):
        if number:
            print()
        if as_markdown:
            print(table_markdown(table_of(spec, stacked=False)), end="")
        else:
            stdout().print(rendered(table_of(spec)))


def option_parameters(options: type) -> Iterator[inspect.Parameter]:
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
        info: Any = typer.Argument(metavar=what.metavar, help=_unmarked(what.help))
    else:
        info = typer.Option(
            what.flag,
            *([what.short] if what.short else []),
            metavar=what.metavar,
            help=_unmarked(what.help),
            min=what.minimum,
            max=what.maximum,
            parser=what.parse,
            envvar=what.environment,
            show_default=what.default_text or True,
        )
    return keyword(field.name, Annotated[kind, info], default)


def _unmarked(text: str) -> str:
    """The text with brackets that Rich does not take for markup."""
    return text.replace("[", r"\[")


def keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command, by the annotation that typer reads."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def given_options(kind: type[OptionsT], values: dict[str, Any]) -> OptionsT:
    """The options with what was given; the fields' own defaults stand for what was not."""
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None and value != () and value != []
    }
    if issubclass(kind, ObservedOptions):
        given["observe"] = _observe
    return kind(**given)


def _observe(line: str) -> None:
    console = stderr()
    if console.is_terminal:
        console.print(line, style="dim", markup=False)
