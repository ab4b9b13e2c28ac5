"""A list of a ``--json`` document as a table of a file: CSV, TSV, Markdown, HTML.

Each row is an object of the list; its columns are the names of the document, those of objects in it
with a dot between (``summary.median``). Lists of plain values are one cell, what is nested deeper
is JSON for programs, and counted for people. Values are those of the document, in its units, and
None is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from benchvise.errors import UsageError
from benchvise.report.rendering import Cell, Column, Table, table_markdown
from benchvise.report.sinks import csv_text, json_text
from benchvise.report.table_pages import page
from benchvise.text import counted

FileFormatName = Literal["csv", "tsv", "markdown", "html"]

WHOLE = "."
"""The list that is the document."""

Value = str | int | float | list[object] | None


def write_list(kind: str, document: Any, key: str, format_name: FileFormatName) -> str:
    """The list under a key of a document, ``WHOLE`` for the document itself, as text.

    UsageError where the document of that kind has no such list.
    """
    rows = document if key == WHOLE else None
    if key != WHOLE and isinstance(document, Mapping):
        rows = document.get(key)
    if not isinstance(rows, list):
        raise UsageError(f"'{kind}' is no list that {format_name} could have", "use --json")
    flat = [dict(_columns(row)) for row in rows]
    return _WRITERS[format_name](kind.replace("-", " ").capitalize(), flat)


def _columns(value: object, name: str = "") -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        if set(value) == {"na"}:
            yield name, f"not available: {value['na']}"
            return
        for key, inner in value.items():
            yield from _columns(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        yield name or "value", "; ".join(map(str, value))
    elif isinstance(value, list):
        yield name or "value", value
    elif isinstance(value, bool):
        yield name or "value", "true" if value else "false"
    elif value is None or isinstance(value, str | int | float):
        yield name or "value", value
    else:
        raise TypeError(f"{type(value).__name__} is no value of JSON")


def _names(rows: Sequence[Mapping[str, Value]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Mapping[str, Value]], delimiter: str) -> str:
    names = _names(rows)
    lines = ([_field(row.get(name)) for name in names] for row in rows)
    return csv_text(names, lines, delimiter)


def _field(value: Value) -> object:
    return json_text(value) if isinstance(value, list) else value


def _table(kind: str, rows: Sequence[Mapping[str, Value]]) -> Table:
    names = _names(rows)
    are_numbers = {
        name: all(isinstance(row.get(name), int | float | None) for row in rows) for name in names
    }
    return Table(
        kind,
        tuple(Column(name, right=are_numbers[name]) for name in names),
        tuple(tuple(Cell(_text(row.get(name))) for name in names) for row in rows),
        () if rows else ("the list is empty",),
    )


def _text(value: Value) -> str:
    if isinstance(value, list):
        return counted(len(value), "entry", "entries")
    return "" if value is None else str(value)


_WRITERS: Mapping[FileFormatName, Callable[[str, Sequence[Mapping[str, Value]]], str]] = {
    "csv": lambda _kind, rows: _csv(rows, ","),
    "tsv": lambda _kind, rows: _csv(rows, "\t"),
    "markdown": lambda kind, rows: table_markdown(_table(kind, rows)),
    "html": lambda kind, rows: page(kind, [_table(kind, rows)]),
}
