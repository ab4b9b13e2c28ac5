"""A command as one record, from which everything that shows it is made.

A ``CommandRecord`` names a command, its options, the function that works out its result, and how
the result looks. ``cli.records`` makes the command line of it, ``report.rendering`` the tables and
the CSV, ``documents`` the JSON, and the documentation its reference page. A record stands beside
the analysis; importing it loads nothing heavy: ``run`` imports numpy and its like when it is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from benchvise.table import ColumnSpec, TableSpec

Observer: TypeAlias = Callable[[str], None]
"""Is told what a command is doing, one line at a time."""

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


RIG_OPTION = CommandOption(
    "--rig",
    "The labgrid environment that describes the rig.",
    metavar="FILE",
    default_text="the virtual bench's, when it runs",
    environment="BENCHVISE_RIG",
)
STORE_OPTION = CommandOption(
    "--store",
    "Where results are kept: a file for SQLite, or a postgresql:// URL.",
    default_text="SQLite under the XDG data directory",
    environment="BENCHVISE_STORE",
)

WAIT_OPTION = CommandOption(
    "--wait",
    "Wait this long for boards of a rig, and for this machine (local, simulated boards), while "
    "others use them, such as 30min. Whoever came first is next.",
    metavar="TIME",
    default_text="not at all",
    environment="BENCHVISE_WAIT",
)


def ignore(_text: str) -> None:
    """The observer of a caller that does not want to know."""


@dataclass(frozen=True, kw_only=True)
class ObservedOptions:
    """Options of a command that takes its time; ``observe`` has no flag: the caller sets it."""

    observe: Observer = ignore


def ignore_board(_board: str, _text: str) -> None:
    """The observer of boards of a caller that does not want to know."""


@dataclass(frozen=True, kw_only=True)
class ObservedBoardsOptions(ObservedOptions):
    """The same of a command that works on several boards at once; ``observe_board`` is told the
    name of a board and what it does now, by several threads."""

    observe_board: Callable[[str, str], None] = ignore_board


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
