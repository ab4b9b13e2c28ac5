"""The difference of two flame graphs, by function and as a tree.

Two traces are as long, and sampled as often, as each is. Their weights are compared as *shares* of
all weight of their trace, or as *rates*: weight per second of the part that is asked about.

Whether one differs is decided over time: each trace is cut into blocks of equal length, which are
drawn anew with replacement (a bootstrap), as samples of a moment are alike. The interval is that of
the difference over all drawings.

Source: B. Gregg, "Differential Flame Graphs", 2014; B. Efron and R. Tibshirani, "An Introduction to
the Bootstrap", 1993.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from benchvise.trace.analysis.flame.frame_names import Frame, MissingSymbols
from benchvise.trace.analysis.flame.graph import StackTree, frame_pairs, tree
from benchvise.trace.analysis.flame.stacks import Stacks
from benchvise.trace.analysis.model import Floats, Ints, TraceSpan

_BLOCKS = 40
_RESAMPLES = 1000
_MOST_COMPARED = 2000
"""Functions whose shares are drawn anew; those that are rarer in both are left out."""

_AT_ONCE = 1000
"""Columns that are drawn together: they bound the memory."""


class Basis(StrEnum):
    """What makes two traces comparable."""

    SHARE = "share"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class ShareInterval:
    """95 % of the drawings lie between these differences."""

    low: float
    high: float

    @property
    def without_zero(self) -> bool:
        """Whether it holds no difference of 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A function in two traces. Shares are of all weight of its trace, or weights per second where
    rates are compared; ``change`` is B without A, of self shares and of total shares; ``changed``:
    one of its intervals does not hold 0."""

    name: str
    module: str
    self_a: int
    self_b: int
    share_a: float
    share_b: float
    change: float
    interval: ShareInterval | None
    changed: bool
    total_a: float
    total_b: float
    total_change: float
    total_interval: ShareInterval | None


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """Functions of two traces, what grew most surely first. ``blocks`` of time were drawn of each
    trace; 0: too few for intervals."""

    event: str
    unit: str
    stacks_a: int
    stacks_b: int
    weight_a: int
    weight_b: int
    blocks: int
    changes: tuple[FunctionChange, ...]
    missing: tuple[MissingSymbols, ...]


class ComparedStacks(NamedTuple):
    """The stacks of two traces, and as what they are compared; ``spans`` are the parts of time that
    they are of, which rates need."""

    a: Stacks
    b: Stacks
    basis: Basis = Basis.SHARE
    spans: tuple[TraceSpan, TraceSpan] | None = None

    def sides(self) -> tuple[_Blocks, _Blocks]:
        """Both in blocks of time."""
        if self.basis is Basis.SHARE or self.spans is None:
            return _Blocks(self.a), _Blocks(self.b)
        return _Blocks(self.a, self.spans[0]), _Blocks(self.b, self.spans[1])


def compared(both: ComparedStacks) -> ProfileComparison:
    """How the shares, or rates, of functions differ."""
    a, b = both.a, both.b
    frames = [frame for frame in dict.fromkeys((*a.names, *b.names)) if frame.module]
    sides = both.sides()
    owns, totals = zip(*(side.functions(frames) for side in sides), strict=True)
    rarity = -np.maximum(
        *(side.amount(of.sum(axis=0)) for side, of in zip(sides, totals, strict=True))
    )
    kept = np.argsort(rarity, kind="stable")[:_MOST_COMPARED]
    own = _difference(sides, [of[:, kept] for of in owns])
    total = _difference(sides, [of[:, kept] for of in totals])
    changes = []
    for place, at in enumerate(kept.tolist()):
        if not (total.a[place] or total.b[place]):
            continue
        intervals = own.interval(place), total.interval(place)
        changes.append(
            FunctionChange(
                name=frames[at].name,
                module=frames[at].module,
                self_a=int(owns[0][:, at].sum()),
                self_b=int(owns[1][:, at].sum()),
                share_a=float(own.a[place]),
                share_b=float(own.b[place]),
                change=float(own.b[place] - own.a[place]),
                interval=intervals[0],
                changed=any(
                    interval is not None and interval.without_zero for interval in intervals
                ),
                total_a=float(total.a[place]),
                total_b=float(total.b[place]),
                total_change=float(total.b[place] - total.a[place]),
                total_interval=intervals[1],
            )
        )
    changes.sort(
        key=lambda row: (not row.changed, -max(row.change, row.total_change, key=abs), row.name)
    )
    missing = {(entry.module, entry.reason): entry for entry in (*a.missing, *b.missing)}
    return ProfileComparison(
        a.event,
        a.unit,
        int(a.time.size),
        int(b.time.size),
        int(a.weight.sum()),
        int(b.weight.sum()),
        min(side.count for side in sides) if own.low is not None else 0,
        tuple(changes),
        tuple(missing.values()),
    )


@dataclass(frozen=True)
class TreeDifference:
    """The stacks of both as one tree, as columns: node 0 is all, parents stand before children.

    ``total_a`` and ``total_b`` are weights; ``low`` and ``high`` bound the difference of their
    shares or rates, B without A, and are None where there is too little for intervals.
    ``left_out`` nodes weigh least in both: their weight is in their parents' totals.
    """

    parent: Ints
    frame: Ints
    names: tuple[Frame, ...]
    self_a: Ints
    self_b: Ints
    total_a: Ints
    total_b: Ints
    low: Floats | None
    high: Floats | None
    left_out: int


def tree_difference(both: ComparedStacks, most: int) -> TreeDifference:
    """The difference of two trees, of which the ``most`` nodes stay that weigh most in either."""
    a, b = both.a, both.b
    joined = _joined(a, b)
    graph = tree(joined)
    first = int(a.time.size)
    leaves = graph.leaf[:first], graph.leaf[first:]
    sides = both.sides()
    totals = [
        _summed(graph, leaf, stacks.weight) for leaf, stacks in zip(leaves, (a, b), strict=True)
    ]
    weighed = np.maximum(*(side.amount(of) for side, of in zip(sides, totals, strict=True)))
    order = np.lexsort((np.arange(weighed.size), -weighed))
    nodes = np.sort(order[:most])
    place: Ints = np.full(graph.parent.size, -1, dtype=np.int64)
    place[nodes] = np.arange(nodes.size)
    parent: Ints = np.append(-1, place[graph.parent[nodes[1:]]])
    kept = _nearest(graph, place)
    blocks = []
    for side, leaf in zip(sides, leaves, strict=True):
        of_node = side.by(kept[leaf], nodes.size)
        for node in range(nodes.size - 1, 0, -1):
            of_node[:, parent[node]] += of_node[:, node]
        blocks.append(of_node)
    difference = _difference(sides, blocks)
    own = [
        np.bincount(leaf, weights=stacks.weight, minlength=graph.parent.size)[nodes]
        for leaf, stacks in zip(leaves, (a, b), strict=True)
    ]
    return TreeDifference(
        parent,
        graph.frame[nodes],
        joined.names,
        own[0].astype(np.int64),
        own[1].astype(np.int64),
        totals[0][nodes],
        totals[1][nodes],
        difference.low,
        difference.high,
        int(graph.parent.size - nodes.size),
    )


def _joined(a: Stacks, b: Stacks) -> Stacks:
    """The stacks of both, first those of A, with numbers of functions that they share."""
    numbers = {frame: at for at, frame in enumerate(dict.fromkeys((*a.names, *b.names)))}
    frames = [
        np.array([numbers[frame] for frame in side.names], dtype=np.int64)[side.frames]
        if side.names
        else side.frames
        for side in (a, b)
    ]
    starts: Ints = np.concatenate([a.starts, b.starts[1:] + a.starts[-1]])
    return replace(
        a,
        time=np.concatenate([a.time, b.time]),
        cpu=np.concatenate([a.cpu, b.cpu]),
        thread=np.concatenate([a.thread, b.thread]),
        weight=np.concatenate([a.weight, b.weight]),
        frames=np.concatenate(frames),
        starts=starts,
        names=tuple(numbers),
    )


def _summed(graph: StackTree, leaf: Ints, weight: Ints) -> Ints:
    """What some of the stacks weigh at each node and below it."""
    total: Ints = np.zeros(graph.parent.size, dtype=np.int64)
    at = leaf.copy()
    while at.size:
        np.add.at(total, at, weight)
        at = graph.parent[at]
        above = at >= 0
        at, weight = at[above], weight[above]
    return total


def _nearest(graph: StackTree, place: Ints) -> Ints:
    """The place of each node, or that of the nearest caller that has one."""
    at = np.arange(graph.parent.size)
    while (out := place[at] < 0).any():
        at = np.where(out, graph.parent[at], at)
    return place[at]


# -- blocks of time, drawn anew --------------------------------------------------------------------


class _Difference(NamedTuple):
    """Of columns: the amounts in A and B, and the bounds of their difference."""

    a: Floats
    b: Floats
    low: Floats | None
    high: Floats | None

    def interval(self, at: int) -> ShareInterval | None:
        """That of one column; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return ShareInterval(float(self.low[at]), float(self.high[at]))


def _difference(sides: tuple[_Blocks, _Blocks], blocks: list[Floats]) -> _Difference:
    """How columns of two traces differ; ``blocks`` are their weights by block of time."""
    a, b = (side.amount(of.sum(axis=0)) for side, of in zip(sides, blocks, strict=True))
    if min(side.count for side in sides) < 2:
        return _Difference(a, b, None, None)
    draws = [side.draws(seed) for seed, side in enumerate(sides)]
    bounds = []
    for first in range(0, a.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        amounts = [
            side.drawn_amounts(times, of[:, part])
            for side, times, of in zip(sides, draws, blocks, strict=True)
        ]
        bounds.append(np.quantile(amounts[1] - amounts[0], [0.025, 0.975], axis=0))
    low, high = np.concatenate(bounds, axis=1) if bounds else np.empty((2, 0))
    return _Difference(a, b, low, high)


class _Blocks:
    """The stacks of one trace by block of time: of the time between its samples, or of ``span``
    where rates are asked for."""

    def __init__(self, stacks: Stacks, span: TraceSpan | None = None) -> None:
        self._stacks = stacks
        time = stacks.time
        first, last = (int(time.min()), int(time.max())) if time.size else (0, 0)
        if span is not None:
            first, last = span.begin, max(span.end - 1, span.begin)
        self.count = min(_BLOCKS, int(time.size)) if last > first else int(time.size > 0)
        block = (time - first) * self.count // max(last - first, 1)
        self._block: Ints = np.clip(block, 0, max(self.count - 1, 0))
        self._weights: Floats = self._by_block(stacks.weight)
        self._seconds = None if span is None else max(span.end - span.begin, 1) / 1e9
        self._all = max(float(self._weights.sum()), 1.0)

    def _by_block(self, weight: Ints) -> Floats:
        sums: Floats = np.zeros(max(self.count, 1))
        np.add.at(sums, self._block, weight)
        return sums

    def by(self, column: Ints, columns: int) -> Floats:
        """Weight by block and by what each stack belongs to."""
        sums: Floats = np.zeros((max(self.count, 1), columns))
        np.add.at(sums, (self._block, column), self._stacks.weight)
        return sums

    def functions(self, frames: list[Frame]) -> tuple[Floats, Floats]:
        """Self and total weight by block and function."""
        stacks = self._stacks
        numbers = {frame: at for at, frame in enumerate(frames)}
        code: Ints = np.array([numbers.get(f, len(frames)) for f in stacks.names], dtype=np.int64)
        (owner, frame), innermost = frame_pairs(stacks)
        shape = (max(self.count, 1), len(frames) + 1)
        own: Floats = np.zeros(shape)
        total: Floats = np.zeros(shape)
        whole = innermost >= 0
        np.add.at(own, (self._block[whole], code[innermost[whole]]), stacks.weight[whole])
        np.add.at(total, (self._block[owner], code[frame]), stacks.weight[owner])
        return own[:, :-1], total[:, :-1]

    def amount(self, weights: Ints | Floats) -> Floats:
        """Weights as shares of all, or per second."""
        amounts: Floats = weights / (self._seconds or self._all)
        return amounts

    def draws(self, seed: int) -> Ints:
        """How often each block is drawn, in each drawing; of two traces, with other seeds."""
        random = np.random.default_rng(seed)
        even = np.full(self.count, 1 / self.count)
        times: Ints = random.multinomial(self.count, even, size=_RESAMPLES)
        return times

    def drawn_amounts(self, times: Ints, blocks: Floats) -> Floats:
        """The amounts in each drawing."""
        weights: Floats = times @ blocks
        if self._seconds is not None:
            return weights / self._seconds
        return weights / np.maximum(times @ self._weights, 1.0)[:, None]
