"""A command as one record, from which everything that shows it is made.

A ``CommandRecord`` names a command, its options, the function that works out its result, and how
the result looks. ``cli.records`` makes the command line of it, ``report.records`` the tables and
the CSV, ``documents`` the JSON, and the documentation its reference page. A record stands beside
the analysis; importing it loads nothing heavy: ``run`` imports numpy and its like when it is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

Tone = Literal["plain", "strong", "muted", "doubt", "good", "bad"]
"""How much a cell of a table wants to be seen."""

CellValue: TypeAlias = str | int | float | tuple[float, float] | None
"""A value in the unit of its column, an interval of two, or nothing."""

Observer: TypeAlias = Callable[[str], None]
"""Is told what a command is doing, one line at a time."""

RowT = TypeVar("RowT")
OptionsT = TypeVar("OptionsT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class CommandArgument:
    """A word of the command line without a flag: the annotation of a field of the options."""

    metavar: str
    help: str


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option: the annotation of a field of the options, which has its type and its default.

    ``flag`` is ``--rate``, or ``--inverted/--not-inverted``; ``short`` one more name. ``metavar``
    is the unit where it has one. ``default_text`` is what ``--help`` shows as the default where
    the default itself says nothing. ``parse`` makes the value of the text.
    """

    flag: str
    help: str
    metavar: str | None = None
    short: str = ""
    minimum: float | None = None
    maximum: float | None = None
    default_text: str = ""
    parse: Callable[[str], object] | None = None
    environment: str | None = None


def ignore(_text: str) -> None:
    """The observer of a caller that does not want to know."""


@dataclass(frozen=True, kw_only=True)
class ObservedOptions:
    """Options of a command that takes its time; ``observe`` has no flag: the caller sets it."""

    observe: Observer = ignore


@dataclass(frozen=True, slots=True)
class ColumnSpec(Generic[RowT]):
    """A column: how its value is read from a row, and in which unit it is.

    ``name`` heads it in CSV (empty: it is not there), ``heading`` in tables. ``unit`` is ``s``,
    ``Hz``, ``B/s``, ``share`` (of one), empty for plain numbers; None for text, which stands left.
    ``text`` is what tables show in place of the value in its unit. The values of an ``interval``
    are pairs.
    """

    name: str
    heading: str
    value: Callable[[RowT], CellValue]
    unit: str | None = None
    text: Callable[[RowT], str] | None = None
    tone: Tone | Callable[[RowT], Tone] = "plain"
    interval: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec(Generic[RowT]):
    """A table before anybody has decided where it is shown.

    Of more rows than ``limit`` the first are shown, and how many more there are is said with
    ``more``: which option lists them.
    """

    title: str
    columns: tuple[ColumnSpec[RowT], ...]
    rows: Sequence[RowT]
    remarks: tuple[str, ...] = ()
    limit: int | None = None
    more: str = "more (--json)"


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A row of a table with two columns: what it is, and the value as text."""

    name: str
    text: str
    tone: Tone = "plain"


def named_values(
    title: str,
    rows: Sequence[NamedValue],
    remarks: Sequence[str] = (),
    headings: tuple[str, str] = ("", ""),
) -> TableSpec[NamedValue]:
    """A table of single values, one below the other."""
    columns: tuple[ColumnSpec[NamedValue], ...] = (
        ColumnSpec("name", headings[0], lambda row: row.name),
        ColumnSpec("value", headings[1], lambda row: row.text, tone=lambda row: row.tone),
    )
    return TableSpec(title, columns, rows, tuple(remarks))


def _nothing(_result: object) -> Sequence[str]:
    return ()


def _succeeded(_result: object) -> int:
    return 0


@dataclass(frozen=True, kw_only=True)
class CommandRecord(Generic[OptionsT, ResultT]):
    """One command.

    ``kind`` is that of its JSON document, ``summary`` the line of its help; ``details`` are further
    paragraphs. ``options`` is a frozen dataclass whose fields are annotated with ``CommandOption``
    or ``CommandArgument``. ``document`` makes of a result what becomes JSON by its types,
    ``tables`` what a person reads. ``columns`` and ``rows`` are the table that CSV is made of.
    ``messages`` are lines about what was done, which are no part of the result; ``exit_code`` says
    how the command ends.
    """

    name: str
    kind: str
    summary: str
    example: str
    options: type[OptionsT]
    run: Callable[[OptionsT], ResultT]
    document: Callable[[ResultT], object]
    tables: Callable[[ResultT, OptionsT], Sequence[TableSpec[Any]]]
    columns: tuple[ColumnSpec[Any], ...]
    rows: Callable[[ResultT], Sequence[Any]]
    details: str = ""
    messages: Callable[[ResultT], Sequence[str]] = _nothing
    exit_code: Callable[[ResultT], int] = _succeeded

    @property
    def help(self) -> str:
        """Summary, details and example, as ``--help`` and the reference page show them."""
        paragraphs = (self.summary, self.details, f"Example: {self.example}")
        return "\n\n".join(filter(None, paragraphs))
