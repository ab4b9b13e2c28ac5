"""Flame graphs: what stacks weigh together, by function and as a tree; the difference of two.

*Self* is the weight of the stacks whose innermost function it is, *total* that of those in which it
stands at all, once for each stack however often it calls itself.

Whether a share differs between two traces is decided over time: each is cut into blocks of equal
length, which are drawn anew with replacement (a bootstrap), as samples of a moment are alike. The
interval is that of the difference of shares over all drawings.

Source: B. Gregg, "The Flame Graph", CACM 59(6), 2016; B. Efron and R. Tibshirani, "An Introduction
to the Bootstrap", 1993.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchvise.trace.analysis.model import Bools, Floats, Ints
from benchvise.trace.analysis.stacks import Frame, MissingSymbols, Stacks

_BLOCKS = 40
_RESAMPLES = 1000
_MOST_COMPARED = 2000
"""Functions whose shares are drawn anew; those that are rarer in both are left out."""


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
    pairs, innermost = _pairs(stacks)
    own: Ints = np.zeros(len(stacks.names), dtype=np.int64)
    total = own.copy()
    whole = innermost >= 0
    np.add.at(own, innermost[whole], stacks.weight[whole])
    np.add.at(total, pairs[1], stacks.weight[pairs[0]])
    return own, total


def _pairs(stacks: Stacks) -> tuple[tuple[Ints, Ints], Ints]:
    """Each frame of each stack, once; and the innermost of each."""
    lengths = np.diff(stacks.starts)
    owner = np.repeat(np.arange(lengths.size), lengths)
    width = max(len(stacks.names), 1)
    unique = np.unique(owner * width + stacks.frames)
    innermost: Ints = np.full(lengths.size, -1, dtype=np.int64)
    filled = lengths > 0
    innermost[filled] = stacks.frames[stacks.starts[1:][filled] - 1]
    return (unique // width, unique % width), innermost


# -- the difference of two -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShareInterval:
    """95 % of the drawings lie between these differences of shares."""

    low: float
    high: float

    @property
    def without_zero(self) -> bool:
        """Whether it holds no difference of 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A function in two traces. Shares are of all weight of its trace; ``change`` is B without A,
    of self shares and of total shares; ``changed``: one of its intervals does not hold 0."""

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


def compared(a: Stacks, b: Stacks) -> ProfileComparison:
    """How the shares of functions differ."""
    frames = [frame for frame in dict.fromkeys((*a.names, *b.names)) if frame.module]
    sides = [_Blocks(stacks, frames) for stacks in (a, b)]
    rarity = -np.maximum(*(side.total.sum(axis=0) / side.all for side in sides))
    kept = np.argsort(rarity, kind="stable")[:_MOST_COMPARED]
    resampled = min(side.count for side in sides) >= 2
    shares = [side.drawn_shares(kept, seed) for seed, side in enumerate(sides)] if resampled else []
    changes = []
    for place, at in enumerate(kept.tolist()):
        own = [float(side.own[:, at].sum()) for side in sides]
        total = [float(side.total[:, at].sum()) / side.all for side in sides]
        if not any(total):
            continue
        share = [weight / side.all for weight, side in zip(own, sides, strict=True)]
        intervals = [
            _interval(shares[1][kind][:, place] - shares[0][kind][:, place]) if resampled else None
            for kind in (0, 1)
        ]
        changes.append(
            FunctionChange(
                name=frames[at].name,
                module=frames[at].module,
                self_a=int(own[0]),
                self_b=int(own[1]),
                share_a=share[0],
                share_b=share[1],
                change=share[1] - share[0],
                interval=intervals[0],
                changed=any(
                    interval is not None and interval.without_zero for interval in intervals
                ),
                total_a=total[0],
                total_b=total[1],
                total_change=total[1] - total[0],
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
        min(side.count for side in sides) if resampled else 0,
        tuple(changes),
        tuple(missing.values()),
    )


class _Blocks:
    """Weights by block of time and function."""

    def __init__(self, stacks: Stacks, frames: list[Frame]) -> None:
        numbers = {frame: at for at, frame in enumerate(frames)}
        code: Ints = np.array([numbers.get(f, len(frames)) for f in stacks.names], dtype=np.int64)
        time = stacks.time
        first, last = (int(time.min()), int(time.max())) if time.size else (0, 0)
        self.count = min(_BLOCKS, int(time.size)) if last > first else int(time.size > 0)
        block = np.minimum((time - first) * self.count // max(last - first, 1), self.count - 1)
        (owner, frame), innermost = _pairs(stacks)
        shape = (max(self.count, 1), len(frames) + 1)
        self.own: Floats = np.zeros(shape)
        self.total: Floats = np.zeros(shape)
        whole = innermost >= 0
        np.add.at(self.own, (block[whole], code[innermost[whole]]), stacks.weight[whole])
        np.add.at(self.total, (block[owner], code[frame]), stacks.weight[owner])
        self.weights: Floats = np.zeros(shape[0])
        np.add.at(self.weights, block, stacks.weight)
        self.all = max(float(self.weights.sum()), 1.0)
        self.own, self.total = self.own[:, :-1], self.total[:, :-1]

    def drawn_shares(self, kept: Ints, seed: int) -> tuple[Floats, Floats]:
        """Self and total shares of functions in each drawing; of two traces, with other seeds."""
        random = np.random.default_rng(seed)
        times = random.multinomial(self.count, np.full(self.count, 1 / self.count), size=_RESAMPLES)
        weight = np.maximum(times @ self.weights, 1.0)[:, None]
        return (times @ self.own[:, kept]) / weight, (times @ self.total[:, kept]) / weight


def _interval(differences: Floats) -> ShareInterval:
    low, high = np.quantile(differences, [0.025, 0.975])
    return ShareInterval(float(low), float(high))


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
