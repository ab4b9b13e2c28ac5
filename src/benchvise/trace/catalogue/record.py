"""What a record of a trace analysis holds: all that commands, tables, CSV, JSON and docs need.

A ``TraceAnalysis`` says once, beside the arithmetic in ``trace.analysis``:

- the command: its name, one line of help, a description, an example, and its request: a dataclass
  of the options in ``options``, where each is described once for all analyses;
- ``analyse``: the function that makes the typed result from opened traces and a request;
- the tables of the result: a ``TableShape`` each, with the columns, and ``tables``, which fills
  them (``benchvise.table``);
- what a program gets: ``kind`` of the JSON document, whose data are the result by its types
  (``benchvise.documents``), and when the command fails.

``cli.records`` makes the commands, ``report.rendering`` terminal, Markdown and CSV,
``web.workspace`` its answers, ``docs/generate.py`` the reference page.

Records are imported for every ``--help``: whatever takes long to import (numpy, pyarrow, the
decoder) is imported by the functions that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchvise.documents import encode
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.trace.catalogue.options import TraceRequest

if TYPE_CHECKING:
    from benchvise.trace.analysis.distributions import QuantileBounds, TimeDistribution
    from benchvise.trace.loaded import LoadedTrace

RequestT = TypeVar("RequestT", bound=TraceRequest)
T = TypeVar("T")
R = TypeVar("R")


_STATISTICS = {
    "median": "median",
    "interval": "95 % interval",
    "p95": "p95",
    "p99": "p99",
    "p99_interval": "p99 interval",
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
    check: Callable[[RequestT], object] = _nothing_to_check
    """Raises UsageError for a request that no trace could answer, before any is opened."""
    conclusions: Callable[[T], Sequence[Conclusion]] = _no_conclusions
    fails: Callable[[T, RequestT], bool] = _never
    """Whether the command exits with 1."""
    instead: Callable[[RequestT], TraceAnalysis[RequestT, Any] | None] = _itself
    """The analysis that the request means when its options ask for another one."""

    def cautions(self, traces: Sequence[LoadedTrace]) -> list[str]:
        """What makes an answer doubtful, whatever it is; of two traces with whose it is."""
        if len(traces) < 2:
            return [caution for trace in traces for caution in trace.cautions]
        return [
            f"{side} ({trace.path.name}): {caution}"
            for side, trace in zip("AB", traces, strict=True)
            for caution in trace.cautions
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
