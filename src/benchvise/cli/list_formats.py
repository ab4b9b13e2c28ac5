"""``--format`` of commands that print a list: one mechanism for all.

Such a command is called as with ``--json``; ``print_json`` then writes the list of its document,
which the table of commands names (``Command.rows``), in the format that was asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from benchvise.cli.output import listed_as
from benchvise.errors import UsageError

ListFormatName = Literal["table", "json", "csv", "tsv", "markdown", "html"]

ListFormatOption = Annotated[
    ListFormatName,
    typer.Option(
        "--format",
        help="The format of the list: csv, tsv, markdown and html (a page) have the names and "
        "values of --json.",
    ),
]


def with_list_format(function: Callable[..., None], rows: str) -> Callable[..., None]:
    """The function of a command, with the option; ``rows`` is the key of the document's list."""

    @functools.wraps(function)
    def run(*, list_format: ListFormatName = "table", **values: Any) -> None:
        if list_format == "table":
            return function(**values)
        if values.get("as_json"):
            raise UsageError("--json and --format exclude each other", "give one of them")
        values["as_json"] = True
        if list_format == "json":
            return function(**values)
        with listed_as(list_format, rows):
            return function(**values)

    signature = inspect.signature(function, eval_str=True)
    option = inspect.Parameter(
        "list_format",
        inspect.Parameter.KEYWORD_ONLY,
        default="table",
        annotation=ListFormatOption,
    )
    parameters = [*signature.parameters.values()]
    at = next(
        (n for n, parameter in enumerate(parameters) if parameter.name == "as_json"),
        len(parameters),
    )
    named = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*named[:at], option, *named[at:]]
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*named, option)}
    return run
