"""Instances of actors, scheduling, wake-ups, system calls, requests and timers as tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchvise.quantities import format_value
from benchvise.report import trace_cells as cells
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import clean
from benchvise.trace.analysis.actors import ActorFigures, Instance
from benchvise.trace.analysis.block import Requests
from benchvise.trace.analysis.scheduling import TaskScheduling
from benchvise.trace.analysis.syscalls import Call, Calls
from benchvise.trace.analysis.timers import Timers
from benchvise.trace.analysis.wakeups import Wakeups, Waking

Remarks = Sequence[str]


def _right(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, right=True) for name in names)


def _more(found: Sequence[object], top: int, what: str) -> list[str]:
    left = len(found) - top
    return [f"not listed: {left} more {what} (--top {len(found)})"] if left > 0 else []


def _several(actors: int) -> str:
    return f" ({actors})" if actors > 1 else ""


# -- instances -------------------------------------------------------------------------------------


def actor_rows(found: Sequence[ActorFigures], top: int, remarks: Remarks) -> Table:
    """One line an actor: how often, how long, how late, how regular."""
    columns = (
        Column("Actor"),
        *_right("Instances", "Execution\nmedian", "\np99", "\nmax"),
        *_right("Response\nmedian", "\np99", "\nmax", "Latency\nmedian", "\np99"),
        *_right("Period\nmedian"),
    )
    rows = tuple(
        (
            cells.name(one.actor + _several(one.actors)),
            cells.count(one.instances),
            cells.figure(one.execution, "median", strong=True),
            cells.figure(one.execution, "p99"),
            cells.figure(one.execution, "maximum"),
            cells.figure(one.response, "median", strong=True),
            cells.figure(one.response, "p99"),
            cells.figure(one.response, "maximum"),
            cells.figure(one.latency, "median", strong=True),
            cells.figure(one.latency, "p99"),
            cells.figure(one.period, "median"),
        )
        for one in found[:top]
    )
    unsure = sum(one.unsure for one in found)
    told = [
        *remarks,
        *_more(found, top, "actors"),
        *([_unsure(unsure)] if unsure else []),
        "execution: on a CPU, without nested interrupts; response: from wake-up to the end; "
        "latency: from wake-up to the first moment on a CPU",
    ]
    return Table(f"{len(found)} actors, the busiest first", columns, rows, tuple(told))


def _unsure(count: int) -> str:
    return (
        f"{count} unsure instances left out: cut by an end of the trace, or active while events "
        "are missing (--unsure keeps them)"
    )


def actor_detail(one: ActorFigures, remarks: Remarks) -> Table:
    """One actor: every figure of its instances."""
    columns = (Column("Figure"), *_right("n", *cells.SPREAD))
    rows = [
        (Cell(name), cells.count(found.count if found else 0), *cells.spread(found))
        for name, found in (
            ("execution", one.execution),
            ("response", one.response),
            ("start latency", one.latency),
            ("period", one.period),
        )
    ]
    told = list(remarks)
    if one.fragments:
        told.append(
            f"fragments: median {one.fragments.median:g}, at most {one.fragments.maximum:g}; "
            f"{one.preemptions} preemptions, {one.migrations} migrations"
        )
    if one.unsure:
        told.append(_unsure(one.unsure))
    title = f"{clean(one.actor)}{_several(one.actors)}: {one.instances} instances"
    return Table(title, columns, tuple(rows), tuple(told))


def instance_rows(found: Sequence[Instance], title: str, remarks: Remarks = ()) -> Table:
    """Instances one by one."""
    columns = (
        Column("Actor"),
        *_right("CPU", "Woken at", "Runs at", "Ends at", "Execution", "Response", "Latency"),
        *_right("Period", "Parts"),
        Column("Woken by"),
    )
    rows = tuple(
        (
            cells.name(one.actor),
            Cell(str(one.cpu)),
            cells.moment(one.ready),
            cells.moment(one.begin),
            cells.moment(one.end),
            cells.duration(one.execution),
            cells.duration(one.response),
            cells.duration(one.latency),
            cells.duration(one.period),
            cells.count(one.fragments),
            Cell(clean(", ".join(one.unsure), 80), "doubt")
            if one.unsure
            else Cell(clean(one.cause or ""), "muted"),
        )
        for one in found
    )
    return Table(title, columns, rows, tuple(remarks))


# -- scheduling, wake-ups --------------------------------------------------------------------------


def scheduling_rows(found: Sequence[TaskScheduling], top: int, remarks: Remarks) -> Table:
    """One line a task: its waits for a CPU, time slices, preemptions, migrations."""
    columns = (
        Column("Task"),
        *_right("Waits\nn", "\nmedian", "\np99", "\nmax", "Longest\nat", "Slice\nmedian", "\nmax"),
        *_right("Switches", "Pre-\nempted", "Migra-\ntions"),
    )
    rows = tuple(
        (
            cells.name(one.actor + _several(one.actors)),
            cells.count(one.run_queue.count if one.run_queue else 0),
            cells.figure(one.run_queue, "median", strong=True),
            cells.figure(one.run_queue, "p99"),
            cells.figure(one.run_queue, "maximum"),
            cells.moment(one.longest_wait_at),
            cells.figure(one.time_slice, "median"),
            cells.figure(one.time_slice, "maximum"),
            cells.count(one.switches),
            cells.count(one.preemptions),
            cells.count(one.migrations),
        )
        for one in found[:top]
    )
    told = (
        *remarks,
        *_more(found, top, "tasks"),
        "waits: for a CPU, after a wake-up or a preemption; slice: on a CPU until the next switch, "
        "with the interrupts nested in it",
    )
    return Table(f"{len(found)} tasks, who waited longest first", columns, rows, told)


def wakeup_rows(found: Wakeups, top: int, remarks: Remarks) -> list[Table]:
    """Wake-ups by task, then by waker and woken."""
    tasks = _waking_table("Wake-ups by task", found.tasks, top, remarks, pairs=False)
    return [tasks, _waking_table("Who wakes whom", found.pairs, top, (), pairs=True)]


def _waking_table(
    title: str, found: Sequence[Waking], top: int, remarks: Remarks, *, pairs: bool
) -> Table:
    columns = (
        Column("Woken"),
        *((Column("By"),) if pairs else ()),
        *_right("n", "Latency\nmedian", "\np95", "\np99", "\nmax", "Longest\nat", "Other\nCPU"),
    )
    rows = tuple(
        (
            cells.name(one.woken),
            *((cells.name(one.by),) if pairs else ()),
            cells.count(one.count),
            cells.figure(one.latency, "median", strong=True),
            cells.figure(one.latency, "p95"),
            cells.figure(one.latency, "p99"),
            cells.figure(one.latency, "maximum"),
            cells.moment(one.worst[0].ready if one.worst else None),
            cells.count(one.other_cpu),
        )
        for one in found[:top]
    )
    told = [*remarks, *_more(found, top, "lines")]
    unsure = sum(one.unsure for one in found)
    if unsure and not pairs:
        told.append(_unsure(unsure))
    return Table(title, columns, rows, tuple(told))


# -- system calls, requests, timers ----------------------------------------------------------------


def syscall_rows(found: Calls, top: int, remarks: Remarks) -> list[Table]:
    """System calls by call, then by call and actor."""
    return [
        _call_table("System calls, most time first", found.calls, top, remarks, actors=False),
        _call_table("By call and actor", found.by_actor, top, _left(found, top), actors=True),
    ]


def _left(found: Calls, top: int) -> list[str]:
    left = found.pairs - top
    return [f"not listed: {left} more lines (--top {found.pairs})"] if left > 0 else []


def _call_table(
    title: str, found: Sequence[Call], top: int, remarks: Remarks, *, actors: bool
) -> Table:
    columns = (
        Column("Call"),
        *((Column("Actor"),) if actors else ()),
        *_right("n", "Errors", "Median", "p95", "p99", "Max", "Longest at", "In all"),
        *(() if actors else (Column("Longest by"),)),
    )
    rows = tuple(
        (
            Cell(clean(one.name)),
            *((cells.name(one.actor),) if actors else ()),
            cells.count(one.count),
            cells.count(one.errors),
            cells.figure(one.latency, "median", strong=True),
            cells.figure(one.latency, "p95"),
            cells.figure(one.latency, "p99"),
            cells.figure(one.latency, "maximum"),
            cells.moment(one.worst_at),
            cells.figure(one.latency, "total"),
            *(() if actors else (Cell(clean(one.worst_actor), "muted"),)),
        )
        for one in found[:top]
    )
    told = [*remarks, *([] if actors else _more(found, top, "calls"))]
    unfinished = sum(one.unfinished for one in found)
    if unfinished and not actors:
        told.append(f"without an exit in the trace: {unfinished} calls, not in the figures")
    return Table(title, columns, rows, tuple(told))


def block_rows(found: Sequence[Requests], remarks: Remarks) -> Table:
    """Requests by device and kind: in the queue, in the device, in all."""
    columns = (
        Column("Device"),
        Column("Kind", right=True),
        *_right("n", "Queue\nmedian", "\np99", "Device\nmedian", "\np99", "\nmax"),
        *_right("In all\np99", "Longest\nat", "Bytes", "Rate"),
    )
    rows = tuple(
        (
            Cell(one.device),
            Cell(clean(one.kind)),
            cells.count(one.count),
            cells.figure(one.queue, "median"),
            cells.figure(one.queue, "p99"),
            cells.figure(one.service, "median", strong=True),
            cells.figure(one.service, "p99"),
            cells.figure(one.service, "maximum"),
            cells.figure(one.total, "p99"),
            cells.moment(one.worst_at),
            Cell(format_value(one.bytes, "B")),
            Cell(format_value(one.rate, "B/s")),
        )
        for one in found
    )
    told = list(remarks)
    unfinished = sum(one.unfinished for one in found)
    if unfinished:
        told.append(f"not completed in the trace: {unfinished} requests, not in the figures")
    told.append(
        "kind: R read, W write, D discard, F flush, then S synchronous, M metadata, A read-ahead"
    )
    return Table("Requests by device (major:minor) and kind", columns, rows, tuple(told))


def timer_rows(found: Timers, top: int, remarks: Remarks) -> list[Table]:
    """Timers by function, then tick-less periods by CPU."""
    columns = (
        Column("Function"),
        Column("Kind"),
        *_right("Timers", "Runs", "Late\nmedian", "\np99", "\nmax", "Latest\nat"),
        *_right("Function\nmedian", "\nmax", "Period\nmedian"),
    )
    rows = tuple(
        (
            Cell(clean(one.function)),
            Cell(clean(one.kind), "muted"),
            cells.count(one.timers),
            cells.count(one.count),
            *(_late(one.lateness, one.late_jiffies, name) for name in ("median", "p99", "maximum")),
            cells.moment(one.latest_at),
            cells.figure(one.execution, "median"),
            cells.figure(one.execution, "maximum"),
            cells.figure(one.period, "median"),
        )
        for one in found.timers[:top]
    )
    told = (*remarks, *_more(found.timers, top, "functions"))
    timers = Table("Timers, the most frequent first", columns, rows, told)
    cpu_columns = _right("CPU", "Periods", "Share", "Median", "p99", "Max", "Longest at")
    cpus = tuple(
        (
            Cell(str(one.cpu)),
            cells.count(one.count),
            cells.share(one.share),
            cells.figure(one.length, "median", strong=True),
            cells.figure(one.length, "p99"),
            cells.figure(one.length, "maximum"),
            cells.moment(one.longest_at),
        )
        for one in found.tickless
    )
    none = () if cpus else ("none: no tick_stop in the trace, or no CPU stopped its tick",)
    return [timers, Table("Periods without tick", cpu_columns, cpus, none)]


def _late(nanoseconds: object, jiffies: object, name: str) -> Cell:
    if nanoseconds is not None:
        return Cell(format_value(getattr(nanoseconds, name), "ns"))
    if jiffies is not None:
        return Cell(f"{getattr(jiffies, name):g} jiffies")
    return cells.NOTHING
