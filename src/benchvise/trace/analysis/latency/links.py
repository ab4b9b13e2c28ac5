"""Which points belong together: by cause, or by following each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from benchvise.trace.analysis.latency.ends import Points
from benchvise.trace.analysis.model import Analysis, Bools, Flag, Ints


class Method(StrEnum):
    """How a start finds its end."""

    CAUSE = "cause"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of points (positions in both), and the instances from one to the other.

    ``path`` has a column for each step back from the end: its own instance, the one that woke or
    raised that, and so on; ``depth`` is how many steps lead to the start's. A link by ``NEXT`` has
    no path. ``incomplete``: events were lost on the way.
    """

    method: Method
    start: Ints
    end: Ints
    depth: Ints
    path: Ints
    incomplete: Bools

    def __len__(self) -> int:
        return int(self.start.size)


def by_cause(analysis: Analysis, start: Points, end: Points, hops: int) -> Links:
    """From each end back along the causes to the nearest start, at most ``hops`` wake-ups away.

    Each end has at most one start; a start may have several ends, or none.
    """
    cause, cause_time = analysis.instances["cause"], analysis.instances["cause_time"]
    lookup = _Lookup(len(analysis.instances), start)
    current, leaves = end.instance.copy(), end.time.copy()
    path = np.full((len(end), hops + 1), -1, dtype=np.int64)
    start_of = np.full(len(end), -1, dtype=np.int64)
    depth = np.zeros(len(end), dtype=np.int64)
    for level in range(hops + 1):
        path[:, level] = current
        # The same moment of the same instance is no latency.
        itself = level == 0 and start.edge is not None and start.edge == end.edge
        open_ends = np.flatnonzero((start_of < 0) & (current >= 0))
        if open_ends.size == 0:
            break
        if not itself:
            hits = lookup.find(current[open_ends], leaves[open_ends])
            if level == 0:  # in one instance, what comes later cannot have led to it
                hits[start.time[hits] > end.time[open_ends]] = -1
            start_of[open_ends] = hits
            depth[open_ends[hits >= 0]] = level
        has_instance = current >= 0
        leaves = np.where(has_instance, cause_time[np.maximum(current, 0)], leaves)
        above = np.where(has_instance, cause[np.maximum(current, 0)], -1)
        current = np.maximum(above, -1)  # a null is the least integer
    kept = np.flatnonzero(start_of >= 0)
    path, depth = path[kept], depth[kept]
    lossy = (analysis.instances["flags"] & Flag.LOSS) != 0
    on_path = np.arange(hops + 1) <= depth[:, None]
    incomplete = (lossy[np.maximum(path, 0)] & on_path).any(axis=1)
    return Links(Method.CAUSE, start_of[kept], kept, depth, path, incomplete)


class _Lookup:
    """Finds the start in an instance: the last one before it is left."""

    def __init__(self, instances: int, start: Points) -> None:
        self._start = start
        if start.edge is not None:
            self._of_instance = np.full(instances, -1, dtype=np.int64)
            self._of_instance[start.instance] = np.arange(len(start))
            return
        # Events: by instance, then by time; a rank in time needs fewer bits than a time.
        inside = np.flatnonzero(start.instance >= 0)
        order = inside[np.argsort(start.instance[inside], kind="stable")]
        self._order = order
        self._keys = (start.instance[order] << 32) | order

    def find(self, instance: Ints, leaves: Ints) -> Ints:
        """The position of the start of each instance, -1 for none."""
        if self._start.edge is not None:
            return self._of_instance[instance]
        if self._keys.size == 0:
            return np.full(instance.size, -1, dtype=np.int64)
        rank = np.searchsorted(self._start.time, leaves, side="right")
        at = np.searchsorted(self._keys, (instance << 32) | rank, side="left") - 1
        position = self._order[np.maximum(at, 0)]
        same = (at >= 0) & (self._start.instance[position] == instance)
        start_of: Ints = np.where(same, position, -1)
        return start_of


def by_order(analysis: Analysis, start: Points, end: Points) -> Links:
    """From each start to the first end after it; several starts may share one."""
    at = np.searchsorted(end.time, start.time, side="right" if start.text == end.text else "left")
    kept = np.flatnonzero(at < len(end))
    at = at[kept]
    incomplete = _meet_loss(analysis, start.time[kept], end.time[at])
    nothing = np.zeros((kept.size, 0), dtype=np.int64)
    return Links(Method.NEXT, kept, at, np.zeros(kept.size, np.int64), nothing, incomplete)


def _meet_loss(analysis: Analysis, begin: Ints, end: Ints) -> Bools:
    """Which of the spans lie in time beside a loss, on whatever CPU."""
    if not analysis.losses:
        return np.zeros(begin.size, dtype=np.bool_)
    spans = sorted(
        (
            analysis.whole.begin if loss.begin is None else loss.begin,
            analysis.whole.end if loss.end is None else loss.end,
        )
        for loss in analysis.losses
    )
    lost, until = np.array(spans, dtype=np.int64).T
    at = np.searchsorted(lost, end, side="right") - 1
    met: Bools = (at >= 0) & (np.maximum.accumulate(until)[np.maximum(at, 0)] >= begin)
    return met
