"""The record of ``benchvise trace stats``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchvise.quantities import format_clock, format_value
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.trace.catalogue.options import GroupedActors, ListedRows, PartOfTrace
from benchvise.trace.catalogue.record import TableShape, TraceAnalysis, several

if TYPE_CHECKING:
    from benchvise.trace.analysis.model import TraceSpan
    from benchvise.trace.analysis.stats import ActorStats, CpuStats, Stats
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
    from benchvise.trace.analysis.stats import stats

    [trace] = traces
    return stats(trace.analysis.sliced(), trace.chosen(request), by_name=request.by_name)


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
    analyse=_analyse,
    tables=_tables,
)
