"""Idle states of CPUs: how often each was entered, and how long it lasted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import TimeDistribution, distribution
from benchvise.trace.analysis.model import Analysis, Bools, Ints, Rows
from benchvise.trace.analysis.occupancy import clipped

EVENTS = ("cpu_idle", "power_cpu_idle")
"""The kernel's event, and LTTng's name of it."""

_LEFT = (1 << 32) - 1
"""The state that an event names when a CPU leaves idle."""


@dataclass(frozen=True, slots=True)
class IdleState:
    """One idle state of one CPU. Times in ns.

    ``state`` is cpuidle's number: 0 is the lightest, mostly a polling loop. ``count`` are the
    periods in it that the span holds or touches, ``share`` is their part of the span. ``length``
    is of whole periods; ``incomplete`` are those that the end of the trace cuts or that lost
    events meet. A period that began before the trace is not known.
    """

    cpu: int
    state: int
    count: int
    incomplete: int
    share: float
    length: TimeDistribution | None
    longest_at: int | None


def idle_states(analysis: Analysis) -> list[IdleState]:
    """The idle states of each CPU; none where the trace has no such events."""
    states = []
    for name in EVENTS:
        table = analysis.events(name)
        if table is not None:
            rows = Rows(table)
            for cpu in np.unique(rows["cpu_id"]):
                here = np.flatnonzero(rows["cpu_id"] == cpu)
                states += _of_cpu(analysis, int(cpu), rows["time"][here], rows["state"][here])
    return states


def _of_cpu(analysis: Analysis, cpu: int, time: Ints, state: Ints) -> list[IdleState]:
    entered = np.flatnonzero(state != _LEFT)
    begin, number = time[entered], state[entered]
    ended = entered + 1 < time.size
    end = np.where(ended, time[np.minimum(entered + 1, time.size - 1)], analysis.whole.end)
    whole = ended & ~_beside_loss(analysis, cpu, begin, end)
    first, last = clipped(begin, end, analysis.span)
    states = []
    for each in np.unique(number):
        here: Bools = (number == each) & (last > first)
        known = np.flatnonzero(here & whole)
        length = (end - begin)[known]
        states.append(
            IdleState(
                cpu=cpu,
                state=int(each),
                count=int(here.sum()),
                incomplete=int((here & ~whole).sum()),
                share=float((last - first)[here].sum()) / analysis.span.duration,
                length=distribution(np.sort(length)),
                longest_at=int(begin[known[np.argmax(length)]]) if known.size else None,
            )
        )
    return [state for state in states if state.count]


def _beside_loss(analysis: Analysis, cpu: int, begin: Ints, end: Ints) -> Bools:
    """Which periods lost events meet: the end of one may be among them."""
    beside: Bools = np.zeros(begin.size, dtype=np.bool_)
    for loss in analysis.losses:
        if loss.cpu in (None, cpu):
            since = analysis.whole.begin if loss.begin is None else loss.begin
            until = analysis.whole.end if loss.end is None else loss.end
            beside |= (begin <= until) & (end >= since)
    return beside
