"""The record of ``benchvise trace compare``: two traces, actor by actor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.text import enumerated
from benchvise.trace.catalogue.record import (
    TOP,
    IncompleteInstances,
    ListedRows,
    NamedActors,
    TableShape,
    TraceAnalysis,
    TraceRequest,
    interval_ends,
    told_apart,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.compare import ActorRate, MetricChange, TraceComparison
    from benchvise.trace.analysis.rate_changes import Irregularity
    from benchvise.trace.analysis.tail_changes import TailRatio
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class CompareRequest(TraceRequest, NamedActors, IncompleteInstances, ListedRows):
    """Which two traces are compared, and when that counts as a regression."""

    a: Annotated[Path, CommandArgument("A", "The base: a trace file or directory.")]
    b: Annotated[Path, CommandArgument("B", "The other one.")]
    threshold: Annotated[
        float | None,
        CommandOption(
            "--threshold",
            "Exit 1 when execution, response or start latency of an actor changed and its median "
            "grew by more than PCT percent.",
            metavar="PCT",
            minimum=0,
        ),
    ] = None
    everything: Annotated[
        bool, CommandOption("--all", "List the metrics in which no change was shown as well.")
    ] = False
    top: Annotated[int | None, TOP] = 25

    @property
    def files(self) -> tuple[Path, ...]:
        """The two traces."""
        return self.a, self.b


_NAMED = 8
"""Actors of one trace alone that are named; the others are counted."""


def _change_tone(change: MetricChange) -> Tone:
    return "strong" if change.changed else "plain"


def _tail_tone(change: MetricChange) -> Tone:
    return "strong" if change.tail is not None and change.tail.notable else "plain"


def _rate_tone(rate: ActorRate) -> Tone:
    return "strong" if rate.rate is not None and rate.rate.changed else "plain"


_TailRow = tuple["MetricChange", "TailRatio"]


def tail_name(tail: TailRatio) -> str:
    """The statistic as people read it: ``max of 120`` is the longest of so many in a row."""
    return tail.statistic if tail.window is None else f"{tail.statistic} of {tail.window}"


def _tail_ratio_tone(row: _TailRow) -> Tone:
    return "strong" if row[1].changed else "plain"


_CHANGES: TableShape[MetricChange] = TableShape(
    "changes",
    "What changed, the clearest first",
    "more",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda change: change.actor),
        ColumnSpec("Metric", ValueUnit.TEXT, lambda change: change.metric),
        ColumnSpec("n A", ValueUnit.COUNT, lambda change: change.a.count),
        ColumnSpec("n B", ValueUnit.COUNT, lambda change: change.b.count),
        ColumnSpec("Median A", ValueUnit.NS, lambda change: change.a.median),
        ColumnSpec("Median B", ValueUnit.NS, lambda change: change.b.median),
        ColumnSpec(
            "Change", ValueUnit.RATIO, lambda change: change.ratio, _change_tone, key="ratio"
        ),
        ColumnSpec(
            "95 % of ratio",
            ValueUnit.RATIO_RANGE,
            lambda change: interval_ends(change.interval),
            "muted",
        ),
        ColumnSpec("Delta", ValueUnit.EFFECT, lambda change: change.delta, detail=True),
        ColumnSpec("p99 A", ValueUnit.NS, lambda change: change.a.p99, detail=True),
        ColumnSpec("p99 B", ValueUnit.NS, lambda change: change.b.p99, detail=True),
        ColumnSpec("p99.9 A", ValueUnit.NS, lambda change: change.a.p999, detail=True),
        ColumnSpec("p99.9 B", ValueUnit.NS, lambda change: change.b.p999, detail=True),
        ColumnSpec("Max A", ValueUnit.NS, lambda change: change.a.maximum),
        ColumnSpec("Max B", ValueUnit.NS, lambda change: change.b.maximum, _tail_tone),
        ColumnSpec("Max A at", ValueUnit.MOMENT, lambda change: change.longest_at[0], detail=True),
        ColumnSpec("Max B at", ValueUnit.MOMENT, lambda change: change.longest_at[1], detail=True),
        ColumnSpec("Changed", ValueUnit.NUMBER, lambda change: int(change.changed), detail=True),
    ),
)
_TAILS: TableShape[_TailRow] = TableShape(
    "tails",
    "What happened to p99, p99.9 and the longest ones, the surest change first",
    "more",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda row: row[0].actor),
        ColumnSpec("Metric", ValueUnit.TEXT, lambda row: row[0].metric),
        ColumnSpec("Tail", ValueUnit.TEXT, lambda row: tail_name(row[1])),
        ColumnSpec("A", ValueUnit.NS, lambda row: row[1].a, key="tail_a"),
        ColumnSpec("B", ValueUnit.NS, lambda row: row[1].b, key="tail_b"),
        ColumnSpec(
            "Change", ValueUnit.RATIO, lambda row: row[1].ratio, _tail_ratio_tone, key="tail_ratio"
        ),
        ColumnSpec(
            "95 % of ratio",
            ValueUnit.RATIO_RANGE,
            lambda row: interval_ends(row[1].interval),
            "muted",
            key="tail_ratio_interval",
        ),
        ColumnSpec("p", ValueUnit.QUANTITY, lambda row: row[1].p, detail=True),
        ColumnSpec("Reason", ValueUnit.TEXT, lambda row: row[1].reason, detail=True),
        ColumnSpec("Max A at", ValueUnit.MOMENT, lambda row: row[0].longest_at[0]),
        ColumnSpec("Max B at", ValueUnit.MOMENT, lambda row: row[0].longest_at[1]),
    ),
)
_RATES: TableShape[ActorRate] = TableShape(
    "rates",
    "How often each actor ran, and its share of a CPU",
    "more actors",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda rate: rate.actor),
        ColumnSpec("Load A", ValueUnit.SHARE, lambda rate: rate.load[0]),
        ColumnSpec("Load B", ValueUnit.SHARE, lambda rate: rate.load[1]),
        ColumnSpec("Runs/s A", ValueUnit.PER_SECOND, lambda rate: rate.per_second[0]),
        ColumnSpec(
            "B", ValueUnit.PER_SECOND, lambda rate: rate.per_second[1], key="instances_per_s_b"
        ),
        ColumnSpec(
            "Change",
            ValueUnit.RATIO,
            lambda rate: rate.rate.ratio if rate.rate else None,
            _rate_tone,
            key="rate_ratio",
        ),
        ColumnSpec(
            "95 % of ratio",
            ValueUnit.RATIO_RANGE,
            lambda rate: interval_ends(rate.rate.interval) if rate.rate else None,
            "muted",
            key="rate_ratio_interval",
        ),
        ColumnSpec("Longest gap A", ValueUnit.NS, lambda rate: rate.longest_gap[0], detail=True),
        ColumnSpec("Longest gap B", ValueUnit.NS, lambda rate: rate.longest_gap[1], detail=True),
        ColumnSpec("Gap A at", ValueUnit.MOMENT, lambda rate: rate.gap_at[0]),
        ColumnSpec("Gap B at", ValueUnit.MOMENT, lambda rate: rate.gap_at[1]),
    ),
)
_IrregularRow = tuple["ActorRate", "Irregularity"]


def _missing_tone(row: _IrregularRow) -> Tone:
    return "strong" if row[1].missing_changed else "plain"


def _extra_tone(row: _IrregularRow) -> Tone:
    return "strong" if row[1].extra_changed else "plain"


_IRREGULAR: TableShape[_IrregularRow] = TableShape(
    "irregular",
    "Missing and extra activations of actors that are regular in A",
    "more actors",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda row: row[0].actor),
        ColumnSpec("Period A", ValueUnit.NS, lambda row: row[1].period),
        ColumnSpec("Missing A", ValueUnit.COUNT, lambda row: row[1].missing[0]),
        ColumnSpec(
            "B", ValueUnit.COUNT, lambda row: row[1].missing[1], _missing_tone, key="missing_b"
        ),
        ColumnSpec("Missing p", ValueUnit.QUANTITY, lambda row: row[1].missing_p, detail=True),
        ColumnSpec("Extra A", ValueUnit.COUNT, lambda row: row[1].extra[0]),
        ColumnSpec("B", ValueUnit.COUNT, lambda row: row[1].extra[1], _extra_tone, key="extra_b"),
        ColumnSpec("Extra p", ValueUnit.QUANTITY, lambda row: row[1].extra_p, detail=True),
        ColumnSpec("Longest gap A", ValueUnit.NS, lambda row: row[0].longest_gap[0]),
        ColumnSpec("B", ValueUnit.NS, lambda row: row[0].longest_gap[1], key="longest_gap_b"),
        ColumnSpec("Gap A at", ValueUnit.MOMENT, lambda row: row[0].gap_at[0]),
        ColumnSpec("Gap B at", ValueUnit.MOMENT, lambda row: row[0].gap_at[1]),
    ),
)


def _analyse(traces: Sequence[LoadedTrace], request: CompareRequest) -> TraceComparison:
    """A name that only one of the traces knows is no error: that is an answer."""
    from benchvise.trace.analysis.compare import compare

    a, b = traces
    chosen = a.known_actors(request.names), b.known_actors(request.names)
    if request.names and not any(chosen):
        a.choose(request.names)  # says which there are
    return compare(a.analysis, b.analysis, chosen, incomplete=request.incomplete)


def _tables(answer: TraceComparison, request: CompareRequest) -> Iterator[TableSpec[Any]]:
    listed = [
        change
        for change in answer.changes
        if request.everything or change.changed or (change.tail is not None and change.tail.notable)
    ]
    changed = sum(1 for change in answer.changes if change.changed)
    remarks = []
    longest = sum(1 for change in listed if not change.changed)
    if longest and not request.everything:
        remarks.append(
            f"only the longest differs: {longest} metrics, at least twice or half that of A, or "
            "more are longer than any of the other than by chance (p < 0.01)"
        )
    if not request.everything:
        unchanged = len(answer.changes) - len(listed)
        remarks.append(f"no change shown: {unchanged} metrics (--all lists them)")
    for side, only in (("A", answer.only_in_a), ("B", answer.only_in_b)):
        if only:
            remarks.append(f"only in {side}: {enumerated(only, _NAMED)}")
    if any(answer.incomplete):
        of_a, of_b = answer.incomplete
        remarks.append(f"incomplete instances left out: {of_a} in A, {of_b} in B")
    remarks.append(
        "delta (CSV, JSON): Cliff's, 1 when all of B is above all of A, -1 when below; instances "
        "of one actor are not independent, so intervals of medians are somewhat too narrow"
    )
    a, b = told_apart(request.files)
    title = f"{b} (B) against {a} (A): {changed} changed"
    yield _CHANGES.filled(title, listed, *remarks, top=request.top)
    yield _tail_table(answer, request)
    largest = sorted(answer.rates, key=lambda rate: -abs(rate.load[1] - rate.load[0]))
    title = "Load of a CPU and activations, the largest difference first"
    yield _RATES.filled(
        title,
        largest,
        "95 %: allows for bursts and for regularity, as 20 parts of each trace show them",
        "gap: the longest time between two activations of one actor",
        top=request.top,
    )
    irregular = [
        (rate, rate.irregularity) for rate in answer.rates if rate.irregularity is not None
    ]
    irregular.sort(key=lambda row: min(row[1].missing_p, row[1].extra_p))
    yield _IRREGULAR.filled(
        "Missing and extra activations, by A's median period, of actors that are regular in A",
        irregular,
        "in bold: another share than by chance (p < 0.01 after a correction for all tests)",
        top=request.top,
    )


def _tail_table(answer: TraceComparison, request: CompareRequest) -> TableSpec[_TailRow]:
    rows = [(change, tail) for change in answer.changes for tail in change.tails]
    listed = [row for row in rows if row[1].changed]
    remarks = []
    if not request.everything:
        unknown = sum(1 for _, tail in rows if tail.interval is None)
        remarks.append(
            f"no change shown: {len(rows) - len(listed) - unknown}; too few activations: {unknown} "
            "(--all lists them)"
        )
    remarks += [
        "max of N: the longest of N successive activations, typically, as many in both traces",
        "95 %: allows for what is late together, as 20 parts of each trace show it; a change is "
        "told where p < 0.05 after a correction for all tests",
    ]
    if request.everything:
        listed = rows
    listed.sort(key=lambda row: (not row[1].changed, 1.0 if row[1].p is None else row[1].p))
    return _TAILS.filled(
        f"Tails: {sum(1 for row in rows if row[1].changed)} changed",
        listed,
        *remarks,
        top=request.top,
    )


def _fails(answer: TraceComparison, request: CompareRequest) -> bool:
    return request.threshold is not None and answer.worst_growth() > request.threshold


COMPARE: TraceAnalysis[CompareRequest, TraceComparison] = TraceAnalysis(
    name="compare",
    kind="trace-comparison",
    summary="Compare two traces, of two boards or two kernels, actor by actor, matched by name.",
    example="compare before.dat after.dat 'irq:*' --threshold 20",
    request=CompareRequest,
    shapes=(_CHANGES, _TAILS, _RATES, _IRREGULAR),
    analyse=_analyse,
    tables=_tables,
    fails=_fails,
)
