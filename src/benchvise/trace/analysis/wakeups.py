"""Who wakes whom, and how long the woken wait until they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.trace.analysis.actors import Instance, describe, latency
from benchvise.trace.analysis.distributions import Groups, TimeDistribution, distribution, numbered
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Bools, Ints
from benchvise.trace.analysis.names import Grouping

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
    """The wake-ups of the chosen tasks whose instances begin in the span."""
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
        values = np.where(analysis.complete, values, NONE)
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
        described = []
        for at in np.argsort(-groups.sizes, kind="stable"):
            if groups.sizes[at] == 0:
                break
            mine = self.kept[groups.rows(at)]
            worst = mine[np.argmax(self.values[mine])]
            longest = [worst] if self.values[worst] != NONE else []
            described.append(
                Waking(
                    woken=names[at][0],
                    by=names[at][1],
                    count=int(groups.sizes[at]),
                    incomplete=int((~self.analysis.complete[mine]).sum()),
                    latency=distribution(ordered[at]),
                    other_cpu=int(away[at]),
                    worst=tuple(describe(self.analysis, np.array(longest, dtype=np.int64))),
                )
            )
        return described
