"""What kept threads from running: who had the CPU while they waited for it, and who preempted them.

A thread waits for a CPU after a wake-up and after a preemption. Each nanosecond of that is given
to whoever had that CPU then: another thread, an interrupt handler, a softirq, or the idle task (the
CPU was leaving idle).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    distribution,
    numbered,
)
from benchvise.trace.analysis.model import Actor, Analysis, Ints, Waited
from benchvise.trace.analysis.names import Grouping
from benchvise.trace.analysis.occupants import UNKNOWN, Occupants, occupants

_MOST_PIECES = 1 << 22
"""Of waits and who had the CPU in them, looked at together: where many threads wait, each span of a
CPU is a part of many waits."""

UNKNOWN_ACTOR = "not known"


@dataclass(frozen=True, slots=True)
class Delay:
    """The time that one thread (or all of a name) waited while ``by`` had the CPU.

    ``time`` in ns, ``share`` of all time that the thread waited for a CPU; ``waits`` are those in
    which ``by`` had it at all, ``after_preemption`` the part of ``time`` after a preemption.
    ``longest`` is the most of one wait, in ns, which began at ``longest_at``.
    """

    thread: str
    thread_ids: tuple[int, ...]
    by: str
    by_ids: tuple[int, ...]
    waits: int
    time: int
    after_preemption: int
    share: float
    longest: int
    longest_at: int


@dataclass(frozen=True, slots=True)
class Preemption:
    """How often ``by`` took the CPU from a thread that could have gone on, and how long (ns) that
    waited then until it ran again. ``longest_at`` is when the longest of them began."""

    thread: str
    thread_ids: tuple[int, ...]
    by: str
    by_ids: tuple[int, ...]
    count: int
    wait: TimeDistribution | None
    longest_at: int


@dataclass(frozen=True, slots=True)
class Delays:
    """Who kept whom waiting, most time first; who preempted whom, most time first.

    ``waited`` is the time (ns) that all chosen threads waited, in ``waits`` waits for a CPU;
    ``incomplete`` ones are left out: an end of the trace cuts them, or lost events meet them.
    """

    delays: tuple[Delay, ...]
    preemptions: tuple[Preemption, ...]
    waited: int
    waits: int
    incomplete: int = field(metadata=in_json(name="unsure"))


def delays(analysis: Analysis, chosen: Sequence[Actor], *, by_name: bool = False) -> Delays:
    """What kept the chosen threads from running, in waits that end in the span."""
    threads = Grouping(
        analysis.actors, [actor for actor in chosen if actor.kind == "task"], by_name=by_name
    )
    others = Grouping(analysis.actors, analysis.actors, by_name=by_name)
    rows = analysis.waits
    runnable = (rows["state"] == Waited.WOKEN) | (rows["state"] == Waited.PREEMPTED)
    mine = np.flatnonzero(
        (threads.of_actor[rows["actor"]] >= 0) & runnable & analysis.span.holds(rows["end"])
    )
    whole = rows["flags"][mine] == 0
    kept = mine[whole]
    sums = _Sums(analysis, kept, threads, others)
    taken = _Takeovers(analysis, kept, threads, others)
    waited = int((rows["end"] - rows["begin"])[kept].sum())
    return Delays(
        tuple(sorted(sums.delays(), key=lambda delay: -delay.time)),
        tuple(taken.preemptions()),
        waited,
        int(kept.size),
        int((~whole).sum()),
    )


@dataclass(frozen=True, slots=True)
class _PairTimes:
    """Times of waits by pair, one line a pair: a thread that waited, and who had the CPU.

    There may be millions of pairs of which no time is known, so only the others have a line.
    """

    pair: Ints
    time: Ints
    after_preemption: Ints
    waits: Ints
    longest: Ints
    longest_wait: Ints

    @staticmethod
    def together(parts: Sequence[_PairTimes]) -> _PairTimes:
        """One line for each pair of all parts."""
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS]
        pair, time, after_preemption, waits, longest, longest_wait = columns
        pairs, line = np.unique(pair, return_inverse=True)

        def total(values: Ints) -> Ints:
            added = np.zeros(pairs.size, dtype=np.int64)
            np.add.at(added, line, values)
            return added

        # In order of pairs, and of their longest waits within: the last of each is the longest.
        order = np.lexsort((longest, line))
        last = order[np.searchsorted(line[order], np.arange(pairs.size), side="right") - 1]
        return _PairTimes(
            pairs,
            total(time),
            total(after_preemption),
            total(waits),
            longest[last],
            longest_wait[last],
        )


_COLUMNS = ("pair", "time", "after_preemption", "waits", "longest", "longest_wait")


class _Sums:
    """The time of waits by pairs: the thread that waited, and who had the CPU."""

    def __init__(
        self, analysis: Analysis, waits: Ints, threads: Grouping, others: Grouping
    ) -> None:
        self.analysis, self.threads, self.others = analysis, threads, others
        rows = analysis.waits
        self.thread = threads.of_actor[rows["actor"]]
        self.begin, self.end = rows["begin"], rows["end"]
        self.preempted = rows["state"] == Waited.PREEMPTED
        self.width = len(others) + 1  # the last is for what is not known
        self.parts: list[_PairTimes] = []
        for cpu in np.unique(rows["cpu"][waits]).tolist():
            here = waits[rows["cpu"][waits] == cpu]
            had = occupants(analysis, cpu)
            for some in _portions(had, self.begin[here], self.end[here]):
                self.parts.append(self._times(had, here[some]))

    def _times(self, had: Occupants, waits: Ints) -> _PairTimes:
        first, count = had.between(self.begin[waits], self.end[waits])
        number = np.repeat(np.arange(waits.size), count)
        at = np.arange(number.size) - np.repeat(np.cumsum(count) - count, count)
        at += np.repeat(first, count)
        wait = waits[number]
        time = np.minimum(self.end[wait], had.end[at]) - np.maximum(self.begin[wait], had.begin[at])
        fragment = had.fragment[at]
        actor = self.analysis.fragments["actor"][np.maximum(fragment, 0)]
        by = np.where(fragment == UNKNOWN, self.width - 1, self.others.of_actor[actor])
        # What no span of the CPU covers is not known either.
        covered = np.bincount(number, weights=time, minlength=waits.size).astype(np.int64)
        left = (self.end - self.begin)[waits] - covered
        uncovered = np.flatnonzero(left > 0)
        number = np.concatenate([number, uncovered])
        by = np.concatenate([by, np.full(uncovered.size, self.width - 1)])
        time = np.concatenate([time, left[uncovered]])
        # One line for each wait and who had the CPU in it, however often.
        keys, line = np.unique(number * self.width + by, return_inverse=True)
        total = np.bincount(line, weights=time, minlength=keys.size).astype(np.int64)
        wait = waits[keys // self.width]
        lines = _PairTimes(
            self.thread[wait] * self.width + keys % self.width,
            total,
            np.where(self.preempted[wait], total, 0),
            np.ones(keys.size, dtype=np.int64),
            total,
            wait,
        )
        return _PairTimes.together([lines])

    def delays(self) -> Iterator[Delay]:
        """All pairs that have any time."""
        if not self.parts:
            return
        sums = _PairTimes.together(self.parts)
        thread, by = np.divmod(sums.pair, self.width)
        of_thread = np.zeros(len(self.threads), dtype=np.int64)
        np.add.at(of_thread, thread, sums.time)
        for at in range(sums.pair.size):
            is_known = by[at] < len(self.others)
            yield Delay(
                thread=self.threads.labels[thread[at]],
                thread_ids=self.threads.ids(thread[at]),
                by=self.others.labels[by[at]] if is_known else UNKNOWN_ACTOR,
                by_ids=self.others.ids(by[at]) if is_known else (),
                waits=int(sums.waits[at]),
                time=int(sums.time[at]),
                after_preemption=int(sums.after_preemption[at]),
                share=float(sums.time[at] / max(1, of_thread[thread[at]])),
                longest=int(sums.longest[at]),
                longest_at=int(self.begin[sums.longest_wait[at]]),
            )


def _portions(had: Occupants, begin: Ints, end: Ints) -> Iterator[slice]:
    """Waits in portions of a bounded number of pieces, at least one wait each."""
    _, count = had.between(begin, end)
    after = np.cumsum(count)
    at = 0
    while at < begin.size:
        limit = _MOST_PIECES + (int(after[at - 1]) if at else 0)
        last = max(at + 1, int(np.searchsorted(after, limit, side="right")))
        yield slice(at, last)
        at = last


class _Takeovers:
    """Preemptions by pairs: the thread that lost the CPU, and the one that got it."""

    def __init__(
        self, analysis: Analysis, waits: Ints, threads: Grouping, others: Grouping
    ) -> None:
        rows, fragments = analysis.waits, analysis.fragments
        preempted = waits[rows["state"][waits] == Waited.PREEMPTED]
        self.begin = rows["begin"][preempted]
        self.wait = rows["end"][preempted] - self.begin
        self.threads, self.others = threads, others
        tasks = analysis.of_kind("task", "idle")[fragments["actor"]]
        by = np.full(preempted.size, len(others), dtype=np.int64)
        cpus = rows["cpu"][preempted]
        for cpu in np.unique(cpus).tolist():
            here = np.flatnonzero(cpus == cpu)
            ran = np.flatnonzero(tasks & (fragments["cpu"] == cpu))
            ran = ran[np.argsort(fragments["begin"][ran], kind="stable")]
            if ran.size == 0:
                continue
            begins = fragments["begin"][ran]
            at = np.minimum(np.searchsorted(begins, self.begin[here], side="left"), ran.size - 1)
            follows = begins[at] == self.begin[here]
            actor = fragments["actor"][ran[at]]
            by[here] = np.where(follows, others.of_actor[actor], len(others))
        self.pair = threads.of_actor[rows["actor"][preempted]] * (len(others) + 1) + by

    def preemptions(self) -> list[Preemption]:
        """Each pair, that which cost the most time first."""
        pairs, number = numbered(self.pair)
        groups = Groups(number, pairs.size)
        described = []
        for at, pair in enumerate(pairs.tolist()):
            mine = groups.rows(at)
            thread, by = divmod(pair, len(self.others) + 1)
            is_known = by < len(self.others)
            described.append(
                Preemption(
                    thread=self.threads.labels[thread],
                    thread_ids=self.threads.ids(thread),
                    by=self.others.labels[by] if is_known else UNKNOWN_ACTOR,
                    by_ids=self.others.ids(by) if is_known else (),
                    count=int(mine.size),
                    wait=distribution(np.sort(self.wait[mine])),
                    longest_at=int(self.begin[mine[np.argmax(self.wait[mine])]]),
                )
            )
        return sorted(described, key=lambda one: -(one.wait.total if one.wait else 0))
