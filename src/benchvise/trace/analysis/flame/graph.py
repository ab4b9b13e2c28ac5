"""Flame graphs: what stacks weigh together, by function and as a tree.

*Self* is the weight of the stacks whose innermost function it is, *total* that of those in which it
stands at all, once for each stack however often it calls itself.

Source: B. Gregg, "The Flame Graph", CACM 59(6), 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchvise.trace.analysis.flame.frame_names import Frame, MissingSymbols
from benchvise.trace.analysis.flame.stacks import Stacks
from benchvise.trace.analysis.model import Bools, Ints


@dataclass(frozen=True, slots=True)
class FunctionWeight:
    """A function: ``self_weight`` and ``total`` in the unit of the stacks, and as shares of all."""

    name: str
    module: str
    self_weight: int
    self_share: float
    total: int
    total_share: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Functions by self weight. ``stacks`` counts all that lie in the part that is asked about,
    ``weight`` is what they weigh together."""

    event: str
    unit: str
    stacks: int
    weight: int
    functions: tuple[FunctionWeight, ...]
    others: tuple[tuple[str, int], ...]
    missing: tuple[MissingSymbols, ...]


@dataclass(frozen=True)
class StackTree:
    """The stacks as a tree, as columns: node 0 is all of them, parents stand before children.

    ``frame`` is the place in ``names`` (-1 for node 0), ``leaf`` the node of each stack.
    """

    parent: Ints
    frame: Ints
    self_weight: Ints
    total: Ints
    names: tuple[Frame, ...]
    leaf: Ints


def tree(stacks: Stacks) -> StackTree:
    """The tree of stacks, level by level from their outermost functions."""
    lengths = np.diff(stacks.starts)
    node: Ints = np.zeros(lengths.size, dtype=np.int64)
    width = max(len(stacks.names), 1)
    parents, frames = [np.array([-1])], [np.array([-1])]
    count, depth = 1, 0
    while (active := np.flatnonzero(lengths > depth)).size:
        frame = stacks.frames[stacks.starts[active] + depth]
        pairs, place = np.unique(node[active] * width + frame, return_inverse=True)
        parents.append(pairs // width)
        frames.append(pairs % width)
        node[active] = count + place
        count += pairs.size
        depth += 1
    parent: Ints = np.concatenate(parents)
    own: Ints = np.zeros(count, dtype=np.int64)
    np.add.at(own, node, stacks.weight)
    total = own.copy()
    first = count
    for level in reversed(parents[1:]):
        first -= level.size
        np.add.at(total, level, total[first : first + level.size])
    return StackTree(parent, np.concatenate(frames), own, total, stacks.names, node)


def profile(stacks: Stacks) -> Profile:
    """The functions of stacks, most self weight first."""
    weight = int(stacks.weight.sum())
    own, total = _sums(stacks)
    rows = [
        FunctionWeight(
            frame.name,
            frame.module,
            int(own[at]),
            own[at] / max(weight, 1),
            int(total[at]),
            total[at] / max(weight, 1),
        )
        for at, frame in enumerate(stacks.names)
        if frame.module and total[at]
    ]
    rows.sort(key=lambda row: (-row.self_weight, -row.total, row.name))
    return Profile(
        stacks.event,
        stacks.unit,
        int(stacks.time.size),
        weight,
        tuple(rows),
        stacks.others,
        stacks.missing,
    )


def folded(stacks: Stacks) -> Iterator[str]:
    """A line for each stack: ``THREAD;FUNCTION;FUNCTION WEIGHT``, as flamegraph.pl reads it."""
    graph = tree(stacks)
    paths: list[str] = [""] * graph.parent.size
    lines = []
    clean = [frame.name.replace(";", ":").replace("\n", " ") for frame in stacks.names]
    for node in range(1, graph.parent.size):
        above = paths[graph.parent[node]]
        name = clean[graph.frame[node]]
        paths[node] = f"{above};{name}" if above else name
        if graph.self_weight[node]:
            lines.append(f"{paths[node]} {graph.self_weight[node]}")
    return iter(sorted(lines))


def _sums(stacks: Stacks) -> tuple[Ints, Ints]:
    """Self and total weight of each frame."""
    pairs, innermost = frame_pairs(stacks)
    own: Ints = np.zeros(len(stacks.names), dtype=np.int64)
    total = own.copy()
    whole = innermost >= 0
    np.add.at(own, innermost[whole], stacks.weight[whole])
    np.add.at(total, pairs[1], stacks.weight[pairs[0]])
    return own, total


def frame_pairs(stacks: Stacks) -> tuple[tuple[Ints, Ints], Ints]:
    """Each frame of each stack, once; and the innermost of each."""
    lengths = np.diff(stacks.starts)
    owner = np.repeat(np.arange(lengths.size), lengths)
    width = max(len(stacks.names), 1)
    unique = np.unique(owner * width + stacks.frames)
    innermost: Ints = np.full(lengths.size, -1, dtype=np.int64)
    filled = lengths > 0
    innermost[filled] = stacks.frames[stacks.starts[1:][filled] - 1]
    return (unique // width, unique % width), innermost


# -- parts -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StackFilter:
    """Which stacks: of CPUs, and of threads by number or name; all for none."""

    cpus: tuple[int, ...] = ()
    threads: tuple[str, ...] = ()

    def of(self, stacks: Stacks) -> Stacks:
        """The stacks that it lets through."""
        from fnmatch import fnmatchcase

        keep: Bools = np.ones(stacks.time.size, dtype=np.bool_)
        if self.cpus:
            keep &= np.isin(stacks.cpu, self.cpus)
        if self.threads:
            numbers = [int(name) for name in self.threads if name.isdecimal()]
            named = [
                at
                for at, frame in enumerate(stacks.names)
                if not frame.module and any(fnmatchcase(frame.name, name) for name in self.threads)
            ]
            heads = stacks.frames[stacks.starts[:-1]]
            keep &= np.isin(stacks.thread, numbers) | np.isin(heads, named)
        return stacks if keep.all() else replace(stacks.chosen(keep))
