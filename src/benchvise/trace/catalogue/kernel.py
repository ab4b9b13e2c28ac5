"""The records of ``benchvise trace syscalls``, ``block``, ``timers``, ``idle`` and ``counters``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    GroupedActors,
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
    durations_to_longest,
    for_programs,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.block import Requests
    from benchvise.trace.analysis.counters import Counter
    from benchvise.trace.analysis.idle import IdleState
    from benchvise.trace.analysis.syscalls import SystemCall, SystemCalls
    from benchvise.trace.analysis.timers import Tickless, TimerMetrics, Timers
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class SyscallsRequest(PartOfTrace, GroupedActors, ListedRows):
    """Whose system calls are listed."""


@dataclass(frozen=True, kw_only=True)
class TimersRequest(PartOfTrace, ListedRows):
    """How many functions are listed."""


# -- system calls ----------------------------------------------------------------------------------

_CALL_COLUMNS: tuple[ColumnSpec[SystemCall], ...] = (
    ColumnSpec("n", ValueUnit.COUNT, lambda call: call.count),
    ColumnSpec("Errors", ValueUnit.COUNT, lambda call: call.errors),
    *durations(
        "", lambda call: call.latency, "median", "p95", "p99", "p999", "maximum", strong=True
    ),
    ColumnSpec("Longest at", ValueUnit.MOMENT, lambda call: call.worst_at),
    *durations("", lambda call: call.latency, "total"),
)
_NAME: ColumnSpec[SystemCall] = ColumnSpec("Call", ValueUnit.TEXT, lambda call: call.name)
_CALLS: TableShape[SystemCall] = TableShape(
    "calls",
    "System calls by name, whoever made them",
    "more calls",
    (
        _NAME,
        *_CALL_COLUMNS,
        ColumnSpec("Longest by", ValueUnit.TEXT, lambda c: c.worst_actor, "muted"),
    ),
)
_BY_ACTOR: TableShape[SystemCall] = TableShape(
    "actors",
    "System calls by name and by who made them",
    "more lines",
    (_NAME, ColumnSpec("Actor", ValueUnit.ACTOR, lambda call: call.actor), *_CALL_COLUMNS),
)


def _syscalls(traces: Sequence[LoadedTrace], request: SyscallsRequest) -> SystemCalls:
    from benchvise.trace.analysis.syscalls import syscalls

    [trace] = traces
    chosen = request.actors_of(trace)
    return syscalls(trace.analysis, chosen, by_name=request.by_name, most=request.top)


def _call_tables(answer: SystemCalls, request: SyscallsRequest) -> Iterator[TableSpec[SystemCall]]:
    unfinished = sum(call.unfinished for call in answer.calls)
    remarks = [f"without an exit in the trace: {unfinished} calls, not in the metrics"]
    yield _CALLS.filled(
        "System calls, most time first",
        answer.calls,
        *(remarks if unfinished else []),
        top=request.top,
    )
    yield _BY_ACTOR.filled(
        "By call and actor", answer.by_actor, top=request.top, total=answer.pairs
    )


SYSCALLS = TraceAnalysis(
    name="syscalls",
    kind="trace-syscalls",
    summary="List how long system calls took, by call and by who made them.",
    description="From entry to exit, so with all waiting between.",
    example="syscalls trace.dat task:nginx --by-name",
    request=SyscallsRequest,
    shapes=(_CALLS, _BY_ACTOR),
    analyse=_syscalls,
    tables=_call_tables,
)


# -- requests to block devices ---------------------------------------------------------------------

_REQUESTS: TableShape[Requests] = TableShape(
    "requests",
    "Requests by device and kind: in the queue, in the device, in all",
    "more kinds",
    (
        ColumnSpec("Device", ValueUnit.TEXT, lambda kind: kind.device),
        ColumnSpec("Kind", ValueUnit.TEXT, lambda kind: kind.kind),
        ColumnSpec("n", ValueUnit.COUNT, lambda kind: kind.count),
        *durations("Queue", lambda kind: kind.queue, "median"),
        *for_programs(*durations("Queue", lambda kind: kind.queue, "p99")),
        *durations("Device", lambda kind: kind.service, "median", strong=True),
        *for_programs(
            *durations("Device", lambda kind: kind.service, "p99"),
            *durations("Device", lambda kind: kind.service, "maximum"),
        ),
        *durations("In all", lambda kind: kind.total, "p99", "p999", "maximum"),
        ColumnSpec("Longest\nat", ValueUnit.MOMENT, lambda kind: kind.worst_at),
        ColumnSpec("Bytes", ValueUnit.BYTES, lambda kind: kind.bytes),
        ColumnSpec("Rate", ValueUnit.BYTES_PER_SECOND, lambda kind: kind.rate),
    ),
)


def _block(traces: Sequence[LoadedTrace], _request: PartOfTrace) -> list[Requests]:
    from benchvise.trace.analysis.block import requests

    [trace] = traces
    return requests(trace.analysis)


def _request_tables(answer: list[Requests], _request: PartOfTrace) -> Iterator[TableSpec[Requests]]:
    unfinished = sum(kind.unfinished for kind in answer)
    remarks = [f"not completed in the trace: {unfinished} requests, not in the metrics"]
    yield _REQUESTS.filled(
        "Requests by device (major:minor) and kind",
        answer,
        *(remarks if unfinished else []),
        "kind: R read, W write, D discard, F flush, then S synchronous, M metadata, A read-ahead",
    )


BLOCK = TraceAnalysis(
    name="block",
    kind="trace-block",
    summary="List how long requests to block devices waited in the queue and in the device.",
    example="block trace.dat",
    request=PartOfTrace,
    shapes=(_REQUESTS,),
    analyse=_block,
    tables=_request_tables,
)


# -- timers ----------------------------------------------------------------------------------------


def _late(header: str, statistic: str) -> ColumnSpec[TimerMetrics]:
    """How late timers ran: in ns, or in jiffies, which is what those of the wheel count."""

    def of(name: str) -> Callable[[TimerMetrics], object]:
        return lambda timer: getattr(getattr(timer, name), statistic, None)

    jiffies = ColumnSpec(header, ValueUnit.JIFFIES, of("late_jiffies"))
    return ColumnSpec(header, ValueUnit.NS, of("lateness"), otherwise=jiffies)


_TIMERS: TableShape[TimerMetrics] = TableShape(
    "timers",
    "Timers by function: how late, how long, how regular",
    "more functions",
    (
        ColumnSpec("Function", ValueUnit.TEXT, lambda timer: timer.function),
        ColumnSpec("Kind", ValueUnit.TEXT, lambda timer: timer.kind, "muted"),
        ColumnSpec("Timers", ValueUnit.COUNT, lambda timer: timer.timers),
        ColumnSpec("Runs", ValueUnit.COUNT, lambda timer: timer.count),
        _late("Late\nmedian", "median"),
        _late("\np99", "p99"),
        _late("\np99.9", "p999"),
        _late("\nmax", "maximum"),
        ColumnSpec("Latest\nat", ValueUnit.MOMENT, lambda timer: timer.latest_at),
        *durations("Function", lambda timer: timer.execution, "median"),
        *for_programs(*durations("Function", lambda timer: timer.execution, "maximum")),
        *durations("Period", lambda timer: timer.period, "median"),
    ),
)
_TICKLESS: TableShape[Tickless] = TableShape(
    "tickless",
    "Periods without tick, by CPU",
    "more CPUs",
    (
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda cpu: cpu.cpu),
        ColumnSpec("Periods", ValueUnit.COUNT, lambda cpu: cpu.count),
        ColumnSpec("Share", ValueUnit.SHARE, lambda cpu: cpu.share),
        *durations_to_longest(lambda cpu: cpu.length, lambda cpu: cpu.longest_at),
    ),
)


def _timers(traces: Sequence[LoadedTrace], _request: TimersRequest) -> Timers:
    from benchvise.trace.analysis.timers import timers

    [trace] = traces
    return timers(trace.analysis)


def _timer_tables(answer: Timers, request: TimersRequest) -> Iterator[TableSpec[Any]]:
    yield _TIMERS.filled("Timers, the most frequent first", answer.timers, top=request.top)
    remarks = ("none: no tick_stop in the trace, or no CPU stopped its tick",)
    yield _TICKLESS.filled(
        "Periods without tick", answer.tickless, *(() if answer.tickless else remarks)
    )


TIMERS = TraceAnalysis(
    name="timers",
    kind="trace-timers",
    summary="List how late timers ran, how long their functions took, and how long CPUs had no "
    "tick.",
    example="timers trace.dat",
    request=TimersRequest,
    shapes=(_TIMERS, _TICKLESS),
    analyse=_timers,
    tables=_timer_tables,
)


# -- idle states -----------------------------------------------------------------------------------

_IDLE: TableShape[IdleState] = TableShape(
    "states",
    "Idle states by CPU: how often, how long",
    "more states",
    (
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda row: row.cpu),
        ColumnSpec("State", ValueUnit.NUMBER, lambda row: row.state),
        ColumnSpec("Periods", ValueUnit.COUNT, lambda row: row.count),
        ColumnSpec("Incomplete", ValueUnit.COUNT, lambda row: row.incomplete, "muted"),
        ColumnSpec("Share", ValueUnit.SHARE, lambda row: row.share),
        *durations_to_longest(lambda row: row.length, lambda row: row.longest_at),
    ),
)


def _idle(traces: Sequence[LoadedTrace], _request: PartOfTrace) -> list[IdleState]:
    from benchvise.trace.analysis.idle import idle_states

    [trace] = traces
    return idle_states(trace.analysis)


def _idle_tables(answer: list[IdleState], _request: PartOfTrace) -> Iterator[TableSpec[IdleState]]:
    missing = ("none: no cpu_idle in the trace; record it with --events power",)
    remarks = (
        "state: cpuidle's number, 0 the lightest; "
        "/sys/devices/system/cpu/cpu0/cpuidle/state*/name on the board says which",
        "incomplete: cut by the end of the trace, or beside lost events; not in the lengths",
    )
    yield _IDLE.filled("Idle states", answer, *(remarks if answer else missing))


IDLE = TraceAnalysis(
    name="idle",
    kind="trace-idle",
    summary="List how often and how long CPUs were in each idle state.",
    description="Deep states save power and cost exit latency: compare with latencies of "
    "interrupts and timers.",
    example="idle trace.dat --since +1",
    request=PartOfTrace,
    shapes=(_IDLE,),
    analyse=_idle,
    tables=_idle_tables,
)


# -- counters --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NamedCounters:
    """Counters by the names of events and their fields."""

    counters: Annotated[
        tuple[str, ...],
        CommandArgument(
            "[COUNTER]...",
            "EVENT.FIELD, a field of numbers, run-queue or heap. The usual ones if none is named.",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class CountersRequest(PartOfTrace, NamedCounters, ListedRows):
    """Which counters are described."""


_COUNTERS: TableShape[Counter] = TableShape(
    "counters",
    "Counters: least, mean over time, greatest, and when",
    "more counters",
    (
        ColumnSpec("Counter", ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda row: row.cpu),
        ColumnSpec("Changes", ValueUnit.COUNT, lambda row: row.changes),
        ColumnSpec("Min", ValueUnit.VALUE, lambda row: row.minimum),
        ColumnSpec("Min at", ValueUnit.MOMENT, lambda row: row.minimum_at, "muted"),
        ColumnSpec("Mean", ValueUnit.QUANTITY, lambda row: row.mean, lambda _: "strong"),
        ColumnSpec("Max", ValueUnit.VALUE, lambda row: row.maximum),
        ColumnSpec("Max at", ValueUnit.MOMENT, lambda row: row.maximum_at),
        ColumnSpec("Known", ValueUnit.SHARE, lambda row: row.known),
    ),
)


def _counters(traces: Sequence[LoadedTrace], request: CountersRequest) -> list[Counter]:
    from benchvise.trace.analysis.counters import counters

    [trace] = traces
    return counters(trace.analysis, request.counters)


def _counter_tables(
    answer: list[Counter], request: CountersRequest
) -> Iterator[TableSpec[Counter]]:
    yield _COUNTERS.filled(
        "Counters",
        answer,
        "a value holds until the next; known: the share of the time in which it is known, not "
        "before the first event and not from lost events to the next",
        "run-queue: the thread that runs and those that wait for the CPU; after lost events not "
        "known until the CPU is idle",
        "heap: bytes that programs allocated since the trace began and have not freed (LTTng-UST); "
        "behind lost events not known",
        top=request.top,
    )


COUNTERS: TraceAnalysis[CountersRequest, list[Counter]] = TraceAnalysis(
    name="counters",
    kind="trace-counters",
    summary="List least, mean and greatest values of counters: run queues, frequencies, any field.",
    description="Names of events and their fields are those of trace info.",
    example="counters trace.dat run-queue cpu_frequency.state",
    request=CountersRequest,
    shapes=(_COUNTERS,),
    analyse=_counters,
    tables=_counter_tables,
)
