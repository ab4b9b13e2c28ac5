"""What the scheduler did to each task: how long it waited for a CPU, lost it, and moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import Groups, TimeDistribution, distribution, sums
from benchvise.trace.analysis.model import Actor, Analysis, Bools, Ended, Waited
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

    Waits and time slices count when they end in the span; those that the end of the trace cut are
    left out, as are those that reach back before the first event.
    """
    tasks = [actor for actor in chosen if actor.kind == "task"]
    grouping = Grouping(analysis.actors, tasks, by_name=by_name)
    waits, count = analysis.waits, len(grouping)
    group = grouping.of_actor[waits["actor"]]
    seen = (waits["begin"] > analysis.whole.begin) & (waits["end"] < analysis.whole.end)
    kept = np.flatnonzero((group >= 0) & seen & analysis.span.holds(waits["end"]))
    by_group = Groups(group[kept], count)
    time, state = (waits["end"] - waits["begin"])[kept], waits["state"][kept]

    def waited(*states: int) -> list[TimeDistribution | None]:
        chosen_rows = np.isin(state, states)
        part = Groups(group[kept][chosen_rows], count)
        return [distribution(values) for values in part.sorted(time[chosen_rows])]

    runnable = np.isin(state, (Waited.WOKEN, Waited.PREEMPTED))
    queued, woken = waited(Waited.WOKEN, Waited.PREEMPTED), waited(Waited.WOKEN)
    preempted = waited(Waited.PREEMPTED)
    blocked = sums(group[kept], time * (state == Waited.INTERRUPTIBLE), count)
    held = sums(group[kept], time * (state == Waited.UNINTERRUPTIBLE), count)
    on_cpu = _Slices(analysis, grouping)
    waiting = sums(group[kept], time * runnable, count)
    described = []
    for at in np.lexsort((-on_cpu.switches, -waiting)):
        if by_group.sizes[at] == 0 and on_cpu.switches[at] == 0:
            continue
        mine = by_group.rows(at)[runnable[by_group.rows(at)]]
        longest = kept[mine[np.argmax(time[mine])]] if mine.size else None
        described.append(
            TaskScheduling(
                actor=grouping.labels[at],
                actors=len(grouping.members[at]),
                run_queue=queued[at],
                after_wakeup=woken[at],
                after_preemption=preempted[at],
                time_slice=on_cpu.slices[at],
                switches=int(on_cpu.switches[at]),
                preemptions=int(on_cpu.preemptions[at]),
                yields=int(on_cpu.yields[at]),
                migrations=int(on_cpu.migrations[at]),
                blocked=int(blocked[at]),
                uninterruptible=int(held[at]),
                longest_wait_at=None if longest is None else int(waits["begin"][longest]),
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
    order = np.lexsort((rows["begin"], rows["actor"]))
    actor, cpu = rows["actor"][order], rows["cpu"][order]
    moved = np.zeros(len(rows), dtype=np.bool_)
    moved[order[1:]] = (actor[1:] == actor[:-1]) & (cpu[1:] != cpu[:-1])
    both: Bools = moved & ended
    return both
