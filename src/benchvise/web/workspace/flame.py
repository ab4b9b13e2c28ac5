"""The flame graph of a span: stacks of functions as a tree, and which events and threads have some.

Stacks are those of ``trace.analysis.flame.stacks``; naming their functions takes longest, so that
the stacks of an event are kept between requests.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.text import printable
from benchvise.trace.analysis.flame.frame_names import MissingSymbols
from benchvise.trace.analysis.flame.graph import StackTree, tree
from benchvise.trace.analysis.flame.stacks import Stacks, TraceStacks
from benchvise.trace.analysis.model import Ints
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

MOST_NODES = 8000
"""Of a graph: those that weigh least are left out."""

MOST_THREADS = 300
MOST_EVENTS = 100
_MOST_KEPT = 4
LONGEST_NAME = 160


@dataclass(frozen=True, slots=True)
class StackEvent:
    """An event that has stacks."""

    name: str
    stacks: int


@dataclass(frozen=True, slots=True)
class StackThread:
    """A thread that has stacks in the span, and what they weigh."""

    thread: int
    name: str
    weight: int


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """A tree as columns: node 0 is all, parents stand before children, ``function`` is a place in
    ``names`` and ``modules`` (-1 for all).

    ``left_out`` nodes weigh too little to be seen: their weight is in their parents' totals.
    ``threads`` are of the whole span, those with most weight first.
    """

    part: AnsweredPart = field(metadata=in_json(inline=True))
    event: str
    unit: str
    stacks: int
    events: tuple[StackEvent, ...]
    threads: tuple[StackThread, ...]
    names: tuple[str, ...]
    modules: tuple[str, ...]
    parent: tuple[int, ...]
    function: tuple[int, ...]
    self_weight: tuple[int, ...]
    total: tuple[int, ...]
    left_out: int
    missing: tuple[MissingSymbols, ...]


class KeptStacks:
    """The stacks of one trace, kept between requests: those of the events asked for last."""

    def __init__(self) -> None:
        self._of_trace: TraceStacks | None = None
        self._events: dict[str, int] = {}
        self._kept: OrderedDict[str, Stacks] = OrderedDict()
        self._lock = threading.Lock()

    def events(self, loaded: LoadedTrace) -> dict[str, int]:
        """The events of which the trace has stacks, and how many; those with most first."""
        with self._lock:
            return dict(self._all(loaded))

    def stacks(self, loaded: LoadedTrace, event: str) -> Stacks:
        """The stacks of an event. UsageError where the trace has none of it."""
        with self._lock:
            self._all(loaded)
            assert self._of_trace is not None  # noqa: S101 - made by what is called above
            if event not in self._kept:
                self._kept[event] = self._of_trace.of(event)
                if len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(event)
            return self._kept[event]

    def _all(self, loaded: LoadedTrace) -> dict[str, int]:
        if self._of_trace is None:
            of_trace = TraceStacks(loaded)
            self._events = of_trace.events()
            self._of_trace = of_trace
        return self._events


def flame_graph(loaded: LoadedTrace, query: TraceQuery, kept: KeptStacks) -> FlameGraph:
    """``flame``: the stacks of an ``event`` between ``begin`` and ``end``, of a ``thread`` and a
    ``cpu``, where they are named."""
    part = query.part(loaded)
    events = kept.events(loaded)
    if not events:
        nothing: tuple[int, ...] = (0,)
        return FlameGraph(
            answered_part(part),
            "",
            "samples",
            0,
            (),
            (),
            (),
            (),
            (-1,),
            (-1,),
            nothing,
            nothing,
            0,
            (),
        )
    event = query.text("event") or next(iter(events))
    stacks = kept.stacks(loaded, event).within(part.analysis.span)
    threads = _threads(stacks)
    if query.text("thread"):
        stacks = stacks.chosen(stacks.thread == query.whole("thread", 0, -(1 << 31), 1 << 31))
    if query.text("cpu"):
        stacks = stacks.chosen(stacks.cpu == query.whole("cpu", 0, 0, 1 << 16))
    graph = tree(stacks)
    nodes = _largest(graph)
    place: Ints = np.full(graph.parent.size, -1, dtype=np.int64)
    place[nodes] = np.arange(nodes.size)
    frames = graph.frame[nodes]
    used, function = np.unique(frames[1:], return_inverse=True)
    used_frames = [stacks.names[int(at)] for at in used]
    return FlameGraph(
        answered_part(part),
        stacks.event,
        stacks.unit,
        int(stacks.time.size),
        tuple(StackEvent(*event) for event in list(events.items())[:MOST_EVENTS]),
        threads,
        tuple(printable(frame.name, LONGEST_NAME) for frame in used_frames),
        tuple(printable(frame.module, LONGEST_NAME) for frame in used_frames),
        (-1, *place[graph.parent[nodes[1:]]].tolist()),
        (-1, *function.tolist()),
        tuple(graph.self_weight[nodes].tolist()),
        tuple(graph.total[nodes].tolist()),
        int(graph.parent.size - nodes.size),
        stacks.missing[:20],
    )


def _largest(graph: StackTree) -> Ints:
    """The nodes that weigh most; with each its parents, which weigh as much at least."""
    if graph.total.size <= MOST_NODES:
        return np.arange(graph.total.size)
    order = np.lexsort((np.arange(graph.total.size), -graph.total))
    return np.sort(order[:MOST_NODES])


def _threads(stacks: Stacks) -> tuple[StackThread, ...]:
    numbers, place = np.unique(stacks.thread, return_inverse=True)
    weights: Ints = np.zeros(numbers.size, dtype=np.int64)
    np.add.at(weights, place, stacks.weight)
    heads: Ints = np.zeros(numbers.size, dtype=np.int64)
    heads[place] = stacks.frames[stacks.starts[:-1]]
    rows = [
        StackThread(number, printable(stacks.names[head].name, 80), weight)
        for number, head, weight in zip(
            numbers.tolist(), heads.tolist(), weights.tolist(), strict=True
        )
    ]
    rows.sort(key=lambda row: (-row.weight, row.thread))
    return tuple(rows[:MOST_THREADS])
