"""System calls: how long they took, by call and by who made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    distribution,
    minus,
    numbered,
    sums,
)
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Rows
from benchvise.trace.analysis.names import Grouping


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A system call, of one actor or of all (``actor`` is then empty). Times in ns.

    ``latency`` is from entry to exit, with all waiting, preemption and interrupts between.
    ``errors`` counts results from -4095 to -1; ``unfinished`` the calls whose exit is not in the
    trace. ``worst_at`` is when the longest began, by ``worst_actor``.
    """

    name: str
    actor: str
    count: int
    unfinished: int
    errors: int
    latency: TimeDistribution | None
    worst_at: int | None
    worst_actor: str


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """By call, and by call and actor; those with the most time first.

    ``pairs`` is how many calls by actors there are, of which ``by_actor`` may hold the first.
    """

    calls: tuple[SystemCall, ...]
    by_actor: tuple[SystemCall, ...]
    pairs: int


def syscalls(
    analysis: Analysis, chosen: Sequence[Actor], *, by_name: bool = False, most: int | None = None
) -> SystemCalls:
    """The system calls of the chosen tasks that begin in the span; ``most`` calls by actors."""
    rows = Rows(analysis.tables["syscalls"])
    grouping = Grouping(analysis.actors, chosen, by_name=by_name)
    codes, names = rows.texts("name")
    group = grouping.of_actor[rows["actor"]]
    kept = np.flatnonzero((group >= 0) & analysis.span.holds(rows["begin"]))
    latency = minus(rows["end"], rows["begin"])
    result = rows["result"]
    failed = (result < 0) & (result >= -4095)

    def table(
        keys: np.ndarray, labels: list[tuple[str, str]], most: int | None = None
    ) -> list[SystemCall]:
        groups = Groups(keys, len(labels))
        ordered = groups.sorted(latency[kept])
        errors = np.bincount(keys[failed[kept]], minlength=len(labels))
        unfinished = np.bincount(keys[latency[kept] == NONE], minlength=len(labels))
        total = sums(keys, np.where(latency == NONE, 0, latency)[kept], len(labels))
        described = []
        for at in np.lexsort((-groups.sizes, -total))[:most]:
            if groups.sizes[at] == 0:
                continue
            mine = kept[groups.rows(at)]
            worst = mine[np.argmax(latency[mine])]
            done = bool(latency[worst] != NONE)
            described.append(
                SystemCall(
                    name=labels[at][0],
                    actor=labels[at][1],
                    count=int(groups.sizes[at]),
                    unfinished=int(unfinished[at]),
                    errors=int(errors[at]),
                    latency=distribution(ordered[at]),
                    worst_at=int(rows["begin"][worst]) if done else None,
                    worst_actor=analysis.actors[rows["actor"][worst]].label if done else "",
                )
            )
        return described

    pair = codes[kept] * max(1, len(grouping)) + group[kept]
    numbers, pairs = numbered(pair)
    both = [
        (names[n // max(1, len(grouping))], grouping.labels[n % max(1, len(grouping))])
        for n in numbers
    ]
    return SystemCalls(
        calls=tuple(table(codes[kept], [(name, "") for name in names])),
        by_actor=tuple(table(pairs, both, most)),
        pairs=len(both),
    )
