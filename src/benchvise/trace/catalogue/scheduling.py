"""The records of ``benchvise trace sched`` and ``wakeups``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    TOP,
    GroupedActors,
    IncompleteInstances,
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
    for_programs,
    incomplete_left_out,
    several,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.scheduling import TaskScheduling, Wakeups, Waking
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class SchedulingRequest(PartOfTrace, GroupedActors, ListedRows):
    """Which tasks are described."""

    top: Annotated[int | None, TOP] = 25


@dataclass(frozen=True, kw_only=True)
class WakeupsRequest(PartOfTrace, GroupedActors, IncompleteInstances, ListedRows):
    """Whose wake-ups are listed."""


_TASKS: TableShape[TaskScheduling] = TableShape(
    "tasks",
    "One line a task: its waits for a CPU, time slices, preemptions, migrations",
    "more tasks",
    (
        ColumnSpec("Task", ValueUnit.ACTOR, lambda task: task.actor + several(task.actors)),
        ColumnSpec(
            "Waits\nn", ValueUnit.COUNT, lambda task: task.run_queue.count if task.run_queue else 0
        ),
        *durations(
            "\n", lambda task: task.run_queue, "median", "p99", "p999", "maximum", strong=True
        ),
        ColumnSpec("Longest\nat", ValueUnit.MOMENT, lambda task: task.longest_wait_at),
        *durations("Slice", lambda task: task.time_slice, "median"),
        *for_programs(*durations("Slice", lambda task: task.time_slice, "maximum")),
        ColumnSpec("Switches", ValueUnit.COUNT, lambda task: task.switches),
        ColumnSpec("Pre-\nempted", ValueUnit.COUNT, lambda task: task.preemptions),
        ColumnSpec("Migra-\ntions", ValueUnit.COUNT, lambda task: task.migrations),
    ),
)


def _schedule(traces: Sequence[LoadedTrace], request: SchedulingRequest) -> list[TaskScheduling]:
    from benchvise.trace.analysis.scheduling import scheduling

    [trace] = traces
    return scheduling(trace.analysis, request.actors_of(trace), by_name=request.by_name)


def _task_tables(
    answer: list[TaskScheduling], request: SchedulingRequest
) -> Iterator[TableSpec[TaskScheduling]]:
    yield _TASKS.filled(
        f"{len(answer)} tasks, who waited longest first",
        answer,
        "waits: for a CPU, after a wake-up or a preemption; slice: on a CPU until the next switch, "
        "with the interrupts nested in it",
        top=request.top,
    )


SCHED = TraceAnalysis(
    name="sched",
    kind="trace-sched",
    summary="List what the scheduler did: waits for a CPU, time slices, preemptions, migrations.",
    example="sched trace.dat 'task:iperf*'",
    request=SchedulingRequest,
    shapes=(_TASKS,),
    analyse=_schedule,
    tables=_task_tables,
)


def _waking_columns(*waker: ColumnSpec[Waking]) -> tuple[ColumnSpec[Waking], ...]:
    return (
        ColumnSpec("Woken", ValueUnit.ACTOR, lambda waking: waking.woken),
        *waker,
        ColumnSpec("n", ValueUnit.COUNT, lambda waking: waking.count),
        *durations(
            "Latency",
            lambda waking: waking.latency,
            *("median", "p95", "p99", "p999", "maximum"),
            strong=True,
        ),
        ColumnSpec(
            "Longest\nat",
            ValueUnit.MOMENT,
            lambda waking: waking.worst[0].ready if waking.worst else None,
        ),
        ColumnSpec("Other\nCPU", ValueUnit.COUNT, lambda waking: waking.other_cpu),
    )


_WOKEN = TableShape("tasks", "Wake-ups of each task, by whomever", "more lines", _waking_columns())
_PAIRS = TableShape(
    "pairs",
    "Wake-ups of each task by each waker",
    "more lines",
    _waking_columns(ColumnSpec("By", ValueUnit.ACTOR, lambda waking: waking.by)),
)


def _wake(traces: Sequence[LoadedTrace], request: WakeupsRequest) -> Wakeups:
    from benchvise.trace.analysis.scheduling import wakeups

    [trace] = traces
    return wakeups(
        trace.analysis,
        request.actors_of(trace),
        by_name=request.by_name,
        incomplete=request.incomplete,
    )


def _waking_tables(answer: Wakeups, request: WakeupsRequest) -> Iterator[TableSpec[Waking]]:
    incomplete = incomplete_left_out(sum(waking.incomplete for waking in answer.tasks))
    yield _WOKEN.filled("Wake-ups by task", answer.tasks, *incomplete, top=request.top)
    yield _PAIRS.filled("Who wakes whom", answer.pairs, top=request.top)


WAKEUPS = TraceAnalysis(
    name="wakeups",
    kind="trace-wakeups",
    summary="List who wakes whom, and how long the woken wait until they run.",
    example="wakeups trace.dat task:iperf3 --by-name",
    request=WakeupsRequest,
    shapes=(_WOKEN, _PAIRS),
    analyse=_wake,
    tables=_waking_tables,
)
