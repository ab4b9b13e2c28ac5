"""The records of ``benchvise trace stats``, ``load``, ``switches``: in all and over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchvise.quantities import format_clock, format_value
from benchvise.table import Bars, ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.trace.catalogue.record import (
    GroupedActors,
    ListedRows,
    PartOfTrace,
    TableShape,
    TimeBins,
    TraceAnalysis,
    several,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.model import TraceSpan
    from benchvise.trace.analysis.stats import ActorStats, CpuStats, OverTime, Series, Stats
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class StatsRequest(PartOfTrace, GroupedActors, ListedRows):
    """Which actors are listed."""


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _InSpan(Generic[R]):
    """A row, and the span that it is about."""

    row: R
    span: TraceSpan

    def share(self, time: int) -> float:
        return time / self.span.duration

    def rate(self, count: int) -> float:
        return count / (self.span.duration / 1e9)


def _unknown_tone(line: _InSpan[CpuStats]) -> Tone:
    return "doubt" if line.row.unknown else "muted"


def _lost(line: _InSpan[CpuStats]) -> object:
    cpu = line.row
    return "some, not counted" if cpu.losses and cpu.lost_events is None else cpu.lost_events or 0


def _lost_tone(line: _InSpan[CpuStats]) -> Tone:
    return "bad" if line.row.losses else "muted"


_CPUS: TableShape[_InSpan[CpuStats]] = TableShape(
    "cpus",
    "What took the time of each CPU",
    "more CPUs",
    (
        ColumnSpec("CPU", ValueUnit.TEXT, lambda line: line.row.cpu),
        ColumnSpec("Tasks", ValueUnit.SHARE, lambda line: line.share(line.row.task)),
        ColumnSpec("Interrupts", ValueUnit.SHARE, lambda line: line.share(line.row.irq)),
        ColumnSpec("Softirqs", ValueUnit.SHARE, lambda line: line.share(line.row.softirq)),
        ColumnSpec("Idle", ValueUnit.SHARE, lambda line: line.share(line.row.idle)),
        ColumnSpec(
            "Not known",
            ValueUnit.SHARE,
            lambda line: line.share(line.row.unknown),
            _unknown_tone,
        ),
        ColumnSpec("Switches/s", ValueUnit.PER_SECOND, lambda line: line.rate(line.row.switches)),
        ColumnSpec("Wake-ups/s", ValueUnit.PER_SECOND, lambda line: line.rate(line.row.wakeups)),
        ColumnSpec(
            "Interrupts/s", ValueUnit.PER_SECOND, lambda line: line.rate(line.row.interrupts)
        ),
        ColumnSpec("Lost events", ValueUnit.NUMBER, _lost, _lost_tone),
    ),
)
_ACTORS: TableShape[_InSpan[ActorStats]] = TableShape(
    "actors",
    "What each actor took, the busiest first",
    "more actors",
    (
        ColumnSpec(
            "Actor", ValueUnit.ACTOR, lambda line: line.row.actor + several(line.row.actors)
        ),
        ColumnSpec("Busy", ValueUnit.NS, lambda line: line.row.busy),
        ColumnSpec("Of a CPU", ValueUnit.SHARE, lambda line: line.row.share),
        ColumnSpec("Switches/s", ValueUnit.PER_SECOND, lambda line: line.rate(line.row.switches)),
        ColumnSpec("Wake-ups/s", ValueUnit.PER_SECOND, lambda line: line.rate(line.row.wakeups)),
        ColumnSpec("CPUs", ValueUnit.CPUS, lambda line: line.row.cpus, "muted"),
    ),
)


def _analyse(traces: Sequence[LoadedTrace], request: StatsRequest) -> Stats:
    from benchvise.trace.analysis.stats import stats, usage_of

    [trace] = traces
    usage = usage_of(trace.analysis)  # before the actors, for which all tables would be made
    return stats(trace.analysis, request.actors_of(trace), usage, by_name=request.by_name)


def _tables(answer: Stats, request: StatsRequest) -> Iterator[TableSpec[Any]]:
    span = answer.span
    length = format_value(span.duration, "ns")
    title = f"{format_clock(span.begin)} to {format_clock(span.end)} ({length})"
    yield _CPUS.filled(title, [_InSpan(cpu, span) for cpu in answer.cpus])
    yield _ACTORS.filled(
        "Actors, the busiest first",
        [_InSpan(actor, span) for actor in answer.actors],
        "busy: on a CPU, without the interrupts nested in it; a handler's switches are its returns",
        top=request.top,
    )


STATS = TraceAnalysis(
    name="stats",
    kind="trace-stats",
    summary="Show what took the CPUs: tasks, interrupts, softirqs, idle; switches and losses.",
    example="stats trace.dat --by-name",
    request=StatsRequest,
    shapes=(_CPUS, _ACTORS),
    sums=True,
    analyse=_analyse,
    tables=_tables,
)


# -- load and switches over time, as bars ----------------------------------------------------------


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


def _bar_shape(summary: str, unit: ValueUnit) -> TableShape[_BarLine]:
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


_LOAD = _bar_shape("The load of all CPUs, of each, and of each actor in every bin", ValueUnit.SHARE)
_SWITCHES = _bar_shape(
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


def _bar_tables(
    shape: TableShape[_BarLine], title: str
) -> Callable[[OverTime, SeriesRequest], Iterable[TableSpec[_BarLine]]]:
    def tables(answer: OverTime, request: SeriesRequest) -> Iterable[TableSpec[_BarLine]]:
        heading = f"{title}, {format_value(answer.width, 'ns')} a bin"
        pinned = 1 + len(answer.cpus)
        yield shape.filled(heading, _bar_lines(answer), top=request.top, pinned=pinned)

    return tables


def _load(traces: Sequence[LoadedTrace], request: SeriesRequest) -> OverTime:
    from benchvise.trace.analysis.stats import load

    [trace] = traces
    chosen = request.actors_of(trace)
    return load(trace.analysis.sliced(), chosen, request.bins, by_name=request.by_name)


def _switches(traces: Sequence[LoadedTrace], request: SeriesRequest) -> OverTime:
    from benchvise.trace.analysis.stats import switches

    [trace] = traces
    chosen = request.actors_of(trace, idle=True)
    return switches(trace.analysis.sliced(), chosen, request.bins, by_name=request.by_name)


LOAD = TraceAnalysis(
    name="load",
    kind="trace-load",
    summary="Draw the CPU load over time: of all CPUs, of each, of each actor.",
    example="load trace.dat 'task:stress*' --since +1 --until +1.5",
    request=SeriesRequest,
    shapes=(_LOAD,),
    analyse=_load,
    tables=_bar_tables(_LOAD, "CPU load"),
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
    tables=_bar_tables(_SWITCHES, "Context switches"),
)
