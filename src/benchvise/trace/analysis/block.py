"""Requests to block devices: how long they waited in the queue and in the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    distribution,
    minus,
    numbered,
    or_else,
    sums,
)
from benchvise.trace.analysis.model import NONE, Analysis, Rows

_MINOR_BITS = 20


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one kind to one device. Times in ns.

    ``device`` is ``major:minor``; ``kind`` the kernel's letters: R read, W write, D discard,
    F flush, then S synchronous, M metadata, A read-ahead, and so on. ``queue`` is from insertion
    into the queue to issue, ``service`` from issue to completion, ``total`` from the first of the
    two that is known to completion. ``rate`` is completed bytes a second of the span.
    ``worst_at`` is when the request with the longest total began.
    """

    device: str
    kind: str
    count: int
    unfinished: int
    bytes: int
    rate: float
    queue: TimeDistribution | None
    service: TimeDistribution | None
    total: TimeDistribution | None
    worst_at: int | None
    worst_sector: int | None


def requests(analysis: Analysis) -> list[Requests]:
    """The requests that were queued or issued in the span, by device and kind."""
    rows = Rows(analysis.tables["block"])
    start = or_else(or_else(rows["queued"], rows["issued"]), rows["completed"])
    kept = np.flatnonzero(analysis.span.holds(start))
    kinds, letters = rows.texts("kind")
    key = rows["device"][kept] * max(1, len(letters)) + kinds[kept]
    numbers, pair = numbered(key)
    groups = Groups(pair, numbers.size)
    total = minus(rows["completed"], np.where(start == rows["completed"], NONE, start))
    durations = {
        "queue": minus(rows["issued"], rows["queued"]),
        "service": minus(rows["completed"], rows["issued"]),
        "total": total,
    }
    ordered = {name: groups.sorted(values[kept]) for name, values in durations.items()}
    done = rows["completed"] != NONE
    unfinished = np.bincount(groups.groups[~done[kept]], minlength=numbers.size)
    size = sums(groups.groups, (rows["bytes"] * done)[kept], numbers.size)
    described = []
    for at, number in enumerate(numbers):
        device, letter = divmod(int(number), max(1, len(letters)))
        mine = kept[groups.rows(at)]
        worst = mine[np.argmax(total[mine])]
        is_complete = bool(total[worst] != NONE)
        described.append(
            Requests(
                device=f"{device >> _MINOR_BITS}:{device & ((1 << _MINOR_BITS) - 1)}",
                kind=letters[letter],
                count=int(groups.sizes[at]),
                unfinished=int(unfinished[at]),
                bytes=int(size[at]),
                rate=float(size[at]) / (analysis.span.duration / 1e9),
                **{name: distribution(values[at]) for name, values in ordered.items()},
                worst_at=int(start[worst]) if is_complete else None,
                worst_sector=int(rows["sector"].view(np.uint64)[worst]) if is_complete else None,
            )
        )
    return sorted(described, key=lambda group: (group.device, -group.count, group.kind))
