"""What a record of a trace analysis holds: all that commands, tables, CSV, JSON and docs need.

A ``TraceAnalysis`` says once, beside the arithmetic in ``trace.analysis``:

- the command: its name, one line of help, a description, an example, and its request: a dataclass
  of the options below, each described once for all analyses;
- ``analyse``: the function that makes the typed result from opened traces and a request;
- the tables of the result: a ``TableShape`` each, with the columns, and ``tables``, which fills
  them (``benchvise.table``);
- what a program gets: ``kind`` of the JSON document, whose data are the result by its types
  (``benchvise.documents``), and when the command fails.

``cli.records`` makes the commands, ``report.rendering`` terminal, Markdown and CSV,
``web.workspace`` its answers, ``docs/generate.py`` the reference page.

Records are imported for every ``--help``: whatever takes long to import (numpy, the
decoder) is imported by the functions that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar

from benchvise.command import CommandArgument, CommandOption
from benchvise.documents import encode
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.trace.options import CACHE, FILE, MEMORY

if TYPE_CHECKING:
    from benchvise.trace.analysis.distributions import QuantileBounds, TimeDistribution
    from benchvise.trace.analysis.model import Actor
    from benchvise.trace.loaded import LoadedTrace


# -- options: each described once, an analysis' request is made of these ---------------------------

TOP = CommandOption("--top", "Lines of a table; JSON and CSV have all.", metavar="N", minimum=1)


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """What every analysis is asked; which traces, its subclasses say."""

    cache: Annotated[bool | None, CACHE] = None
    memory: Annotated[str | None, MEMORY] = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The traces that are asked."""
        return ()

    @property
    def span(self) -> tuple[str | None, str | None]:
        """From when to when, as people write it; None for the ends of the trace."""
        return None, None

    def unlimited(self) -> Self:
        """The same with all rows: programs leave out by themselves what they do not need."""
        limits: dict[str, Any] = {
            field.name: None for field in fields(self) if field.name in ("top", "ways")
        }
        return replace(self, **limits)


@dataclass(frozen=True, kw_only=True)
class OneTrace(TraceRequest):
    """A question to one trace."""

    file: Annotated[Path, FILE]

    @property
    def files(self) -> tuple[Path, ...]:
        """The trace that is asked."""
        return (self.file,)


@dataclass(frozen=True, kw_only=True)
class PartOfTrace(OneTrace):
    """A question to a part of one trace."""

    since: Annotated[
        str | None,
        CommandOption(
            "--since",
            "Begin here: seconds of the trace's clock, or +S from its first event.",
            metavar="S",
        ),
    ] = None
    until: Annotated[
        str | None, CommandOption("--until", "End before this moment.", metavar="S")
    ] = None

    @property
    def span(self) -> tuple[str | None, str | None]:
        """From when to when."""
        return self.since, self.until


@dataclass(frozen=True, kw_only=True)
class NamedActors:
    """Actors by the names that people give them."""

    names: Annotated[
        tuple[str, ...],
        CommandArgument(
            "[NAME]...",
            "Actors: task:NAME, task:NAME/TID, irq:NAME, irq:N, softirq:NET_RX, or patterns like "
            "'task:kworker*'. All when none is named.",
        ),
    ] = ()
    ids: tuple[int, ...] | None = None
    """The same actors, where somebody has looked them up already."""

    def actors_of(self, trace: LoadedTrace, *, idle: bool = False) -> Sequence[Actor]:
        """The actors of a trace that are meant; UsageError for a name that means none."""
        if self.ids is not None:
            return [trace.analysis.actors[identity] for identity in self.ids]
        return trace.choose(self.names, idle=idle)


@dataclass(frozen=True, kw_only=True)
class GroupedActors(NamedActors):
    """Actors, each by itself or all of a name together."""

    by_name: Annotated[
        bool, CommandOption("--by-name", "Put all threads of one name together.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class IncompleteInstances:
    """Whether metrics hold instances that are not whole."""

    incomplete: Annotated[
        bool,
        CommandOption(
            "--incomplete",
            "Keep instances that an end of the trace cuts, or that lost events meet.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ListedRows:
    """How many rows people see."""

    top: Annotated[int | None, TOP] = 20


@dataclass(frozen=True, kw_only=True)
class TimeBins:
    """How fine values over time are."""

    bins: Annotated[
        int,
        CommandOption("--bins", "Parts of the time span.", metavar="N", minimum=1, maximum=10_000),
    ] = 48


# -- tables of the result --------------------------------------------------------------------------

RequestT = TypeVar("RequestT", bound=TraceRequest)
T = TypeVar("T")
R = TypeVar("R")


_STATISTICS = {
    "median": "median",
    "interval": "95 % interval",
    "p95": "p95",
    "p99": "p99",
    "p99_interval": "p99 interval",
    "p999": "p99.9",
    "minimum": "min",
    "maximum": "max",
    "mean": "mean",
    "total": "in all",
}


def interval_ends(interval: QuantileBounds | None) -> tuple[float, float] | None:
    """An interval as columns have it."""
    return None if interval is None else (interval.low, interval.high)


def durations(
    header: str,
    distribution: Callable[[R], TimeDistribution | None],
    *statistics: str,
    strong: bool = False,
) -> tuple[ColumnSpec[R], ...]:
    """Columns of a distribution of durations; ``strong`` makes its median stand out.

    With an empty ``header`` each is called as its statistic; a line break goes on below the
    header before.
    """

    def column(number: int, statistic: str) -> ColumnSpec[R]:
        name = _STATISTICS[statistic]
        if header:
            above = f"{'' if number else header.strip()}\n{name}"
        else:
            above = name if name.startswith(("p", "9")) else name.capitalize()

        def value(row: R) -> Any:
            return getattr(distribution(row), statistic, None)

        if statistic.endswith("interval"):
            return ColumnSpec(above, ValueUnit.NS_RANGE, lambda row: interval_ends(value(row)))
        tone: Tone = "strong" if strong and statistic == "median" else "plain"
        return ColumnSpec(above, ValueUnit.NS, value, tone)

    return tuple(column(number, statistic) for number, statistic in enumerate(statistics))


def durations_to_longest(
    distribution: Callable[[R], TimeDistribution | None], at: Callable[[R], int | None]
) -> tuple[ColumnSpec[R], ...]:
    """Columns of a distribution of durations from its median to its longest, and when that was."""
    statistics = ("median", "p99", "p999", "maximum")
    longest_at: ColumnSpec[R] = ColumnSpec("Longest at", ValueUnit.MOMENT, at)
    return (*durations("", distribution, *statistics, strong=True), longest_at)


def for_programs(*columns: ColumnSpec[R]) -> tuple[ColumnSpec[R], ...]:
    """The same columns in CSV only: a terminal has no room for all statistics."""
    return tuple(replace(column, detail=True) for column in columns)


@dataclass(frozen=True, slots=True)
class TableShape(Generic[R]):
    """One table of a result: its ``name`` for ``--table``, its columns."""

    name: str
    summary: str
    rest: str
    """What those rows are that are not listed, after their number: ``more actors``."""
    columns: tuple[ColumnSpec[R], ...]

    def filled(
        self,
        title: str,
        rows: Sequence[R],
        *remarks: str,
        top: int | None = None,
        pinned: int = 0,
        total: int | None = None,
        all_by: str = "",
    ) -> TableSpec[R]:
        """The table of these rows, of which people see those ``pinned`` and ``top`` more.

        ``total`` counts all there are, where ``rows`` are not all. ``all_by`` is the option that
        lists all, where it is not ``--top``.
        """
        count = len(rows) if total is None else total
        limit = None if top is None else pinned + top
        if (left_out := count - len(rows[:limit])) > 0:
            by = all_by or f"--top {count - pinned}"
            remarks = (f"not listed: {left_out} {self.rest} ({by})", *remarks)
        return TableSpec(title, self.columns, rows, remarks, limit, self.name)


def with_cautions(
    tables: Sequence[TableSpec[Any]], cautions: Sequence[str]
) -> list[TableSpec[Any]]:
    """The tables of an answer; what makes all of it doubtful stands below the first."""
    first, *rest = tables
    return [replace(first, remarks=(*cautions, *first.remarks)), *rest]


# -- the record ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A line below all tables: whether what was demanded holds."""

    text: str
    tone: Tone


def _nothing_to_check(_request: object) -> None:
    """Most requests are checked as they are parsed."""


def _no_conclusions(_answer: object) -> Sequence[Conclusion]:
    return ()


def _never(_answer: object, _request: object) -> bool:
    return False


def _no_text(_answer: object, _request: object) -> None:
    """Most answers are tables."""


def _itself(_request: object) -> None:
    """Most analyses have one kind of answer."""


@dataclass(frozen=True)
class TraceAnalysis(Generic[RequestT, T]):
    """One analysis: everything that is known of it outside of its arithmetic."""

    name: str
    """Of its command."""
    kind: str
    """Of its JSON document."""
    summary: str
    """One line that begins with a verb."""
    example: str
    """What stands after ``benchvise trace``."""
    request: type[RequestT]
    """What it may be asked: its fields are the options of its command."""
    shapes: tuple[TableShape[Any], ...]
    analyse: Callable[[Sequence[LoadedTrace], RequestT], T]
    """Makes the answer of as many opened traces as it takes files (none where it opens itself)."""
    tables: Callable[[T, RequestT], Iterable[TableSpec[Any]]]
    description: str = ""
    loads: bool = True
    """Whether ``analyse`` gets its traces opened, with their analysis."""
    sums: bool = False
    """Whether of a whole trace it asks only what adds up: ``analysis.stats.usage_of``."""
    tasks: bool = True
    """Whether its answer rests on which task ran when, and a trace that does not say so is
    doubtful."""
    check: Callable[[RequestT], object] = _nothing_to_check
    """Raises UsageError for a request that no trace could answer, before any is opened."""
    conclusions: Callable[[T], Sequence[Conclusion]] = _no_conclusions
    fails: Callable[[T, RequestT], bool] = _never
    """Whether the command exits with 1."""
    text: Callable[[T, RequestT], Iterable[str] | None] = _no_text
    """The lines that the request asks for in place of tables."""
    instead: Callable[[RequestT], TraceAnalysis[RequestT, Any] | None] = _itself
    """The analysis that the request means when its options ask for another one."""

    def cautions(self, traces: Sequence[LoadedTrace]) -> list[str]:
        """What makes an answer doubtful, whatever it is; of two traces with whose it is."""
        if len(traces) < 2:
            return [caution for trace in traces for caution in trace.cautions_for(tasks=self.tasks)]
        names = told_apart([trace.path for trace in traces])
        return [
            f"{side} ({name}): {caution}"
            for side, name, trace in zip("AB", names, traces, strict=True)
            for caution in trace.cautions_for(tasks=self.tasks)
        ]

    def document(self, answer: T, traces: Sequence[LoadedTrace]) -> Any:
        """The data of the JSON document: the answer, and above it of what it is."""
        match traces:
            case []:
                return encode(answer)
            case [trace]:
                span = trace.analysis.span
                head = {
                    "file": str(trace.path),
                    "span": {"begin": span.begin, "end": span.end},
                }
            case _:
                head = {side: str(trace.path) for side, trace in zip("ab", traces, strict=True)}
        return {**head, "cautions": self.cautions(traces), "answer": encode(answer)}

    @property
    def help(self) -> str:
        """Summary, description and example, as ``--help`` and the reference page show them."""
        example = f"Example: benchvise trace {self.example}"
        return "\n\n".join(filter(None, (self.summary, self.description, example)))


def told_apart(paths: Sequence[Path]) -> list[str]:
    """The names of files; where some have the same, as much of their paths as tells them apart."""
    whole = [path.absolute().parts for path in paths]
    length = 1
    while len({parts[-length:] for parts in whole}) < len(set(whole)):
        length += 1
    return [str(Path(*parts[-length:])) for parts in whole]


def several(actors: int) -> str:
    """`` (3)`` behind the name that several actors share."""
    return f" ({actors})" if actors > 1 else ""


def incomplete_left_out(count: int) -> tuple[str, ...]:
    """The remark on instances that the distributions leave out; none for none."""
    if not count:
        return ()
    return (
        f"{count} incomplete instances left out: cut by an end of the trace, or active while "
        "events are missing (--incomplete keeps them)",
    )
