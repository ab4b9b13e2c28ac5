"""What the scheduler did to each task: its waits for a CPU, preemptions, moves, and wake-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.trace.analysis.actors import Instance, describe, latency
from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    by_number,
    distribution,
    numbered,
    sums,
)
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Bools, Ended, Ints, Waited
from benchvise.trace.analysis.names import Grouping


@dataclass(frozen=True, slots=True)
class TaskScheduling:
    """A task, or all of a name, over the span. Times in ns.

    ``run_queue`` is each wait for a CPU, be it after a wake-up (``after_wakeup``) or after a
    preemption (``after_preemption``); ``time_slice`` each stretch on a CPU until the next switch,
    with the interrupts nested in it. ``blocked`` is the total time in interruptible sleep,
    ``uninterruptible`` that in uninterruptible sleep, most often for storage or a lock.
    ``longest_wait_at`` is when the longest wait for a CPU began.
    """

    actor: str
    actors: int
    run_queue: TimeDistribution | None
    after_wakeup: TimeDistribution | None
    after_preemption: TimeDistribution | None
    time_slice: TimeDistribution | None
    switches: int
    preemptions: int
    yields: int
    migrations: int
    blocked: int
    uninterruptible: int
    longest_wait_at: int | None


def scheduling(
    analysis: Analysis, chosen: Sequence[Actor], *, by_name: bool = False
) -> list[TaskScheduling]:
    """The chosen tasks that ran or waited in the span; who waited longest for a CPU stands first.

    Waits and time slices count when they end in the span; incomplete ones are left out.
    """
    tasks = [actor for actor in chosen if actor.kind == "task"]
    grouping = Grouping(analysis.actors, tasks, by_name=by_name)
    waits, count = analysis.waits, len(grouping)
    group = grouping.of_actor[waits["actor"]]
    kept = np.flatnonzero((group >= 0) & (waits["flags"] == 0) & analysis.span.holds(waits["end"]))
    group, state = group[kept], waits["state"][kept]
    begin = waits["begin"][kept]
    time = waits["end"][kept] - begin
    by_group = Groups(group, count)
    after_preemption = state == Waited.PREEMPTED
    runnable = (state == Waited.WOKEN) | after_preemption
    # Sorted once for all three: the last bit says after what they waited.
    queued = by_group.sorted(np.where(runnable, time * 2 + after_preemption, NONE))
    longest = by_group.largest(np.where(runnable, time, NONE))
    blocked = sums(group, time * (state == Waited.INTERRUPTIBLE), count)
    held = sums(group, time * (state == Waited.UNINTERRUPTIBLE), count)
    waiting = sums(group, time * runnable, count)
    on_cpu = _Slices(analysis, grouping)
    described = []
    for at in np.lexsort((-on_cpu.switches, -waiting)):
        if by_group.sizes[at] == 0 and on_cpu.switches[at] == 0:
            continue
        waits_for_cpu, preempted = queued[at] >> 1, (queued[at] & 1) != 0
        described.append(
            TaskScheduling(
                actor=grouping.labels[at],
                actors=len(grouping.members[at]),
                run_queue=distribution(waits_for_cpu),
                after_wakeup=distribution(waits_for_cpu[~preempted]),
                after_preemption=distribution(waits_for_cpu[preempted]),
                time_slice=on_cpu.slices[at],
                switches=int(on_cpu.switches[at]),
                preemptions=int(on_cpu.preemptions[at]),
                yields=int(on_cpu.yields[at]),
                migrations=int(on_cpu.migrations[at]),
                blocked=int(blocked[at]),
                uninterruptible=int(held[at]),
                longest_wait_at=int(begin[longest[at]]) if waits_for_cpu.size else None,
            )
        )
    return described


class _Slices:
    """The stretches of tasks on CPUs that ended in the span by a switch."""

    def __init__(self, analysis: Analysis, grouping: Grouping) -> None:
        rows, count = analysis.fragments, len(grouping)
        group = grouping.of_actor[rows["actor"]]
        ended = (group >= 0) & (rows["why"] != Ended.CUT) & analysis.span.holds(rows["end"])
        kept = np.flatnonzero(ended & (rows["begin"] > analysis.whole.begin))
        groups = Groups(group[kept], count)
        slices = groups.sorted((rows["end"] - rows["begin"])[kept])
        self.slices = [distribution(values) for values in slices]
        self.switches = np.bincount(group[ended], minlength=count)
        why = rows["why"]
        self.preemptions = np.bincount(group[ended & (why == Ended.PREEMPTED)], minlength=count)
        self.yields = np.bincount(group[ended & (why == Ended.YIELDED)], minlength=count)
        moved = _moved(analysis, ended)
        self.migrations = np.bincount(group[moved], minlength=count)


def _moved(analysis: Analysis, ended: Bools) -> Bools:
    """Which fragments are on another CPU than the same actor's fragment before."""
    rows = analysis.fragments
    order = by_number(rows["actor"], len(analysis.actors))
    actor, begin = rows["actor"][order], rows["begin"][order]
    same = actor[1:] == actor[:-1]
    if (same & (begin[1:] < begin[:-1])).any():  # beside a loss
        order = np.lexsort((rows["begin"], rows["actor"]))
    cpu = rows["cpu"][order]
    moved = np.zeros(len(rows), dtype=np.bool_)
    moved[order[1:]] = same & (cpu[1:] != cpu[:-1])
    both: Bools = moved & ended
    return both


# -- who wakes whom, and how long the woken wait until they run ------------------------------------

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Waking:
    """One waker and one woken, or all wakers of one woken (``by`` is then empty).

    ``latency`` is from the wake-up to the first moment on a CPU; ``other_cpu`` counts those that
    began to run on another CPU than the one that woke them.
    """

    woken: str
    by: str
    count: int
    incomplete: int = field(metadata=in_json(name="unsure"))
    latency: TimeDistribution | None
    other_cpu: int
    worst: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Wakeups:
    """Per woken task, and per pair of waker and woken; the most frequent first."""

    tasks: tuple[Waking, ...]
    pairs: tuple[Waking, ...]


def wakeups(
    analysis: Analysis, chosen: Sequence[Actor], *, by_name: bool = False, incomplete: bool = False
) -> Wakeups:
    """The wake-ups of the chosen tasks whose instances begin in the span.

    Of an instance that the end of the trace cuts, the latency is known all the same.
    """
    rows = analysis.instances
    tasks = [actor for actor in chosen if actor.kind == "task"]
    woken = Grouping(analysis.actors, tasks, by_name=by_name)
    wakers = Grouping(analysis.actors, analysis.actors, by_name=by_name)
    group = woken.of_actor[rows["actor"]]
    began = (rows["ready"] != NONE) & analysis.span.holds(rows["begin"])
    kept = np.flatnonzero((group >= 0) & began)
    cause = rows["cause"][kept]
    by = np.where(cause == NONE, -1, wakers.of_actor[rows["actor"][np.maximum(cause, 0)]])
    away = (cause != NONE) & (rows["cpu"][np.maximum(cause, 0)] != rows["cpu"][kept])
    values = latency(analysis)
    if not incomplete:
        values = np.where(analysis.begun, values, NONE)
    parts = _Parts(analysis, kept, values, away)
    pair = group[kept] * (len(wakers) + 1) + by + 1
    numbers, pairs = numbered(pair)
    labels = [*wakers.labels, UNKNOWN]  # -1 is the last
    return Wakeups(
        tasks=tuple(parts.wakings(group[kept], [(name, "") for name in woken.labels])),
        pairs=tuple(
            parts.wakings(
                pairs,
                [
                    (woken.labels[n // (len(wakers) + 1)], labels[n % (len(wakers) + 1) - 1])
                    for n in numbers
                ],
            )
        ),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    analysis: Analysis
    kept: Ints
    values: Ints
    away: Bools

    def wakings(self, group: Ints, names: list[tuple[str, str]]) -> list[Waking]:
        groups = Groups(group, len(names))
        ordered = groups.sorted(self.values[self.kept])
        away = np.bincount(group[self.away], minlength=len(names))
        incomplete = np.bincount(group[~self.analysis.begun[self.kept]], minlength=len(names))
        filled = [at for at in np.argsort(-groups.sizes, kind="stable") if groups.sizes[at]]
        longest = self.kept[groups.largest(self.values[self.kept])[filled]]
        described = []
        for at, worst in zip(filled, describe(self.analysis, longest), strict=True):
            described.append(
                Waking(
                    woken=names[at][0],
                    by=names[at][1],
                    count=int(groups.sizes[at]),
                    incomplete=int(incomplete[at]),
                    latency=distribution(ordered[at]),
                    other_cpu=int(away[at]),
                    worst=(worst,) if self.values[worst.instance] != NONE else (),
                )
            )
        return described
