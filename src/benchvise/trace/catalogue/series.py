"""The records of ``benchvise trace load`` and ``switches``: values over time, as bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchvise.quantities import format_value
from benchvise.table import Bars, ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.options import GroupedActors, ListedRows, PartOfTrace, TimeBins
from benchvise.trace.catalogue.record import TableShape, TraceAnalysis

if TYPE_CHECKING:
    from benchvise.trace.analysis.series import OverTime, Series
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class SeriesRequest(PartOfTrace, GroupedActors, TimeBins, ListedRows):
    """Which actors are drawn, and how finely."""


@dataclass(frozen=True, slots=True)
class _BarLine:
    """A series, and what its bars need: the highest value of its like, and the bins."""

    series: Series
    top: float
    begin: int
    width: int

    @property
    def bars(self) -> Bars:
        return Bars(self.series.values, self.top, self.begin, self.width)


def _shape(summary: str, unit: ValueUnit) -> TableShape[_BarLine]:
    return TableShape(
        "series",
        summary,
        "more actors",
        (
            ColumnSpec("Who", ValueUnit.ACTOR, lambda line: line.series.name),
            ColumnSpec("Whole", unit, lambda line: line.series.whole, "strong"),
            ColumnSpec("Peak", unit, lambda line: line.series.peak),
            ColumnSpec("Peak at", ValueUnit.MOMENT, lambda line: line.series.peak_at),
            ColumnSpec("Over time", ValueUnit.BARS, lambda line: line.bars),
        ),
    )


_LOAD = _shape("The load of all CPUs, of each, and of each actor in every bin", ValueUnit.SHARE)
_SWITCHES = _shape(
    "Switches a second of all CPUs, of each, and of each actor in every bin",
    ValueUnit.EVENTS_PER_SECOND,
)


def _bar_lines(answer: OverTime) -> list[_BarLine]:
    """Lines of one kind share their scale, so that their heights compare."""
    return [
        _BarLine(series, top, answer.begin, answer.width)
        for group in ((answer.everything, *answer.cpus), answer.actors)
        for top in [max((series.peak for series in group), default=0.0)]
        for series in group
    ]


def _tables(
    shape: TableShape[_BarLine], title: str
) -> Callable[[OverTime, SeriesRequest], Iterable[TableSpec[_BarLine]]]:
    def tables(answer: OverTime, request: SeriesRequest) -> Iterable[TableSpec[_BarLine]]:
        heading = f"{title}, {format_value(answer.width, 'ns')} a bin"
        pinned = 1 + len(answer.cpus)
        yield shape.filled(heading, _bar_lines(answer), top=request.top, pinned=pinned)

    return tables


def _load(traces: Sequence[LoadedTrace], request: SeriesRequest) -> OverTime:
    from benchvise.trace.analysis.series import load

    [trace] = traces
    chosen = trace.chosen(request)
    return load(trace.analysis.sliced(), chosen, request.bins, by_name=request.by_name)


def _switches(traces: Sequence[LoadedTrace], request: SeriesRequest) -> OverTime:
    from benchvise.trace.analysis.series import switches

    [trace] = traces
    chosen = trace.chosen(request, idle=True)
    return switches(trace.analysis.sliced(), chosen, request.bins, by_name=request.by_name)


LOAD = TraceAnalysis(
    name="load",
    kind="trace-load",
    summary="Draw the CPU load over time: of all CPUs, of each, of each actor.",
    example="load trace.dat 'task:stress*' --since +1 --until +1.5",
    request=SeriesRequest,
    shapes=(_LOAD,),
    analyse=_load,
    tables=_tables(_LOAD, "CPU load"),
)
SWITCHES = TraceAnalysis(
    name="switches",
    kind="trace-switches",
    summary="Draw context switches a second over time: in all, by CPU, by actor.",
    description="An actor's switches are those that left it.",
    example="switches trace.dat --bins 100",
    request=SeriesRequest,
    shapes=(_SWITCHES,),
    analyse=_switches,
    tables=_tables(_SWITCHES, "Context switches"),
)
