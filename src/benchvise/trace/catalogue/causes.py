"""The records of ``benchvise trace critical-path`` and ``delays``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption
from benchvise.quantities import format_value
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    GroupedActors,
    ListedRows,
    NamedActors,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.critical_path import CriticalPath, PathPart, PathSegment
    from benchvise.trace.analysis.delays import Delay, Delays, Preemption
    from benchvise.trace.loaded import LoadedTrace


# -- the critical path of one response -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CriticalPathRequest(PartOfTrace, NamedActors, ListedRows):
    """Which response is taken apart."""

    at: Annotated[
        str | None,
        CommandOption(
            "--at",
            "The activation at this moment: seconds of the trace's clock, or +S from its first "
            "event.",
            metavar="S",
        ),
    ] = None
    rank: Annotated[
        int,
        CommandOption(
            "--rank", "The activation with the Nth longest response.", metavar="N", minimum=1
        ),
    ] = 1
    hops: Annotated[
        int,
        CommandOption(
            "--hops", "Activations on the path, at most.", metavar="N", minimum=1, maximum=1000
        ),
    ] = 16


_PARTS: TableShape[PathPart] = TableShape(
    "parts",
    "The time of the path by what happened and who had the CPU, most time first",
    "more parts",
    (
        ColumnSpec("State", ValueUnit.TEXT, lambda part: part.state),
        ColumnSpec("Who had the CPU", ValueUnit.ACTOR, lambda part: part.actor or ""),
        ColumnSpec("Time", ValueUnit.NS, lambda part: part.time, lambda _: "strong"),
        ColumnSpec("Share", ValueUnit.SHARE, lambda part: part.share),
        ColumnSpec("Segments", ValueUnit.COUNT, lambda part: part.segments),
    ),
)
_SEGMENTS: TableShape[PathSegment] = TableShape(
    "segments",
    "The path from its first cause to its end, segment by segment",
    "more segments",
    (
        ColumnSpec("From", ValueUnit.MOMENT, lambda segment: segment.begin),
        ColumnSpec("Time", ValueUnit.NS, lambda segment: segment.length),
        ColumnSpec("On the path", ValueUnit.ACTOR, lambda segment: segment.through),
        ColumnSpec("State", ValueUnit.TEXT, lambda segment: segment.state),
        ColumnSpec("Who had the CPU", ValueUnit.ACTOR, lambda segment: segment.actor or ""),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda segment: segment.cpu),
    ),
)


def _path(traces: Sequence[LoadedTrace], request: CriticalPathRequest) -> CriticalPath:
    from benchvise.trace.analysis.critical_path import critical_path, select_activation
    from benchvise.trace.moments import parse_moment

    [trace] = traces
    analysis = trace.analysis
    at = None if request.at is None else parse_moment(request.at, analysis.whole.begin)
    chosen = request.actors_of(trace)
    instance = select_activation(analysis, chosen, at=at, rank=request.rank)
    return critical_path(analysis, instance, request.hops)


def _path_tables(answer: CriticalPath, request: CriticalPathRequest) -> Iterator[TableSpec[Any]]:
    whole = format_value(answer.end - answer.begin, "ns")
    response = format_value(answer.instance.response, "ns")
    through = " → ".join(hop.actor for hop in answer.hops)
    remarks = [f"path: {through}", f"begins with: {answer.origin}"]
    if answer.incomplete:
        remarks.append(f"incomplete: {'; '.join(answer.incomplete)}")
    yield _PARTS.filled(
        f"{answer.instance.actor}: path of {whole}, response {response}", answer.parts, *remarks
    )
    yield _SEGMENTS.filled("Segment by segment", answer.segments, top=request.top)


CRITICAL_PATH: TraceAnalysis[CriticalPathRequest, CriticalPath] = TraceAnalysis(
    name="critical-path",
    kind="trace-critical-path",
    summary="Show where the time of a response went, from its first cause to its end.",
    description="Walks back from the end of an activation to what woke or raised it, and on to an "
    "interrupt. What is on the path runs, is interrupted, or waits for a CPU, and the table names "
    "who had that CPU. Without --at it is the longest response of the actors.",
    example="critical-path trace.dat task:iperf3 --rank 2",
    request=CriticalPathRequest,
    shapes=(_PARTS, _SEGMENTS),
    analyse=_path,
    tables=_path_tables,
)


# -- what kept threads from running ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DelaysRequest(PartOfTrace, GroupedActors, ListedRows):
    """Whose waits for a CPU are described."""


_DELAYS: TableShape[Delay] = TableShape(
    "delays",
    "Who had the CPU while a thread waited for it, most time first",
    "more lines",
    (
        ColumnSpec("Thread", ValueUnit.ACTOR, lambda delay: delay.thread),
        ColumnSpec("Waited behind", ValueUnit.ACTOR, lambda delay: delay.by),
        ColumnSpec("Time", ValueUnit.NS, lambda delay: delay.time, lambda _: "strong"),
        ColumnSpec("Share", ValueUnit.SHARE, lambda delay: delay.share),
        ColumnSpec("Preempted", ValueUnit.NS, lambda delay: delay.after_preemption),
        ColumnSpec("Waits", ValueUnit.COUNT, lambda delay: delay.waits),
        ColumnSpec("Longest", ValueUnit.NS, lambda delay: delay.longest),
        ColumnSpec("Longest at", ValueUnit.MOMENT, lambda delay: delay.longest_at),
    ),
)
_PREEMPTIONS: TableShape[Preemption] = TableShape(
    "preemptions",
    "Who took the CPU from a thread that could have gone on, and how long that waited",
    "more lines",
    (
        ColumnSpec("Thread", ValueUnit.ACTOR, lambda one: one.thread),
        ColumnSpec("Preempted by", ValueUnit.ACTOR, lambda one: one.by),
        ColumnSpec("n", ValueUnit.COUNT, lambda one: one.count),
        *durations("Wait", lambda one: one.wait, "total", "median", strong=True),
        *durations("\n", lambda one: one.wait, "p99", "p999", "maximum"),
        ColumnSpec("Longest at", ValueUnit.MOMENT, lambda one: one.longest_at),
    ),
)


def _delays(traces: Sequence[LoadedTrace], request: DelaysRequest) -> Delays:
    from benchvise.trace.analysis.delays import delays

    [trace] = traces
    return delays(trace.analysis, request.actors_of(trace), by_name=request.by_name)


def _delay_tables(answer: Delays, request: DelaysRequest) -> Iterator[TableSpec[Any]]:
    remarks = ["an idle task: the CPU was leaving idle, nobody else had it"]
    if answer.incomplete:
        remarks.append(
            f"{answer.incomplete} incomplete waits left out: cut by an end of the trace, or events "
            "are missing meanwhile"
        )
    yield _DELAYS.filled(
        f"{format_value(answer.waited, 'ns')} in {answer.waits} waits for a CPU",
        answer.delays,
        *remarks,
        top=request.top,
    )
    yield _PREEMPTIONS.filled("Preemptions", answer.preemptions, top=request.top)


DELAYS: TraceAnalysis[DelaysRequest, Delays] = TraceAnalysis(
    name="delays",
    kind="trace-delays",
    summary="List what kept threads from running: who had the CPU, and who preempted them.",
    description="Each wait for a CPU, after a wake-up or a preemption, is attributed to the "
    "actors that ran on that CPU.",
    example="delays trace.dat task:iperf3 --by-name",
    request=DelaysRequest,
    shapes=(_DELAYS, _PREEMPTIONS),
    analyse=_delays,
    tables=_delay_tables,
)
