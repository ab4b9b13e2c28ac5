"""Stacks of functions that a trace holds: of perf's samples, of ftrace's ``stacktrace``, of calls.

A *sample* is one stack, taken when an event occurred. Its weight is 1, or the event's period: how
many of the event it stands for. Stacks of calls that nest (function_graph, slices, instrumented
functions) weigh the self time of the innermost call, in ns. Stacks begin with the thread's name;
samples of perf are named as ``perf script`` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchvise.errors import UsageError
from benchvise.text import enumerated
from benchvise.trace.analysis.calls import CallTable
from benchvise.trace.analysis.flame.frame_names import Frame, FrameNames, MissingSymbols
from benchvise.trace.analysis.flame.mappings import Mappings
from benchvise.trace.analysis.flame.unwound import unknown_callers, unwound
from benchvise.trace.analysis.functions import function_calls, slice_calls
from benchvise.trace.analysis.model import Bools, Ints, Rows, TraceSpan
from benchvise.trace.analysis.user_functions import user_calls
from benchvise.trace.loaded import LoadedTrace

_COLUMNS = ("kernel_stack", "foreign_stack", "user_stack")
"""Of perf's samples, the innermost first: a system call's functions lie within the program's."""

_FTRACE = ("kernel_stack", "user_stack")
"""Events that ftrace writes behind the event whose stack they are."""

_CALLS = ("function calls", "slices", "user function calls")
_MASK = (1 << 64) - 1
_END = (-1, 0xFFFF_FFFF)
"""ftrace ends a stack that is shorter than its place with one of these."""


@dataclass(frozen=True)
class Stacks:
    """Stacks of one event, as columns of equal length; ``frames`` lie one after the other, each
    stack from its thread's name on, stack ``n`` from ``starts[n]`` to ``starts[n + 1]``.

    ``unit`` is ``samples``, ``ns``, or the event where weights are periods. ``cpu`` is -1 where it
    is not known. ``others`` are the events that have stacks, too, with how many.
    """

    event: str
    unit: str
    time: Ints
    cpu: Ints
    thread: Ints
    weight: Ints
    frames: Ints
    starts: Ints
    names: tuple[Frame, ...]
    others: tuple[tuple[str, int], ...] = ()
    missing: tuple[MissingSymbols, ...] = ()

    def chosen(self, keep: Bools) -> Stacks:
        """The same with some of the stacks."""
        kept = np.flatnonzero(keep)
        lengths = np.diff(self.starts)[kept]
        starts: Ints = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[:-1][kept] - starts[:-1], lengths) + np.arange(starts[-1])
        columns = {name: getattr(self, name)[kept] for name in ("time", "cpu", "thread", "weight")}
        return replace(self, frames=self.frames[places], starts=starts, **columns)

    def within(self, span: TraceSpan) -> Stacks:
        """The same with the stacks of a span."""
        return self.chosen(span.holds(self.time))


class TraceStacks:
    """The stacks of a trace by event."""

    def __init__(self, loaded: LoadedTrace) -> None:
        self._loaded = loaded
        self._analysis = loaded.analysis
        counts = loaded.trace.counts
        described = loaded.trace.description["events"]
        fields = {
            event["name"]: {field["name"] for field in event["fields"]} for event in described
        }
        self._systems = {event["name"]: event["system"] for event in described}
        self._sampled = {
            name: counts[name]
            for name, own in fields.items()
            if name in counts and not own.isdisjoint(_COLUMNS)
        }
        self._traced = any(name in counts and "caller" in fields.get(name, ()) for name in _FTRACE)

    def events(self) -> dict[str, int]:
        """The events of which there are stacks, those with most first."""
        events = dict(self._sampled)
        if self._traced:
            events |= {name: int(of.size) for name, of in self._by_event().items()}
        for name, calls in self._call_tables():
            events[name] = int(calls.begin.size)
        return dict(sorted(events.items(), key=lambda event: (-event[1], event[0])))

    def of(self, event: str | None = None, *, periods: bool = False) -> Stacks:
        """The stacks of an event; of that with most, where none is named.

        Raises:
            UsageError: the trace has no stacks, or none of that event.
        """
        events = self.events()
        if not events:
            raise UsageError(
                f"{self._loaded.path} has no stacks",
                "record some with perf record -g, ftrace's trigger stacktrace, or benchvise trace "
                "record BOARD --functions NAME --graph",
            )
        if event is None:
            event = next(iter(events))
        elif event not in events:
            raise UsageError(
                f"the trace has no stacks of {event[:80]}",
                f"it has those of {enumerated(list(events), 8)}",
            )
        if event in self._sampled:
            stacks = self._samples(event, periods=periods)
        elif event in _CALLS:
            stacks = self._calls(event)
        else:
            stacks = self._traced_stacks(event)
        others = tuple((name, count) for name, count in events.items() if name != event)
        return replace(stacks, others=others)

    def _call_tables(self) -> Iterator[tuple[str, CallTable]]:
        user = user_calls(self._analysis, self._loaded.path)
        tables = (
            function_calls(self._analysis),
            slice_calls(self._analysis),
            user.table if user else None,
        )
        for name, table in zip(_CALLS, tables, strict=True):
            if table is not None and table.begin.size:
                yield name, table

    # -- samples of perf -------------------------------------------------------------------------

    def _samples(self, event: str, *, periods: bool) -> Stacks:
        table = self._analysis.events(event)
        assert table is not None  # noqa: S101 - it has been counted
        mappings = Mappings(self._analysis)
        namer = FrameNames(self._loaded, mappings)
        if "user_stack_bytes" in table.column_names:
            table = unwound(self._loaded, namer, event)
        rows = Rows(table)
        time, thread = rows["time"], rows["common_pid"]
        # What a tracepoint calls pid is any process that it is about.
        own = self._systems[event] == "perf" and "pid" in table.column_names
        process = rows["pid"] if own else mappings.processes(thread)
        parts = []
        for column in _COLUMNS:
            sizes, flat = table.column(column).lists()
            owner = np.repeat(np.arange(sizes.size), sizes)
            if column == "user_stack":
                codes = namer.user(process[owner], flat, time[owner])
            elif column == "kernel_stack":
                codes = namer.kernel(flat)
            else:
                codes = namer.foreign(flat)
            parts.append((sizes, codes))
        if "user_stack_end" in table.column_names:
            parts.append(unknown_callers(rows, namer))
        heads = namer.threads(thread, time)
        frames, starts = _outermost_first(heads, parts)
        weight: Ints = np.ones(time.size, dtype=np.int64)
        if periods and "period" in table.column_names:
            weight = np.maximum(rows["period"], 0)
        cpu = np.where(rows["cpu"] < 0, -1, rows["cpu"])
        unit = event if periods else "samples"
        missing = namer.missing()
        return Stacks(
            event, unit, time, cpu, thread, weight, frames, starts, namer.names(), (), missing
        )

    # -- stacks of ftrace ------------------------------------------------------------------------

    def _by_event(self) -> dict[str, Ints]:
        """By event, the rows of ``kernel_stack`` (else ``user_stack``) that stand behind it."""
        index = Rows(self._loaded.trace.index)
        names = [event["name"] for event in self._loaded.trace.description["events"]]
        kind = next(name for name in _FTRACE if name in self._loaded.trace.counts)
        # Of one CPU in order of time: the stack's event stands just before, or before its twin.
        order = np.lexsort((np.arange(len(index)), index["cpu"]))
        events, cpus, rows = (index[name][order] for name in ("event", "cpu", "row"))
        stacks = [names.index(name) for name in _FTRACE if name in names]
        places: Ints = np.where(np.isin(events, stacks), -1, np.arange(events.size))
        before = np.maximum.accumulate(places)
        at = np.flatnonzero(events == names.index(kind))
        cause = before[at]
        has_cause = (cause >= 0) & (cpus[np.maximum(cause, 0)] == cpus[at])
        of = np.where(has_cause, events[np.maximum(cause, 0)], -1)
        return {
            names[code] if code >= 0 else "(unknown event)": rows[at[of == code]]
            for code in np.unique(of).tolist()
        }

    def _traced_stacks(self, event: str) -> Stacks:
        kind = next(name for name in _FTRACE if name in self._loaded.trace.counts)
        table = self._loaded.trace.tables[kind].take(self._by_event()[event])
        rows = Rows(table)
        sizes, flat = table.column("caller").lists()
        owner = np.repeat(np.arange(sizes.size), sizes)
        ended = np.isin(flat, _END) | (flat == 0)
        if ended.any():  # what stands behind the end is no function
            first: Ints = np.full(sizes.size, flat.size, dtype=np.int64)
            np.minimum.at(first, owner[ended], np.flatnonzero(ended))
            keep = np.arange(flat.size) < first[owner]
            sizes, flat = np.bincount(owner[keep], minlength=sizes.size), flat[keep]
        namer = FrameNames(self._loaded, Mappings(self._analysis))
        codes = namer.kernel(flat) if kind == "kernel_stack" else namer.foreign(flat)
        thread, time = rows["common_pid"], rows["time"]
        heads = namer.threads(thread, time)
        frames, starts = _outermost_first(heads, [(sizes, codes)])
        weight: Ints = np.ones(time.size, dtype=np.int64)
        return Stacks(
            event,
            "samples",
            time,
            rows["cpu"],
            thread,
            weight,
            frames,
            starts,
            namer.names(),
            (),
            namer.missing(),
        )

    # -- calls that nest -------------------------------------------------------------------------

    def _calls(self, event: str) -> Stacks:
        calls = dict(self._call_tables())[event]
        namer = FrameNames(self._loaded, Mappings(self._analysis))
        symbol = self._loaded.trace.source.symbol
        numbers, place = np.unique(calls.function, return_inverse=True)
        module = "kernel" if event == _CALLS[0] else event
        own: Ints = np.array(
            [namer.code(calls.name(symbol, int(number)), module) for number in numbers],
            dtype=np.int64,
        )
        code = own[place] if numbers.size else place.astype(np.int64)
        heads = namer.threads(calls.thread, calls.begin)
        # One level of parents after the other, until none has one.
        chains, at = [code], calls.parent.copy()
        while (at >= 0).any() and len(chains) < 1024:
            chains.append(np.where(at >= 0, code[at], -1))
            at = np.where(at >= 0, calls.parent[at], -1)
        grid = np.stack([*chains, heads], axis=1)[:, ::-1]
        kept = grid >= 0
        starts: Ints = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        stacks = Stacks(
            event,
            "ns",
            calls.begin,
            calls.cpu,
            calls.thread,
            np.maximum(calls.self_time, 0),
            grid[kept],
            starts,
            namer.names(),
        )
        return stacks.chosen(calls.complete)


def _outermost_first(heads: Ints, parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Stacks that begin with a head, of parts whose innermost function is first; and where each
    begins."""
    lengths = 1 + sum((sizes for sizes, _ in parts), np.zeros(heads.size, dtype=np.int64))
    starts: Ints = np.concatenate([[0], np.cumsum(lengths)])
    frames: Ints = np.empty(int(starts[-1]), dtype=np.int64)
    frames[starts[:-1]] = heads
    end = starts[1:].copy()  # of what is still to be filled, from its end on
    for sizes, codes in parts:
        begins = np.cumsum(sizes) - sizes
        owner = np.repeat(np.arange(sizes.size), sizes)
        frames[end[owner] - 1 - (np.arange(codes.size) - begins[owner])] = codes
        end -= sizes
    return frames, starts
