"""What happened in each row of the timeline over a span: what ran, for how long, how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import sums
from benchvise.trace.analysis.model import Analysis, Ints, Waited
from benchvise.trace.analysis.occupancy import clipped, own_time

_FOREMOST = 3
_STATES = 5
_CPU_BITS = 17
"""Of a key that has an actor and a CPU: a handler has a row for each."""


@dataclass(frozen=True, slots=True)
class RowShare:
    """An actor on a CPU: ns for which it ran there in the span."""

    actor: int
    ran: int


@dataclass(frozen=True, slots=True)
class CpuSums:
    """A CPU over the span.

    ``ran`` is ns that were not idle, ``activations`` those that began there; ``foremost`` are the
    actors that ran most, ``others`` how many ran besides.
    """

    cpu: int
    ran: int
    activations: int
    foremost: tuple[RowShare, ...]
    others: int


@dataclass(frozen=True, slots=True)
class ActorSums:
    """A thread, or a handler on one CPU (``cpu``), over the span; times in ns.

    ``ran`` is without nested interrupts. ``longest`` is the most of one piece on a CPU, as far as
    it lies in the span, and ``longest_at`` when that began. A thread was ``runnable`` after a
    wake-up, ``preempted``, ``uninterruptible``, or ``sleeping`` (any other wait). All are None of
    handlers, which do not wait so.
    """

    actor: int
    cpu: int | None
    ran: int
    activations: int
    longest: int
    longest_at: int | None
    runnable: int | None
    preempted: int | None
    uninterruptible: int | None
    sleeping: int | None


@dataclass(frozen=True, slots=True)
class AreaSums:
    """All rows in which anything happened; the actors that ran most first."""

    cpus: tuple[CpuSums, ...]
    actors: tuple[ActorSums, ...]


def area(analysis: Analysis) -> AreaSums:
    """The sums of the analysis' span."""
    part = analysis.sliced()
    own = own_time(part)
    return AreaSums(
        tuple(_cpu(part, cpu, own) for cpu in part.cpus), tuple(_actors(analysis, part, own))
    )


def _cpu(part: Analysis, cpu: int, own: Ints) -> CpuSums:
    rows, instances = part.fragments, part.instances
    here = (rows["cpu"] == cpu) & ~part.of_kind("idle")[rows["actor"]] & (own > 0)
    actors, member = np.unique(rows["actor"][here], return_inverse=True)
    ran = sums(member, own[here], actors.size)
    order = np.argsort(-ran, kind="stable")[:_FOREMOST]
    began = (instances["cpu"] == cpu) & part.span.holds(instances["begin"])
    began &= ~part.of_kind("idle")[instances["actor"]]
    return CpuSums(
        cpu,
        int(ran.sum()),
        int(began.sum()),
        tuple(RowShare(int(actors[at]), int(ran[at])) for at in order),
        max(0, int(actors.size) - _FOREMOST),
    )


def _actors(analysis: Analysis, part: Analysis, own: Ints) -> list[ActorSums]:
    rows, instances, waits = part.fragments, part.instances, analysis.waits
    busy = ~part.of_kind("idle")[rows["actor"]] & (own > 0)
    keys = _keys(part, rows["actor"], rows["cpu"])
    began = np.flatnonzero(part.span.holds(instances["begin"]))
    began_keys = _keys(part, instances["actor"][began], instances["cpu"][began])
    first, last = clipped(waits["begin"], waits["end"], part.span)
    waited = np.flatnonzero(last > first)
    tasks = part.of_kind("task")[waits["actor"][waited]]
    waited = waited[tasks]
    wait_keys = _keys(part, waits["actor"][waited], waits["cpu"][waited])
    every = np.unique(np.concatenate([keys[busy], wait_keys, began_keys]))
    every = every[~part.of_kind("idle")[every >> _CPU_BITS]]
    if every.size == 0:
        return []
    mine, pieces = np.searchsorted(every, keys[busy]), np.flatnonzero(busy)
    ran = sums(mine, own[busy], every.size)
    known = np.isin(began_keys, every)
    counts = np.bincount(np.searchsorted(every, began_keys[known]), minlength=every.size)
    longest = _longest(mine, own[pieces], every.size)
    state = np.minimum(waits["state"][waited], _STATES - 1)
    times = sums(
        np.searchsorted(every, wait_keys) * _STATES + state,
        (last - first)[waited],
        every.size * _STATES,
    ).reshape(every.size, _STATES)
    described = []
    for at in np.argsort(-ran, kind="stable").tolist():
        actor, cpu = int(every[at]) >> _CPU_BITS, (int(every[at]) & ((1 << _CPU_BITS) - 1)) - 1
        piece = None if longest[at] < 0 else int(pieces[longest[at]])
        of_task = cpu < 0
        slept = int(times[at].sum() - times[at][[Waited.WOKEN, Waited.PREEMPTED]].sum())
        stuck = int(times[at][Waited.UNINTERRUPTIBLE])
        described.append(
            ActorSums(
                actor=actor,
                cpu=None if of_task else cpu,
                ran=int(ran[at]),
                activations=int(counts[at]),
                longest=0 if piece is None else int(own[piece]),
                longest_at=None
                if piece is None
                else max(int(rows["begin"][piece]), part.span.begin),
                runnable=int(times[at][Waited.WOKEN]) if of_task else None,
                preempted=int(times[at][Waited.PREEMPTED]) if of_task else None,
                uninterruptible=stuck if of_task else None,
                sleeping=slept - stuck if of_task else None,
            )
        )
    return described


def _keys(part: Analysis, actor: Ints, cpu: Ints) -> Ints:
    """One number for each row of the timeline: the actor, and of a handler the CPU too."""
    handler = part.of_kind("irq", "softirq")[actor]
    keys: Ints = (actor << _CPU_BITS) | np.where(handler, cpu + 1, 0)
    return keys


def _longest(group: Ints, values: Ints, count: int) -> Ints:
    """The place of the largest value of each group, -1 of those without any."""
    at: Ints = np.full(count, -1, dtype=np.int64)
    order = np.lexsort((values, group))
    at[group[order]] = order  # the last of a group, which is the largest, stays
    return at
