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
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.compare import ActorRate, MetricChange, TraceComparison
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
    return "strong" if _has_tail(change) else "plain"


def _has_tail(change: MetricChange) -> bool:
    """Whether its longest values changed, be it that the median did not."""
    notable = change.tail is not None and change.tail.notable
    return notable or (change.shift is not None and change.shift.changed)


def _tail_quantile(change: MetricChange) -> str:
    return "" if change.shift is None else f"p{change.shift.quantile * 100:g}"


def _shift_tone(change: MetricChange) -> Tone:
    return "strong" if change.shift is not None and change.shift.changed else "plain"


def _at(change: MetricChange, side: int) -> int | None:
    return None if change.longest_at is None else change.longest_at[side]


def _one_of(pair: tuple[int, int] | None, side: int) -> int | None:
    return None if pair is None else pair[side]


def _rate_tone(rate: ActorRate) -> Tone:
    return "strong" if rate.changed else "plain"


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
        ColumnSpec("Tail quantile", ValueUnit.TEXT, _tail_quantile, detail=True),
        ColumnSpec(
            "Tail",
            ValueUnit.RATIO,
            lambda change: change.shift.ratio if change.shift else None,
            _shift_tone,
            key="tail_ratio",
        ),
        ColumnSpec(
            "95 % of tail ratio",
            ValueUnit.RATIO_RANGE,
            lambda change: interval_ends(change.shift.interval) if change.shift else None,
            "muted",
            detail=True,
        ),
        ColumnSpec("Max A", ValueUnit.NS, lambda change: change.a.maximum),
        ColumnSpec("Max B", ValueUnit.NS, lambda change: change.b.maximum, _tail_tone),
        ColumnSpec("Max A at", ValueUnit.MOMENT, lambda change: _at(change, 0), detail=True),
        ColumnSpec("Max B at", ValueUnit.MOMENT, lambda change: _at(change, 1), detail=True),
        ColumnSpec("Changed", ValueUnit.NUMBER, lambda change: int(change.changed), detail=True),
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
        ColumnSpec("Instances/s A", ValueUnit.PER_SECOND, lambda rate: rate.per_second[0]),
        ColumnSpec(
            "B", ValueUnit.PER_SECOND, lambda rate: rate.per_second[1], key="instances_per_s_b"
        ),
        ColumnSpec(
            "Change", ValueUnit.RATIO, lambda rate: rate.ratio, _rate_tone, key="rate_ratio"
        ),
        ColumnSpec(
            "95 % of ratio",
            ValueUnit.RATIO_RANGE,
            lambda rate: interval_ends(rate.interval),
            "muted",
            key="rate_ratio_interval",
        ),
        ColumnSpec("Missing A", ValueUnit.COUNT, lambda rate: _one_of(rate.missing, 0)),
        ColumnSpec("B", ValueUnit.COUNT, lambda rate: _one_of(rate.missing, 1), key="missing_b"),
        ColumnSpec("Extra A", ValueUnit.COUNT, lambda rate: _one_of(rate.extra, 0)),
        ColumnSpec("B", ValueUnit.COUNT, lambda rate: _one_of(rate.extra, 1), key="extra_b"),
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
        if request.everything or change.changed or _has_tail(change)
    ]
    changed = sum(1 for change in answer.changes if change.changed)
    tails = sum(1 for change in answer.changes if _has_tail(change) and not change.changed)
    remarks = []
    if tails:
        remarks.append(
            f"{tails} metrics have an unchanged median, and a tail that differs: its quantile "
            "changed, or the longest value did at least twice or more often than by chance "
            "(p < 0.01)"
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
        "tail: the highest of p99.9, p99 and p90 that both support; its interval, and when the "
        "longest began, are in CSV and JSON"
    )
    remarks.append(
        "delta (CSV, JSON): Cliff's, 1 when all of B is above all of A, -1 when below; instances "
        "of one actor are not independent, so the intervals are somewhat too narrow"
    )
    a, b = request.files
    title = f"{b.name} (B) against {a.name} (A): {changed} changed"
    yield _CHANGES.filled(title, listed, *remarks, top=request.top)
    largest = sorted(answer.rates, key=lambda rate: -abs(rate.load[1] - rate.load[0]))
    title = "Load of a CPU and instances, the largest difference first"
    yield _RATES.filled(
        title,
        largest,
        "missing, extra: activations, by A's median period, where A is regular",
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
    shapes=(_CHANGES, _RATES),
    analyse=_analyse,
    tables=_tables,
    fails=_fails,
)
