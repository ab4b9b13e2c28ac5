"""The flame graph of the difference of two traces: one tree with the weights of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.errors import UsageError
from benchvise.text import enumerated, printable
from benchvise.trace.analysis.flame.difference import (
    Basis,
    ComparedStacks,
    FunctionChange,
    compared,
    tree_difference,
)
from benchvise.trace.analysis.flame.frame_names import MissingSymbols
from benchvise.trace.analysis.flame.stacks import Stacks
from benchvise.trace.analysis.model import Ints
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.flame import (
    LONGEST_NAME,
    MOST_EVENTS,
    MOST_NODES,
    MOST_THREADS,
    KeptStacks,
)
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_MOST_FUNCTIONS = 200
_MOST_NAMED = 6
_MOST_MISSING = 20


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two: the part that is compared, its stacks, and what they weigh together."""

    part: AnsweredPart
    stacks: int
    weight: int


@dataclass(frozen=True, slots=True)
class SharedEvent:
    """An event of which both have stacks, and how many."""

    name: str
    stacks_a: int
    stacks_b: int


@dataclass(frozen=True, slots=True)
class NamedThreads:
    """The threads of a name, and what they weigh in each part."""

    name: str
    weight_a: int
    weight_b: int


@dataclass(frozen=True, slots=True)
class FlameDifference:
    """A tree as columns, as ``FlameGraph`` has it, with the weights of both traces.

    ``low`` and ``high`` bound, at 95 %, how much larger the share of B is at each node, or its
    weight per second, as ``basis`` says; None where there is too little for intervals, which
    ``blocks`` of 0 says, too. ``changes`` are functions, those that changed most surely first.
    """

    event: str
    unit: str
    basis: Basis
    a: ComparedSide
    b: ComparedSide
    events: tuple[SharedEvent, ...]
    threads: tuple[NamedThreads, ...]
    names: tuple[str, ...]
    modules: tuple[str, ...]
    parent: tuple[int, ...]
    function: tuple[int, ...]
    total_a: tuple[int, ...]
    total_b: tuple[int, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None
    blocks: int
    left_out: int
    changes: tuple[FunctionChange, ...]
    more_changes: int
    missing: tuple[MissingSymbols, ...]


@dataclass(frozen=True, slots=True)
class TraceWithStacks:
    """A trace, and its stacks that are kept between requests."""

    loaded: LoadedTrace
    kept: KeptStacks


def flame_difference(a: TraceWithStacks, b: TraceWithStacks, query: TraceQuery) -> FlameDifference:
    """``flame-difference``: the stacks of an ``event`` between ``begin`` and ``end`` of A and
    between ``begin2`` and ``end2`` of B, of all threads or those of a ``name``, compared by
    ``basis``.

    Raises:
        UsageError: there is no event of which both have stacks, or one has none of this event.
    """
    basis = Basis(query.choice("basis", tuple(Basis)))
    parts = query.part(a.loaded), _second(query).part(b.loaded)
    events = _shared(a, b)
    event = query.text("event") or events[0].name
    sides = [
        side.kept.stacks(side.loaded, event).within(part.analysis.span)
        for side, part in zip((a, b), parts, strict=True)
    ]
    threads = _named_threads(sides)
    if name := query.text("name"):
        sides = [_of_threads(stacks, name) for stacks in sides]
    spans = parts[0].analysis.span, parts[1].analysis.span
    comparison = ComparedStacks(sides[0], sides[1], basis, spans)
    tree, functions = tree_difference(comparison, MOST_NODES), compared(comparison)
    changes = sorted(functions.changes, key=_rank)
    used, function = np.unique(tree.frame[1:], return_inverse=True)
    frames = [tree.names[int(at)] for at in used]
    described = [
        ComparedSide(answered_part(part), int(stacks.time.size), int(stacks.weight.sum()))
        for part, stacks in zip(parts, sides, strict=True)
    ]
    return FlameDifference(
        event,
        sides[0].unit,
        basis,
        described[0],
        described[1],
        events[:MOST_EVENTS],
        threads,
        tuple(printable(frame.name, LONGEST_NAME) for frame in frames),
        tuple(printable(frame.module, LONGEST_NAME) for frame in frames),
        tuple(tree.parent.tolist()),
        (-1, *function.tolist()),
        tuple(tree.total_a.tolist()),
        tuple(tree.total_b.tolist()),
        None if tree.low is None else tuple(tree.low.tolist()),
        None if tree.high is None else tuple(tree.high.tolist()),
        functions.blocks,
        tree.left_out,
        tuple(changes[:_MOST_FUNCTIONS]),
        max(0, len(changes) - _MOST_FUNCTIONS),
        functions.missing[:_MOST_MISSING],
    )


def _rank(row: FunctionChange) -> tuple[bool, float]:
    """What changed beyond chance first, then by how much, up or down."""
    return not row.changed, -max(abs(row.change), abs(row.total_change))


def _second(query: TraceQuery) -> TraceQuery:
    """What is asked of B: the words that end with 2."""
    return TraceQuery({name: query.text(f"{name}2") for name in ("begin", "end")})


def _shared(a: TraceWithStacks, b: TraceWithStacks) -> tuple[SharedEvent, ...]:
    """The events of which both have stacks, those with most in A first."""
    counts = [side.kept.events(side.loaded) for side in (a, b)]
    shared = tuple(
        SharedEvent(name, count, counts[1][name])
        for name, count in counts[0].items()
        if name in counts[1]
    )
    if not shared:
        own = [
            enumerated([printable(name, 80) for name in of], _MOST_NAMED) or "none" for of in counts
        ]
        raise UsageError(
            "there is no event of which both traces have stacks",
            f"record the same event in both: A has {own[0]}, B has {own[1]}",
        )
    return shared


def _heads(stacks: Stacks) -> Ints:
    heads: Ints = stacks.frames[stacks.starts[:-1]]
    return heads


def _of_threads(stacks: Stacks, name: str) -> Stacks:
    own = [
        at
        for at, frame in enumerate(stacks.names)
        if not frame.module and printable(frame.name, LONGEST_NAME) == name
    ]
    return stacks.chosen(np.isin(_heads(stacks), own))


def _named_threads(sides: list[Stacks]) -> tuple[NamedThreads, ...]:
    """By name, as a thread has another number in each trace; those that weigh most first."""
    weights: dict[str, list[int]] = {}
    for side, stacks in enumerate(sides):
        heads, place = np.unique(_heads(stacks), return_inverse=True)
        sums: Ints = np.zeros(heads.size, dtype=np.int64)
        np.add.at(sums, place, stacks.weight)
        for head, weight in zip(heads.tolist(), sums.tolist(), strict=True):
            name = printable(stacks.names[head].name, LONGEST_NAME)
            weights.setdefault(name, [0, 0])[side] += weight
    rows = [NamedThreads(name, *both) for name, both in weights.items()]
    rows.sort(key=lambda row: (-max(row.weight_a, row.weight_b), row.name))
    return tuple(rows[:MOST_THREADS])
