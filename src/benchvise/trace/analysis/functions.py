"""Kernel functions: how often each was called, and how long its calls took.

Calls are those of ftrace's function_graph tracer (``funcgraph_entry`` and ``funcgraph_exit``),
which nest: a call's *total* time is from its entry to its exit, its *self* time is that without the
traced functions that it called. Both hold the time in which the thread was off its CPU. The
function tracer tells calls alone (``function``): its functions have counts and no times.

Slices that programs tell of themselves (``slice_begin`` of Chrome's JSON and of Perfetto) nest
likewise, and are calls here: their track is the thread, their name the function. So do instrumented
functions of programs (``user_functions``). A trace may have all of them: each is a table of its
own, as a slice is not within a function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.calls import BegunCalls, CallTable, Symbol, function_name, nested
from benchvise.trace.analysis.distributions import TimeDistribution, distribution
from benchvise.trace.analysis.model import NONE, Analysis, Bools, Ints, Rows
from benchvise.trace.analysis.user_functions import UserCalls

EVENTS = ("funcgraph_entry", "funcgraph_exit", "function")
SLICE_EVENT = "slice_begin"


@dataclass(frozen=True, slots=True)
class FunctionCalls:
    """The calls of a function that begin in the span. Times in ns.

    ``total`` is of whole calls, ``self_time`` the sum of their self times and ``self_share`` its
    part of the span, over all CPUs. ``incomplete`` calls are cut by an end of the trace or meet
    lost events: they are counted, and in no time. ``worst_at`` and ``worst_cpu`` are where the
    longest begins. Times are None for a function that only the function tracer told.
    """

    name: str
    calls: int
    incomplete: int
    total: TimeDistribution | None
    self_time: int | None
    self_share: float | None
    worst_at: int | None
    worst_cpu: int | None
    deepest: int | None


def function_calls(analysis: Analysis) -> CallTable | None:
    """Every call that the graph tracer saw begin, also those without an end; None without it.

    ``duration`` is what the kernel measured where the trace has that (until Linux 6.13): the stamps
    of its events hold the time of writing them, too.
    """
    entry, leave = (analysis.events(name) for name in EVENTS[:2])
    if entry is None:
        return None
    return nested(analysis, _Joined(Rows(entry), None if leave is None else Rows(leave)).begun())


def slice_calls(analysis: Analysis) -> CallTable | None:
    """Every slice that a program told, as a call; None where none is told."""
    slices = analysis.events(SLICE_EVENT)
    return None if slices is None else nested(analysis, _slices(Rows(slices), analysis.whole.end))


def _slices(rows: Rows, last: int) -> BegunCalls:
    """The slices that programs told, whose ends and depths the decoder knows."""
    function, names = rows.texts("name")
    begin, thread = rows["time"], rows["common_pid"]
    ended: Bools = rows["duration"] != NONE
    duration = np.where(ended, rows["duration"], 0)
    return BegunCalls(
        function=function,
        key=thread,
        thread=thread,
        cpu=np.full(begin.size, -1, dtype=np.int64),
        begin=begin,
        end=begin + duration,
        duration=duration,
        depth=rows["depth"],
        ended=ended,
        latest=np.full(begin.size, last, dtype=np.int64),
        names=tuple(names),
    ).ordered()


class _Joined:
    """Entries and exits of all CPUs in one order of time."""

    def __init__(self, entries: Rows, exits: Rows | None) -> None:
        parts = [entries] if exits is None else [entries, exits]

        def column(name: str) -> Ints:
            arrays = [rows[name] for rows in parts]
            joined: Ints = np.concatenate(arrays)
            return joined

        enters = np.repeat([True, False][: len(parts)], [len(rows) for rows in parts])
        time = column("time")
        order = np.argsort(time, kind="stable")
        self.time = time[order]
        self.cpu = column("cpu")[order]
        self.thread = column("common_pid")[order]
        self.function = column(_function_column(entries))[order]
        self.depth = column("depth")[order]
        self.enters: Bools = enters[order]
        self.measured: Ints | None = None
        if exits is not None and {"calltime", "rettime"} <= set(exits.table.column_names):
            measured = exits["rettime"] - exits["calltime"]
            unknown: Ints = np.zeros(len(entries), dtype=np.int64)
            self.measured = np.concatenate([unknown, measured])[order]
        # Each CPU has an idle task of its own.
        self.key: Ints = np.where(self.thread == 0, -1 - self.cpu, self.thread)

    def begun(self) -> BegunCalls:
        """The calls of all entries."""
        begins, ends = self._pairs()
        ended: Bools = ends >= 0
        begin, end = self.time[begins], self.time[ends]
        duration = end - begin if self.measured is None else self.measured[ends]
        return BegunCalls(
            function=self.function[begins],
            key=self.key[begins],
            thread=self.thread[begins],
            cpu=self.cpu[begins],
            begin=begin,
            end=end,
            duration=duration,
            depth=self.depth[begins],
            ended=ended,
            latest=None,
        ).ordered()

    def _pairs(self) -> tuple[Ints, Ints]:
        """The places of all entries, and of the exit of each; -1 where there is none.

        Of one thread and depth the next event behind an entry is its exit: another entry, or the
        exit of another function, tells that what lay between is missing.
        """
        order = np.lexsort((self.time, self.depth, self.key))
        # Where the next entry has the stamp of an exit, it stands before it: behind an open entry
        # the exit comes first.
        enters, time = self.enters[order], self.time[order]
        swapped = 1 + np.flatnonzero(
            enters[:-2] & enters[1:-1] & ~enters[2:] & (time[1:-1] == time[2:])
        )
        order[swapped], order[swapped + 1] = order[swapped + 1], order[swapped]
        entered = self.enters[order]
        following = np.roll(order, -1)
        same = (
            (self.key[order] == self.key[following])
            & (self.depth[order] == self.depth[following])
            & (self.function[order] == self.function[following])
            & ~self.enters[following]
        )
        if same.size:
            same[-1] = False
        begins = order[entered]
        ends = np.where(same[entered], following[entered], -1)
        return begins, ends


def _function_column(rows: Rows) -> str:
    return "func" if "func" in rows.table.column_names else "graph_ent.func"


def functions(
    analysis: Analysis, symbol: Symbol, user: UserCalls | None = None
) -> list[FunctionCalls]:
    """Functions and slices by the sum of their self times, then functions of which only counts are
    known. ``user``: also these calls of programs."""
    tables = (function_calls(analysis), slice_calls(analysis), user.table if user else None)
    rows = [row for calls in tables if calls for row in _by_function(analysis, calls, symbol)]
    rows.sort(key=lambda row: (-(row.self_time or 0), row.name))
    counted = [*_counted(analysis, symbol), *(user.counted if user else ())]
    counted.sort(key=lambda pair: (-pair[1], pair[0]))
    return rows + [
        FunctionCalls(name, n, 0, None, None, None, None, None, None) for name, n in counted
    ]


def _by_function(analysis: Analysis, calls: CallTable, symbol: Symbol) -> Iterator[FunctionCalls]:
    inside = analysis.span.holds(calls.begin)
    numbers, place = np.unique(calls.function, return_inverse=True)
    for at, number in enumerate(numbers):
        own = np.flatnonzero((place == at) & inside)
        if not own.size:
            continue
        whole = own[calls.complete[own]]
        length = calls.duration[whole]
        self_time = int(calls.self_time[whole].sum())
        worst = int(whole[np.argmax(length)]) if whole.size else None
        yield FunctionCalls(
            name=calls.name(symbol, int(number)),
            calls=int(own.size),
            incomplete=int(own.size - whole.size),
            total=distribution(np.sort(length)),
            self_time=self_time,
            self_share=self_time / analysis.span.duration,
            worst_at=None if worst is None else int(calls.begin[worst]),
            worst_cpu=None if worst is None or calls.cpu[worst] < 0 else int(calls.cpu[worst]),
            deepest=int(calls.depth[own].max()),
        )


def _counted(analysis: Analysis, symbol: Symbol) -> list[tuple[str, int]]:
    """What the function tracer told: functions, and how often they were called."""
    table = analysis.events("function")
    if table is None:
        return []
    rows = Rows(table)
    inside = analysis.span.holds(rows["time"])
    if table.column("ip").kind == "text":  # an ftrace text, which has names
        codes, texts = rows.texts("ip")
        counts = np.bincount(codes[inside], minlength=len(texts))
        return [(texts[at], int(n)) for at, n in enumerate(counts) if n]
    numbers, count = np.unique(rows["ip"][inside], return_counts=True)
    return [
        (function_name(symbol, int(number)), int(n))
        for number, n in zip(numbers, count, strict=True)
    ]
