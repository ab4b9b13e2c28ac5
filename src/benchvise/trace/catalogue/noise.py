"""The records of ``benchvise trace osnoise`` and ``timerlat``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
    durations_to_longest,
    for_programs,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.noise import CpuNoise, NoiseSource, OsNoise
    from benchvise.trace.analysis.timerlat import (
        ContextLatency,
        LatencyPart,
        Timerlat,
        WorstActivation,
    )
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class OsnoiseRequest(PartOfTrace, ListedRows):
    """How many sources are listed."""


@dataclass(frozen=True, kw_only=True)
class TimerlatRequest(PartOfTrace):
    """How many activations are taken apart."""

    worst: Annotated[
        int,
        CommandOption(
            "--worst", "Activations that are taken apart.", metavar="N", minimum=0, maximum=1000
        ),
    ] = 3


# -- noise -----------------------------------------------------------------------------------------

_CPUS: TableShape[CpuNoise] = TableShape(
    "cpus",
    "What osnoise measured, by CPU",
    "more CPUs",
    (
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda cpu: cpu.cpu),
        ColumnSpec("Periods", ValueUnit.COUNT, lambda cpu: cpu.periods),
        ColumnSpec("Runtime", ValueUnit.NS, lambda cpu: cpu.runtime),
        ColumnSpec("Noise", ValueUnit.NS, lambda cpu: cpu.noise, "strong"),
        ColumnSpec("Available", ValueUnit.FINE_SHARE, lambda cpu: cpu.available),
        ColumnSpec("Worst\nperiod", ValueUnit.NS, lambda cpu: cpu.most),
        *for_programs(ColumnSpec("Worst\nat", ValueUnit.MOMENT, lambda cpu: cpu.most_at)),
        ColumnSpec("Longest\nnoise", ValueUnit.NS, lambda cpu: cpu.longest),
        ColumnSpec("\nat", ValueUnit.MOMENT, lambda cpu: cpu.longest_at),
        ColumnSpec("Interference\nHW", ValueUnit.COUNT, lambda cpu: cpu.hardware),
        ColumnSpec("\nNMI", ValueUnit.COUNT, lambda cpu: cpu.nmi),
        ColumnSpec("\nIRQ", ValueUnit.COUNT, lambda cpu: cpu.irq),
        ColumnSpec("\nsoftirq", ValueUnit.COUNT, lambda cpu: cpu.softirq),
        ColumnSpec("\nthread", ValueUnit.COUNT, lambda cpu: cpu.thread),
        *for_programs(
            ColumnSpec(
                "Single\nn",
                ValueUnit.COUNT,
                lambda cpu: None if cpu.single is None else cpu.single.count,
            ),
            *durations("Single", lambda cpu: cpu.single, "median", "p99", "p999", "maximum"),
        ),
    ),
)
_SOURCES: TableShape[NoiseSource] = TableShape(
    "sources",
    "Who interfered: handlers, NMIs, softirqs and threads",
    "more sources",
    (
        ColumnSpec("Who", ValueUnit.ACTOR, lambda source: source.name),
        ColumnSpec("n", ValueUnit.COUNT, lambda source: source.duration.count),
        *durations("", lambda source: source.duration, "total"),
        ColumnSpec("Share", ValueUnit.SHARE, lambda source: source.share),
        *durations_to_longest(lambda source: source.duration, lambda source: source.worst_at),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda source: source.worst_cpu),
        ColumnSpec("CPUs", ValueUnit.CPUS, lambda source: source.cpus, "muted"),
    ),
)


def _osnoise(traces: Sequence[LoadedTrace], _request: OsnoiseRequest) -> OsNoise:
    from benchvise.trace.analysis.noise import osnoise

    [trace] = traces
    return osnoise(trace.analysis)


def _noise_tables(answer: OsNoise, request: OsnoiseRequest) -> Iterator[TableSpec[Any]]:
    measured = (
        "available: what the tracer's thread had of the CPU while it looked for noise",
        "HW: noises without any interference of the operating system: firmware, or the host of a "
        "virtual machine",
    )
    missing = (
        "none: no entry of the tracer osnoise in the trace; record some with "
        "benchvise trace record BOARD --tracer osnoise, or rtla osnoise top --trace",
    )
    yield _CPUS.filled("Noise by CPU", answer.cpus, *(measured if answer.cpus else missing))
    remarks = [
        "times are net: without what interrupted it in turn",
        "share: of the span; on several CPUs all together may be more than 100 %",
    ]
    if answer.idle:
        remarks.append(f"not listed: {answer.idle} times that a CPU was idle")
    if not answer.sources:
        remarks = ["none: no events osnoise:* in the trace (trace-cmd record -e osnoise)"]
    yield _SOURCES.filled(
        "Who interfered, most time first", answer.sources, *remarks, top=request.top
    )


OSNOISE = TraceAnalysis(
    name="osnoise",
    kind="trace-osnoise",
    tasks=False,
    summary="List how much noise osnoise measured on each CPU, and who interfered.",
    description="Of the kernel's tracer osnoise, and of the events osnoise:*, which timerlat's "
    "traces have, too.",
    example="osnoise trace.dat --since +1",
    request=OsnoiseRequest,
    shapes=(_CPUS, _SOURCES),
    analyse=_osnoise,
    tables=_noise_tables,
)


# -- latency of timers -----------------------------------------------------------------------------

_LATENCIES: TableShape[ContextLatency] = TableShape(
    "latencies",
    "Latencies by context and CPU",
    "more CPUs",
    (
        ColumnSpec("Context", ValueUnit.TEXT, lambda row: row.context),
        ColumnSpec("CPU", ValueUnit.TEXT, lambda row: "all" if row.cpu is None else str(row.cpu)),
        ColumnSpec("n", ValueUnit.COUNT, lambda row: row.latency.count),
        *durations("", lambda row: row.latency, "minimum", "mean"),
        *durations("", lambda row: row.latency, "median", strong=True),
        *durations("", lambda row: row.latency, "p99", "p999", "maximum"),
        ColumnSpec("Longest at", ValueUnit.MOMENT, lambda row: row.worst_at),
        *for_programs(
            ColumnSpec("Longest on", ValueUnit.NUMBER, lambda row: row.worst_cpu),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class _PartLine:
    """A part of an activation's latency; its number, by which lines belong together."""

    number: int
    activation: WorstActivation
    part: LatencyPart


_PARTS: TableShape[_PartLine] = TableShape(
    "parts",
    "What the longest latencies are made of, in order of time",
    "more parts",
    (
        *for_programs(
            ColumnSpec("Worst", ValueUnit.NUMBER, lambda line: line.number),
            ColumnSpec("CPU", ValueUnit.NUMBER, lambda line: line.activation.cpu),
            ColumnSpec("Activation", ValueUnit.NUMBER, lambda line: line.activation.activation),
            ColumnSpec("Due", ValueUnit.MOMENT, lambda line: line.activation.due),
            ColumnSpec("Latency", ValueUnit.NS, lambda line: line.activation.latency),
        ),
        ColumnSpec("Part", ValueUnit.TEXT, lambda line: line.part.what),
        ColumnSpec("Who", ValueUnit.ACTOR, lambda line: line.part.who or None),
        ColumnSpec("n", ValueUnit.COUNT, lambda line: line.part.count or None),
        ColumnSpec("Time", ValueUnit.NS, lambda line: line.part.time, "strong"),
        ColumnSpec("Share", ValueUnit.SHARE, lambda line: line.part.share),
    ),
)


def _timerlat(traces: Sequence[LoadedTrace], request: TimerlatRequest) -> Timerlat:
    from benchvise.trace.analysis.timerlat import timerlat

    [trace] = traces
    tasks = dict(trace.trace.description["tasks"])
    return timerlat(trace.analysis, trace.trace.source.symbol, tasks, worst=request.worst)


def _latency_tables(answer: Timerlat, _request: TimerlatRequest) -> Iterator[TableSpec[Any]]:
    missing = (
        "none: no entry of the tracer timerlat in the trace; record some with "
        "benchvise trace record BOARD --tracer timerlat, or rtla timerlat top --trace",
    )
    remarks = (
        "from the moment when the timer was due to: irq: its interrupt; thread: the thread that "
        "this wakes; user-ret: the return of a program that waits for it",
    )
    yield _LATENCIES.filled(
        "Latency of timers", answer.latencies, *(remarks if answer.latencies else missing)
    )
    for number, worst in enumerate(answer.worst, 1):
        yield _parts(number, worst, answer)
    if not answer.worst:
        yield _PARTS.filled("What the longest are made of", [])


def _parts(number: int, worst: WorstActivation, answer: Timerlat) -> TableSpec[_PartLine]:
    from benchvise.quantities import format_clock, format_value

    title = (
        f"CPU {worst.cpu}, activation {worst.activation}: {worst.context} latency "
        f"{format_value(worst.latency, 'ns')}, due at {format_clock(worst.due)}"
    )
    remarks = []
    if worst.stack:
        remarks.append("stack at the timer's interrupt: " + " ← ".join(worst.stack))
    if worst.incomplete:
        remarks.append("INCOMPLETE: events are missing meanwhile")
    if not answer.has_noises:
        remarks.append("who ran is told by the events osnoise:* (trace-cmd record -e osnoise)")
    lines = [_PartLine(number, worst, part) for part in worst.parts]
    return _PARTS.filled(title, lines, *remarks)


TIMERLAT = TraceAnalysis(
    name="timerlat",
    kind="trace-timerlat",
    tasks=False,
    summary="List timerlat's latencies by CPU, and take the longest apart: who delayed it how "
    "long.",
    description="Of the kernel's tracer timerlat. With the events osnoise:* in the trace, each of "
    "the longest latencies is taken apart into the delay of the timer's interrupt, its handler, "
    "the thread that blocked, and interference by name; the parts add up to the latency.",
    example="timerlat trace.dat --worst 5",
    request=TimerlatRequest,
    shapes=(_LATENCIES, _PARTS),
    analyse=_timerlat,
    tables=_latency_tables,
)
