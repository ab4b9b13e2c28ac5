"""What lies between a start and an end: the stages of each way that was found.

Between two instances of a chain there are two stages: the first runs until it wakes or raises the
second, and the second waits until it runs. The stages of an occurrence add up to its latency.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchvise.trace.analysis.distributions import numbered
from benchvise.trace.analysis.latency.ends import InstanceEdge, Points
from benchvise.trace.analysis.latency.links import Links, Method
from benchvise.trace.analysis.model import Analysis, Ints


@dataclass(frozen=True, slots=True)
class Hops:
    """Occurrences with their stages.

    ``way`` is the number of the way of each, ``ways`` the names of the stages of each way, and
    ``times`` the durations, as many columns as the longest way has stages.
    """

    start: Ints
    end: Ints
    way: Ints
    ways: list[tuple[str, ...]]
    times: Ints
    incomplete: np.ndarray

    def __len__(self) -> int:
        return int(self.start.size)


def hop(analysis: Analysis, start: Points, end: Points, links: Links) -> Hops:
    """The stages of every link."""
    if links.method is Method.NEXT:
        times = (end.time[links.end] - start.time[links.start])[:, None]
        name = f"from {start.text} to the next {end.text}"
        way = np.zeros(len(links), dtype=np.int64)
        return Hops(links.start, links.end, way, [(name,)], times, links.incomplete)
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
    return Hops(links.start, links.end, way, ways, times[:, :width], links.incomplete)


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
        one, other = divmod(int(pair), max(1, len(second.ways)))
        ways.append(first.ways[one] + second.ways[other])
        rows = np.flatnonzero(way == number)
        left, right = len(first.ways[one]), len(second.ways[other])
        times[rows, :left] = first.times[of_first[rows], :left]
        times[rows, left : left + right] = second.times[of_second[rows], :right]
    return Hops(
        first.start[of_first],
        second.end[of_second],
        way,
        ways,
        times,
        first.incomplete[of_first] | second.incomplete[of_second],
    )
