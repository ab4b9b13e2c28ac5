"""Calls of functions of the kernel and of programs, and slices of programs, on the timeline: which
threads have some, what is drawn of them, one of them.

Calls are those of ``trace.analysis.functions`` and ``user_functions``. Each thread has a
lane for each depth, as calls nest. What is drawn keeps to the rule of all rows: a pixel in which a
call was made is not blank, and where several calls of a depth fall on one pixel, one item stands
for them and says how many.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.calls import USER_ENTRIES, CallTable, Symbol
from benchvise.trace.analysis.functions import (
    EVENTS,
    SLICE_EVENT,
    function_calls,
    slice_calls,
)
from benchvise.trace.analysis.model import Analysis, Bools, Ints
from benchvise.trace.analysis.user_functions import UserCalls, user_calls
from benchvise.trace.levels import shift_of
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.tables import table_of
from benchvise.web.workspace.query import TraceQuery

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_MOST_THREADS = 1000
_LANES = 64
"""The kernel's own stack of traced calls has 50. What lies deeper is drawn in the last lane."""

_FIRST_TRACK = 1 << 22
"""Numbers from here on are those of tracks that are no threads of Linux."""

SLICES = 1 << 32
"""Keys from here on are those of slices: a thread may have functions and slices."""

USER_FUNCTIONS = 2 << 32
"""Keys from here on are those of functions of programs."""

_WIDEST = 1 << 14
_MOST_WITHIN = 20

_KEYS = (-(1 << 20), USER_FUNCTIONS + (1 << 31))
"""The least and the greatest key."""

CallKind = Literal["function", "slice", "user function"]
_FIRST_KEYS: dict[CallKind, int] = {"function": 0, "slice": SLICES, "user function": USER_FUNCTIONS}


@dataclass(frozen=True, slots=True)
class CallingThread:
    """A thread of which calls of a kind are known. ``thread`` is its id, or that of its track, or
    -1 - CPU of an idle task; ``key`` is another number for each kind of its calls.

    ``lanes`` is how deep its calls nest.
    """

    kind: CallKind
    key: int
    thread: int
    name: str
    cpu: int | None
    lanes: int
    calls: int


@dataclass(frozen=True, slots=True)
class CallingThreads:
    """Those with most calls first; ``functions`` are names by the numbers that calls have."""

    threads: tuple[CallingThread, ...]
    more: int
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallWithin:
    """Functions that were called within a call: how often, and their total time in ns."""

    name: str
    calls: int
    total: int


@dataclass(frozen=True, slots=True)
class CalledFrom:
    """A call around another one, as an item of its thread's lane."""

    name: str
    lane: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class CallDetails:
    """A call, or a slice. Times in ns since the first event; ``total`` and ``self_time`` are None
    for one that is incomplete: cut by an end of the trace, or beside lost events.

    ``cpu`` is None where the trace does not tell it.

    ``around`` are the calls within which it was made, the outermost first; ``within`` the functions
    that it called itself, by their total time, and ``within_more`` how many are left out.
    """

    kind: CallKind
    name: str
    thread: str
    lane: int
    begin: int
    end: int
    cpu: int | None
    total: int | None
    self_time: int | None
    around: tuple[CalledFrom, ...]
    within: tuple[CallWithin, ...]
    within_more: int


class ShownCalls:
    """The calls of one kind, ordered for the timeline. ``first``: the number of its first name."""

    def __init__(
        self,
        kind: CallKind,
        calls: CallTable,
        symbol: Symbol,
        threads: Mapping[int, str],
        first: int = 0,
    ) -> None:
        self.kind = kind
        self.table = calls
        self.first = first
        self._symbol = symbol
        self._threads = threads
        self.key: Ints = (
            np.where(calls.thread == 0, -1 - calls.cpu, calls.thread)
            if kind == "function"
            else _FIRST_KEYS[kind] + calls.thread
        )
        keys, place = np.unique(self.key, return_inverse=True)
        least: Ints = np.full(keys.size, np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(least, place, calls.depth)
        depth = calls.depth - least[place] if keys.size else calls.depth
        self.lane: Ints = np.minimum(depth, _LANES - 1)
        self.end = _shown_ends(calls, self.key)
        numbers, self.function = np.unique(calls.function, return_inverse=True)
        self._numbers = numbers
        # Of one thread and lane, in order of time.
        self._order = np.lexsort((calls.begin, self.lane, self.key))
        self._sorted_key, self._sorted_lane = self.key[self._order], self.lane[self._order]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of functions by the numbers of ``function``."""
        return tuple(printable(self.table.name(self._symbol, int(at)), 160) for at in self._numbers)

    def threads(self) -> list[CallingThread]:
        """All threads with calls, those with most first."""
        keys, counts = np.unique(self.key, return_counts=True)
        threads = []
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            lanes = int(self.lane[self.key == key].max()) + 1
            cpu = -1 - key if key < 0 else None
            thread = _thread_of(key)
            name = self.thread_name(key)
            threads.append(CallingThread(self.kind, key, thread, name, cpu, lanes, count))
        return sorted(threads, key=lambda thread: (-thread.calls, thread.key))

    def thread_name(self, key: int) -> str:
        """The name of a thread, and its number."""
        thread = _thread_of(key)
        if thread < 0:
            return f"idle, CPU {-1 - thread}"
        name = printable(self._threads.get(thread, "thread"), 80)
        return name if thread >= _FIRST_TRACK else f"{name} {thread}"

    def of(self, key: int, lane: int | None = None) -> Ints:
        """The calls of a thread (and lane), by their places in the table, ordered by lane and
        time."""
        first, last = np.searchsorted(self._sorted_key, [key, key + 1])
        if lane is not None:
            lanes = self._sorted_lane[first:last]
            low, high = np.searchsorted(lanes, [lane, lane + 1])
            first, last = first + low, first + high
        return self._order[first:last]


def call_kinds(loaded: LoadedTrace) -> tuple[CallKind, ...]:
    """The kinds of calls that a trace holds: not those that it only describes."""
    kinds: tuple[tuple[str, CallKind], ...] = (
        (EVENTS[0], "function"),
        (SLICE_EVENT, "slice"),
        *((entry, "user function") for entry in USER_ENTRIES),
    )
    present = (kind for event, kind in kinds if event in loaded.trace.counts)
    return tuple(dict.fromkeys(present))


def _kind_of(key: int) -> CallKind:
    return max((first, kind) for kind, first in _FIRST_KEYS.items() if key >= first or not first)[1]


def _thread_of(key: int) -> int:
    return key - _FIRST_KEYS[_kind_of(key)]


def calls_of_kinds(
    analysis: Analysis,
    symbol: Symbol,
    tracks: Iterable[tuple[int, str]] = (),
    user: UserCalls | None = None,
) -> dict[CallKind, ShownCalls]:
    """The calls of functions, and the slices, of those kinds that a trace has. ``tracks`` are names
    by numbers, for threads that the analysis does not know; ``user`` the calls of programs."""
    threads = dict(user.threads) if user else {}
    threads |= dict(tracks)
    threads |= {actor.tid: actor.name for actor in analysis.actors if actor.tid}
    kinds: dict[CallKind, ShownCalls] = {}
    first = 0
    tables: tuple[tuple[CallKind, CallTable | None], ...] = (
        ("function", function_calls(analysis)),
        ("slice", slice_calls(analysis)),
        ("user function", user.table if user else None),
    )
    for kind, table in tables:
        if table is not None and table.begin.size:
            kinds[kind] = ShownCalls(kind, table, symbol, threads, first)
            first += len(kinds[kind].names)
    return kinds


class KeptCalls:
    """The calls of one trace, kept between requests."""

    def __init__(self) -> None:
        self._kinds: dict[CallKind, ShownCalls] | None = None
        self._lock = threading.Lock()

    def kinds(self, loaded: LoadedTrace) -> dict[CallKind, ShownCalls]:
        """The calls by their kinds; one thread makes them while the others wait."""
        with self._lock:
            if self._kinds is None:
                tracks = ((at, name) for at, name in loaded.trace.description["tasks"])
                analysis, symbol = loaded.analysis, loaded.trace.source.symbol
                user = user_calls(analysis, loaded.path)
                self._kinds = calls_of_kinds(analysis, symbol, tracks, user)
            return self._kinds

    def of(self, loaded: LoadedTrace, key: int) -> ShownCalls:
        """The calls of the kind that a key is of. UsageError where the trace has none."""
        calls = self.kinds(loaded).get(_kind_of(key))
        if calls is None:
            raise UsageError("the trace has no such calls", "choose another row")
        return calls


def calling_threads(loaded: LoadedTrace, _query: TraceQuery, kept: KeptCalls) -> CallingThreads:
    """``calling``: the threads of which calls are known."""
    kinds = kept.kinds(loaded).values()
    threads = [thread for calls in kinds for thread in calls.threads()[:_MOST_THREADS]]
    count = sum(np.unique(calls.key).size for calls in kinds)
    names = tuple(name for calls in kinds for name in calls.names)
    return CallingThreads(tuple(threads), count - len(threads), names)


def shown_calls(loaded: LoadedTrace, query: TraceQuery, kept: KeptCalls) -> Table:
    """``calls`` of a ``thread`` (its key) from ``begin`` to ``end``, on ``width`` pixels.

    Columns, in order of lane and time: ``lane``, ``begin``, ``end`` (ns since the first event),
    ``function`` (number; of several calls that of the longest), ``count`` (calls for which it
    stands), ``complete`` (1: all of these).
    """
    key = query.whole("thread", None, *_KEYS)
    calls = kept.of(loaded, key)
    origin = loaded.analysis.whole.begin
    begin, end = query.moment("begin", loaded), query.moment("end", loaded)
    first = origin if begin is None else begin
    last = loaded.analysis.whole.end + 1 if end is None else max(end, first + 1)
    shift = shift_of(first, last, query.whole("width", 1000, 1, _WIDEST))
    own = calls.of(key)
    own = own[(calls.end[own] >= first) & (calls.table.begin[own] < last)]
    since, until = calls.table.begin[own] - origin, calls.end[own] - origin
    lane = calls.lane[own]
    # A call that lies over an edge of pixels is an item; the others of a pixel are one together.
    bucket = since >> shift
    alone = bucket != np.maximum(until - 1, since) >> shift
    group = np.where(alone, -1 - np.arange(own.size), bucket)
    change = np.flatnonzero(
        (np.diff(group, prepend=group[:1] - 1) != 0) | (np.diff(lane, prepend=lane[:1] - 1) != 0)
    )
    counts = np.diff(np.append(change, own.size))
    longest = _longest(until - since, change, counts)
    complete = calls.table.complete[own].astype(np.uint8)
    last_end, all_complete = (
        (until, complete)
        if not own.size
        else (
            np.maximum.reduceat(until, change),
            np.minimum.reduceat(complete, change),
        )
    )
    return table_of(
        {
            "lane": lane[change].astype(np.uint8),
            "begin": since[change].astype(np.float64),
            "end": last_end.astype(np.float64),
            "function": (calls.first + calls.function[own][longest]).astype(np.int32),
            "count": counts.astype(np.uint32),
            "complete": all_complete,
        }
    )


def call_details(loaded: LoadedTrace, query: TraceQuery, kept: KeptCalls) -> CallDetails:
    """``call`` of a ``thread`` (its key) and ``lane`` at ``t``. UsageError where there is none."""
    key = query.whole("thread", None, *_KEYS)
    calls = kept.of(loaded, key)
    table, origin = calls.table, loaded.analysis.whole.begin
    lane = query.whole("lane", None, 0, _LANES - 1)
    time = query.moment("t", loaded)
    own = calls.of(key, lane)
    at = int(np.searchsorted(table.begin[own], origin if time is None else time, "right")) - 1
    if at < 0 or (time is not None and calls.end[own[at]] < time):
        raise UsageError("no call was made there", "choose another moment")
    call = int(own[at])
    around: list[int] = []
    outer = int(table.parent[call])
    while outer >= 0 and len(around) < _LANES:
        around.append(outer)
        outer = int(table.parent[outer])
    inner = np.flatnonzero(table.parent == call)
    within = _within(calls, inner)
    is_whole = bool(table.complete[call])
    return CallDetails(
        kind=calls.kind,
        name=calls.names[int(calls.function[call])],
        thread=calls.thread_name(key),
        lane=lane,
        begin=int(table.begin[call]) - origin,
        end=int(calls.end[call]) - origin,
        cpu=int(table.cpu[call]) if table.cpu[call] >= 0 else None,
        total=int(table.duration[call]) if is_whole else None,
        self_time=int(table.self_time[call]) if is_whole else None,
        around=tuple(
            CalledFrom(
                calls.names[int(calls.function[one])],
                int(calls.lane[one]),
                int(table.begin[one]) - origin,
                int(calls.end[one]) - origin,
            )
            for one in reversed(around)
        ),
        within=tuple(within[:_MOST_WITHIN]),
        within_more=max(len(within) - _MOST_WITHIN, 0),
    )


def _within(calls: ShownCalls, inner: Ints) -> list[CallWithin]:
    numbers, place = np.unique(calls.function[inner], return_inverse=True)
    counts = np.bincount(place, minlength=numbers.size)
    totals: Ints = np.zeros(numbers.size, dtype=np.int64)
    np.add.at(totals, place, calls.table.duration[inner])
    within = [
        CallWithin(calls.names[int(number)], int(count), int(total))
        for number, count, total in zip(numbers, counts, totals, strict=True)
    ]
    return sorted(within, key=lambda one: (-one.total, one.name))


def _longest(length: Ints, change: Ints, counts: Ints) -> Ints:
    """The place of the longest of each group."""
    group = np.repeat(np.arange(change.size), counts)
    order = np.lexsort((-length, group))
    return order[change]


def _shown_ends(calls: CallTable, key: Ints) -> Ints:
    """Ends as they are drawn. Of a call whose exit is not known, it is the next call of its thread
    that is not within it: by then it had ended."""
    end = calls.end.copy()
    lost: Bools = ~calls.complete
    open_calls = np.flatnonzero(lost & (end == end.max(initial=0)))
    if not open_calls.size:
        return end
    _, thread = np.unique(key, return_inverse=True)
    for depth in np.unique(calls.depth).tolist():
        # Of this depth, by thread and time: the first call behind each open one as deep or deeper.
        own = np.flatnonzero(calls.depth == depth)
        order = own[np.lexsort((own, thread[own]))]
        deeper = open_calls[calls.depth[open_calls] >= depth]
        width = key.size + 1
        places = thread[order] * width + order
        at = np.searchsorted(places, thread[deeper] * width + deeper, side="right")
        has_next = at < order.size
        following = order[np.minimum(at, order.size - 1)]
        has_next &= thread[following] == thread[deeper]
        end[deeper[has_next]] = np.minimum(end[deeper[has_next]], calls.begin[following[has_next]])
    return np.maximum(end, calls.begin)
