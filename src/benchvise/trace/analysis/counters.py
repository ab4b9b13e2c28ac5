"""Values that hold until they change: fields of events, how many threads a CPU has to run, and the
memory that programs have allocated (``heap``).

A field's value holds from its event until the next event of the same type (of the same CPU, where
the event names one in ``cpu_id``, as ``cpu_frequency`` does). A CPU's run queue are the thread that
runs and those that wait for the CPU, which is what the load average counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchvise.errors import UsageError
from benchvise.trace.analysis.heap import has_heap, heap_processes, heap_steps
from benchvise.trace.analysis.idle import EVENTS
from benchvise.trace.analysis.model import (
    Analysis,
    Bools,
    Flag,
    Floats,
    Ints,
    Loss,
    Rows,
    Waited,
)

if TYPE_CHECKING:
    from benchvise.trace.native import Column, Table

RUN_QUEUE = "run-queue"

HEAP = "heap"
"""Of one process of several: ``heap.PROCESS``."""

USUAL = ("cpu_frequency.state", "power_cpu_frequency.state")
"""Counters that are shown without being named, where the trace has them; LTTng's name is the
second."""

_CPU = "cpu_id"

_LEFT_IDLE = (1 << 32) - 1
"""The state that an event of ``idle.EVENTS`` names when a CPU leaves idle: here -1."""

_EVER = np.iinfo(np.int64).min
"""Before all times."""


@dataclass(frozen=True, slots=True)
class CounterSteps:
    """The values of a counter in order of time: each holds from ``time`` to before ``until``, in ns
    of the trace's clock, and is not known between that and the next."""

    name: str
    cpu: int | None
    time: Ints
    value: Ints | Floats
    until: Ints


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter over the span; ``cpu`` is None where its event names no CPU.

    ``changes`` counts its new values in the span. ``mean`` weighs each value by the time for which
    it held; ``known`` is the share of the span in which the value is known: not before the first
    event, not from lost events until the next, and not while a fraction is no finite number.
    ``minimum`` and ``maximum`` are whole where the field is. ``minimum_at`` and ``maximum_at`` are
    moments of the trace's clock in ns.
    """

    name: str
    cpu: int | None
    changes: int
    minimum: int | float
    mean: float
    maximum: int | float
    minimum_at: int
    maximum_at: int
    known: float


def counters(analysis: Analysis, names: Sequence[str] = ()) -> list[Counter]:
    """The counters of these names: ``EVENT.FIELD``, ``run-queue`` or ``heap``; the usual ones for
    none.

    Raises:
        UsageError: the trace has no such event, or the event no such field of numbers.
    """
    usual = [RUN_QUEUE, *(name for name in USUAL if _has_event(analysis, name))]
    usual += [HEAP] if has_heap(analysis) else []
    return [
        counter
        for name in dict.fromkeys(names or usual)
        for steps in counter_steps(analysis, name)
        for counter in _summary(analysis, steps)
    ]


def counter_steps(analysis: Analysis, name: str) -> list[CounterSteps]:
    """The values of a counter over the whole trace, of each CPU where it has one for each.

    Raises:
        UsageError: as ``counters`` does.
    """
    if name == RUN_QUEUE:
        return list(_run_queues(analysis))
    if is_heap(name) and has_heap(analysis):
        return list(_heaps(analysis, name))
    return list(_fields(analysis, name))


def is_heap(name: str) -> bool:
    """Whether a counter is the memory of one process, or of all."""
    return name == HEAP or (name.startswith(f"{HEAP}.") and name[len(HEAP) + 1 :].isdigit())


def counter_names(analysis: Analysis) -> list[str]:
    """All counters that the trace has: fields of numbers of events that occurred."""
    names = [RUN_QUEUE] if analysis.cpus else []
    processes = heap_processes(analysis) if has_heap(analysis) else []
    names += [HEAP] if len(processes) == 1 else [f"{HEAP}.{process}" for process in processes]
    for event in analysis.event_names:
        table = analysis.events(event)
        if table is not None and table.num_rows:
            names += [f"{event}.{field}" for field in _numbers(table)]
    return names


def _has_event(analysis: Analysis, name: str) -> bool:
    return name.partition(".")[0] in analysis.event_names


def _numbers(table: Table) -> list[str]:
    return [
        name
        for name in table.column_names
        if name not in ("time", "cpu") and table.column(name).kind in ("integer", "fraction")
    ]


def _fields(analysis: Analysis, name: str) -> Iterator[CounterSteps]:
    event, _, field = name.partition(".")
    table = analysis.events(event)
    if table is None:
        raise UsageError(
            f"the trace has no event {event[:80]}",
            f"name a counter as EVENT.FIELD, or {RUN_QUEUE}; trace info lists the events",
        )
    numbers = _numbers(table)
    if field not in numbers:
        raise UsageError(
            f"{event[:80]} has no field {field[:80]} of numbers",
            f"it has {', '.join(numbers[:20]) or 'none'}",
        )
    table = table.filter(table.column(field).is_valid())
    time = table.column("time").integers()
    order = np.argsort(time, kind="stable")  # a table has the events of one CPU after another's
    time, value = time[order], _values(table.column(field))[order]
    if event in EVENTS and field == "state":
        value = np.where(value == _LEFT_IDLE, -1, value)
    if not _names_cpu(table) or field == _CPU:
        yield from _steps(analysis, name, None, time, value)
        return
    cpus = Rows(table)[_CPU][order]
    for cpu in np.unique(cpus).tolist():
        here = cpus == cpu
        yield from _steps(analysis, name, int(cpu), time[here], value[here])


def _names_cpu(table: Table) -> bool:
    return _CPU in table.column_names and table.column(_CPU).kind == "integer"


def _values(column: Column) -> Ints | Floats:
    """A column without nulls: whole numbers as they are, fractions of any size as doubles."""
    if column.kind == "integer":
        return column.integers()
    fractions: Floats = column.values().astype(np.float64)
    return fractions


def _heaps(analysis: Analysis, name: str) -> Iterator[CounterSteps]:
    """The memory of the process that the name has, or of each."""
    heaps = list(heap_steps(analysis))
    for steps in heaps:
        own = HEAP if len(heaps) == 1 else f"{HEAP}.{steps.process}"
        if name in (HEAP, own, f"{HEAP}.{steps.process}"):
            until = np.append(steps.time[1:], steps.until)
            yield CounterSteps(own, None, steps.time, steps.allocated, until)


def _run_queues(analysis: Analysis) -> Iterator[CounterSteps]:
    waits, fragments = analysis.waits, analysis.fragments
    queued = (waits["state"] == Waited.WOKEN) | (waits["state"] == Waited.PREEMPTED)
    running = analysis.of_kind("task")[fragments["actor"]]
    for cpu in analysis.cpus:
        empty = _empty(analysis, cpu)
        waiting, runs = queued & (waits["cpu"] == cpu), running & (fragments["cpu"] == cpu)
        begin, end = waits["begin"][waiting], waits["end"][waiting]
        # Who goes on waiting when the CPU has nobody to run was moved to another.
        end = np.minimum(end, _next(empty, begin))
        begin = np.concatenate([begin, fragments["begin"][runs]])
        end = np.concatenate([end, fragments["end"][runs]])
        time, at = np.unique(np.concatenate([begin, end]), return_inverse=True)
        step = np.concatenate([np.ones(begin.size), -np.ones(end.size)])
        change = np.bincount(at, weights=step, minlength=time.size)
        if time.size:
            count = np.cumsum(change).astype(np.int64)
            yield _outside(analysis, cpu, time, count, _doubtful(analysis, cpu, waiting, empty))


def _empty(analysis: Analysis, cpu: int) -> Ints:
    """When a CPU was switched to its idle task: nobody waits for it then. Last, a time after the
    trace."""
    rows = analysis.fragments
    here = rows["cpu"] == cpu
    idle, task = (here & analysis.of_kind(kind)[rows["actor"]] for kind in ("idle", "task"))
    switched = np.intersect1d(rows["begin"][idle], rows["end"][task])
    return np.append(switched, analysis.whole.end + 1)


def _next(times: Ints, after: Ints) -> Ints:
    """The next of the times after each, or the last."""
    at = np.searchsorted(times, after, side="right")
    following: Ints = times[np.minimum(at, times.size - 1)]
    return following


def _latest(times: Ints, until: Ints, other: int | Ints) -> Ints:
    """The latest of the times until each; ``other`` where there is none."""
    at = np.searchsorted(times, until, side="right") - 1
    latest: Ints = np.where(at < 0, other, np.append(times, 0)[at])
    return latest


def _doubtful(analysis: Analysis, cpu: int, waiting: Bools, empty: Ints) -> tuple[Ints, Ints]:
    """Begins and ends of the spans in which it is not known who waits for a CPU.

    Who was woken in a loss, on any CPU, may wait here, unseen until it runs: until nobody does.
    """
    rows, waits = analysis.fragments, analysis.waits
    losses = [_bounds(analysis, loss) for loss in analysis.losses]
    lost = np.array(losses, dtype=np.int64).reshape(-1, 2)
    # One that is said to wait may have run, or wait elsewhere; or since earlier, but not since
    # before the latest loss, or when nobody did.
    incomplete = waiting & (waits["flags"] & Flag.LOSS != 0)
    begin = waits["begin"][incomplete]
    since = np.maximum(_latest(empty, begin, _EVER), _latest(np.sort(lost[:, 0]), begin, begin))
    # Nor is it known who runs where nobody does.
    here = (rows["cpu"] == cpu) & analysis.of_kind("task", "idle")[rows["actor"]]
    order = np.argsort(rows["begin"][here], kind="stable")
    covered = np.maximum.accumulate(rows["end"][here][order])
    following = np.append(rows["begin"][here][order][1:], analysis.whole.end + 1)[: covered.size]
    return (
        np.concatenate([lost[:, 0], since, covered]),
        np.concatenate(
            [_next(empty, lost[:, 1]), waits["end"][incomplete], np.maximum(covered, following)]
        ),
    )


def _bounds(analysis: Analysis, loss: Loss) -> tuple[int, int]:
    """When a loss begins and ends; what ran at the first event may have begun before it."""
    return (
        _EVER if loss.begin is None else loss.begin,
        analysis.whole.end + 1 if loss.end is None else loss.end,
    )


def _outside(
    analysis: Analysis, cpu: int, time: Ints, value: Ints, doubtful: tuple[Ints, Ints]
) -> CounterSteps:
    """The run queue but for the spans that are in doubt, which may overlap."""
    begins, ends = (np.sort(side) for side in doubtful)
    begin = np.unique(np.concatenate([time, begins, ends]))
    begin = begin[begin >= time[0]]
    under_way = np.searchsorted(begins, begin, "right") - np.searchsorted(ends, begin, "right")
    until = np.append(begin[1:], analysis.whole.end + 1)
    is_known = under_way <= 0
    values = value[np.searchsorted(time, begin, "right") - 1]
    return CounterSteps(RUN_QUEUE, cpu, begin[is_known], values[is_known], until[is_known])


def _steps(
    analysis: Analysis, name: str, cpu: int | None, time: Ints, value: Ints | Floats
) -> Iterator[CounterSteps]:
    """How long each value holds; none where there is no value. ``time`` ascends."""
    if not np.isfinite(value).any():
        return
    until = np.append(time[1:], analysis.whole.end + 1)
    for loss in analysis.losses:
        if loss.cpu in (None, cpu) or cpu is None:
            begin, end = _bounds(analysis, loss)
            until = np.where((time <= begin) & (begin < until), begin, until)
            # Of another CPU's events in the loss, none is known to be the last.
            until = np.where((begin < time) & (time < end), time, until)
    # One that is no number ends the value before it: then it is not known.
    finite = np.isfinite(value)
    time, value, until = time[finite], value[finite], until[finite]
    yield CounterSteps(name, cpu, time, value, until)


def _summary(analysis: Analysis, steps: CounterSteps) -> Iterator[Counter]:
    """The counter over the span; none where no value is known in it."""
    time, value, until, span = steps.time, steps.value, steps.until, analysis.span
    first, last = np.clip(time, span.begin, span.end), np.clip(until, span.begin, span.end)
    held = last - first
    kept = np.flatnonzero(held > 0)
    if kept.size == 0:
        return
    values, total = value[kept], int(held[kept].sum())
    lowest, highest = kept[np.argmin(values)], kept[np.argmax(values)]
    yield Counter(
        name=steps.name,
        cpu=steps.cpu,
        changes=int(span.holds(time).sum()),
        minimum=value[lowest].item(),
        mean=float((values * (held[kept] / total)).sum()),
        maximum=value[highest].item(),
        minimum_at=int(first[lowest]),
        maximum_at=int(first[highest]),
        known=total / span.duration,
    )
