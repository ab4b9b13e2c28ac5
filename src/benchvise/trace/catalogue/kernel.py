"""The records of ``benchvise trace syscalls``, ``block`` and ``timers``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchvise.trace.catalogue.options import GroupedActors, ListedRows, PartOfTrace
from benchvise.trace.catalogue.record import (
    AnswerTable,
    Column,
    TableShape,
    TraceAnalysis,
    Unit,
    durations,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.block import Requests
    from benchvise.trace.analysis.syscalls import Call, Calls
    from benchvise.trace.analysis.timers import Tickless, TimerMetrics, Timers
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class SyscallsRequest(PartOfTrace, GroupedActors, ListedRows):
    """Whose system calls are listed."""


@dataclass(frozen=True, kw_only=True)
class TimersRequest(PartOfTrace, ListedRows):
    """How many functions are listed."""


# -- system calls ----------------------------------------------------------------------------------

_CALL_COLUMNS: tuple[Column[Call], ...] = (
    Column("n", Unit.COUNT, lambda call: call.count),
    Column("Errors", Unit.COUNT, lambda call: call.errors),
    *durations("", lambda call: call.latency, "median", "p95", "p99", "maximum", strong=True),
    Column("Longest at", Unit.MOMENT, lambda call: call.worst_at),
    *durations("", lambda call: call.latency, "total"),
)
_NAME: Column[Call] = Column("Call", Unit.TEXT, lambda call: call.name)
_CALLS: TableShape[Call] = TableShape(
    "calls",
    "System calls by name, whoever made them",
    "more calls",
    (_NAME, *_CALL_COLUMNS, Column("Longest by", Unit.TEXT, lambda c: c.worst_actor, "muted")),
)
_BY_ACTOR: TableShape[Call] = TableShape(
    "actors",
    "System calls by name and by who made them",
    "more lines",
    (_NAME, Column("Actor", Unit.ACTOR, lambda call: call.actor), *_CALL_COLUMNS),
)


def _syscalls(traces: Sequence[LoadedTrace], request: SyscallsRequest) -> Calls:
    from benchvise.trace.analysis.syscalls import syscalls

    [trace] = traces
    chosen = trace.chosen(request)
    return syscalls(trace.analysis, chosen, by_name=request.by_name, most=request.top)


def _call_tables(answer: Calls, request: SyscallsRequest) -> Iterator[AnswerTable[Call]]:
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
        Column("Device", Unit.TEXT, lambda kind: kind.device),
        Column("Kind", Unit.TEXT, lambda kind: kind.kind),
        Column("n", Unit.COUNT, lambda kind: kind.count),
        *durations("Queue", lambda kind: kind.queue, "median", "p99"),
        *durations("Device", lambda kind: kind.service, "median", "p99", "maximum", strong=True),
        *durations("In all", lambda kind: kind.total, "p99"),
        Column("Longest\nat", Unit.MOMENT, lambda kind: kind.worst_at),
        Column("Bytes", Unit.BYTES, lambda kind: kind.bytes),
        Column("Rate", Unit.BYTES_PER_SECOND, lambda kind: kind.rate),
    ),
)


def _block(traces: Sequence[LoadedTrace], _request: PartOfTrace) -> list[Requests]:
    from benchvise.trace.analysis.block import requests

    [trace] = traces
    return requests(trace.analysis)


def _request_tables(
    answer: list[Requests], _request: PartOfTrace
) -> Iterator[AnswerTable[Requests]]:
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


def _late(header: str, statistic: str) -> Column[TimerMetrics]:
    """How late timers ran: in ns, or in jiffies, which is what those of the wheel count."""

    def of(name: str) -> Callable[[TimerMetrics], object]:
        return lambda timer: getattr(getattr(timer, name), statistic, None)

    jiffies = Column(header, Unit.JIFFIES, of("late_jiffies"))
    return Column(header, Unit.NS, of("lateness"), otherwise=jiffies)


_TIMERS: TableShape[TimerMetrics] = TableShape(
    "timers",
    "Timers by function: how late, how long, how regular",
    "more functions",
    (
        Column("Function", Unit.TEXT, lambda timer: timer.function),
        Column("Kind", Unit.TEXT, lambda timer: timer.kind, "muted"),
        Column("Timers", Unit.COUNT, lambda timer: timer.timers),
        Column("Runs", Unit.COUNT, lambda timer: timer.count),
        _late("Late\nmedian", "median"),
        _late("\np99", "p99"),
        _late("\nmax", "maximum"),
        Column("Latest\nat", Unit.MOMENT, lambda timer: timer.latest_at),
        *durations("Function", lambda timer: timer.execution, "median", "maximum"),
        *durations("Period", lambda timer: timer.period, "median"),
    ),
)
_TICKLESS: TableShape[Tickless] = TableShape(
    "tickless",
    "Periods without tick, by CPU",
    "more CPUs",
    (
        Column("CPU", Unit.NUMBER, lambda cpu: cpu.cpu),
        Column("Periods", Unit.COUNT, lambda cpu: cpu.count),
        Column("Share", Unit.SHARE, lambda cpu: cpu.share),
        *durations("", lambda cpu: cpu.length, "median", "p99", "maximum", strong=True),
        Column("Longest at", Unit.MOMENT, lambda cpu: cpu.longest_at),
    ),
)


def _timers(traces: Sequence[LoadedTrace], _request: TimersRequest) -> Timers:
    from benchvise.trace.analysis.timers import timers

    [trace] = traces
    return timers(trace.analysis)


def _timer_tables(answer: Timers, request: TimersRequest) -> Iterator[AnswerTable[Any]]:
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
