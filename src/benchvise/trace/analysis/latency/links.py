"""Which points belong together, by cause or by following each other, and the stages between them.

Between two instances of a chain there are two stages: the first runs until it wakes or raises the
second, and the second waits until it runs. The stages of an occurrence add up to its latency.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from benchvise.trace.analysis.distributions import numbered
from benchvise.trace.analysis.latency.ends import InstanceEdge, Points
from benchvise.trace.analysis.model import Analysis, Bools, Flag, Ints


class Method(StrEnum):
    """How a start finds its end."""

    CAUSE = "cause"
    NEXT = "next"
    FIELDS = "fields"


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of points (positions in both), and the instances from one to the other.

    ``path`` has a column for each step back from the end: its own instance, the one that woke or
    raised that, and so on; ``depth`` is how many steps lead to the start's. Only a link by
    ``CAUSE`` has a path. ``incomplete``: events were lost on the way.
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


def by_order(analysis: Analysis, start: Points, end: Points, *, slack: int = 0) -> Links:
    """From each start to the first end after it; several starts may share one. An end may seem to
    be earlier by ``slack`` ns."""
    itself = start.text == end.text
    at = np.searchsorted(end.time, start.time - slack, side="right" if itself else "left")
    kept = np.flatnonzero(at < len(end))
    at = at[kept]
    incomplete = meet_loss(analysis, start.time[kept], end.time[at])
    nothing = np.zeros((kept.size, 0), dtype=np.int64)
    return Links(Method.NEXT, kept, at, np.zeros(kept.size, np.int64), nothing, incomplete)


def meet_loss(analysis: Analysis, begin: Ints, end: Ints) -> Bools:
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


# -- the stages of each way from a start to an end -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hops:
    """Occurrences with their stages.

    ``way`` is the number of the way of each, ``ways`` the names of the stages of each way, and
    ``times`` the durations, as many columns as the longest way has stages. ``undecided`` are those
    with a stage between two boards that is no longer than their clocks are uncertain.
    """

    start: Ints
    end: Ints
    way: Ints
    ways: list[tuple[str, ...]]
    times: Ints
    incomplete: Bools
    undecided: Bools

    def __len__(self) -> int:
        return int(self.start.size)


def hop(
    analysis: Analysis, start: Points, end: Points, links: Links, *, uncertainty: int = 0
) -> Hops:
    """The stages of every link; ``uncertainty`` (ns) is that of times between two boards."""
    if links.method is not Method.CAUSE:
        times = (end.time[links.end] - start.time[links.start])[:, None]
        whose = "the next" if links.method is Method.NEXT else "its"
        name = f"from {start.text} to {whose} {end.text}"
        way = np.zeros(len(links), dtype=np.int64)
        undecided: Bools = (uncertainty > 0) & (times[:, 0] <= uncertainty)
        return Hops(links.start, links.end, way, [(name,)], times, links.incomplete, undecided)
    groups = list(dict.fromkeys(actor.group for actor in analysis.actors))
    codes = {group: code for code, group in enumerate(groups)}
    group_of = np.array([codes[actor.group] for actor in analysis.actors], dtype=np.int64)
    way = np.zeros(len(links), dtype=np.int64)
    ways: list[tuple[str, ...]] = []
    widest = 2 * links.path.shape[1] + 1
    times = np.zeros((len(links), widest), dtype=np.int64)
    for depth in numbered(links.depth)[0]:
        rows = np.flatnonzero(links.depth == depth)
        path = links.path[rows, : depth + 1]
        marks = _marks(analysis, start, end, links, rows, path)
        times[rows, : marks.shape[1] - 1] = np.diff(marks, axis=1)
        actors = group_of[analysis.instances["actor"][path]]
        which = np.zeros(rows.size, dtype=np.int64)
        for level in range(depth + 1):
            which = numbered(which * len(groups) + actors[:, level])[1]
        chains = np.zeros((int(which.max()) + 1, depth + 1), dtype=np.int64)
        chains[which] = actors
        for chain in chains:
            ways.append(_names([groups[code] for code in chain[::-1]], start, end))
        way[rows] = len(ways) - len(chains) + which
    width = max((len(names) for names in ways), default=1)
    decided = np.zeros(len(links), dtype=np.bool_)
    return Hops(links.start, links.end, way, ways, times[:, :width], links.incomplete, decided)


def _marks(
    analysis: Analysis, start: Points, end: Points, links: Links, rows: Ints, path: Ints
) -> Ints:
    """The times at which stages begin and end, a row for each link.

    A wake-up that precedes the start (an interrupt raises its softirq before its own end) is taken
    as the start: no stage is negative because of it.
    """
    instances = analysis.instances
    first, last = start.time[links.start[rows]], end.time[links.end[rows]]
    marks = [first]
    depth = path.shape[1] - 1
    if depth and start.edge is InstanceEdge.READY:
        marks.append(instances["begin"][path[:, depth]])
    for level in range(depth - 1, -1, -1):
        woken = instances["cause_time"][path[:, level]]
        if not (level == depth - 1 and start.edge is InstanceEdge.END):
            marks.append(woken)
        if not (level == 0 and end.edge is InstanceEdge.READY):
            marks.append(instances["begin"][path[:, level]])
    if not (depth and end.edge in (InstanceEdge.BEGIN, InstanceEdge.READY)):
        marks.append(last)
    low, high = np.minimum(first, last), np.maximum(first, last)
    inner = [np.clip(mark, low, high) for mark in marks[1:-1]]
    result: Ints = np.stack([first, *inner, last], axis=1)
    return result


def _names(chain: list[str], start: Points, end: Points) -> tuple[str, ...]:
    """The names of the stages between the actors of a chain; as many as marks, less one."""
    names: list[str] = []
    if len(chain) > 1 and start.edge is InstanceEdge.READY:
        names.append(f"{chain[0]} waits to run")
    for step, (waker, woken) in enumerate(pairwise(chain)):
        verb = "raises" if woken.startswith("softirq") else "wakes"
        last = step == len(chain) - 2
        if step == 0 and start.edge is InstanceEdge.END:
            if not (last and end.edge is InstanceEdge.READY):
                names.append(f"{woken} waits, from the end of {waker}")
            else:
                names.append(f"{woken} is woken, from the end of {waker}")
            continue
        since = f"from {start.text} until it" if step == 0 and start.edge is None else "until it"
        names.append(f"{waker} runs {since} {verb} {woken}")
        if not (last and end.edge is InstanceEdge.READY):
            names.append(f"{woken} waits to run")
    if len(chain) == 1:
        names.append(f"{chain[0]}: from {start.text} to {end.text}")
    elif end.edge is InstanceEdge.END:
        names.append(f"{chain[-1]} runs to its end")
    elif end.edge is None:
        names.append(f"{chain[-1]} runs until {end.text}")
    return tuple(names)


def join(first: Hops, second: Hops) -> Hops:
    """The occurrences that go on: where an end of ``first`` is a start of ``second``."""
    order = np.argsort(first.end, kind="stable")
    low = np.searchsorted(first.end[order], second.start, side="left")
    high = np.searchsorted(first.end[order], second.start, side="right")
    of_second = np.repeat(np.arange(len(second)), high - low)
    offset = np.arange(of_second.size) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    of_first = order[low[of_second] + offset]
    pairs = first.way[of_first] * max(1, len(second.ways)) + second.way[of_second]
    numbers, way = numbered(pairs)
    ways = []
    width = first.times.shape[1] + second.times.shape[1]
    times = np.zeros((of_first.size, width), dtype=np.int64)
    for number, pair in enumerate(numbers):
        first_way, second_way = divmod(int(pair), max(1, len(second.ways)))
        ways.append(first.ways[first_way] + second.ways[second_way])
        rows = np.flatnonzero(way == number)
        left, right = len(first.ways[first_way]), len(second.ways[second_way])
        times[rows, :left] = first.times[of_first[rows], :left]
        times[rows, left : left + right] = second.times[of_second[rows], :right]
    return Hops(
        first.start[of_first],
        second.end[of_second],
        way,
        ways,
        times,
        first.incomplete[of_first] | second.incomplete[of_second],
        first.undecided[of_first] | second.undecided[of_second],
    )
