"""Calls that nest: what the function_graph tracer, programs and instrumented functions tell alike.

A call's *total* time is from its begin to its end, its *self* time is that without the calls that
were made within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from benchvise.trace.analysis.model import NONE, Analysis, Bools, Ints
from benchvise.trace.decoder import decoder

USER_ENTRIES = ("lttng_ust_cyg_profile:func_entry", "lttng_ust_cyg_profile_fast:func_entry")
"""Events of instrumented functions of programs that begin."""

Symbol = Callable[[int], str | None]
"""The name of what is at an address."""


@dataclass(frozen=True, kw_only=True)
class _Calls:
    """Calls as columns of equal length, in order of their beginnings; times in ns.

    ``function`` is an address, or the place of its name in ``names``.
    """

    function: Ints
    thread: Ints
    cpu: Ints
    begin: Ints
    end: Ints
    duration: Ints
    depth: Ints
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallTable(_Calls):
    """The calls of a trace.

    ``parent`` is the place of the call within which it was made, -1 for none that was traced.
    """

    parent: Ints
    self_time: Ints
    complete: Bools

    def name(self, symbol: Symbol, function: int) -> str:
        """The name of a function of ``function``."""
        if 0 <= function < len(self.names):
            return self.names[function] or "(no name)"
        return function_name(symbol, function)


def nested(analysis: Analysis, begun: BegunCalls) -> CallTable:
    """The calls with what was called within them."""
    latest = analysis.whole.end if begun.latest is None else begun.latest
    end = np.where(begun.ended, begun.end, latest)
    complete = begun.ended & ~_lost_between(analysis, begun.begin, end)
    holds = end if begun.latest is not None else np.where(begun.ended, end, begun.begin)
    parent = _parents(begun.key, begun.depth, begun.begin, holds)
    duration = np.where(begun.ended, begun.duration, end - begun.begin)
    self_time = duration.copy()
    inner = np.flatnonzero((parent >= 0) & complete)
    np.subtract.at(self_time, parent[inner], duration[inner])
    # Self time is only known where all is that was called within.
    complete[parent[np.flatnonzero((parent >= 0) & ~complete)]] = False
    kept = {column.name: getattr(begun, column.name) for column in fields(_Calls)}
    kept |= {"end": end, "duration": duration}
    return CallTable(**kept, parent=parent, self_time=self_time, complete=complete)


@dataclass(frozen=True, kw_only=True)
class BegunCalls(_Calls):
    """Calls by what the trace says of each.

    ``key`` tells their stacks apart. ``ended``: whether the end is known; ``end`` and ``duration``
    hold where it is. ``latest``: when a call whose end is not known had ended at the latest, and
    until when it holds what follows; without it, it holds nothing.
    """

    key: Ints
    ended: Bools
    latest: Ints | None

    def ordered(self) -> BegunCalls:
        """The same in order of time, then of depth."""
        order = np.lexsort((self.depth, self.begin))
        columns = ("function", "key", "thread", "cpu", "begin", "end", "duration", "depth", "ended")
        latest = None if self.latest is None else self.latest[order]
        sorted_columns = {name: getattr(self, name)[order] for name in columns}
        return replace(self, **sorted_columns, latest=latest)


def _parents(key: Ints, depth: Ints, begin: Ints, end: Ints) -> Ints:
    """For each call the place of that within which it was made; calls are in order of time."""
    parent: Ints = np.full(key.size, -1, dtype=np.int64)
    if not key.size:
        return parent
    # One number for thread and depth: the last call before of the thread at one depth less.
    _, thread = np.unique(key, return_inverse=True)
    width = int(depth.max()) + 2
    group = thread.astype(np.int64) * width + depth
    order = np.lexsort((np.arange(key.size), group))
    sorted_group, places = group[order], order
    # Calls are numbered in order of time: search for (group - 1, own number).
    composite = sorted_group * (key.size + 1) + places
    wanted = (group - 1) * (key.size + 1) + np.arange(key.size)
    at = np.searchsorted(composite, wanted) - 1
    inside = (at >= 0) & (depth > 0)
    candidate = places[np.maximum(at, 0)]
    inside &= (
        (group[candidate] == group - 1) & (begin[candidate] <= begin) & (end[candidate] >= end)
    )
    parent[inside] = candidate[inside]
    return parent


def _lost_between(analysis: Analysis, begin: Ints, end: Ints) -> Bools:
    """Which calls lost events may have met: their thread may have been on any CPU meanwhile."""
    lost: Bools = np.zeros(begin.size, dtype=np.bool_)
    for loss in analysis.losses:
        since = analysis.whole.begin if loss.begin is None else loss.begin
        until = analysis.whole.end if loss.end is None else loss.end
        lost |= (begin <= until) & (end >= since)
    return lost


def function_name(symbol: Symbol, address: int) -> str:
    """The function's own name: the graph tracer's addresses lie within its first bytes."""
    if address == NONE:
        return "?"
    name = symbol(address & (1 << 64) - 1)
    return decoder().demangle(name.split("+0x")[0]) if name else f"0x{address & (1 << 64) - 1:x}"
